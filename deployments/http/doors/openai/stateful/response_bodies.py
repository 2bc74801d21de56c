"""Requests and replies of `/v1/responses`, as OpenAI and Open Responses publish them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, StrictInt

from memory.values.base import WHOLE
from memory.values.errors import InvalidField

from ....schemas.fields import Identifier
from ..chat.memory_use import MemoryUse
from ..speaking import SpokenBody
from .items import ItemIn

_PASSED_ON = ("temperature", "top_p", "parallel_tool_calls", "prompt_cache_key", "service_tier", "top_logprobs")
"""Options that chat completions have under the same name."""


_REPEATED = (
    *("instructions", "previous_response_id", "max_output_tokens", "temperature", "top_p", "metadata", "user"),
    *("safety_identifier", "parallel_tool_calls", "tool_choice", "text", "reasoning", "prompt_cache_key"),
)
"""Fields of requests that responses repeat."""


class ConversationName(BaseModel):
    """A conversation by its id."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Identifier


class FunctionTool(BaseModel):
    """A function that the model may ask for; other tools are not offered here."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)

    type: Literal["function"]
    name: str
    description: str | None = None
    parameters: dict[str, JsonValue] | None = None
    strict: bool | None = None


class ResponseBody(SpokenBody):
    """What is to be answered. Options that are not named here are ignored."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        json_schema_extra={"examples": [{"model": "jiyi", "input": "AI-Box 放在哪裡？", "user": "ada"}]},
    )

    model: Identifier = Field(description="`jiyi`, or another name of `/v1/models`.")
    input: str | Annotated[tuple[ItemIn, ...], Field(max_length=4096)] = ()
    instructions: str | None = None
    conversation: Identifier | ConversationName | None = None
    previous_response_id: Identifier | None = None
    store: StrictBool | None = Field(default=None, description="Default: kept where a person is named.")
    stream: StrictBool | None = False
    tools: tuple[FunctionTool, ...] = ()
    tool_choice: Literal["none", "auto", "required"] | dict[str, JsonValue] | None = None
    max_output_tokens: Annotated[StrictInt, Field(ge=1), WHOLE] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    parallel_tool_calls: StrictBool | None = None
    text: dict[str, JsonValue] | None = None
    reasoning: dict[str, JsonValue] | None = None
    background: Literal[False] | None = None

    @property
    def conversation_id(self) -> str | None:
        """The conversation that it belongs to."""
        return self.conversation.id if isinstance(self.conversation, ConversationName) else self.conversation

    def options(self) -> dict[str, Any]:
        """The options as chat completions have them.

        Raises:
            InvalidField: One has no counterpart there.
        """
        given = self.model_dump(exclude_unset=True)
        options = {name: given[name] for name in _PASSED_ON if given.get(name) is not None}
        if self.tools:
            options["tools"] = [
                {"type": "function", "function": tool.model_dump(exclude={"type"}, exclude_none=True)}
                for tool in self.tools
            ]
        if self.tool_choice is not None:
            options["tool_choice"] = _tool_choice(self.tool_choice)
        if self.max_output_tokens is not None:
            options["max_completion_tokens"] = self.max_output_tokens
        if (wanted := _answer_format(self.text)) is not None:
            options["response_format"] = wanted
        if self.reasoning and self.reasoning.get("effort"):
            options["reasoning_effort"] = self.reasoning["effort"]
        return options


def _tool_choice(choice: str | dict[str, JsonValue]) -> Any:
    if isinstance(choice, str):
        return choice
    if choice.get("type") != "function":
        raise InvalidField(
            "tool_choice: not a function", field="tool_choice", allowed="none, auto, required, a function"
        )
    return {"type": "function", "function": {"name": choice.get("name")}}


def _answer_format(text: dict[str, JsonValue] | None) -> Any:
    wanted = (text or {}).get("format")
    if not isinstance(wanted, dict) or wanted.get("type") in (None, "text"):
        return None
    if wanted["type"] == "json_schema":
        return {"type": "json_schema", "json_schema": {name: part for name, part in wanted.items() if name != "type"}}
    return {"type": wanted["type"]}


class TokenDetails(BaseModel):
    """What of the input was read from a cache, and what was written to one."""

    cached_tokens: int = 0
    cache_write_tokens: int = 0


class OutputDetails(BaseModel):
    """What of the output was reasoning."""

    reasoning_tokens: int = 0


class ResponseUsage(BaseModel):
    """Tokens as the language model counts them; estimated where it does not."""

    input_tokens: int
    input_tokens_details: TokenDetails = TokenDetails()
    output_tokens: int
    output_tokens_details: OutputDetails = OutputDetails()
    total_tokens: int


class Response(BaseModel):
    """A response; every field is always there. `jiyi` says what memory did for it."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    completed_at: int | None = None
    status: Literal["in_progress", "completed", "incomplete", "failed"] = "in_progress"
    incomplete_details: dict[str, JsonValue] | None = None
    error: dict[str, JsonValue] | None = None
    model: str
    instructions: str | None = None
    output: list[dict[str, Any]] = []
    previous_response_id: str | None = None
    conversation: ConversationName | None = None
    tools: list[dict[str, JsonValue]] = []
    tool_choice: str | dict[str, JsonValue] = "auto"
    parallel_tool_calls: bool = True
    truncation: Literal["disabled"] = "disabled"
    text: dict[str, JsonValue] = {"format": {"type": "text"}}
    temperature: float = 1.0
    top_p: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    top_logprobs: int = 0
    reasoning: dict[str, JsonValue] | None = None
    usage: ResponseUsage | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    store: bool
    background: bool = False
    service_tier: str = "default"
    metadata: dict[str, str] = {}
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    user: str | None = None
    jiyi: MemoryUse | None = None

    @classmethod
    def begun(cls, body: ResponseBody, *, id_: str, at: int, stored: bool) -> "Response":
        """The response to a request before anything is answered."""
        given = body.model_dump(mode="json", exclude_none=True)
        same = {name: given[name] for name in _REPEATED if name in given}
        named = body.conversation_id
        return cls.model_validate(
            {
                "id": id_,
                "created_at": at,
                "model": body.model,
                "store": stored,
                "tools": [_whole(tool) for tool in body.tools],
                "conversation": {"id": named} if named else None,
                **same,
            }
        )


def _whole(tool: FunctionTool) -> dict[str, Any]:
    """A tool with every field that replies have."""
    return {"description": None, "parameters": None, "strict": None} | tool.model_dump(mode="json")
