"""The repositories of the system of record in memory: the raw log, entities, their relations, memories."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from memory.ports.accesses import Access
from memory.ports.repositories import EntityRepository, MemoryRepository, RawLog, RelationRepository, Resources, Strings
from memory.ports.vectors import Collection
from memory.values.entities import Entity, EntityRelation
from memory.values.records import Memory, Resource, ResourceKind

from ..shared.changes import accessed, mentioned
from ..shared.checks import check_depth, check_ends, check_moment, check_owner
from ..shared.names import comparable, names_of, position_of, word_borders
from ..shared.walks import walk
from .state import State


class InMemoryLog(RawLog):
    """The raw log of one user."""

    def __init__(self, state: State) -> None:
        self._state = state

    async def append(self, resources: Sequence[Resource]) -> None:
        """Appends in order; an id that is there already is skipped."""
        check_owner(resources, self._state.user_id)
        data = self._state.writable
        for resource in resources:
            if resource.resource_id not in data.resources:
                sequence = next(self._state.numbers)
                data.resources[resource.resource_id] = resource.model_copy(update={"sequence": sequence})
                if resource.learn:
                    data.unlearned[resource.resource_id] = None

    async def get(self, resource_ids: Sequence[str]) -> Resources:
        """The entries that exist, in the order of the ids."""
        resources = self._state.readable.resources
        return [resources[resource_id] for resource_id in resource_ids if resource_id in resources]

    async def session(self, session_id: str, *, limit: int, before: int | None = None) -> Resources:
        """The latest `limit` entries of a session, oldest first."""
        found = [
            resource
            for resource in self._state.readable.resources.values()
            if resource.session_id == session_id and (before is None or resource.sequence < before)
        ]
        return found[-limit:] if limit > 0 else []

    async def list(
        self, *, kind: ResourceKind | None = None, since: datetime | None = None, limit: int = 100
    ) -> Resources:
        """The latest entries in the log, of one kind or of all, created at or after `since`, latest first."""
        first = None if since is None else check_moment(since, "since")
        found = [
            resource
            for resource in self._state.readable.resources.values()
            if kind in (None, resource.kind) and (first is None or resource.created_at >= first)
        ]
        return found[::-1][: max(limit, 0)]

    async def count(self) -> int:
        """How many entries there are."""
        return len(self._state.readable.resources)

    async def list_unextracted(self, *, limit: int = 100) -> Resources:
        """Entries that the learner has not learned from yet, oldest first."""
        data = self._state.readable
        return [data.resources[resource_id] for resource_id in data.unlearned][: max(limit, 0)]

    async def mark_learned(self, resource_ids: Sequence[str]) -> Strings:
        """Takes entries off the learner's backlog and returns those that were still on it."""
        unlearned = self._state.writable.unlearned
        taken = [resource_id for resource_id in dict.fromkeys(resource_ids) if resource_id in unlearned]
        for resource_id in taken:
            del unlearned[resource_id]
        return taken

    async def delete_orphaned(self, *, created_before: datetime) -> int:
        """Deletes learned entries older than this that no memory and no fact comes from."""
        check_moment(created_before, "created_before")
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

    async def get(self, entity_ids: Sequence[str]) -> list[Entity]:
        """The entities that exist, in the order of the ids."""
        entities = self._state.readable.entities
        return [entities[entity_id] for entity_id in entity_ids if entity_id in entities]

    async def get_by_value(self, value: str) -> Entity | None:
        """The entity with this name or alias: active before others, names before aliases."""
        name = comparable(value)
        ranked = [
            (not entity.is_current, names.index(name) > 0, entity.entity_id, entity)
            for entity in self._state.readable.entities.values()
            if name in (names := names_of(entity))
        ]
        return min(ranked)[-1] if ranked else None

    async def found_in(self, text: str) -> list[Entity]:
        """Active entities whose name or an alias occurs in the text: longest name first, then first in the text."""
        where = comparable(text)
        borders = word_borders(where)
        ranked = sorted(
            (-len(name), position, entity.entity_id)
            for entity in self._active()
            for name in names_of(entity)
            if (position := position_of(name, where, borders)) is not None
        )
        return await self.get(list(dict.fromkeys(entity_id for _, _, entity_id in ranked)))

    async def recent(self, *, limit: int) -> list[Entity]:
        """Active entities, latest mentioned first."""
        oldest_first = sorted(self._active(), key=lambda entity: entity.last_mentioned)
        return oldest_first[::-1][: max(limit, 0)]

    async def page(self, *, after: str | None = None, limit: int) -> list[Entity]:
        """Entities of any status in the order of their ids."""
        entities = self._state.readable.entities
        return [entities[one] for one in sorted(entities) if after is None or one > after][: max(limit, 0)]

    async def save(self, entities: Sequence[Entity]) -> None:
        """Inserts or replaces, and queues them for the vector index."""
        check_owner(entities, self._state.user_id)
        self._state.writable.entities.update({entity.entity_id: entity for entity in entities})
        self._state.queue(Collection.ENTITIES, [entity.entity_id for entity in entities])

    async def update_mention(self, entity_id: str, *, at: datetime) -> bool:
        """Counts one more mention at this time; whether there is such an entity."""
        check_moment(at, "at")
        entity = self._state.writable.entities.get(entity_id)
        if entity is not None:
            await self.save([mentioned(entity, at)])
        return entity is not None

    async def delete(self, entity_ids: Sequence[str]) -> int:
        """Deletes entities; how many there were."""
        entities = self._state.writable.entities
        there = [entity_id for entity_id in dict.fromkeys(entity_ids) if entity_id in entities]
        for entity_id in there:
            del entities[entity_id]
        self._state.queue(Collection.ENTITIES, there)
        return len(there)

    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        """Adds to the counts of those that exist."""
        entities = self._state.writable.entities
        for access in accesses:
            if access.item_id in entities:
                entities[access.item_id] = accessed(entities[access.item_id], access)

    def _active(self) -> list[Entity]:
        entities = self._state.readable.entities.values()
        return [entity for entity in entities if entity.is_current]


