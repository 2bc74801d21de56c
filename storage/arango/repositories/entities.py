"""Entities in ArangoDB, with a collection of their names for exact search."""

from collections.abc import Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.repositories import Access, EntityRepository
from memory.ports.stores.vectors import Collection
from memory.values.entities import Entity, EntityStatus

from ...shared.checks import check_aware, check_owner
from ...shared.names import HEAD_LENGTH, PREFIX_LENGTH, comparable, heads, names_of, position_of, prefixes, word_borders
from ...shared.stored_values import status_column, timestamp_us, with_mention
from ..engine import documents
from ..engine import queries as aql
from ..engine.documents import ArangoRepository
from ..engine.keys import Document, key_of, order_of
from ..engine.transaction import Query

_COLLECTION = "entities"
_ACTIVE = EntityStatus.ACTIVE.value


class ArangoEntities(ArangoRepository, EntityRepository):
    """The entities of one user."""

    @override
    async def get(self, entity_ids: Sequence[str]) -> list[Entity]:
        return await self._get(Entity, _COLLECTION, entity_ids)

    @override
    async def get_by_value(self, value: str) -> Entity | None:
        found = await self._values(Entity, aql.BY_NAME, name=comparable(value), active=_ACTIVE)
        return next(iter(found), None)

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
            return documents.parse(Entity, bodies.values())

        return await self._transaction.read(work)

    @override
    async def recent(self, *, limit: int) -> list[Entity]:
        return await self._values(Entity, aql.RECENT_ENTITIES, active=_ACTIVE, limit=max(limit, 0))

    @override
    async def page(self, *, after: str | None = None, limit: int) -> list[Entity]:
        return await self._page(Entity, _COLLECTION, after=after, limit=limit)

    @override
    async def oldest(self, *, after: str | None = None, limit: int) -> list[Entity]:
        return await self._page_behind(Entity, aql.OLDEST_ENTITIES, place=aql.ENTITY_PLACE, after=after, limit=limit)

    @override
    async def save(self, entities: Sequence[Entity]) -> None:
        check_owner(entities, self._user_id)
        await self._transaction.write(lambda query: self._save(query, entities))

    @override
    async def update_mention(self, entity_id: str, *, at: datetime) -> bool:
        check_aware(at, "at")

        def work(query: Query) -> bool:
            found = documents.by_id(query, _COLLECTION, Entity, self._user_id, [entity_id])
            self._save(query, [with_mention(entity, at) for entity in found])
            return bool(found)

        return await self._transaction.write(work)

    @override
    async def delete(self, entity_ids: Sequence[str]) -> int:
        def work(query: Query) -> int:
            keys = documents.delete(self._transaction, query, _COLLECTION, Collection.ENTITIES, entity_ids)
            query(aql.REMOVE_OLD_NAMES, entities=keys, kept=[])
            return len(keys)

        return await self._transaction.write(work)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        def work(query: Query) -> None:
            entities = documents.accessed_by_id(query, _COLLECTION, Entity, self._user_id, accesses)
            changed = [_document(self._user_id, entity) for entity in entities]
            documents.put_in_sequence(self._transaction, query, _COLLECTION, changed)

        await self._transaction.write(work)

    def _save(self, query: Query, entities: Sequence[Entity]) -> None:
        latest = {entity.entity_id: entity for entity in entities}
        if not latest:
            return
        saved = [_document(self._user_id, entity) for entity in latest.values()]
        documents.put_in_sequence(self._transaction, query, _COLLECTION, saved)
        names = [name for entity in latest.values() for name in _names(self._user_id, entity)]
        query(
            aql.REMOVE_OLD_NAMES,
            entities=[document["_key"] for document in saved],
            kept=[name["_key"] for name in names],
        )
        documents.put(query, "entity_names", names)
        documents.enqueue(self._transaction, query, Collection.ENTITIES, latest)


def _document(user_id: str, entity: Entity) -> Document:
    return {
        "_key": key_of(user_id, entity.entity_id),
        "entity_id": entity.entity_id,
        "order": order_of(entity.entity_id),
        "status": status_column(entity),
        "last_mentioned_us": timestamp_us(entity.last_mentioned),
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
