"""Memories of mem0: what `get_all` returns, hosted or self-hosted, or an export, in pages or whole.

Shape: the results of its `/v3/memories/` in mem0's OpenAPI document (mem0ai/mem0, 2026-08-22), and `Memory.get_all` of
the package `mem0ai` 2.2.1.
"""

import json
from collections.abc import Mapping
from typing import Any

from ...values.base import Scalar
from ...values.records import EXPIRES_ON, ResourceKind
from .entries import Entry, ForeignExport, NotThisFormat, listed, time_of

_SCALARS = (str, int, float, bool)
_LABELS = {"agent_id": "agent_id", "app_id": "app_id", "expiration_date": EXPIRES_ON}
"""Our metadata for fields of its."""


def read_mem0(data: Any, *, user: str | None = None) -> ForeignExport:
    """Reads memories as notes.

    Args:
        data: The JSON: a list of memories, an object with `results` or `memories`, or a list of such pages.
        user: Only the memories of this user, and those of none; all where the file has a single user.

    Raises:
        NotThisFormat: It is something else, or has several users and `user` is none of them.
    """
    memories = _memories(data)
    users = {str(memory["user_id"]) for memory in memories if memory.get("user_id")}
    if len(users) > 1 and user not in users:
        raise NotThisFormat(f"the file has memories of {', '.join(sorted(users))}: name one of them")
    export = ForeignExport("mem0")
    for memory in memories:
        if len(users) > 1 and memory.get("user_id") not in (None, "", user):
            export.skipped["of another user"] += 1
            continue
        export.add(
            Entry(
                source_id=str(memory["id"]),
                session_id=str(memory.get("run_id") or memory.get("session_id") or "mem0"),
                content=str(memory["memory"]),
                created_at=time_of(memory.get("created_at")),
                kind=ResourceKind.NOTE,
                metadata=_metadata(memory),
            )
        )
    return export


def _memories(data: Any) -> list[Mapping[str, Any]]:
    if isinstance(data, Mapping):
        data = data.get("results", data.get("memories"))
    found = listed(data, "mem0")
    pages = [page for page in found if "results" in page]
    memories = [memory for page in pages for memory in listed(page["results"], "results")] if pages else found
    if not all("id" in memory and "memory" in memory for memory in memories):
        raise NotThisFormat("mem0: expected memories with id and memory, as get_all returns them")
    return memories


def _metadata(memory: Mapping[str, Any]) -> dict[str, Scalar]:
    given = memory.get("metadata")
    labels = {ours: memory[name] for name, ours in _LABELS.items() if memory.get(name)}
    kept = {**labels, **(given if isinstance(given, Mapping) else {})}
    return {
        str(name): value if value is None or isinstance(value, _SCALARS) else json.dumps(value, ensure_ascii=False)
        for name, value in kept.items()
    }
