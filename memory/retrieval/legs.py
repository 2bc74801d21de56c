"""The search legs: each one scores candidates in its own way, on its own (DESIGN §6)."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypedDict

from ..language.keywords import KeywordAnalyzer
from ..ports.language import Encoder, Priority, TextKind
from ..ports.record import SystemOfRecord
from ..ports.vectors import Collection, FloatVector, IndexQuery, VectorIndex
from ..values.entities import EntityStatus
from ..values.hits import HitKind, SearchFilter, SearchRequest
from ..values.records import Memory
from ..values.vectors import SparseVector

_COLLECTIONS = {HitKind.ENTITY: Collection.ENTITIES, HitKind.MEMORY: Collection.MEMORIES}
_WHERE = {HitKind.ENTITY: {"status": EntityStatus.ACTIVE.value}}
_UNINDEXED = 64
_RECENT = 200


class Key(NamedTuple):
    """What a candidate is, whatever leg found it."""

    kind: HitKind
    id: str


Scores = dict[Key, float]


async def dense_leg(
    request: SearchRequest, questions: Sequence[str], encoder: Encoder, index: VectorIndex, *, limit: int
) -> list[Scores]:
    """Cosine of each question's embedding with each candidate's."""
    vectors = await encoder.encode(questions, kind=TextKind.QUERY, priority=Priority.INTERACTIVE)
    return await _search(request, index, limit, [{"dense": vector} for vector in vectors])


async def keyword_leg(
    request: SearchRequest, questions: Sequence[str], analyzer: KeywordAnalyzer, index: VectorIndex, *, limit: int
) -> list[Scores]:
    """BM25 of each question over words and character bigrams."""
    vectors = [analyzer.query_vector(question) for question in questions]
    found = iter(await _search(request, index, limit, [{"sparse": vector} for vector in vectors if vector.indices]))
    return [next(found) if vector.indices else {} for vector in vectors]


class _Asked(TypedDict, total=False):
    dense: FloatVector
    sparse: SparseVector


async def _search(request: SearchRequest, index: VectorIndex, limit: int, asked: Sequence[_Asked]) -> list[Scores]:
    """What each question finds, of all kinds together."""
    queries = [
        IndexQuery(_COLLECTIONS[kind], limit, filters=request.filters, where=_WHERE.get(kind, {}), **one)
        for one in asked
        for kind in request.kinds
    ]
    results = iter(await index.search(queries, user_id=request.user_id) if queries else [])
    return [
        {Key(kind, point.point_id): point.score for kind in request.kinds for point in next(results)} for _ in asked
    ]


async def exact_leg(request: SearchRequest, record: SystemOfRecord) -> Scores:
    """1 for each entity whose name or alias stands in the query."""
    if HitKind.ENTITY not in request.kinds:
        return {}
    async with record.reading(user_id=request.user_id) as unit:
        found = await unit.entities.found_in(request.query)
    return {Key(HitKind.ENTITY, entity.entity_id): 1.0 for entity in found}


async def unindexed_memories(request: SearchRequest, record: SystemOfRecord) -> list[Memory]:
    """What is acknowledged but not in the index yet: so that a user can read what was just written.

    Where more waits than is looked at (a lost index is coming back), the newest memories are among it.
    """
    if HitKind.MEMORY not in request.kinds:
        return []
    user_id = request.user_id
    unlearned = await record.backlog.unlearned(limit=_UNINDEXED, user_id=user_id)
    waiting = await record.backlog.outbox(limit=_UNINDEXED, user_id=user_id)
    memories = [Memory.from_resource(resource) for resource in unlearned]
    if ids := [entry.item_id for entry in waiting if entry.collection is Collection.MEMORIES]:
        async with record.reading(user_id=user_id) as unit:
            memories += await unit.memories.get(ids)
    if len(waiting) == _UNINDEXED:
        memories += await recent_memories(request, record)
    return memories


async def recent_memories(request: SearchRequest, record: SystemOfRecord) -> list[Memory]:
    """The newest memories: what stays findable while the index is down (DESIGN §7)."""
    if HitKind.MEMORY not in request.kinds:
        return []
    async with record.reading(user_id=request.user_id) as unit:
        return await unit.memories.recent(limit=_RECENT, session_id=request.filters.session_id)


def overlap(request: SearchRequest, memories: Iterable[Memory], analyzer: KeywordAnalyzer) -> Scores:
    """The share of the query's distinct terms that each memory holds as it was meant, where it holds any."""
    terms = set(analyzer.terms(request.query))
    if not terms:
        return {}
    wanted = [memory for memory in memories if matches(memory, request.filters)]
    held = {memory.memory_id: terms & set(analyzer.terms(memory.resolved or memory.text)) for memory in wanted}
    return {Key(HitKind.MEMORY, id_): len(found) / len(terms) for id_, found in held.items() if found}


def matches(memory: Memory, wanted: SearchFilter) -> bool:
    """Whether a memory meets a filter: the rule that every index must agree with."""
    return (
        (wanted.session_id is None or memory.session_id == wanted.session_id)
        and (wanted.role is None or memory.role == wanted.role)
        and (wanted.created_from is None or memory.created_at >= wanted.created_from)
        and (wanted.created_to is None or memory.created_at <= wanted.created_to)
        and all(
            name in memory.metadata and memory.metadata[name] in (value if isinstance(value, list) else [value])
            for name, value in wanted.metadata.items()
        )
    )
