"""Entities in ArangoDB, with a collection of their names for exact search."""

from collections.abc import Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.repositories import Access, EntityRepository
from memory.ports.vectors import Collection
from memory.values.entities import Entity, EntityStatus

from ...shared.changes import accessed, listed_as, mentioned
from ...shared.checks import check_moment, check_owner
from ...shared.names import HEAD_LENGTH, PREFIX_LENGTH, comparable, heads, names_of, position_of, prefixes, word_borders
from ...shared.timestamps import microseconds
from ..engine import items as items
from ..engine import queries as aql
from ..engine.documents import Document, key_of, order_of
from ..engine.transaction import ArangoTransaction, Query

_COLLECTION = "entities"
_ACTIVE = EntityStatus.ACTIVE.value


class ArangoEntities(EntityRepository):
    """The entities of one user."""

    def __init__(self, transaction: ArangoTransaction) -> None:
        self._transaction = transaction
        self._user_id = transaction.user_id

    @override
    async def get(self, entity_ids: Sequence[str]) -> list[Entity]:
        return await self._transaction.read(
            lambda query: items.by_id(query, _COLLECTION, Entity, self._user_id, entity_ids)
        )

    @override
    async def get_by_value(self, value: str) -> Entity | None:
        def work(query: Query) -> Entity | None:
            found = query(aql.BY_NAME, name=comparable(value), active=_ACTIVE)
            return next(iter(items.values(Entity, found)), None)

        return await self._transaction.read(work)

    @override
    async def found_in(self, text: str) -> list[Entity]:
        """Active entities whose name or an alias occurs in the text: longest name first, then first in the text.

        The text is probed twice: which of its beginnings does any name have, and then which whole names. The work
        depends on the length of the text and hardly on how many entities there are.
        """

        def work(query: Query) -> list[Entity]:
            where = comparable(text)
            borders = word_borders(where)
            places = prefixes(where, borders)
            probes: set[str] = set()
            for prefix in query(aql.KNOWN_PREFIXES, prefixes=list(places)):
                probes |= heads(where, borders, prefix, places[prefix])
            rows = query(aql.BY_HEADS, heads=list(probes), active=_ACTIVE) if probes else []
            ranked = sorted(
                (-len(name), position, entity_id, body)
                for name, entity_id, body in rows
                if (position := position_of(name, where, borders)) is not None
            )
            bodies: dict[str, str] = {}
            for _, _, entity_id, body in ranked:
                bodies.setdefault(entity_id, body)
            return items.values(Entity, bodies.values())

        return await self._transaction.read(work)

    @override
    async def recent(self, *, limit: int) -> list[Entity]:
        return await self._transaction.read(
            lambda query: items.values(Entity, query(aql.RECENT_ENTITIES, active=_ACTIVE, limit=max(limit, 0)))
        )

    @override
    async def page(self, *, after: str | None = None, limit: int) -> list[Entity]:
        return await self._transaction.read(
            lambda query: items.values(Entity, items.page(query, _COLLECTION, after=after, limit=limit))
        )

    @override
    async def save(self, entities: Sequence[Entity]) -> None:
        check_owner(entities, self._user_id)
        await self._transaction.write(lambda query: self._save(query, entities))

    @override
    async def update_mention(self, entity_id: str, *, at: datetime) -> bool:
        check_moment(at, "at")

        def work(query: Query) -> bool:
            found = items.by_id(query, _COLLECTION, Entity, self._user_id, [entity_id])
            self._save(query, [mentioned(entity, at) for entity in found])
            return bool(found)

        return await self._transaction.write(work)

    @override
    async def delete(self, entity_ids: Sequence[str]) -> int:
        def work(query: Query) -> int:
            there = items.delete(self._transaction, query, _COLLECTION, Collection.ENTITIES, entity_ids)
            query(aql.REMOVE_OLD_NAMES, entities=list(there), kept=[])
            return len(there)

        return await self._transaction.write(work)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        def work(query: Query) -> None:
            for access in accesses:
                found = items.by_id(query, _COLLECTION, Entity, self._user_id, [access.item_id])
                documents = [_document(self._user_id, accessed(entity, access)) for entity in found]
                items.put_in_place(self._transaction, query, _COLLECTION, documents)

        await self._transaction.write(work)

    def _save(self, query: Query, entities: Sequence[Entity]) -> None:
        latest = {entity.entity_id: entity for entity in entities}
        if not latest:
            return
        documents = [_document(self._user_id, entity) for entity in latest.values()]
        items.put_in_place(self._transaction, query, _COLLECTION, documents)
        names = [name for entity in latest.values() for name in _names(self._user_id, entity)]
        query(
            aql.REMOVE_OLD_NAMES,
            entities=[document["_key"] for document in documents],
            kept=[name["_key"] for name in names],
        )
        items.put(query, "entity_names", names)
        items.queue(self._transaction, query, Collection.ENTITIES, latest)


def _document(user_id: str, entity: Entity) -> Document:
    return {
        "_key": key_of(user_id, entity.entity_id),
        "entity_id": entity.entity_id,
        "order": order_of(entity.entity_id),
        "status": listed_as(entity),
        "last_mentioned_us": microseconds(entity.last_mentioned),
        "body": entity.model_dump_json(),
    }


def _names(user_id: str, entity: Entity) -> list[Document]:
    return [
        {
            "_key": key_of(user_id, entity.entity_id, name),
            "entity_key": key_of(user_id, entity.entity_id),
            "name": name,
            "rank": rank,
            "head": name[:HEAD_LENGTH],
            "prefix": name[:PREFIX_LENGTH],
        }
        for rank, name in enumerate(names_of(entity))
    ]
