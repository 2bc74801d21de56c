"""Putting back what a change touched: reading, writing and comparing the values that it holds snapshots of."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import JsonValue, ValidationError

from ..ports.record import UnitOfWork
from ..relations.weights import strength
from ..values.base import Value
from ..values.changes import KINDS, ChangedItem, ItemKind, JsonObject
from ..values.entities import Entity, EntityRelation
from ..values.errors import Conflict
from ..values.records import Memory
from ..values.typed_memories import TypedMemory

COUNTS = frozenset({"mention_count", "access_count"})
"""What was counted since a change is kept when the change is undone."""
TIMES = frozenset({"first_mentioned", "last_mentioned", "last_accessed_at", "accessed_at", "updated_at"})
"""Moments that using a thing moves: where they moved since, they stay."""
GROWING = frozenset({"aliases", "entity_ids", "related_entities"})
"""Lists of which each element stands for itself: what was added or taken away since a change stays so."""
LATEST = frozenset({"description", "evidence", "evidence_start", "evidence_end"})
"""What a relation says of its latest observation: where there was one since, it stays."""
READING = frozenset({"access_count", "last_accessed_at", "accessed_at", "version"})
"""What reading a thing changes, which is no reason to keep it."""

_TYPES = {kind: type_ for type_, kind in KINDS.items()}
_WRITE_FIRST = (ItemKind.ENTITY, ItemKind.MEMORY, ItemKind.TYPED_MEMORY, ItemKind.RELATION)
"""Entities before the relations between them; deleting goes the other way."""


async def load(unit: UnitOfWork, items: Iterable[ChangedItem]) -> dict[tuple[ItemKind, str], Value]:
    """The things as they are now, by kind and id; those that do not exist are left out."""
    ids: dict[ItemKind, list[str]] = {}
    for item in items:
        ids.setdefault(item.kind, []).append(item.item_id)
    found: dict[tuple[ItemKind, str], Value] = {}
    for kind, wanted in ids.items():
        match kind:
            case ItemKind.ENTITY:
                found |= {(kind, one.entity_id): one for one in await unit.entities.get(wanted)}
            case ItemKind.RELATION:
                found |= {(kind, one.relation_id): one for one in await unit.relations.get(wanted)}
            case ItemKind.MEMORY:
                found |= {(kind, one.memory_id): one for one in await unit.memories.get(wanted)}
            case ItemKind.TYPED_MEMORY:
                found |= {(kind, one.memory_id): one for one in await unit.typed_memories.get(wanted)}
    return found


async def write(unit: UnitOfWork, values: Sequence[Value], gone: Sequence[ChangedItem]) -> None:
    """Saves values and deletes the things that should not exist; the vector index follows through the outbox."""
    for kind in reversed(_WRITE_FIRST):
        ids = [item.item_id for item in gone if item.kind is kind]
        match kind:
            case ItemKind.ENTITY:
                await unit.entities.delete(ids)
            case ItemKind.RELATION:
                await unit.relations.delete(ids)
            case ItemKind.MEMORY:
                await unit.memories.delete(ids)
            case ItemKind.TYPED_MEMORY:
                await unit.typed_memories.delete(ids)
    await unit.entities.save([value for value in values if isinstance(value, Entity)])
    await unit.memories.save([value for value in values if isinstance(value, Memory)])
    await unit.typed_memories.save([value for value in values if isinstance(value, TypedMemory)])
    await unit.relations.store([value for value in values if isinstance(value, EntityRelation)])


def value_of(kind: ItemKind, snapshot: Mapping[str, Any]) -> Value:
    """The value of which this is a snapshot.

    Raises:
        Conflict: It was written by a version of Jiyi whose values were different.
    """
    try:
        return _TYPES[kind].model_validate(dict(snapshot))
    except ValidationError as error:
        raise Conflict(f"The change was recorded by another version of Jiyi: its {kind} cannot be read.") from error


def reverted(before: JsonObject, after: JsonObject, now: JsonObject) -> tuple[JsonObject, list[str]]:
    """The thing as it is now with what a change did to it taken back, and the fields that stand in the way.

    A field that the change did not touch stays as it is now. One that it did touch gets its old value where it is
    still as the change left it. Where it moved since: counts, lists and the weight of a relation keep what was added
    since, moments and evidence stay, confidence gets its old value; anything else stands in the way.
    """
    result, moved = dict(now), []
    for name in before.keys() & after.keys() & now.keys():
        old, left, current = before[name], after[name], now[name]
        if name == "version":
            result[name] = _number(current) + 1
        elif old == left or (name in TIMES | LATEST and current != left):
            continue
        elif name in GROWING:
            result[name] = _regrown(old, left, current)
        elif name == "weight" and current != left:
            result[name] = weight_without(after, now, instead=before)
        elif name in COUNTS:
            result[name] = max(0, _number(old) + _number(current) - _number(left))
        elif current == left or name == "confidence":
            result[name] = old
        else:
            moved.append(name)
    return result, sorted(moved)


def weight_without(after: JsonObject, now: JsonObject, *, instead: JsonObject | None = None) -> float:
    """What a relation weighs now without what a change left, and with what there was `instead`; never below 0."""
    relation = EntityRelation.model_validate(now)
    gone = strength(EntityRelation.model_validate(after), relation.updated_at)
    back = strength(EntityRelation.model_validate(instead), relation.updated_at) if instead else 0.0
    return max(0.0, relation.weight - gone + back)


def used_since(after: JsonObject, now: JsonObject) -> list[str]:
    """Fields of a thing that a change created and that something besides reading has changed since."""
    return sorted(name for name in after.keys() & now.keys() - READING if after[name] != now[name])


def _regrown(old: Any, left: Any, current: Any) -> list[JsonValue]:
    kept = [one for one in old if one in current or one not in left]
    return [*kept, *(one for one in current if one not in left and one not in kept)]


def _number(value: Any) -> int:
    return int(value)
