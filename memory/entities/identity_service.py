"""What a caller may do to entities besides having them learned: names, merging, splitting, relations (000 §5.4, §7)."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from ..ports.facts import MAX_DEPTH
from ..ports.record import SystemOfRecord, UnitOfWork
from ..relations.weights import strength
from ..values.base import Scalar, Value, utc_now
from ..values.changes import Change, ChangedItem, ChangeKind, new_change
from ..values.entities import Entity, EntityRelation
from ..values.errors import InvalidField, NotFound
from ..values.ids import relation_id
from ..values.mentions import EntitySubtype
from . import identity
from .identity import ChangeContext
from .names import existing, referred

MAX_RELATED = 100


class RelatedEntity(Value):
    """An entity that hangs together with another one.

    `hops` is how many relations lie between the two; `relations` are those between just them, strongest first;
    `strength` is what these weigh now, all together (`memory.relations.weights`).
    """

    entity: Entity
    hops: int
    strength: float
    relations: tuple[EntityRelation, ...] = ()


class EntityIdentityService:
    """Each call is one transaction, and each change can be undone by its `change_id`.

    Where an entity is asked for, its id will do, its name and any alias.

    Args:
        record: Keeps entities, relations and the log of changes.
        changed: Called with the user's id after each change, so that the vector index follows soon.
        now: The clock.
    """

    def __init__(
        self, *, record: SystemOfRecord, changed: Callable[[str], None], now: Callable[[], datetime] = utc_now
    ) -> None:
        self._record = record
        self._changed = changed
        self._now = now

    async def add_alias(self, entity_id: str, alias: str, *, user_id: str) -> tuple[Entity, Change | None]:
        """Gives an entity one more name; see `governance.identity.add_alias` for what it raises."""
        async with self._changing(user_id) as (unit, deed):
            return await identity.add_alias(unit, entity_id, alias, deed)

    async def remove_alias(self, entity_id: str, alias: str, *, user_id: str) -> tuple[Entity, Change | None]:
        """Takes an alias off; see `governance.identity.remove_alias` for what it raises."""
        async with self._changing(user_id) as (unit, deed):
            return await identity.remove_alias(unit, entity_id, alias, deed)

    async def edit(
        self,
        entity_id: str,
        *,
        user_id: str,
        name: str | None = None,
        subtype: EntitySubtype | None = None,
        attributes: dict[str, Scalar] | None = None,
    ) -> tuple[Entity, list[Change]]:
        """Renames and describes an entity; what is None stays as it is. Renaming and describing are a change each.

        Raises:
            InvalidField: The name is no name.
            NotFound: There is no such entity.
            Conflict: The name is another entity's, or the entity is archived.
        """
        changes: list[Change | None] = []
        async with self._changing(user_id) as (unit, deed):
            entity = await existing(unit, entity_id)
            entity_id = entity.entity_id
            if name is not None:
                entity, change = await identity.rename(unit, entity_id, name, deed)
                changes.append(change)
            if subtype is not None or attributes is not None:
                entity, change = await identity.describe(unit, entity_id, deed, subtype=subtype, attributes=attributes)
                changes.append(change)
        return entity, [change for change in changes if change is not None]

    async def merge(self, into: str, merged: str, *, user_id: str) -> tuple[Entity, Change]:
        """Makes two entities one; see `governance.identity.merge` for what it raises."""
        async with self._changing(user_id) as (unit, deed):
            return await identity.merge(unit, into, merged, deed)

    async def split(
        self,
        entity_id: str,
        *,
        user_id: str,
        names: Sequence[str] = (),
        memory_ids: Sequence[str] = (),
        name: str = "",
    ) -> tuple[Entity, Change]:
        """Takes names or memories out into a new entity; see `governance.identity.split` for what it raises."""
        async with self._changing(user_id) as (unit, deed):
            return await identity.split(unit, entity_id, deed, names=names, memory_ids=memory_ids, name=name)

    async def forget(self, entity_id: str, *, user_id: str) -> Change:
        """Deletes an entity; see `governance.identity.forget`.

        Raises:
            NotFound: There is no such entity.
        """
        async with self._changing(user_id) as (unit, deed):
            return await identity.forget(unit, entity_id, deed)

    async def relate(
        self,
        source: str,
        relation_type: str,
        target: str,
        *,
        user_id: str,
        description: str | None = None,
        confidence: float = 1.0,
    ) -> tuple[EntityRelation, Change]:
        """States a relation between two entities, in place of the one of this type that there is.

        Raises:
            InvalidField: Both ends are the same.
            NotFound: An end is not there.
            Conflict: An end is archived or was merged into another.
        """
        async with self._changing(user_id) as (unit, deed):
            source = (await existing(unit, source, field="source")).entity_id
            target = (await existing(unit, target, field="target")).entity_id
            if source == target:
                raise InvalidField("a relation needs two entities", field="target", allowed="another entity")
            id_ = relation_id(user_id, source, relation_type, target)
            before = next(iter(await unit.relations.get([id_])), None)
            relation = EntityRelation(
                relation_id=id_,
                user_id=user_id,
                source_entity_id=source,
                target_entity_id=target,
                relation_type=relation_type,
                description=description,
                confidence=confidence,
                weight=1 + (before.weight if before else 0),
                created_at=before.created_at if before else deed.at,
                updated_at=deed.at,
            )
            await unit.relations.store([relation])
            change = _change(ChangeKind.OVERWRITE, deed, before, relation, "stated by the user")
            await unit.changes.append([change])
        return relation, change

    async def unrelate(self, relation_id: str, *, user_id: str) -> Change:
        """Deletes a relation.

        Raises:
            NotFound: There is no such relation.
        """
        async with self._changing(user_id) as (unit, deed):
            found = await unit.relations.get([relation_id])
            if not found:
                raise NotFound(f"relation_id: there is no relation {relation_id!r}.")
            await unit.relations.delete([relation_id])
            change = _change(ChangeKind.DELETE, deed, found[0], None, "forgotten by the user")
            await unit.changes.append([change])
        return change

    async def relations(self, entity_id: str, *, user_id: str, limit: int = MAX_RELATED) -> list[EntityRelation]:
        """The relations of an entity, strongest now first.

        Raises:
            NotFound: There is no such entity.
        """
        async with self._record.reading(user_id=user_id) as unit:
            entity = await referred(unit, entity_id)
            found = await unit.relations.of(entity.entity_id, limit=2**31 - 1)
        now = self._now()
        return sorted(found, key=lambda one: (-strength(one, now), one.relation_id))[:limit]

    async def get_related(
        self, entity_id: str, *, user_id: str, depth: int = 1, limit: int = 20, min_confidence: float = 0.0
    ) -> list[RelatedEntity]:
        """Entities that hang together with one (000 §5.4), nearest first and of those the strongest.

        Raises:
            InvalidField: `depth` or `limit` is out of bounds.
            NotFound: There is no such entity.
        """
        if not 1 <= limit <= MAX_RELATED:
            raise InvalidField(f"limit {limit} is out of bounds", field="limit", allowed=f"1 to {MAX_RELATED}")
        if not 1 <= depth <= MAX_DEPTH:
            raise InvalidField(f"depth {depth} is out of bounds", field="depth", allowed=f"1 to {MAX_DEPTH}")
        async with self._record.reading(user_id=user_id) as unit:
            entity_id = (await referred(unit, entity_id)).entity_id
            hops = await unit.relations.related(entity_id, depth=depth, min_confidence=min_confidence)
            entities = await unit.entities.get(list(hops))
            direct = await unit.relations.of(entity_id, limit=2**31 - 1)
        now = self._now()
        found = []
        for entity in entities:
            ends = {entity.entity_id, entity_id}
            own = [one for one in direct if {one.source_entity_id, one.target_entity_id} == ends]
            own.sort(key=lambda one: -strength(one, now))
            weight = sum(strength(one, now) for one in own)
            found.append(
                RelatedEntity(entity=entity, hops=hops[entity.entity_id], strength=weight, relations=tuple(own))
            )
        found.sort(key=lambda one: (one.hops, -one.strength, one.entity.entity_id))
        return found[:limit]

    @asynccontextmanager
    async def _changing(self, user_id: str) -> AsyncIterator[tuple[UnitOfWork, ChangeContext]]:
        async with self._record.writing(user_id=user_id) as unit:
            yield unit, ChangeContext(user_id=user_id, at=self._now())
            await unit.commit()
        self._changed(user_id)


def _change(
    kind: ChangeKind, deed: ChangeContext, before: EntityRelation | None, after: EntityRelation | None, reason: str
) -> Change:
    one = after or before
    ends = () if one is None else (one.source_entity_id, one.target_entity_id)
    return new_change(
        kind,
        user_id=deed.user_id,
        at=deed.at,
        actor=deed.actor,
        reason=deed.reason or reason,
        items=[ChangedItem.of(before, after)],
        about=ends,
    )
