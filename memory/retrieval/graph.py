"""What hangs together with what a query names: neighbours over relations, and the memories that say so (DESIGN §6)."""

from collections.abc import Iterable
from datetime import datetime

from ..ports.record import SystemOfRecord, UnitOfWork
from ..relations.weights import share
from ..values.entities import Entity, EntityRelation
from ..values.hits import HitKind, SearchRequest
from ..values.ids import memory_id
from .legs import Key, Scores

MOST_NAMED = 8
"""Entities of a query whose relations are followed; the longest names first."""
MOST_RELATIONS = 64
"""Relations of one entity that are followed, the surest first."""
FAR = 0.5
"""What a second hop keeps of the first one's score."""


async def graph_leg(request: SearchRequest, record: SystemOfRecord, *, hops: int = 2) -> Scores:
    """Scores neighbours of the entities that stand in the query, and the memories that are evidence of the relations.

    A relation counts as much as `confidence · share` of its weight now (`memory.relations.weights`), so that
    what was said often and lately counts most; over two hops the product counts, halved. The best way to a thing is
    its score. What the query names itself is not among the entities.
    """
    async with record.reading(user_id=request.user_id) as unit:
        named = await unit.entities.found_in(request.query)
        return await neighbours(unit, named[:MOST_NAMED], now=request.now, kinds=request.kinds, hops=hops)


async def neighbours(
    unit: UnitOfWork, named: Iterable[Entity], *, now: datetime, kinds: Iterable[HitKind], hops: int
) -> Scores:
    """See `graph_leg`; the start is given."""
    wanted = frozenset(kinds)
    starts = {entity.entity_id: 1.0 for entity in named}
    scores: Scores = {}
    frontier = dict(starts)
    for hop in range(hops):
        reached: dict[str, float] = {}
        for start, reach in frontier.items():
            for relation in await unit.relations.of(start, limit=MOST_RELATIONS):
                score = reach * relation.confidence * share(relation, now) * (FAR if hop else 1.0)
                other = _other_end(relation, start)
                if other not in starts:
                    reached[other] = max(score, reached.get(other, 0.0))
                    _raise(scores, Key(HitKind.ENTITY, other), score)
                if relation.evidence:
                    _raise(scores, Key(HitKind.MEMORY, memory_id(relation.user_id, relation.evidence)), score)
        frontier = reached
    return {key: score for key, score in scores.items() if key.kind in wanted and score > 0}


def _other_end(relation: EntityRelation, end: str) -> str:
    return relation.target_entity_id if relation.source_entity_id == end else relation.source_entity_id


def _raise(scores: Scores, key: Key, score: float) -> None:
    scores[key] = max(score, scores.get(key, 0.0))
