"""The events of a streamed response, from the chunks of a chat completion."""

import time
from collections.abc import Iterator
from typing import Any

from ....support.assistants import Chunk, Message
from ..chat.collecting import CollectedReply
from ..chat.memory_use import MemoryUse
from .items import Item, item_id
from .response_bodies import Response

Event = dict[str, Any]
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


class ResponseInProgress:
    """Makes events of chunks, and the response of all of them.

    Args:
        response: As it begins.
        messages: The conversation that it continues.
    """

    def __init__(self, response: Response, messages: tuple[Message, ...]) -> None:
        self.response = response
        self._reply = CollectedReply(messages)
        self._sequence = 0
        self._items: list[Item] = []
        self._message: int | None = None
        self._calls: dict[int, int] = {}
        """The place in the output of each call, by its index in the chunks."""

    def begin(self) -> Iterator[Event]:
        """The events before the first piece."""
        yield self._event("response.created", response=self._shown())
        yield self._event("response.in_progress", response=self._shown())

    def take(self, chunk: Chunk) -> Iterator[Event]:
        """The events of a chunk."""
        self._reply.take(chunk)
        for choice in chunk.get("choices") or ():
            if choice.get("index", 0):
                continue
            delta = choice.get("delta") or {}
            if text := delta.get("content"):
                yield from self._text(str(text))
            for call in delta.get("tool_calls") or ():
                yield from self._call(call)

    def finish(self) -> Iterator[Event]:
        """The events that close the items; `end` is the last one."""
        for place, item in enumerate(self._items):
            item["status"] = "completed"
            yield from self._closed(place, item)

    def end(self) -> Event:
        """The last event, once everything is kept."""
        [choice, *_] = self._reply.choices() or [{"finish_reason": "stop"}]
        reason = _INCOMPLETE.get(choice["finish_reason"])
        usage = self._reply.usage()
        self.response = self.response.model_copy(
            update={
                "status": "incomplete" if reason else "completed",
                "incomplete_details": {"reason": reason} if reason else None,
                "completed_at": None if reason else int(time.time()),
                "model": self._reply.model or self.response.model,
                "output": self._items,
                "usage": {
                    "input_tokens": usage["prompt_tokens"],
                    "input_tokens_details": _detail(usage, "prompt_tokens_details", "cached_tokens"),
                    "output_tokens": usage["completion_tokens"],
                    "output_tokens_details": _detail(usage, "completion_tokens_details", "reasoning_tokens"),
                    "total_tokens": usage["total_tokens"],
                },
                "jiyi": MemoryUse.model_validate(self._reply.used) if self._reply.used else None,
            }
        )
        self.response = Response.model_validate(self.response.model_dump(warnings=False))
        return self._event(f"response.{self.response.status}", response=self._shown())

    def fail(self, *, code: str, message: str) -> Event:
        """The last event of a response that could not be finished."""
        self.response = self.response.model_copy(
            update={"status": "failed", "error": {"code": code, "message": message}, "output": self._items}
        )
        return self._event("response.failed", response=self._shown())

    def _text(self, text: str) -> Iterator[Event]:
        if self._message is None:
            self._message = len(self._items)
            item: Item = {"id": item_id("message"), "type": "message", "status": "in_progress", "role": "assistant"}
            self._items.append(item | {"content": []})
            yield self._added(self._message)
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            self._items[self._message]["content"].append(part)
            yield self._of_text("response.content_part.added", part={**part})
        self._items[self._message]["content"][0]["text"] += text
        yield self._of_text("response.output_text.delta", delta=text, logprobs=[])

    def _call(self, call: dict[str, Any]) -> Iterator[Event]:
        function = call.get("function") or {}
        index = call.get("index", len(self._calls))
        if index not in self._calls:
            self._calls[index] = len(self._items)
            self._items.append(
                {
                    "id": item_id("function_call"),
                    "type": "function_call",
                    "status": "in_progress",
                    "call_id": call.get("id") or item_id("call"),
                    "name": function.get("name") or "",
                    "arguments": "",
                }
            )
            yield self._added(self._calls[index])
        place = self._calls[index]
        if arguments := function.get("arguments"):
            self._items[place]["arguments"] += arguments
            yield self._event(
                "response.function_call_arguments.delta",
                item_id=self._items[place]["id"],
                output_index=place,
                delta=arguments,
            )

    def _closed(self, place: int, item: Item) -> Iterator[Event]:
        if item["type"] == "function_call":
            yield self._event(
                "response.function_call_arguments.done",
                item_id=item["id"],
                output_index=place,
                name=item["name"],
                arguments=item["arguments"],
            )
        else:
            part = item["content"][0]
            yield self._of_text("response.output_text.done", text=part["text"], logprobs=[])
            yield self._of_text("response.content_part.done", part={**part})
        yield self._event("response.output_item.done", output_index=place, item={**item})

    def _added(self, place: int) -> Event:
        item = self._items[place]
        return self._event("response.output_item.added", output_index=place, item={**item})

    def _of_text(self, type_: str, **content: Any) -> Event:
        place = self._message or 0
        return self._event(type_, item_id=self._items[place]["id"], output_index=place, content_index=0, **content)

    def _event(self, type_: str, **content: Any) -> Event:
        event = {"type": type_, "sequence_number": self._sequence, **content}
        self._sequence += 1
        return event

    def _shown(self) -> dict[str, Any]:
        return self.response.model_dump(mode="json", warnings=False)


def _detail(usage: dict[str, Any], details: str, name: str) -> dict[str, int]:
    return {name: int((usage.get(details) or {}).get(name) or 0)}
