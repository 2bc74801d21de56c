"""A memory of ours as one of mem0's, and what mem0 knows of a memory as our metadata.

Metadata of ours are scalars that filters compare. Those of mem0 are any JSON: scalars are kept under their own names,
so that every door shows and finds them, as are the agent and the application, which other doors name so, too. The rest,
and what else mem0 knows of a memory, is kept under names of `mem0_`.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from memory.values.access.identity import shown_user
from memory.values.base import Scalar
from memory.values.errors import InvalidField
from memory.values.facts import Fact, FactStatus
from memory.values.hits import Hit
from memory.values.records import EXPIRES_ON, Memory

from ...schemas.memory.chat import DEFAULT_SESSION

_PREFIX = "mem0_"
AGENT, APP = "agent_id", "app_id"
LABELS = (AGENT, APP, EXPIRES_ON)
"""Entries of metadata that mem0 has as fields of a memory."""
EVENT, FEEDBACK = (f"{_PREFIX}{name}" for name in ("event", "feedback"))
_JSON = f"{_PREFIX}json"
_MAX_ENTRIES = 48
_MAX_STRING = 1_024
_MAX_JSON = 16_384


@dataclass(frozen=True)
class KeptMemory:
    """A memory as mem0 shows it.

    Args:
        memory: Ours.
        categories: Those of the facts that are learned from it, sorted.
        score: How well it answers a query, 0 to 1; None where nothing was asked.
    """

    memory: Memory
    categories: tuple[str, ...] = ()
    score: float | None = None

    @property
    def run_id(self) -> str | None:
        """Its session; None for the one that calls without a session have."""
        return None if self.memory.session_id == DEFAULT_SESSION else self.memory.session_id

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """What the caller keeps with it."""
        rest: dict[str, Any] = json.loads(str(self.memory.metadata.get(_JSON, "{}")))
        return {name: value for name, value in self.memory.metadata.items() if not _is_known(name)} | rest

    def value(self, field: str) -> Any:
        """The value of a field that filters compare."""
        return self._values[field]

    @cached_property
    def _values(self) -> dict[str, Any]:
        memory = self.memory
        return {
            "id": memory.memory_id,
            "memory": memory.text,
            "user_id": shown_user(memory.user_id),
            "agent_id": _text(memory.metadata.get(AGENT)),
            "app_id": _text(memory.metadata.get(APP)),
            "run_id": self.run_id,
            "session_id": self.run_id,
            "metadata_size": len(self.metadata),
            "categories": self.categories,
            "expiration_date": _text(memory.metadata.get(EXPIRES_ON)),
            "created_at": memory.created_at,
            "updated_at": memory.updated_at,
        }

    def shown(self, fields: Sequence[str] | None = None) -> dict[str, Any]:
        """The JSON of a reply, with all fields or with these; times are in ISO 8601."""
        shown = self._values | {
            "metadata": self.metadata,
            "categories": list(self.categories),
            "created_at": self.memory.created_at.isoformat(),
            "updated_at": self.memory.updated_at.isoformat(),
        }
        del shown["metadata_size"]
        if self.score is not None:
            shown["score"] = self.score
        return shown if fields is None else {name: value for name, value in shown.items() if name in fields}


def categories_of(memory: Memory, facts: Sequence[Fact]) -> tuple[str, ...]:
    """The categories of the facts of a memory that hold."""
    return tuple(
        sorted(
            {
                fact.category
                for fact in facts
                if fact.resource_id == memory.resource_id and fact.status is FactStatus.ACTIVE
            }
        )
    )


def memory_of_hit(hit: Hit, *, user_id: str) -> Memory:
    """A memory that a search has found before it was learned."""
    return Memory(
        memory_id=hit.id,
        user_id=user_id,
        session_id=hit.session_id or DEFAULT_SESSION,
        resource_id="",
        text=hit.text,
        metadata=hit.metadata,
        created_at=hit.created_at,
        updated_at=hit.created_at,
    )


def packed(metadata: Mapping[str, Any], **known: str | None) -> dict[str, Scalar]:
    """Metadata of ours that hold those of a caller, and what else is known of a memory (`AGENT` and the others).

    Raises:
        InvalidField: They are too many, too large, or no JSON.
    """
    kept: dict[str, Scalar] = {name: value for name, value in known.items() if value is not None}
    rest = {}
    for name, value in metadata.items():
        where = f"metadata.{name}"
        if not name.strip() or len(name) > 128 or name.startswith(_PREFIX):
            raise InvalidField(
                f"{where}: is no name", field=where, allowed=f"1 to 128 characters that do not begin with {_PREFIX}"
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidField(f"{where}: is no number of JSON", field=where, allowed="a finite number")
        if isinstance(value, Mapping | list) or (isinstance(value, str) and len(value) > _MAX_STRING) or name in LABELS:
            rest[name] = value
        else:
            kept[name] = value
    if rest:
        try:
            kept[_JSON] = json.dumps(rest, ensure_ascii=False, allow_nan=False)
        except ValueError:
            raise InvalidField("metadata: no JSON", field="metadata", allowed="finite numbers") from None
    if len(metadata) > _MAX_ENTRIES or len(str(kept.get(_JSON, ""))) > _MAX_JSON:
        raise InvalidField(
            "metadata: too large",
            field="metadata",
            allowed=f"{_MAX_ENTRIES} entries, {_MAX_JSON} characters of lists, objects and long strings",
        )
    return kept


def repacked(memory: Memory, metadata: Mapping[str, Any] | None, **known: str | None) -> dict[str, Scalar]:
    """The metadata of a memory with these of the caller, or its own, and with what is known now; None removes that."""
    before = {name: str(value) for name, value in memory.metadata.items() if _is_known(name) and name != _JSON}
    return packed(KeptMemory(memory).metadata if metadata is None else metadata, **(before | known))


def _is_known(name: str) -> bool:
    """Whether an entry holds what mem0 knows of a memory, beside what the caller keeps with it."""
    return name in LABELS or name.startswith(_PREFIX)


def _text(value: Scalar) -> str | None:
    return None if value is None else str(value)
