"""The role of a language model that answers messages; it holds no user's data (DESIGN §3.4, 002 §4.1)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field

from ..values.base import Value

LANGUAGE_MODEL = "language_model"
"""The component of `ModelUnavailable` that a chat model raises."""


class ChatRole(StrEnum):
    """Who says a message to a language model."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class ModelMessage(Value):
    """One message of a request."""

    role: ChatRole
    content: str


class AnswerSchema(Value):
    """The JSON schema that an answer must follow.

    Models may be unable to follow it: whoever asks checks the answer.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    definition: dict[str, Any]


class ChatRequest(Value):
    """A conversation that a model is to continue.

    Args:
        messages: Oldest first.
        answer_schema: None for an answer in plain text.
        max_tokens: The longest answer, in the model's own tokens.
        timeout_s: Seconds for the answer in all; None: as each endpoint is configured.
    """

    messages: tuple[ModelMessage, ...]
    answer_schema: AnswerSchema | None = None
    max_tokens: int = Field(default=1_024, gt=0)
    timeout_s: float | None = Field(default=None, gt=0)


class ChatReply(Value):
    """The answer of a model; `is_whole` is false where it was cut at `max_tokens`."""

    text: str
    is_whole: bool = True
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ChatModel(ABC):
    """A language model that answers messages."""

    @property
    @abstractmethod
    def model_id(self) -> str:
        """The model's name."""

    @abstractmethod
    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answers, with text that is never empty.

        Raises:
            ModelUnavailable: There was no answer in time, or none that is an answer; retries included. The message
                holds nothing of the request and no key.
        """

    def figures(self) -> Mapping[str, float | str]:
        """For `/health/detailed` and the metrics: totals since the start; `status` and `error` where it is away."""
        return {}

    async def close(self) -> None:
        """Closes its connections."""
        return
