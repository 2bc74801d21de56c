"""Entities in memory."""

from collections.abc import Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.repositories import Access, EntityRepository
from memory.ports.stores.vectors import Collection
from memory.values.entities import Entity

from ...shared.checks import check_aware, check_owner
from ...shared.names import comparable, names_of, position_of, word_borders
from ...shared.stored_values import with_mention
from .state import InMemoryRepository, behind, count_accesses, delete_by_id, existing, page_of


class InMemoryEntities(InMemoryRepository, EntityRepository):
    """The entities of one user."""

    @override
    async def get(self, entity_ids: Sequence[str]) -> list[Entity]:
        return existing(self._state.readable.entities, entity_ids)

    @override
    async def get_by_value(self, value: str) -> Entity | None:
        name = comparable(value)
        ranked = [
            (not entity.is_current, names.index(name) > 0, entity.entity_id, entity)
            for entity in self._state.readable.entities.values()
            if name in (names := names_of(entity))
        ]
        return min(ranked)[-1] if ranked else None

    @override
    async def found_in(self, text: str) -> list[Entity]:
        where = comparable(text)
        borders = word_borders(where)
        ranked = sorted(
            (-len(name), position, entity.entity_id)
            for entity in self._active()
            for name in names_of(entity)
            if (position := position_of(name, where, borders)) is not None
        )
        return await self.get(list(dict.fromkeys(entity_id for _, _, entity_id in ranked)))

    @override
    async def recent(self, *, limit: int) -> list[Entity]:
        oldest_first = sorted(self._active(), key=lambda entity: entity.last_mentioned)
        return oldest_first[::-1][: max(limit, 0)]

    @override
    async def page(self, *, after: str | None = None, limit: int) -> list[Entity]:
        return page_of(self._state.readable.entities, after, limit)

    @override
    async def oldest(self, *, after: str | None = None, limit: int) -> list[Entity]:
        entities = sorted(self._state.readable.entities.values(), key=lambda entity: entity.last_mentioned)
        return behind(entities, [entity.entity_id for entity in entities], after, limit)

    @override
    async def save(self, entities: Sequence[Entity]) -> None:
        check_owner(entities, self._state.user_id)
        self._state.writable.entities.update({entity.entity_id: entity for entity in entities})
        self._state.queue(Collection.ENTITIES, [entity.entity_id for entity in entities])

    @override
    async def update_mention(self, entity_id: str, *, at: datetime) -> bool:
        check_aware(at, "at")
        entity = self._state.writable.entities.get(entity_id)
        if entity is not None:
            await self.save([with_mention(entity, at)])
        return entity is not None

    @override
    async def delete(self, entity_ids: Sequence[str]) -> int:
        deleted = delete_by_id(self._state.writable.entities, entity_ids)
        self._state.queue(Collection.ENTITIES, deleted)
        return len(deleted)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        count_accesses(self._state.writable.entities, accesses)

    def _active(self) -> list[Entity]:
        entities = self._state.readable.entities.values()
        return [entity for entity in entities if entity.is_current]
