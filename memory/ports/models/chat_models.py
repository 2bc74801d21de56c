"""The role of a language model that answers messages; it holds no user's data (DESIGN §3.4, 002 §4.1)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field

from ...values.base import Value

LANGUAGE_MODEL = "language_model"
"""The component of `ModelUnavailable` that a chat model raises."""


class ChatRole(StrEnum):
    """Who says a message to a language model."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class ToolDefinition(Value):
    """A tool that a model may ask to use; `parameters` is the JSON schema of its arguments."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    description: str
    parameters: dict[str, Any]


class ToolCall(Value):
    """A tool that a model asks to use; `arguments` is JSON as the model wrote it, which may not follow the schema."""

    id: str
    name: str
    arguments: str = "{}"


class ModelMessage(Value):
    """One message of a request.

    Args:
        tool_calls: What an assistant's message asked for.
        tool_call_id: The call of which a tool's message is the result.
    """

    role: ChatRole
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


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
        tools: Those that the model may ask for in place of an answer.
    """

    messages: tuple[ModelMessage, ...]
    answer_schema: AnswerSchema | None = None
    max_tokens: int = Field(default=1_024, gt=0)
    timeout_s: float | None = Field(default=None, gt=0)
    tools: tuple[ToolDefinition, ...] = ()


class ChatReply(Value):
    """The answer of a model; `is_whole` is false where it was cut at `max_tokens`, `text` empty only beside calls."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
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
        """Answers, with text, or with calls of the request's tools.

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