class InMemoryRelations(RelationRepository):
    """The relations between one user's entities."""

    def __init__(self, state: State) -> None:
        self._state = state

    async def store(self, relations: Sequence[EntityRelation]) -> None:
        """Inserts or replaces by `relation_id`."""
        check_owner(relations, self._state.user_id)
        data = self._state.writable
        check_ends((end for relation in relations for end in _ends(relation)), data.entities)
        data.relations.update({relation.relation_id: relation for relation in relations})

    async def get(self, relation_ids: Sequence[str]) -> list[EntityRelation]:
        """The relations that exist, in the order of the ids."""
        relations = self._state.readable.relations
        return [relations[relation_id] for relation_id in relation_ids if relation_id in relations]

    async def of(self, entity_id: str, *, limit: int = 100) -> list[EntityRelation]:
        """Relations that start or end at this entity, surest first, then by id."""
        found = [relation for relation in self._state.readable.relations.values() if entity_id in _ends(relation)]
        return sorted(found, key=lambda relation: (-relation.confidence, relation.relation_id))[: max(limit, 0)]

    async def related(
        self, entity_id: str, *, depth: int = 1, limit: int = 100, min_confidence: float = 0.0
    ) -> Mapping[str, int]:
        """Ids of entities that can be reached, with the number of hops."""
        check_depth(depth)
        data = self._state.readable
        pairs = [_ends(relation) for relation in data.relations.values() if relation.confidence >= min_confidence]

        def step(frontier: Sequence[str], most: int) -> list[str]:
            found = {end for pair in pairs for near, end in (pair, pair[::-1]) if near in frontier}
            return sorted(found & data.entities.keys())[:most]

        return walk(entity_id, step, depth=depth, limit=limit) if entity_id in data.entities else {}

    async def delete(self, relation_ids: Sequence[str]) -> int:
        """Deletes relations; how many there were."""
        relations = self._state.writable.relations
        there = {relation_id for relation_id in relation_ids if relation_id in relations}
        for relation_id in there:
            del relations[relation_id]
        return len(there)

    async def count(self) -> int:
        """How many relations there are."""
        return len(self._state.readable.relations)


def _ends(relation: EntityRelation) -> tuple[str, str]:
    return relation.source_entity_id, relation.target_entity_id


class InMemoryMemories(MemoryRepository):
    """The memories of one user."""

    def __init__(self, state: State) -> None:
        self._state = state

    async def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        """The memories that exist, in the order of the ids."""
        memories = self._state.readable.memories
        return [memories[memory_id] for memory_id in memory_ids if memory_id in memories]

    async def recent(self, *, limit: int, session_id: str | None = None) -> list[Memory]:
        """Latest first, of one session or of all; of one moment, the one that was saved first comes last."""
        memories = self._state.readable.memories.values()
        mine = [memory for memory in memories if session_id in (None, memory.session_id)]
        return sorted(mine, key=lambda memory: memory.created_at)[::-1][: max(limit, 0)]

    async def previous(self, memory_ids: Sequence[str]) -> Mapping[str, str]:
        """For each of these memories the one before it in its session."""
        sessions: dict[str, list[str]] = {}
        for memory in sorted(self._state.readable.memories.values(), key=lambda memory: memory.created_at):
            sessions.setdefault(memory.session_id, []).append(memory.memory_id)
        before = {later: earlier for ids in sessions.values() for earlier, later in pairwise(ids)}
        return {memory_id: before[memory_id] for memory_id in memory_ids if memory_id in before}

    async def mentioning(self, entity_id: str) -> list[Memory]:
        """All memories that mention an entity, in the order of their ids."""
        memories = self._state.readable.memories
        return [memories[one] for one in sorted(memories) if entity_id in memories[one].entity_ids]

    async def page(self, *, after: str | None = None, limit: int) -> list[Memory]:
        """Memories in the order of their ids."""
        memories = self._state.readable.memories
        return [memories[one] for one in sorted(memories) if after is None or one > after][: max(limit, 0)]

    async def save(self, memories: Sequence[Memory]) -> None:
        """Inserts or replaces, and queues them for the vector index."""
        check_owner(memories, self._state.user_id)
        self._state.writable.memories.update({memory.memory_id: memory for memory in memories})
        self._state.queue(Collection.MEMORIES, [memory.memory_id for memory in memories])

    async def delete(self, memory_ids: Sequence[str]) -> int:
        """Deletes memories; how many there were."""
        memories = self._state.writable.memories
        there = [memory_id for memory_id in dict.fromkeys(memory_ids) if memory_id in memories]
        for memory_id in there:
            del memories[memory_id]
        self._state.queue(Collection.MEMORIES, there)
        return len(there)

    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        """Adds to the counts of those that exist."""
        memories = self._state.writable.memories
        for access in accesses:
            if access.item_id in memories:
                memories[access.item_id] = accessed(memories[access.item_id], access)
