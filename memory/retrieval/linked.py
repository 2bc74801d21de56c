"""The second step of a search: what memory says of the things that the best hits name."""

from collections.abc import Mapping, Sequence

from ..language.keywords import KeywordAnalyzer
from ..ports.vectors import Collection, IndexQuery, VectorIndex
from ..values.hits import HitKind, SearchRequest
from ..values.records import Memory
from ..values.vectors import SparseVector
from .legs import Key, Scores

MOST_TERMS = 64
"""Terms of one hit that are searched for, the first ones; a long note has more."""


async def linked_leg(
    request: SearchRequest,
    best: Mapping[str, float],
    memories: Sequence[Memory],
    analyzer: KeywordAnalyzer,
    index: VectorIndex,
    *,
    limit: int,
) -> Scores:
    """Memories that hold what the best hits say and the query does not: a name, mostly.

    "Which bank is my boss with?" finds "My boss is Wang"; what else is known of Wang shares no word with the question.
    A memory's score is its share of the terms, by BM25, as the hit itself has it, times the hit's score.

    Args:
        request: Whose memory, and which filters hold.
        best: The scores of the hits to start from, by id.
        memories: Those hits.
        analyzer: Reads them and the query.
        index: Searched once, for all of them.
        limit: Memories found for each.
    """
    asked = frozenset(analyzer.query_vector(request.query).indices)
    rest = {memory.memory_id: _without(analyzer.query_vector(memory.text), asked) for memory in memories}
    starts = [(id_, terms) for id_, terms in rest.items() if terms.indices]
    if not starts:
        return {}
    queries = [IndexQuery(Collection.MEMORIES, limit, sparse=terms, filters=request.filters) for _, terms in starts]
    scores: Scores = {}
    for (start, _), points in zip(starts, await index.search(queries, user_id=request.user_id), strict=True):
        found = {point.point_id: point.score for point in points}
        whole = found.pop(start, max(found.values(), default=0.0))
        for id_, score in found.items():
            if score > 0:
                key = Key(HitKind.MEMORY, id_)
                scores[key] = max(scores.get(key, 0.0), best[start] * min(1.0, score / whole))
    return scores


def _without(vector: SparseVector, left_out: frozenset[int]) -> SparseVector:
    kept = tuple(term for term in vector.indices if term not in left_out)[:MOST_TERMS]
    return SparseVector(kept, (1.0,) * len(kept))
