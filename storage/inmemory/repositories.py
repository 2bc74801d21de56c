"""The repositories of the system of record in memory: the raw log, entities, their relations, memories."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from typing_extensions import override

from memory.ports.repositories import (
    Access,
    EntityRepository,
    MemoryRepository,
    RawLog,
    RelationRepository,
    Resources,
    Strings,
)
from memory.ports.vectors import Collection
from memory.values.entities import Entity, EntityRelation
from memory.values.records import Memory, Resource, ResourceKind

from ..shared.checks import check_aware, check_owner
from ..shared.graphs import check_depth, check_ends, walk
from ..shared.names import comparable, names_of, position_of, word_borders
from ..shared.stored_values import with_access, with_mention
from .state import State


class InMemoryLog(RawLog):
    """The raw log of one user."""

    def __init__(self, state: State) -> None:
        self._state = state

    @override
    async def append(self, resources: Sequence[Resource]) -> None:
        check_owner(resources, self._state.user_id)
        data = self._state.writable
        for resource in resources:
            if resource.resource_id not in data.resources:
                sequence = next(self._state.numbers)
                data.resources[resource.resource_id] = resource.model_copy(update={"sequence": sequence})
                if resource.learn:
                    data.unlearned[resource.resource_id] = None

    @override
    async def get(self, resource_ids: Sequence[str]) -> Resources:
        resources = self._state.readable.resources
        return [resources[resource_id] for resource_id in resource_ids if resource_id in resources]

    @override
    async def session(self, session_id: str, *, limit: int, before: int | None = None) -> Resources:
        found = [
            resource
            for resource in self._state.readable.resources.values()
            if resource.session_id == session_id and (before is None or resource.sequence < before)
        ]
        return found[-limit:] if limit > 0 else []

    @override
    async def list(
        self, *, kind: ResourceKind | None = None, since: datetime | None = None, limit: int = 100
    ) -> Resources:
        first = None if since is None else check_aware(since, "since")
        found = [
            resource
            for resource in self._state.readable.resources.values()
            if kind in (None, resource.kind) and (first is None or resource.created_at >= first)
        ]
        return found[::-1][: max(limit, 0)]

    @override
    async def count(self) -> int:
        return len(self._state.readable.resources)

    @override
    async def list_unextracted(self, *, limit: int = 100) -> Resources:
        data = self._state.readable
        return [data.resources[resource_id] for resource_id in data.unlearned][: max(limit, 0)]

    @override
    async def mark_learned(self, resource_ids: Sequence[str]) -> Strings:
        unlearned = self._state.writable.unlearned
        taken = [resource_id for resource_id in dict.fromkeys(resource_ids) if resource_id in unlearned]
        for resource_id in taken:
            del unlearned[resource_id]
        return taken

    @override
    async def delete_orphaned(self, *, created_before: datetime) -> int:
        check_aware(created_before, "created_before")
        data = self._state.writable
        used = {one.resource_id for kept in (data.memories, data.facts) for one in kept.values()} | set(data.unlearned)
        orphaned = [
            resource_id
            for resource_id, resource in data.resources.items()
            if resource.created_at < created_before and resource_id not in used
        ]
        for resource_id in orphaned:
            del data.resources[resource_id]
        return len(orphaned)


class InMemoryEntities(EntityRepository):
    """The entities of one user."""

    def __init__(self, state: State) -> None:
        self._state = state

    @override
    async def get(self, entity_ids: Sequence[str]) -> list[Entity]:
        entities = self._state.readable.entities
        return [entities[entity_id] for entity_id in entity_ids if entity_id in entities]

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
        entities = self._state.readable.entities
        return [entities[one] for one in sorted(entities) if after is None or one > after][: max(limit, 0)]

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
        entities = self._state.writable.entities
        there = [entity_id for entity_id in dict.fromkeys(entity_ids) if entity_id in entities]
        for entity_id in there:
            del entities[entity_id]
        self._state.queue(Collection.ENTITIES, there)
        return len(there)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        entities = self._state.writable.entities
        for access in accesses:
            if access.item_id in entities:
                entities[access.item_id] = with_access(entities[access.item_id], access)

    def _active(self) -> list[Entity]:
        entities = self._state.readable.entities.values()
        return [entity for entity in entities if entity.is_current]


class InMemoryRelations(RelationRepository):
    """The relations between one user's entities."""

    def __init__(self, state: State) -> None:
        self._state = state

    @override
    async def store(self, relations: Sequence[EntityRelation]) -> None:
        check_owner(relations, self._state.user_id)
        data = self._state.writable
        check_ends((end for relation in relations for end in _ends(relation)), data.entities)
        data.relations.update({relation.relation_id: relation for relation in relations})

    @override
    async def get(self, relation_ids: Sequence[str]) -> list[EntityRelation]:
        relations = self._state.readable.relations
        return [relations[relation_id] for relation_id in relation_ids if relation_id in relations]

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
            return sorted(found & data.entities.keys())[:most]

        return walk(entity_id, step, depth=depth, limit=limit) if entity_id in data.entities else {}

    @override
    async def delete(self, relation_ids: Sequence[str]) -> int:
        relations = self._state.writable.relations
        there = {relation_id for relation_id in relation_ids if relation_id in relations}
        for relation_id in there:
            del relations[relation_id]
        return len(there)

    @override
    async def count(self) -> int:
        return len(self._state.readable.relations)


