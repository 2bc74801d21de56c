"""A language model that says what a test tells it to."""

from collections import deque
from collections.abc import Callable

from typing_extensions import override

from memory.ports.models.chat_models import LANGUAGE_MODEL, ChatModel, ChatReply, ChatRequest
from memory.values.errors import ModelUnavailable

Answer = str | ChatReply | ModelUnavailable


class FakeChatModel(ChatModel):
    """Gives answers in turn, then what a function makes of the request.

    Args:
        answers: In turn; an error is raised.
        otherwise: Answers when there are none left; without it the model is away then.

    Attributes:
        requests: What it was asked.
        closed: Whether `close` was called.
    """

    def __init__(
        self, *answers: Answer, otherwise: Callable[[ChatRequest], Answer] | None = None, model_id: str = "fake-chat"
    ) -> None:
        self.requests: list[ChatRequest] = []
        self.closed = False
        self._answers = deque(answers)
        self._otherwise = otherwise
        self._model_id = model_id

    @property
    @override
    def model_id(self) -> str:
        return self._model_id

    @override
    async def complete(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        answer: Answer = ModelUnavailable("away", component=LANGUAGE_MODEL)
        if self._answers:
            answer = self._answers.popleft()
        elif self._otherwise is not None:
            answer = self._otherwise(request)
        if isinstance(answer, ModelUnavailable):
            raise answer
        return ChatReply(text=answer) if isinstance(answer, str) else answer

    @override
    async def close(self) -> None:
        self.closed = True
