"""Relations between entities in memory."""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from memory.ports.stores.repositories import RelationRepository
from memory.values.entities import EntityRelation

from ...shared.checks import check_owner
from ...shared.graphs import check_depth, check_ends, walk
from .state import InMemoryRepository, existing, page_of


class InMemoryRelations(InMemoryRepository, RelationRepository):
    """The relations between one user's entities."""

    @override
    async def store(self, relations: Sequence[EntityRelation]) -> None:
        check_owner(relations, self._state.user_id)
        data = self._state.writable
        check_ends((end for relation in relations for end in _ends(relation)), data.entities)
        data.relations.update({relation.relation_id: relation for relation in relations})

    @override
    async def get(self, relation_ids: Sequence[str]) -> list[EntityRelation]:
        return existing(self._state.readable.relations, relation_ids)

    @override
    async def of(self, entity_id: str, *, limit: int = 100) -> list[EntityRelation]:
        found = [relation for relation in self._state.readable.relations.values() if entity_id in _ends(relation)]
        return sorted(found, key=lambda relation: (-relation.confidence, relation.relation_id))[: max(limit, 0)]

    @override
    async def related(
        self, entity_id: str, *, depth: int = 1, limit: int = 100, min_confidence: float = 0.0
    ) -> Mapping[str, int]:
        check_depth(depth)
        data = self._state.readable
        pairs = [_ends(relation) for relation in data.relations.values() if relation.confidence >= min_confidence]

        def step(frontier: Sequence[str], most: int) -> list[str]:
            found = {end for pair in pairs for near, end in (pair, pair[::-1]) if near in frontier}
            return sorted(id_ for id_ in found & data.entities.keys() if data.entities[id_].is_current)[:most]

        return walk(entity_id, step, depth=depth, limit=limit) if entity_id in data.entities else {}

    @override
    async def delete(self, relation_ids: Sequence[str]) -> int:
        relations = self._state.writable.relations
        deleted = {relation_id for relation_id in relation_ids if relation_id in relations}
        for relation_id in deleted:
            del relations[relation_id]
        return len(deleted)

    @override
    async def page(self, *, after: str | None = None, limit: int) -> list[EntityRelation]:
        return page_of(self._state.readable.relations, after, limit)

    @override
    async def count(self) -> int:
        return len(self._state.readable.relations)


def _ends(relation: EntityRelation) -> tuple[str, str]:
    return relation.source_entity_id, relation.target_entity_id