def _ends(relation: EntityRelation) -> tuple[str, str]:
    return relation.source_entity_id, relation.target_entity_id


class InMemoryMemories(MemoryRepository):
    """The memories of one user."""

    def __init__(self, state: State) -> None:
        self._state = state

    @override
    async def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        memories = self._state.readable.memories
        return [memories[memory_id] for memory_id in memory_ids if memory_id in memories]

    @override
    async def recent(self, *, limit: int, session_id: str | None = None) -> list[Memory]:
        memories = self._state.readable.memories.values()
        mine = [memory for memory in memories if session_id in (None, memory.session_id)]
        return sorted(mine, key=lambda memory: memory.created_at)[::-1][: max(limit, 0)]

    @override
    async def previous(self, memory_ids: Sequence[str]) -> Mapping[str, str]:
        sessions: dict[str, list[str]] = {}
        for memory in sorted(self._state.readable.memories.values(), key=lambda memory: memory.created_at):
            sessions.setdefault(memory.session_id, []).append(memory.memory_id)
        before = {later: earlier for ids in sessions.values() for earlier, later in pairwise(ids)}
        return {memory_id: before[memory_id] for memory_id in memory_ids if memory_id in before}

    @override
    async def mentioning(self, entity_id: str) -> list[Memory]:
        memories = self._state.readable.memories
        return [memories[one] for one in sorted(memories) if entity_id in memories[one].entity_ids]

    @override
    async def page(self, *, after: str | None = None, limit: int) -> list[Memory]:
        memories = self._state.readable.memories
        return [memories[one] for one in sorted(memories) if after is None or one > after][: max(limit, 0)]

    @override
    async def save(self, memories: Sequence[Memory]) -> None:
        check_owner(memories, self._state.user_id)
        self._state.writable.memories.update({memory.memory_id: memory for memory in memories})
        self._state.queue(Collection.MEMORIES, [memory.memory_id for memory in memories])

    @override
    async def delete(self, memory_ids: Sequence[str]) -> int:
        memories = self._state.writable.memories
        there = [memory_id for memory_id in dict.fromkeys(memory_ids) if memory_id in memories]
        for memory_id in there:
            del memories[memory_id]
        self._state.queue(Collection.MEMORIES, there)
        return len(there)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        memories = self._state.writable.memories
        for access in accesses:
            if access.item_id in memories:
                memories[access.item_id] = with_access(memories[access.item_id], access)
