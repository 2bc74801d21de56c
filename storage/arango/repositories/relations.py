"""Relations between entities in ArangoDB: the edges of `entity_graph` (000 §5.2)."""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from memory.ports.repositories import RelationRepository
from memory.values.entities import EntityRelation

from ...shared.checks import check_depth, check_ends, check_owner
from ...shared.walks import walk
from ..engine import items as items
from ..engine import queries as aql
from ..engine.documents import Document, key_of, order_of
from ..engine.transaction import ArangoTransaction, Query

_COLLECTION = "entity_relations"


class ArangoRelations(RelationRepository):
    """The relations between one user's entities."""

    def __init__(self, transaction: ArangoTransaction) -> None:
        self._transaction = transaction
        self._user_id = transaction.user_id

    @override
    async def store(self, relations: Sequence[EntityRelation]) -> None:
        check_owner(relations, self._user_id)
        ends = [end for relation in relations for end in (relation.source_entity_id, relation.target_entity_id)]

        def work(query: Query) -> None:
            keys = {end: key_of(self._user_id, end) for end in ends}
            there = items.known(query, "entities", keys.values())
            check_ends(ends, [end for end, key in keys.items() if key in there])
            items.put(query, _COLLECTION, [self._document(relation) for relation in relations])

        await self._transaction.write(work)

    @override
    async def get(self, relation_ids: Sequence[str]) -> list[EntityRelation]:
        return await self._transaction.read(
            lambda query: items.by_id(query, _COLLECTION, EntityRelation, self._user_id, relation_ids)
        )

    @override
    async def of(self, entity_id: str, *, limit: int = 100) -> list[EntityRelation]:
        def work(query: Query) -> list[EntityRelation]:
            bodies = query(aql.RELATIONS_OF, vertex=self._vertex(entity_id), limit=max(limit, 0))
            return items.values(EntityRelation, bodies)

        return await self._transaction.read(work)

    @override
    async def related(
        self, entity_id: str, *, depth: int = 1, limit: int = 100, min_confidence: float = 0.0
    ) -> Mapping[str, int]:
        check_depth(depth)
        vertex = self._vertex(entity_id)

        def work(query: Query) -> Mapping[str, int]:
            if not items.known(query, "entities", [key_of(self._user_id, entity_id)]):
                return {}
            if min_confidence <= 0:
                return dict(query(aql.RELATED, vertex=vertex, depth=depth, limit=max(limit, 0)))

            def step(frontier: Sequence[str], most: int) -> list[str]:
                vertices = [self._vertex(one) for one in frontier]
                return query(aql.RELATED_BY_ONE_HOP, frontier=vertices, least=min_confidence, limit=most)

            return walk(entity_id, step, depth=depth, limit=limit)

        return await self._transaction.read(work)

    @override
    async def delete(self, relation_ids: Sequence[str]) -> int:
        keys = [key_of(self._user_id, one) for one in relation_ids]
        return await self._transaction.write(lambda query: items.remove(query, _COLLECTION, keys))

    @override
    async def count(self) -> int:
        return await items.count(self._transaction, _COLLECTION)

    def _vertex(self, entity_id: str) -> str:
        return f"entities/{key_of(self._user_id, entity_id)}"

    def _document(self, relation: EntityRelation) -> Document:
        return {
            "_key": key_of(self._user_id, relation.relation_id),
            "_from": self._vertex(relation.source_entity_id),
            "_to": self._vertex(relation.target_entity_id),
            "relation_id": relation.relation_id,
            "source_entity_id": relation.source_entity_id,
            "target_entity_id": relation.target_entity_id,
            "relation_type": relation.relation_type,
            "created_at": relation.created_at.isoformat(),
            "confidence": relation.confidence,
            "order": order_of(relation.relation_id),
            "body": relation.model_dump_json(),
        }
