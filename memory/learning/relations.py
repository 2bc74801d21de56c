"""Learns relations between entities: stated in words, or mentioned together (000 §4.2)."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from ..extraction.assertions import assertions_of
from ..ports.stores.record import UnitOfWork
from ..relations.patterns import RelationType, find_relations
from ..relations.strength import add_observation
from ..values.entities import EntityRelation
from ..values.ids import relation_id
from ..values.records import Resource
from ..values.understanding.mentions import Mention
from .learned_turns import LearnedTurn

MAX_DISTANCE = 200
"""Greatest number of characters between two names that count as mentioned together."""
MAX_PAIRED_NAMES = 8
"""Names of one entry that are paired."""
_TOGETHER_CONFIDENCE = 0.5


async def save_relations(
    unit: UnitOfWork, user_id: str, turns: Sequence[LearnedTurn], target_ids: Mapping[str, str]
) -> None:
    """Adds the relations of turns to the stored ones.

    Args:
        unit: The transaction that learns the turns, with their entities saved.
        user_id: The user.
        turns: Turns in the order of the log.
        target_ids: Current entity ids by the entity ids of the mentions.
    """
    seen: dict[str, EntityRelation] = {}
    for turn in turns:
        if not turn.tells:
            continue
        for relation in await observed_relations(unit, turn, target_ids):
            known = seen.get(relation.relation_id)
            seen[relation.relation_id] = relation if known is None else add_observation(known, relation)
    ends = {end for relation in seen.values() for end in _ends(relation)}
    existing = {entity.entity_id for entity in await unit.entities.get(sorted(ends))}
    stored = {relation.relation_id: relation for relation in await unit.relations.get(list(seen))}
    kept = [relation for relation in seen.values() if existing.issuperset(_ends(relation))]
    await unit.relations.store(
        [
            add_observation(stored[relation.relation_id], relation) if relation.relation_id in stored else relation
            for relation in kept
        ]
    )


async def observed_relations(
    unit: UnitOfWork, turn: LearnedTurn, target_ids: Mapping[str, str]
) -> list[EntityRelation]:
    """The relations that one turn shows, as if nothing else were known; see `save_relations`."""
    speaker = await _speaker(unit, turn.resource)
    return [*_stated(turn, target_ids, speaker), *_mentioned_together(turn, target_ids)]


def _ends(relation: EntityRelation) -> tuple[str, str]:
    return relation.source_entity_id, relation.target_entity_id


async def _speaker(unit: UnitOfWork, resource: Resource) -> str | None:
    """The entity of the entry's speaker (我, "I"), if memory knows the name."""
    if not resource.speaker:
        return None
    entity = await unit.entities.get_by_value(resource.speaker)
    return entity.entity_id if entity else None


def _stated(turn: LearnedTurn, target_ids: Mapping[str, str], speaker: str | None) -> Iterator[EntityRelation]:
    text = turn.resource.content
    for claim in find_relations(text, [mention for _, mention in turn.mentions()]):
        source = speaker if claim.source is None else _target_id(claim.source, target_ids)
        target = _target_id(claim.target, target_ids)
        if source is None or target is None or source == target:
            continue
        words = " ".join(text[claim.start : claim.end].split())
        yield _relation(
            turn.resource, source, claim.relation_type, target, claim.confidence, 1.0, (claim.start, claim.end), words
        )


def _mentioned_together(turn: LearnedTurn, target_ids: Mapping[str, str]) -> Iterator[EntityRelation]:
    """Pairs of entities that the entry mentions near each other; each pair counts less the more there are."""
    stated = assertions_of(turn.resource.content)
    first: dict[str, Mention] = {}
    for _, mention in turn.mentions():
        target_id = _target_id(mention, target_ids)
        if target_id is not None and len(first) < MAX_PAIRED_NAMES and stated.states(mention.start, mention.end):
            first.setdefault(target_id, mention)
    found = list(first.items())
    for place, (left, before) in enumerate(found):
        for right, after in found[place + 1 :]:
            if after.start - before.end > MAX_DISTANCE:
                break
            amount = 1 / (len(found) - 1)
            source, target = sorted((left, right))
            span = (before.start, after.end)
            yield _relation(
                turn.resource,
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


def _target_id(mention: Mention, target_ids: Mapping[str, str]) -> str | None:
    return target_ids.get(mention.entity_id or "")
