"""Items of conversations and responses: what OpenAI calls messages, calls of functions and what these gave."""

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from memory.values.errors import InvalidField

from ....support.assistants import Message
from ..chat.chat_bodies import ContentPart

Item = dict[str, Any]
_PREFIXES = {"message": "msg", "function_call": "fc", "function_call_output": "fco", "reasoning": "rs"}
_TEXTS = frozenset({"input_text", "output_text", "text", "refusal"})


class ItemIn(BaseModel):
    """An item: a message, or what its `type` says; all fields are kept."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)

    type: str = "message"
    role: Literal["user", "assistant", "system", "developer"] | None = None
    content: str | tuple[ContentPart, ...] | None = None

    @property
    def reference(self) -> str | None:
        """The id of the item that it stands for; None where it is an item of its own.

        Raises:
            InvalidField: It is a reference without an id.
        """
        if self.type != "item_reference":
            return None
        id_ = self.__pydantic_extra__.get("id")
        if not isinstance(id_, str) or not id_:
            raise InvalidField("input: a reference has no id", field="input", allowed="the id of an item")
        return id_


Items = Annotated[tuple[ItemIn, ...], Field(max_length=20)]


def item_id(kind: str) -> str:
    """A new id. What is behind its prefix sorts in the order in which ids are made."""
    return f"{_PREFIXES.get(kind, 'item')}_{time.time_ns():016x}{secrets.token_hex(6)}"


def copied(item: Item) -> Item:
    """An item once more, with an id of its own: its place is behind those that are there."""
    return item | {"id": item_id(item["type"])}


def place_of(id_: str) -> str:
    """The part of an id by which items are kept in their order."""
    return id_.rpartition("_")[2]


def kept(item: ItemIn) -> Item:
    """An item as it is kept, with an id of its own.

    Raises:
        InvalidField: It is a message without a role.
    """
    value = item.model_dump(mode="json", exclude_unset=True) | {"type": item.type, "id": item_id(item.type)}
    if item.type == "message":
        if item.role is None:
            raise InvalidField("items: a message has no role", field="items", allowed="user, assistant, system")
        value |= {"status": "completed", "content": _parts(item.role, value.get("content"))}
    return value


def _parts(role: str, content: Any) -> list[dict[str, Any]]:
    """The content of a message as a list, whose texts are inputs or outputs by who says them."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
    kind = "output_text" if role == "assistant" else "input_text"
    return [_part(kind, part) for part in parts]


def _part(kind: str, part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] not in ("text", "input_text", "output_text"):
        return part
    beside = {"annotations": part.get("annotations") or [], "logprobs": []} if kind == "output_text" else {}
    return {"type": kind, "text": part.get("text") or "", **beside}


def as_messages(items: Sequence[Mapping[str, Any]]) -> Iterator[Message]:
    """The items as messages of chat completions; calls that follow each other are one message.

    Raises:
        InvalidField: An item has no counterpart there.
    """
    calls: list[dict[str, Any]] = []
    for item in items:
        kind = item.get("type", "message")
        if calls and kind != "function_call":
            yield {"role": "assistant", "content": None, "tool_calls": calls}
            calls = []
        match kind:
            case "message":
                yield {"role": item.get("role"), "content": _content(item.get("content"))}
            case "function_call":
                function = {"name": item.get("name"), "arguments": item.get("arguments")}
                calls = [*calls, {"id": item.get("call_id"), "type": "function", "function": function}]
            case "function_call_output":
                output = item.get("output")
                content = output if isinstance(output, str) else _content(output)
                yield {"role": "tool", "tool_call_id": item.get("call_id"), "content": content}
            case "reasoning":
                pass
            case _:
                raise InvalidField(
                    f"input: items of type {kind!r} are not known",
                    field="input",
                    allowed="message, function_call, function_call_output, reasoning, item_reference",
                )
    if calls:
        yield {"role": "assistant", "content": None, "tool_calls": calls}


def _content(content: Any) -> Any:
    """The content of a message for chat completions: a text where it is one, else parts under their names there."""
    if not isinstance(content, list | tuple):
        return content or ""
    texts = [str(part.get("text") or part.get("refusal") or "") for part in content if part.get("type") in _TEXTS]
    if len(texts) == len(content):
        return "\n".join(texts)
    return [_chat_part(part) for part in content]


def _chat_part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    if part.get("type") in _TEXTS:
        return {"type": "text", "text": part.get("text") or part.get("refusal") or ""}
    if part.get("type") == "input_image":
        return {
            "type": "image_url",
            "image_url": {"url": part.get("image_url"), "detail": part.get("detail") or "auto"},
        }
    return part
