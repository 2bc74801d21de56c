"""Asks a language model until its answer is valid, a few times at most, and counts what became of it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
from pydantic import BaseModel, ValidationError

from ..language.written import Language
from ..ports.models.chat_models import LANGUAGE_MODEL, ChatModel, ChatRequest, ChatRole, ModelMessage
from ..values.errors import ModelUnavailable, NoValidAnswer

T = TypeVar("T")
AnswerT = TypeVar("AnswerT", bound=BaseModel)
_log = structlog.get_logger(__name__)
_MAX_PROBLEMS = 3
LANGUAGE_NAMES = {
    Language.ENGLISH: "English",
    Language.TRADITIONAL_CHINESE: "Traditional Chinese (Taiwan)",
    Language.SIMPLIFIED_CHINESE: "Simplified Chinese",
}
"""How a prompt names the language of an answer."""


class InvalidAnswer(ValueError):
    """An answer that cannot be used.

    Args:
        message: What is wrong with it, as the model is told; it may quote a user's text, so it is never logged.
        reason: The same in one word, for the log.
    """

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class CheckedModel:
    """A chat model whose answers are checked.

    Args:
        model: Answers.
        attempts: How often one thing is asked; from the second time on with what was wrong.
        at_once: So many things are asked at the same time.
        max_prompt_tokens: The longest prompt, as `estimate_tokens` has it; a longer one is not asked.
    """

    def __init__(
        self, model: ChatModel, *, attempts: int = 2, at_once: int = 8, max_prompt_tokens: int = 6_000
    ) -> None:
        self.max_prompt_tokens = max_prompt_tokens
        self._model = model
        self._attempts = attempts
        self._slots = asyncio.Semaphore(at_once)
        self._counts: Counter[str] = Counter()

    @property
    def model(self) -> ChatModel:
        """The model itself, for what needs no check here."""
        return self._model

    @property
    def model_id(self) -> str:
        """The model's name."""
        return self._model.model_id

    async def ask(self, request: ChatRequest, check: Callable[[str], Awaitable[T]], *, task: str) -> T:
        """The answer as `check` returns it.

        Args:
            request: What is asked.
            check: Makes a value of an answer, or raises `InvalidAnswer`.
            task: What it is for, in one word, in figures and in the log.

        Raises:
            NoValidAnswer: There was none that is valid.
            ModelUnavailable: There was no answer, or the prompt is too long.
        """
        outcome = "missing"
        try:
            if sum(estimate_tokens(message.content) for message in request.messages) > self.max_prompt_tokens:
                raise ModelUnavailable("The prompt is too long for the language model.", component=LANGUAGE_MODEL)
            async with self._slots:
                answer = await self._ask(request, check, task)
            outcome = "answered"
        finally:  # also where the caller gives up
            self._counts[f"{task}_{outcome}"] += 1
        return answer

    def figures(self) -> dict[str, float | str]:
        """For `/health/detailed` and the metrics: the model's, and what was answered, refused and missing by task."""
        return {**self._model.figures(), **self._counts}

    def count(self, figure: str) -> None:
        """Counts what became of an answer, for `figures`."""
        self._counts[figure] += 1

    async def close(self) -> None:
        """Closes the model's connections."""
        await self._model.close()

    async def _ask(self, request: ChatRequest, check: Callable[[str], Awaitable[T]], task: str) -> T:
        messages, reason = request.messages, ""
        for _ in range(self._attempts):
            reply = await self._model.complete(request.model_copy(update={"messages": messages}))
            try:
                if not reply.is_whole:
                    raise InvalidAnswer("It was cut off at the limit: be shorter.", reason="cut")
                return await check(reply.text)
            except InvalidAnswer as error:
                reason = error.reason
                self._counts[f"{task}_refused"] += 1
                _log.warning("answer_refused", component=LANGUAGE_MODEL, task=task, reason=reason)
                messages = (
                    *request.messages,
                    ModelMessage(role=ChatRole.ASSISTANT, content=reply.text),
                    ModelMessage(role=ChatRole.USER, content=f"This answer is not valid. {error} Answer again."),
                )
        raise NoValidAnswer(
            f"None of {self._attempts} answers of the language model was valid.",
            component=LANGUAGE_MODEL,
            reason=reason,
        )


def parse_answer(text: str, kind: type[AnswerT]) -> AnswerT:
    """The JSON object of an answer, also where a model wrote something around it.

    Raises:
        InvalidAnswer: There is none, or it does not follow the schema.
    """
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise InvalidAnswer("It has no JSON object.", reason="json")
    try:
        return kind.model_validate_json(text[start : end + 1])
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, problem['loc'])) or 'JSON'}: {problem['msg']}."
            for problem in error.errors(include_input=False, include_url=False)
        ]
        raise InvalidAnswer(" ".join(problems[:_MAX_PROBLEMS]), reason="schema") from None


def estimate_tokens(text: str) -> int:
    """About how many tokens a model makes of a text: one for a Chinese character or three Latin ones, seldom more."""
    return len(text.encode("utf-8", "replace")) // 3 + 1
