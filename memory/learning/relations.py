"""What log entries teach about how entities belong together: said in words, or spoken of together (000 §4.2)."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from ..extraction.rules.assertions import assertions_of
from ..ports.record import UnitOfWork
from ..relations.patterns import RelationType, find_relations
from ..relations.strength import add_observation
from ..values.entities import EntityRelation
from ..values.ids import relation_id
from ..values.mentions import Mention
from ..values.records import Resource
from .learned_turns import Lesson

NEAR = 200
"""Characters between two names that may still be spoken of together."""
MOST_TOGETHER = 8
"""Names of one entry that are paired; a longer list says little about any two of them."""
_TOGETHER_CONFIDENCE = 0.5


async def save_relations(unit: UnitOfWork, user_id: str, lessons: Sequence[Lesson], owners: Mapping[str, str]) -> int:
    """Adds what the lessons say to the relations that there are; returns how many are new.

    Args:
        unit: Of the transaction that learns the lessons; their entities are saved already.
        user_id: Whose they are.
        lessons: In the order of the log.
        owners: The entity that each id of a mention stands for now.
    """
    seen: dict[str, EntityRelation] = {}
    for lesson in lessons:
        if not lesson.teaches:
            continue
        speaker = await _speaker(unit, lesson.resource)
        for one in (*_stated(lesson, owners, speaker), *_together(lesson, owners)):
            known = seen.get(one.relation_id)
            seen[one.relation_id] = one if known is None else add_observation(known, one)
    ends = {end for one in seen.values() for end in (one.source_entity_id, one.target_entity_id)}
    there = {entity.entity_id for entity in await unit.entities.get(sorted(ends))}
    stored = {one.relation_id: one for one in await unit.relations.get(list(seen))}
    wanted = [one for one in seen.values() if {one.source_entity_id, one.target_entity_id} <= there]
    await unit.relations.store(
        [add_observation(stored[one.relation_id], one) if one.relation_id in stored else one for one in wanted]
    )
    return len(wanted) - len(stored)


async def _speaker(unit: UnitOfWork, resource: Resource) -> str | None:
    """The entity that 我 and "I" stand for in an entry, where memory knows its speaker by name."""
    if not resource.speaker:
        return None
    entity = await unit.entities.get_by_value(resource.speaker)
    return entity.entity_id if entity else None


def _stated(lesson: Lesson, owners: Mapping[str, str], speaker: str | None) -> Iterator[EntityRelation]:
    text = lesson.resource.content
    for claim in find_relations(text, [mention for _, mention in lesson.mentions()]):
        source = speaker if claim.source is None else _owner(claim.source, owners)
        target = _owner(claim.target, owners)
        if source is None or target is None or source == target:
            continue
        words = " ".join(text[claim.start : claim.end].split())
        yield _relation(
            lesson.resource, source, claim.relation_type, target, claim.confidence, 1.0, (claim.start, claim.end), words
        )


def _together(lesson: Lesson, owners: Mapping[str, str]) -> Iterator[EntityRelation]:
    """Pairs of entities that the entry speaks of, near each other; the more there are the less each pair counts."""
    stated = assertions_of(lesson.resource.content)
    first: dict[str, Mention] = {}
    for _, mention in lesson.mentions():
        owner = _owner(mention, owners)
        if owner is not None and len(first) < MOST_TOGETHER and stated.states(mention.start, mention.end):
            first.setdefault(owner, mention)
    found = list(first.items())
    for place, (left, before) in enumerate(found):
        for right, after in found[place + 1 :]:
            if after.start - before.end > NEAR:
                break
            amount = 1 / (len(found) - 1)
            source, target = sorted((left, right))
            span = (before.start, after.end)
            yield _relation(
                lesson.resource,
                source,
                RelationType.MENTIONED_WITH,
                target,
                _TOGETHER_CONFIDENCE * amount,
                amount,
                span,
                None,
            )


def _relation(
    resource: Resource,
    source: str,
    relation_type: RelationType,
    target: str,
    confidence: float,
    weight: float,
    span: tuple[int, int],
    words: str | None,
) -> EntityRelation:
    at: datetime = resource.created_at
    return EntityRelation(
        relation_id=relation_id(resource.user_id, source, relation_type.value, target),
        user_id=resource.user_id,
        source_entity_id=source,
        target_entity_id=target,
        relation_type=relation_type.value,
        description=words,
        confidence=confidence,
        evidence=resource.resource_id,
        evidence_start=span[0],
        evidence_end=span[1],
        weight=weight,
        created_at=at,
        updated_at=at,
    )


def _owner(mention: Mention, owners: Mapping[str, str]) -> str | None:
    return owners.get(mention.entity_id or "")
