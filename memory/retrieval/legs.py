"""The search legs: each scores candidates by one kind of evidence, independently of the others (DESIGN §6)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, TypedDict

import numpy as np

from ..language.glossary import query_across
from ..language.keywords import KeywordAnalyzer
from ..ports.models.language import Encoder, Priority, TextKind
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..ports.stores.vectors import (
    LANGUAGE,
    PAYLOAD_FIELDS,
    Collection,
    FloatVector,
    IndexQuery,
    ScoredPoint,
    VectorIndex,
)
from ..relations.strength import saturated_strength
from ..values.entities import Entity, EntityRelation, EntityStatus
from ..values.hits import HitKind, SearchFilter, SearchRequest
from ..values.ids import memory_id
from ..values.records import Memory
from ..values.vectors import LanguageGroup, SparseVector

SECOND_HOP_FACTOR = 0.5
"""Factor for the score of what is two relations away."""

_COLLECTIONS = {HitKind.ENTITY: Collection.ENTITIES, HitKind.MEMORY: Collection.MEMORIES}
_PAYLOAD_FILTERS = {HitKind.ENTITY: {"status": EntityStatus.ACTIVE.value}}
_MAX_UNINDEXED = 64
_MAX_RECENT = 200
_MAX_NAMED = 8
"""Entities of a query whose relations are followed; the longest names first."""
_MAX_RELATIONS = 64
"""Relations of one entity that are followed, most confident first."""
_MAX_LINK_TERMS = 64
"""Terms of one hit that are searched for, in the order of its text; a long note has more."""


class Key(NamedTuple):
    """Identifies a candidate in the scores of all legs."""

    kind: HitKind
    id: str


Scores = dict[Key, float]


@dataclass(frozen=True)
class LanguageGap:
    """How the vectors of Chinese texts differ from those of other texts by one model, whatever they say (DESIGN §6).

    Vectors lie in groups by language: for a Chinese question every Chinese text is nearer than the English one that
    answers it. Less the mean vectors of the groups, cosines compare what is said: for a query `q` and a document `d` of
    a group with the mean `m`, `q·(d − m) = q·d − q·m`. That is one number for each group, known when the query is, so
    that stored vectors stay as they are.

    Args:
        vector: The mean of Chinese passages less the mean of others; shape (dimension,), float32.
    """

    vector: FloatVector

    def reduced(self, share: float) -> "LanguageGap":
        """This share of the gap, 0 to 1 (`FusionRecipe.across`)."""
        return LanguageGap(self.vector * np.float32(share))

    def farther_group(self, query: FloatVector) -> tuple[LanguageGroup, float]:
        """The group that a query is not of, and how much nearer the query's own is by the language alone; at least 0.

        Args:
            query: Its embedding; shape (dimension,), unit length.
        """
        nearer = float(np.dot(query, self.vector))
        return (LanguageGroup.OTHER, nearer) if nearer > 0 else (LanguageGroup.CHINESE, -nearer)


async def search_across_languages(
    index: VectorIndex, queries: Sequence[IndexQuery], *, gap: LanguageGap | None, user_id: str
) -> list[list[ScoredPoint]]:
    """Searches an index; cosines of texts in another language than the query's are raised by the gap.

    Those of its own language keep their cosines, as do points that were stored before the index held languages.
    Searches by words, and collections without languages, are as the index does them.

    Args:
        index: The index.
        queries: The searches; `threshold` compares with cosines that are not raised.
        gap: That of the model whose vectors these are; None where it is unknown.
        user_id: The user.

    Raises:
        StoreUnavailable: The index cannot answer.
    """
    apart: list[tuple[int, IndexQuery, float]] = []
    for position, query in enumerate(queries):
        if gap is not None and query.dense is not None and LANGUAGE in PAYLOAD_FIELDS[query.collection]:
            group, offset = gap.farther_group(query.dense)
            apart.append((position, replace(query, where={**query.where, LANGUAGE: group.value}), offset))
    found = await index.search([*queries, *(query for _, query, _ in apart)], user_id=user_id)
    results, of_farther = found[: len(queries)], found[len(queries) :]
    for (position, query, offset), points in zip(apart, of_farther, strict=True):
        raised = {point.point_id: ScoredPoint(point.point_id, point.score + offset) for point in points}
        kept = {point.point_id: point for point in results[position]}
        results[position] = _best({**kept, **raised}.values(), limit=query.limit)
    return results


def _best(points: Iterable[ScoredPoint], *, limit: int) -> list[ScoredPoint]:
    return sorted(points, key=lambda point: (-point.score, point.point_id))[:limit]


async def dense_leg(
    request: SearchRequest,
    questions: Sequence[str],
    encoder: Encoder,
    index: VectorIndex,
    *,
    limit: int,
    gap: LanguageGap | None = None,
) -> list[Scores]:
    """For each question, the cosines of its embedding with those of the nearest candidates, across languages."""
    vectors = await encoder.encode(questions, kind=TextKind.QUERY, priority=Priority.INTERACTIVE)
    return await _search_index(request, index, limit, [{"dense": vector} for vector in vectors], gap=gap)


async def keyword_leg(
    request: SearchRequest, questions: Sequence[str], analyzer: KeywordAnalyzer, index: VectorIndex, *, limit: int
) -> list[Scores]:
    """For each question, the BM25 scores over words and character bigrams, also in the other language."""
    vectors = [query_across(question, analyzer) for question in questions]
    queries: list[_QueryVector] = [{"sparse": vector} for vector in vectors if vector.indices]
    results = iter(await _search_index(request, index, limit, queries))
    return [next(results) if vector.indices else {} for vector in vectors]


class _QueryVector(TypedDict, total=False):
    dense: FloatVector
    sparse: SparseVector


async def _search_index(
    request: SearchRequest,
    index: VectorIndex,
    limit: int,
    vectors: Sequence[_QueryVector],
    *,
    gap: LanguageGap | None = None,
) -> list[Scores]:
    """The scores for each vector, candidates of all requested kinds together."""
    queries = [
        IndexQuery(_COLLECTIONS[kind], limit, filters=request.filters, where=_PAYLOAD_FILTERS.get(kind, {}), **vector)
        for vector in vectors
        for kind in request.kinds
    ]
    found = await search_across_languages(index, queries, gap=gap, user_id=request.user_id) if queries else []
    results = iter(found)
    return [
        {Key(kind, point.point_id): point.score for kind in request.kinds for point in next(results)} for _ in vectors
    ]


async def exact_leg(request: SearchRequest, record: SystemOfRecord) -> Scores:
    """1 for each entity whose name or alias occurs in the query."""
    if HitKind.ENTITY not in request.kinds:
        return {}
    async with record.reading(user_id=request.user_id) as unit:
        entities = await unit.entities.found_in(request.query)
    return {Key(HitKind.ENTITY, entity.entity_id): 1.0 for entity in entities}


async def type_leg(request: SearchRequest, record: SystemOfRecord) -> Scores:
    """Scores without weight for the latest entities of the type that is searched for: they become candidates."""
    async with record.reading(user_id=request.user_id) as unit:
        recent = await unit.entities.recent(limit=_MAX_RECENT)
    return {Key(HitKind.ENTITY, entity.entity_id): 0.0 for entity in recent if entity.is_of(request.entity_type)}


async def is_name(request: SearchRequest, record: SystemOfRecord) -> bool:
    """Whether the query is the name of an entity and nothing else."""
    async with record.reading(user_id=request.user_id) as unit:
        named = await unit.entities.get_by_value(request.query)
    return named is not None and named.is_current


async def graph_leg(request: SearchRequest, record: SystemOfRecord, *, hops: int = 2) -> Scores:
    """Scores the neighbours of the entities named in the query, and the memories that are evidence of the relations.

    A relation scores `confidence · saturated strength` (`memory.relations.strength`), so that frequent and recent
    relations count most; two hops score their product, halved. A candidate gets the score of the best path to it. The
    entities named in the query are not candidates themselves.
    """
    async with record.reading(user_id=request.user_id) as unit:
        named = await unit.entities.found_in(request.query)
        return await _score_neighbours(unit, named[:_MAX_NAMED], now=request.now, kinds=request.kinds, hops=hops)


async def _score_neighbours(
    unit: UnitOfWork, named: Iterable[Entity], *, now: datetime, kinds: Iterable[HitKind], hops: int
) -> Scores:
    starts = {entity.entity_id: 1.0 for entity in named}
    scores: Scores = {}
    frontier = dict(starts)
    for hop in range(hops):
        reached: dict[str, float] = {}
        for start, start_score in frontier.items():
            for relation in await unit.relations.of(start, limit=_MAX_RELATIONS):
                score = start_score * relation.confidence * saturated_strength(relation, now)
                score *= SECOND_HOP_FACTOR if hop else 1.0
                neighbour = _other_end(relation, start)
                if neighbour not in starts:
                    reached[neighbour] = max(score, reached.get(neighbour, 0.0))
                    _raise_score(scores, Key(HitKind.ENTITY, neighbour), score)
                if relation.evidence:
                    evidence = memory_id(relation.user_id, relation.evidence)
                    _raise_score(scores, Key(HitKind.MEMORY, evidence), score)
        frontier = reached
    return {key: score for key, score in scores.items() if key.kind in kinds and score > 0}


def _other_end(relation: EntityRelation, end: str) -> str:
    return relation.target_entity_id if relation.source_entity_id == end else relation.source_entity_id


async def link_leg(
    request: SearchRequest,
    hit_scores: Mapping[str, float],
    hits: Sequence[Memory],
    analyzer: KeywordAnalyzer,
    index: VectorIndex,
    *,
    limit: int,
) -> Scores:
    """Second step of a search: memories that share with the best hits what the query does not hold, often a name.

    "Which bank is my boss with?" finds "My boss is Wang"; other memories about Wang share no word with the question.
    A memory's score is its BM25 score over the hit's own, at most 1, times the hit's score.

    Args:
        request: The user and the filters.
        hit_scores: Scores by memory id, those of `hits` among them.
        hits: The best hits.
        analyzer: Splits hits and query into terms.
        index: Searched once for all hits.
        limit: Memories found for each hit.
    """
    query_terms = frozenset(analyzer.query_vector(request.query).indices)
    new_terms = {hit.memory_id: _without(analyzer.query_vector(hit.text), query_terms) for hit in hits}
    new_terms = {id_: terms for id_, terms in new_terms.items() if terms.indices}
    if not new_terms:
        return {}
    queries = [
        IndexQuery(Collection.MEMORIES, limit, sparse=terms, filters=request.filters) for terms in new_terms.values()
    ]
    scores: Scores = {}
    for hit_id, points in zip(new_terms, await index.search(queries, user_id=request.user_id), strict=True):
        bm25 = {point.point_id: point.score for point in points}
        own = bm25.pop(hit_id, max(bm25.values(), default=0.0))
        for id_, score in bm25.items():
            if score > 0:
                _raise_score(scores, Key(HitKind.MEMORY, id_), hit_scores[hit_id] * min(1.0, score / own))
    return scores


def _without(vector: SparseVector, excluded: frozenset[int]) -> SparseVector:
    terms = tuple(term for term in vector.indices if term not in excluded)[:_MAX_LINK_TERMS]
    return SparseVector(terms, (1.0,) * len(terms))


def _raise_score(scores: Scores, key: Key, score: float) -> None:
    scores[key] = max(score, scores.get(key, 0.0))


async def unindexed_memories(request: SearchRequest, record: SystemOfRecord) -> list[Memory]:
    """Memories that are acknowledged but not indexed yet, so that users can read what they have just written.

    Where there are more than are read (a lost index is being rebuilt), the newest memories are among them.
    """
    if HitKind.MEMORY not in request.kinds:
        return []
    user_id = request.user_id
    unlearned = await record.backlog.unlearned(limit=_MAX_UNINDEXED, user_id=user_id)
    outbox = await record.backlog.outbox(limit=_MAX_UNINDEXED, user_id=user_id)
    memories = [Memory.from_resource(resource) for resource in unlearned]
    if ids := [entry.item_id for entry in outbox if entry.collection is Collection.MEMORIES]:
        async with record.reading(user_id=user_id) as unit:
            memories += await unit.memories.get(ids)
    if len(outbox) == _MAX_UNINDEXED:
        memories += await recent_memories(request, record)
    return memories


async def recent_memories(request: SearchRequest, record: SystemOfRecord) -> list[Memory]:
    """The newest memories, which stay searchable while the index is down (DESIGN §7)."""
    if HitKind.MEMORY not in request.kinds:
        return []
    async with record.reading(user_id=request.user_id) as unit:
        return await unit.memories.recent(limit=_MAX_RECENT, session_id=request.filters.session_id)


def overlap_leg(request: SearchRequest, memories: Iterable[Memory], analyzer: KeywordAnalyzer) -> Scores:
    """The share of the query's distinct terms that occur in each memory (its resolved text, if any); without zeros."""
    terms = set(analyzer.terms(request.query))
    if not terms:
        return {}
    scores = {}
    for memory in memories:
        if matches_filter(memory, request.filters):
            shared = terms.intersection(analyzer.terms(memory.resolved or memory.text))
            if shared:
                scores[Key(HitKind.MEMORY, memory.memory_id)] = len(shared) / len(terms)
    return scores


def matches_filter(memory: Memory, wanted: SearchFilter) -> bool:
    """Whether a memory meets a filter, and was not anonymised; every index must agree with this rule."""
    return (
        not memory.is_anonymised
        and (wanted.session_id is None or memory.session_id == wanted.session_id)
        and (wanted.role is None or memory.role == wanted.role)
        and (wanted.created_from is None or memory.created_at >= wanted.created_from)
        and (wanted.created_to is None or memory.created_at <= wanted.created_to)
        and all(
            name in memory.metadata and memory.metadata[name] in (value if isinstance(value, list) else [value])
            for name, value in wanted.metadata.items()
        )
    )
