"""Requests and replies of `/v1/chat/completions`."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, StrictInt

from memory.values.base import WHOLE

from ....schemas.fields import Identifier
from ..speaking import SpokenBody
from .memory_use import MemoryUse

OWN_OPTIONS = frozenset(
    {"model", "messages", "stream", "stream_options", "user", "safety_identifier", "metadata", "store"}
)
"""Fields of requests that are not passed on."""
FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "function_call"]


class ContentPart(BaseModel):
    """A part of a message: a text, an image, …; all but `text` is passed on unread."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)

    type: str
    text: str | None = None


class ChatMessageIn(BaseModel):
    """A message of the conversation; further fields are passed on."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | tuple[ContentPart, ...] | None = None


class StreamOptions(BaseModel):
    """What a stream holds besides the reply."""

    model_config = ConfigDict(frozen=True, extra="allow")

    include_usage: StrictBool | None = None


class ChatCompletionBody(SpokenBody):
    """A conversation to continue; tools and all other options are passed on to the language model."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        json_schema_extra={
            "examples": [
                {"model": "jiyi", "messages": [{"role": "user", "content": "AI-Box 放在哪裡？"}], "user": "ada"}
            ]
        },
    )

    model: Identifier = Field(description="`jiyi`, or another name of `/v1/models`.")
    messages: Annotated[tuple[ChatMessageIn, ...], Field(min_length=1, max_length=4096)]
    stream: StrictBool | None = False
    stream_options: StreamOptions | None = None
    n: Annotated[StrictInt, Field(ge=1, le=128), WHOLE] | None = None

    @property
    def wants_usage(self) -> bool:
        """Whether the last chunk of a stream says how many tokens were used."""
        return bool(self.stream_options and self.stream_options.include_usage)

    def options(self) -> dict[str, Any]:
        """What is passed on to a language model."""
        return self.model_dump(exclude=set(OWN_OPTIONS), exclude_unset=True)


class Usage(BaseModel):
    """Tokens as the language model counts them; estimated where it does not."""

    model_config = ConfigDict(extra="allow")

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatReplyMessage(BaseModel):
    """The message that continues a conversation."""

    model_config = ConfigDict(extra="allow")

    role: Literal["assistant"] = "assistant"
    content: str | None
    refusal: str | None


class Choice(BaseModel):
    """One continuation."""

    model_config = ConfigDict(extra="allow")

    index: int
    message: ChatReplyMessage
    logprobs: dict[str, Any] | None
    finish_reason: FinishReason


class ChatCompletion(BaseModel):
    """The reply; `jiyi` says what memory did for it."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    system_fingerprint: str | None = None
    service_tier: str | None = None
    jiyi: MemoryUse | None = None


class ChatCompletionChunk(BaseModel):
    """A piece of a streamed reply; the one with a `finish_reason` has `jiyi`, the last one usage where it is wanted."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[dict[str, Any]]
    usage: Usage | None = None
    jiyi: MemoryUse | None = None
