"""Threads and facts of Zep: what its client returns of a user, saved as JSON.

Shape: `Message`, `MessageListResponse` and `EntityEdge` of the package `zep-cloud` 3.13.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ...values.records import ResourceKind
from ...values.understanding.dialogue import Role
from .entries import Entry, ForeignExport, NotThisFormat, listed, time_of

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_PARTS = ("threads", "messages", "edges")


def read_zep(data: Any, *, user: str | None = None) -> ForeignExport:
    """Reads messages as turns, and facts that still hold as notes.

    Args:
        data: The JSON: an object with `threads` (each with `thread_id` and `messages`), `messages` of one thread, or
            `edges`; or a list of messages or of edges.
        user: Not needed: what Zep's client returns is of one user.

    Raises:
        NotThisFormat: It is something else.
    """
    parts = _parts(data)
    export = ForeignExport("zep")
    for thread in listed(parts.get("threads") or [], "threads"):
        name = str(thread.get("thread_id") or thread.get("uuid") or "zep")
        for message in listed(thread.get("messages") or [], "messages"):
            _add_message(export, message, name)
    for message in listed(parts.get("messages") or [], "messages"):
        _add_message(export, message, str(parts.get("thread_id") or "zep"))
    for edge in listed(parts.get("edges") or [], "edges"):
        _add_fact(export, edge)
    return export


def _parts(data: Any) -> Mapping[str, Any]:
    if isinstance(data, list):
        found = listed(data, "Zep")
        data = {"edges" if found and "fact" in found[0] else "messages": found}
    if not isinstance(data, Mapping) or not any(name in data for name in _PARTS):
        raise NotThisFormat(f"Zep: expected an object with {', '.join(_PARTS)}, or a list of messages or edges")
    return data


def _add_message(export: ForeignExport, message: Mapping[str, Any], thread: str) -> None:
    role = _ROLES.get(str(message.get("role")))
    if role is None:
        export.skipped[f"messages of role {message.get('role')}"] += 1
        return
    export.add(
        Entry(
            source_id=str(message.get("uuid") or message.get("created_at") or ""),
            session_id=thread.replace("/", "-"),
            content=str(message.get("content") or ""),
            created_at=time_of(message.get("created_at")),
            role=role,
            speaker=message.get("name") or None,
        )
    )


def _add_fact(export: ForeignExport, edge: Mapping[str, Any]) -> None:
    ended = [time for name in ("invalid_at", "expired_at") if (time := time_of(edge.get(name)))]
    if ended and min(ended) <= datetime.now(UTC):
        export.skipped["facts that hold no longer"] += 1
        return
    export.add(
        Entry(
            source_id=str(edge.get("uuid") or ""),
            session_id="zep",
            content=str(edge.get("fact") or ""),
            created_at=time_of(edge.get("valid_at")) or time_of(edge.get("created_at")),
            kind=ResourceKind.NOTE,
            metadata={"relation": str(edge.get("name") or "")},
        )
    )
