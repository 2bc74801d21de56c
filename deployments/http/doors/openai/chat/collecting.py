"""Chunks of a reply put together: the message that they are pieces of, and what it cost."""

from collections.abc import Mapping, Sequence
from typing import Any

from memory.prompting.checked_model import estimate_tokens

from ....support.assistants import Chunk, Message
from .prompt import count_tokens


class CollectedReply:
    """The reply so far.

    Args:
        messages: The conversation that it continues.

    Attributes:
        model: The model that the chunks name; empty where none does.
        used: What memory did, in the last chunk (`MemoryUse`).
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self.model = ""
        self.used: dict[str, Any] | None = None
        self._messages = messages
        self._choices: dict[int, dict[str, Any]] = {}
        self._usage: dict[str, Any] | None = None

    def take(self, chunk: Chunk) -> None:
        """Adds a chunk."""
        self.model = self.model or str(chunk.get("model") or "")
        self._usage = chunk.get("usage") or self._usage
        self.used = chunk.get("jiyi") or self.used
        for piece in chunk.get("choices") or ():
            choice = self._choices.setdefault(
                piece.get("index", 0),
                {"message": {"role": "assistant", "content": None, "refusal": None}, "logprobs": None},
            )
            _merge(choice["message"], piece.get("delta") or {})
            if piece.get("logprobs"):
                choice["logprobs"] = _merged_logprobs(choice["logprobs"] or {}, piece["logprobs"])
            choice["finish_reason"] = piece.get("finish_reason") or choice.get("finish_reason")

    def choices(self) -> list[dict[str, Any]]:
        """The choices of a whole reply, in order."""
        return [
            {"index": index, **choice, "finish_reason": choice.get("finish_reason") or "stop"}
            for index, choice in sorted(self._choices.items())
        ]

    def usage(self) -> dict[str, Any]:
        """The tokens as the model counted them, or estimated."""
        if self._usage is not None:
            return self._usage
        texts = [str(choice["message"]["content"] or "") for choice in self._choices.values()]
        prompt, completion = count_tokens(self._messages), sum(estimate_tokens(text) for text in texts if text)
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _merge(whole: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Adds a piece to a message: texts are joined, calls of tools by their index."""
    for name, value in delta.items():
        if value is None or name == "role":
            continue
        if name == "tool_calls":
            calls = whole.setdefault("tool_calls", [])
            for call in value:
                place = call.get("index", len(calls))
                while len(calls) <= place:
                    calls.append({})
                _merge(calls[place], {key: part for key, part in call.items() if key != "index"})
        elif isinstance(value, Mapping):
            _merge(whole.setdefault(name, {}), value)
        elif isinstance(value, str) and name not in ("id", "type"):
            whole[name] = (whole.get(name) or "") + value
        else:
            whole[name] = value


def _merged_logprobs(whole: dict[str, Any], piece: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: [*(whole.get(name) or ()), *(piece.get(name) or ())] if whole.get(name) or piece.get(name) else None
        for name in {**whole, **piece}
    }
