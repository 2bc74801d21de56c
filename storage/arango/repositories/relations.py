"""Relations between entities in ArangoDB: the edges of `entity_graph` (000 §5.2)."""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from memory.ports.stores.repositories import RelationRepository
from memory.values.entities import EntityRelation, EntityStatus

from ...shared.checks import check_owner
from ...shared.graphs import check_depth, check_ends, walk
from ..engine import documents
from ..engine import queries as aql
from ..engine.documents import ArangoRepository
from ..engine.keys import Document, key_of, order_of
from ..engine.transaction import Query

_COLLECTION = "entity_relations"
_ACTIVE = EntityStatus.ACTIVE.value


class ArangoRelations(ArangoRepository, RelationRepository):
    """The relations between one user's entities."""

    @override
    async def store(self, relations: Sequence[EntityRelation]) -> None:
        check_owner(relations, self._user_id)
        ends = [end for relation in relations for end in (relation.source_entity_id, relation.target_entity_id)]

        def work(query: Query) -> None:
            keys = {end: key_of(self._user_id, end) for end in ends}
            stored = documents.existing(query, "entities", keys.values())
            check_ends(ends, [end for end, key in keys.items() if key in stored])
            documents.put(query, _COLLECTION, [self._document(relation) for relation in relations])

        await self._transaction.write(work)

    @override
    async def get(self, relation_ids: Sequence[str]) -> list[EntityRelation]:
        return await self._get(EntityRelation, _COLLECTION, relation_ids)

    @override
    async def of(self, entity_id: str, *, limit: int = 100) -> list[EntityRelation]:
        def work(query: Query) -> list[EntityRelation]:
            bodies = query(aql.RELATIONS_OF, vertex=self._vertex(entity_id), limit=max(limit, 0))
            return documents.parse(EntityRelation, bodies)

        return await self._transaction.read(work)

    @override
    async def related(
        self, entity_id: str, *, depth: int = 1, limit: int = 100, min_confidence: float = 0.0
    ) -> Mapping[str, int]:
        check_depth(depth)
        vertex = self._vertex(entity_id)

        def work(query: Query) -> Mapping[str, int]:
            if not documents.existing(query, "entities", [key_of(self._user_id, entity_id)]):
                return {}
            if min_confidence <= 0:
                return dict(query(aql.RELATED, vertex=vertex, depth=depth, limit=max(limit, 0), active=_ACTIVE))

            def step(frontier: Sequence[str], most: int) -> list[str]:
                vertices = [self._vertex(entity) for entity in frontier]
                return query(
                    aql.RELATED_BY_ONE_HOP, frontier=vertices, least=min_confidence, limit=most, active=_ACTIVE
                )

            return walk(entity_id, step, depth=depth, limit=limit)

        return await self._transaction.read(work)

    @override
    async def delete(self, relation_ids: Sequence[str]) -> int:
        keys = [key_of(self._user_id, relation_id) for relation_id in relation_ids]
        return await self._transaction.write(lambda query: documents.remove(query, _COLLECTION, keys))

    @override
    async def page(self, *, after: str | None = None, limit: int) -> list[EntityRelation]:
        return await self._page(EntityRelation, _COLLECTION, after=after, limit=limit)

    @override
    async def count(self) -> int:
        return await self._count(_COLLECTION)

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
