"""What one entry of the raw log teaches, and writing it down (DESIGN §3.6)."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..dialogue import Role
from ..entities import Entity
from ..extraction.mentions import Extraction, Mention
from ..identity import memory_id
from ..ports.record import UnitOfWork
from ..records import Memory, MemoryKind, Resource
from .merging import first_mention, mention_again, system_entities

MIN_CONFIDENCE = 0.6
"""Mentions that the extractor is less sure of are used in the session but not kept."""


@dataclass(frozen=True)
class Lesson:
    """One log entry with what was found in it; `previous` is the entry before it in its session."""

    resource: Resource
    extraction: Extraction
    previous: Resource | None

    @property
    def remembers(self) -> bool:
        """Whether a user asks to remember something that the text says itself."""
        return self.resource.role is Role.USER and any(intent.content for intent in self.extraction.remember)

    @property
    def points_back(self) -> bool:
        """Whether a user asks for nothing but to remember what was said before it ("記住這個")."""
        asked = self.extraction.remember if self.resource.role is Role.USER else ()
        return bool(asked) and not any(intent.content for intent in asked)

    def mentions(self) -> list[tuple[str, Mention]]:
        """What may be learned from it, by entity id: only what users say, never guesses, the assistant's or our own."""
        if self.resource.role is not Role.USER:
            return []
        return [
            (mention.entity_id, mention)
            for mention in self.extraction.mentions
            if mention.entity_id and mention.confidence >= MIN_CONFIDENCE
        ]


async def save_entities(unit: UnitOfWork, user_id: str, lessons: Sequence[Lesson]) -> tuple[list[Entity], int]:
    """Merges every mention; returns the entities touched and how many of them are new."""
    ids = {id_ for lesson in lessons for id_, _ in lesson.mentions()}
    known = {entity.entity_id: entity for entity in await unit.entities.get(sorted(ids))}
    seeds = await _missing_seeds(unit, user_id, lessons)
    known |= {seed.entity_id: seed for seed in seeds}
    touched: dict[str, Entity] = {}
    new = 0
    for lesson in lessons:
        at, remembered = lesson.resource.created_at, lesson.remembers
        for id_, mention in lesson.mentions():
            entity = known.get(id_)
            if entity is None:
                entity = first_mention(mention, user_id=user_id, at=at, remembered=remembered)
                new += 1
            else:
                entity = mention_again(entity, mention, at=at, remembered=remembered)
            known[id_] = touched[id_] = entity
    await unit.entities.save([*(seed for seed in seeds if seed.entity_id not in touched), *touched.values()])
    return list(touched.values()), new


async def _missing_seeds(unit: UnitOfWork, user_id: str, lessons: Sequence[Lesson]) -> list[Entity]:
    """The preloaded entities that this user does not have yet: all of them the first time, none afterwards."""
    if not lessons:
        return []
    seeds = system_entities(user_id, at=lessons[0].resource.created_at)
    present = {entity.entity_id for entity in await unit.entities.get([seed.entity_id for seed in seeds])}
    return [seed for seed in seeds if seed.entity_id not in present]


async def save_memories(unit: UnitOfWork, lessons: Sequence[Lesson]) -> int:
    """Makes a memory of each entry; one that only says "remember this" marks the one before it instead."""
    memories: dict[str, Memory] = {}
    for lesson in lessons:
        if lesson.points_back:
            await _remember_previous(unit, lesson, memories)
            continue
        memory = Memory.from_resource(
            lesson.resource,
            context=lesson.previous.content if lesson.previous else None,
            entity_ids=tuple(dict.fromkeys(id_ for id_, _ in lesson.mentions())),
            remembered=lesson.remembers,
        )
        memories[memory.memory_id] = memory
    await unit.memories.save(list(memories.values()))
    return len(memories)


async def _remember_previous(unit: UnitOfWork, lesson: Lesson, memories: dict[str, Memory]) -> None:
    """Marks the last thing that the session learned before this entry as remembered on request."""
    earlier = await unit.log.session(lesson.resource.session_id, limit=4, before=lesson.resource.sequence)
    for resource in reversed(earlier):
        if not resource.learn:
            continue
        id_ = memory_id(resource.user_id, resource.resource_id)
        stored = [memories[id_]] if id_ in memories else await unit.memories.get([id_])
        if stored:
            memories[id_] = stored[0].model_copy(update={"kind": MemoryKind.REMEMBERED, "confidence": 1.0})
            return
