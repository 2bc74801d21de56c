"""The service that edits entities and relations on a caller's request (000 §5.4, §7)."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..ports.stores.repositories import MAX_DEPTH
from ..relations.strength import current_strength
from ..values.base import Scalar, Value, utc_now
from ..values.entities import Entity, EntityRelation
from ..values.errors import InvalidField, NotFound
from ..values.governance.changes import Change, ChangedItem, ChangeKind
from ..values.ids import relation_id
from ..values.understanding.mentions import EntitySubtype
from . import edits, merging, splitting
from .edits import ChangeContext, record_change
from .lookup import get_editable, get_entity
from .seeding import missing_seeds

MAX_RELATED = 100


class RelatedEntity(Value):
    """An entity that is related to another one.

    Args:
        entity: The entity.
        hops: Number of relations between the two.
        strength: Sum of the current strengths of `relations` (`memory.relations.strength`).
        relations: The relations directly between the two, strongest first.
    """

    entity: Entity
    hops: int
    strength: float
    relations: tuple[EntityRelation, ...] = ()


class EntityEditor:
    """Edits entities and relations; each call is one transaction, and each change can be undone by its `change_id`.

    Every parameter that names an entity takes its id, its name or an alias.

    Args:
        record: Stores entities, relations and the log of changes.
        on_change: Called with the user's id after each change, so that the vector index is updated soon.
        now: The clock.
    """

    def __init__(
        self, *, record: SystemOfRecord, on_change: Callable[[str], None], now: Callable[[], datetime] = utc_now
    ) -> None:
        self._record = record
        self._on_change = on_change
        self._now = now

    async def remember(
        self,
        name: str,
        *,
        user_id: str,
        subtype: EntitySubtype | None = None,
        attributes: Mapping[str, Scalar] | None = None,
    ) -> tuple[Entity, Change | None]:
        """Stores an entity at the user's request; raises what `edits.remember` raises."""
        async with self._transaction(user_id) as (unit, context):
            return await edits.remember(unit, name, context, subtype=subtype, attributes=attributes)

    async def add_alias(self, entity_id: str, alias: str, *, user_id: str) -> tuple[Entity, Change | None]:
        """Adds an alias; raises what `edits.add_alias` raises."""
        async with self._transaction(user_id) as (unit, context):
            return await edits.add_alias(unit, entity_id, alias, context)

    async def remove_alias(self, entity_id: str, alias: str, *, user_id: str) -> tuple[Entity, Change | None]:
        """Removes an alias; raises what `edits.remove_alias` raises."""
        async with self._transaction(user_id) as (unit, context):
            return await edits.remove_alias(unit, entity_id, alias, context)

    async def edit(
        self,
        entity_id: str,
        *,
        user_id: str,
        name: str | None = None,
        subtype: EntitySubtype | None = None,
        attributes: dict[str, Scalar] | None = None,
    ) -> tuple[Entity, list[Change]]:
        """Renames and describes an entity, each as a change of its own; what is None stays as it is.

        Raises:
            InvalidField: The name is not valid.
            NotFound: There is no such entity.
            Conflict: The name belongs to another entity, or the entity is archived.
        """
        changes: list[Change | None] = []
        async with self._transaction(user_id) as (unit, context):
            entity = await get_editable(unit, entity_id)
            entity_id = entity.entity_id
            if name is not None:
                entity, change = await edits.rename(unit, entity_id, name, context)
                changes.append(change)
            if subtype is not None or attributes is not None:
                entity, change = await edits.describe(unit, entity_id, context, subtype=subtype, attributes=attributes)
                changes.append(change)
        return entity, [change for change in changes if change is not None]

    async def merge(self, into: str, merged: str, *, user_id: str) -> tuple[Entity, Change]:
        """Merges two entities; raises what `merging.merge` raises."""
        async with self._transaction(user_id) as (unit, context):
            return await merging.merge(unit, into, merged, context)

    async def split(
        self, entity_id: str, *, user_id: str, names: Sequence[str] = (), memory_ids: Sequence[str] = (), name: str = ""
    ) -> tuple[Entity, Change]:
        """Splits names or memories off into a new entity; raises what `splitting.split` raises."""
        async with self._transaction(user_id) as (unit, context):
            return await splitting.split(unit, entity_id, context, names=names, memory_ids=memory_ids, name=name)

    async def delete(self, entity_id: str, *, user_id: str) -> Change:
        """Deletes an entity; the memories that mention it stay.

        Raises:
            NotFound: There is no such entity.
        """
        async with self._transaction(user_id) as (unit, context):
            return await merging.delete_entity(unit, entity_id, context)

    async def add_relation(
        self,
        source: str,
        relation_type: str,
        target: str,
        *,
        user_id: str,
        description: str | None = None,
        confidence: float = 1.0,
    ) -> tuple[EntityRelation, Change]:
        """Adds a relation between two entities, or replaces the existing one of this type.

        Raises:
            InvalidField: Source and target are the same entity.
            NotFound: One of them does not exist.
            Conflict: One of them is archived or was merged into another entity.
        """
        async with self._transaction(user_id) as (unit, context):
            source = (await get_editable(unit, source, field="source")).entity_id
            target = (await get_editable(unit, target, field="target")).entity_id
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
                created_at=before.created_at if before else context.at,
                updated_at=context.at,
            )
            await unit.relations.store([relation])
            items, ends = [ChangedItem.of(before, relation)], (source, target)
            reason = "stated by the user"
            kind = ChangeKind.EDIT if before else ChangeKind.ADD
            change = await record_change(unit, kind, items, context, reason, about=ends)
        return relation, change

    async def delete_relation(self, relation_id: str, *, user_id: str) -> Change:
        """Deletes a relation.

        Raises:
            NotFound: There is no such relation.
        """
        async with self._transaction(user_id) as (unit, context):
            found = await unit.relations.get([relation_id])
            if not found:
                raise NotFound(f"relation_id: there is no relation {relation_id!r}.")
            [relation] = found
            await unit.relations.delete([relation_id])
            items, ends = [ChangedItem.of(relation, None)], (relation.source_entity_id, relation.target_entity_id)
            reason = "forgotten by the user"
            return await record_change(unit, ChangeKind.DELETE, items, context, reason, about=ends)

    async def list_relations(self, entity_id: str, *, user_id: str, limit: int = MAX_RELATED) -> list[EntityRelation]:
        """The relations of an entity, strongest first.

        Raises:
            NotFound: There is no such entity.
        """
        async with self._record.reading(user_id=user_id) as unit:
            entity = await get_entity(unit, entity_id)
            relations = await merging.relations_of(unit, entity.entity_id)
        now = self._now()
        relations.sort(key=lambda relation: (-current_strength(relation, now), relation.relation_id))
        return relations[:limit]

    async def get_related(
        self, entity_id: str, *, user_id: str, depth: int = 1, limit: int = 20, min_confidence: float = 0.0
    ) -> list[RelatedEntity]:
        """Entities that are related to one (000 §5.4): those with the fewest hops first, of these the strongest.

        Raises:
            InvalidField: `depth` or `limit` is out of bounds.
            NotFound: There is no such entity.
        """
        if not 1 <= limit <= MAX_RELATED:
            raise InvalidField(f"limit {limit} is out of bounds", field="limit", allowed=f"1 to {MAX_RELATED}")
        if not 1 <= depth <= MAX_DEPTH:
            raise InvalidField(f"depth {depth} is out of bounds", field="depth", allowed=f"1 to {MAX_DEPTH}")
        async with self._record.reading(user_id=user_id) as unit:
            entity_id = (await get_entity(unit, entity_id)).entity_id
            hops = await unit.relations.related(entity_id, depth=depth, min_confidence=min_confidence)
            entities = await unit.entities.get(list(hops))
            relations = await merging.relations_of(unit, entity_id)
        now = self._now()
        related = []
        for entity in entities:
            ends = {entity.entity_id, entity_id}
            direct = [
                relation for relation in relations if {relation.source_entity_id, relation.target_entity_id} == ends
            ]
            direct.sort(key=lambda relation: -current_strength(relation, now))
            related.append(
                RelatedEntity(
                    entity=entity,
                    hops=hops[entity.entity_id],
                    strength=sum(current_strength(relation, now) for relation in direct),
                    relations=tuple(direct),
                )
            )
        related.sort(key=lambda neighbour: (neighbour.hops, -neighbour.strength, neighbour.entity.entity_id))
        return related[:limit]

    @asynccontextmanager
    async def _transaction(self, user_id: str) -> AsyncIterator[tuple[UnitOfWork, ChangeContext]]:
        """Commits where the body raises nothing, then reports the change; the preloaded entities are there."""
        at = self._now()
        async with self._record.writing(user_id=user_id) as unit:
            await unit.entities.save(await missing_seeds(unit, user_id, at=at))
            yield unit, ChangeContext(user_id=user_id, at=at)
            await unit.commit()
        self._on_change(user_id)
