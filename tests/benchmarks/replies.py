"""What a service replies that answers every request of the benchmarks alike."""

from typing import Any

HIT = {
    "kind": "memory",
    "id": "m",
    "text": "a source",
    "score": 0.5,
    "parts": {},
    "created_at": "2026-03-02T09:10:30Z",
}
_LISTS = ("intents", "facts", "mentions", "results", "entities", "degraded")
REPLY: dict[str, Any] = {
    "reply": "a reply",
    "answered_by": "extractive",
    "action": "keep",
    "resolved_query": "",
    "resolution": {"original_query": "", "resolved_query": ""},
    "sources": [HIT],
    "clarification": None,
    "context": "a context",
    "turn_id": "t",
    "memory_id": "m",
    "reply_id": "r",
    "learned": None,
    **{name: [] for name in _LISTS},
}
"""What is in the replies of all the routes that are asked."""
