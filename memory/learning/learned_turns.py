"""What one entry of the raw log teaches, and writing it down (DESIGN §3.6)."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..entities.statuses import log_restoration
from ..extraction.rules.alias_patterns import AliasClaim, find_aliases
from ..extraction.rules.assertions import Assertions, assertions_of
from ..extraction.rules.junk import is_junk
from ..ports.record import UnitOfWork
from ..values.dialogue import Role
from ..values.entities import Entity
from ..values.ids import entity_id, memory_id
from ..values.mentions import KNOWN_NAME, Extraction, Mention
from ..values.records import Memory, MemoryKind, Resource
from .mention_targets import Owners, settle
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

    @property
    def teaches(self) -> bool:
        """Whether entities may be learned from it: only what users say, never guesses of the assistant or our own."""
        return self.resource.role is Role.USER

    def mentions(self) -> list[tuple[str, Mention]]:
        """What may be learned from it, by entity id: names that the user brings up himself, surely enough.

        Junk is none. A name that is not known yet is not learned from a quotation, nor from the question who it is.
        """
        if not self.teaches:
            return []
        said = assertions_of(self.resource.content)
        return [
            (mention.entity_id, mention)
            for mention in self.extraction.mentions
            if mention.entity_id
            and mention.confidence >= MIN_CONFIDENCE
            and not is_junk(mention.text)
            and (mention.source in _GIVEN or not _is_strange(said, mention))
        ]

    def aliases(self) -> list[AliasClaim]:
        """The second names that the user gives to what he mentions."""
        return find_aliases(self.resource.content, self.extraction.mentions) if self.teaches else []


_GIVEN = (KNOWN_NAME, "seed")


def _is_strange(said: Assertions, mention: Mention) -> bool:
    return said.quotes(mention.start, mention.end) or said.asks_who(mention.start, mention.end)


@dataclass(frozen=True)
class Learned:
    """The entities that lessons touched, as they are now; how many are new; whose each mention is."""

    entities: tuple[Entity, ...]
    new: int
    owners: Owners


async def save_entities(unit: UnitOfWork, user_id: str, lessons: Sequence[Lesson]) -> Learned:
    """Merges every mention into the entity that it counts for."""
    mentions = {id_: mention for lesson in lessons for id_, mention in lesson.mentions()}
    owners = await settle(unit, user_id, mentions)
    seeds = await _missing_seeds(unit, user_id, lessons)
    for seed in seeds:
        owners.put(seed)
    await _join_aliases(unit, user_id, lessons, owners)
    touched: dict[str, Entity] = {}
    new = 0
    for lesson in lessons:
        at, remembered = lesson.resource.created_at, lesson.remembers
        for id_, mention in lesson.mentions():
            entity = owners.of(id_)
            if entity is None:
                own = mention.model_copy(update={"entity_id": owners.ids[id_]})
                entity = first_mention(own, user_id=user_id, at=at, remembered=remembered)
                new += 1
            else:
                known = entity
                entity = mention_again(known, mention, at=at, remembered=remembered)
                await log_restoration(unit, known, entity, at=at)
            owners.put(entity)
            touched[entity.entity_id] = entity
    await unit.entities.save([*(seed for seed in seeds if seed.entity_id not in touched), *touched.values()])
    return Learned(tuple(touched.values()), new, owners)


async def _join_aliases(unit: UnitOfWork, user_id: str, lessons: Sequence[Lesson], owners: Owners) -> None:
    """Lets a name that is new and introduced as an alias count for what it is an alias of, from the start."""
    for lesson in lessons:
        for claim in lesson.aliases():
            named = owners.ids.get(claim.mention.entity_id or "")
            alias = entity_id(user_id, claim.alias)
            if named is not None and alias in owners.ids and owners.of(alias) is None:
                owners.ids[alias] = named


async def _missing_seeds(unit: UnitOfWork, user_id: str, lessons: Sequence[Lesson]) -> list[Entity]:
    """The preloaded entities that this user does not have yet: all of them the first time, none afterwards."""
    if not lessons:
        return []
    seeds = system_entities(user_id, at=lessons[0].resource.created_at)
    present = {entity.entity_id for entity in await unit.entities.get([seed.entity_id for seed in seeds])}
    return [seed for seed in seeds if seed.entity_id not in present]


async def save_memories(unit: UnitOfWork, lessons: Sequence[Lesson], owners: Owners) -> int:
    """Makes a memory of each entry; one that only says "remember this" marks the one before it instead."""
    memories: dict[str, Memory] = {}
    for lesson in lessons:
        if lesson.points_back:
            await _remember_previous(unit, lesson, memories)
            continue
        memory = Memory.from_resource(
            lesson.resource,
            context=lesson.previous.content if lesson.previous else None,
            entity_ids=tuple(dict.fromkeys(owners.ids[id_] for id_, _ in lesson.mentions())),
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
