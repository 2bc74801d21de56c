"""Evidence from the conversation that a memory is part of: its neighbours, its speaker, repetitions."""

import heapq
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from ..extraction.comparable_text import ComparableText
from ..language.questions import speaks_of_hearer, speaks_of_self
from ..values.hits import Hit, HitKind
from ..values.records import Memory
from ..values.understanding.dialogue import Role

_WORD = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")


def neighbour_scores(scores: Mapping[str, float], previous: Mapping[str, str]) -> dict[str, float]:
    """The score of each memory's better neighbour, for memories that have a neighbour among the candidates.

    An answer often shares no word with the question, but the turn before it does (DESIGN §6, measured).

    Args:
        scores: Scores of the candidates by memory id.
        previous: The id of the memory before each memory in its session.
    """
    best: dict[str, float] = {}
    for later, earlier in previous.items():
        if later in scores and earlier in scores:
            best[later] = max(best.get(later, 0.0), scores[earlier])
            best[earlier] = max(best.get(earlier, 0.0), scores[later])
    return best


def with_named_speaker(query: str, memories: Iterable[Memory]) -> frozenset[str]:
    """Ids of the memories whose speaker the query names.

    A memory without a speaker's name matches by role: 我 or "I" means the user, 你 or "you" the assistant; a query with
    both, or neither, names no role.
    """
    text = ComparableText(query)
    first, second = speaks_of_self(query), speaks_of_hearer(query)
    role = None if first == second else Role.USER if first else Role.ASSISTANT
    is_named = cache(lambda speaker: next(text.find(speaker), None) is not None)
    return frozenset(
        memory.memory_id for memory in memories if (is_named(memory.speaker) if memory.speaker else memory.role is role)
    )


def diversify(hits: Sequence[Hit], *, top_k: int, weight: float) -> list[Hit]:
    """The best hits by maximal marginal relevance: memories lose score by similarity to better hits (003).

    `score · (1 − weight · alike)`, where `alike` is the Jaccard similarity of the two sets of words (a Han character
    counts as a word). Hits that lost score have `alike` among their parts.

    Args:
        hits: The candidates in any order.
        top_k: Number of hits to return.
        weight: Share of the score that an identical memory loses, 0 to 1.
    """
    words = cache(lambda position: _words(hits[position]))
    alike = [0.0] * len(hits)
    chosen: list[int] = []
    # Scores only fall: the head of the heap is the next hit once it has been compared with all chosen ones.
    heap = [(-hit.score, -hit.created_at.timestamp(), hit.id, position, 0) for position, hit in enumerate(hits)]
    heapq.heapify(heap)
    while heap and len(chosen) < top_k:
        _, age, id_, position, compared = heapq.heappop(heap)
        if weight and compared < len(chosen):
            nearest = max(_jaccard(words(position), words(other)) for other in chosen[compared:])
            alike[position] = max(alike[position], nearest)
            score = hits[position].score * (1.0 - weight * alike[position])
            heapq.heappush(heap, (-score, age, id_, position, len(chosen)))
        else:
            chosen.append(position)
    return [_penalise(hits[position], alike[position], weight) for position in chosen]


def _penalise(hit: Hit, alike: float, weight: float) -> Hit:
    if not alike:
        return hit
    return hit.model_copy(update={"score": hit.score * (1.0 - weight * alike), "parts": {**hit.parts, "alike": alike}})


def _words(hit: Hit) -> frozenset[str]:
    return frozenset(_WORD.findall(hit.text.casefold())) if hit.kind is HitKind.MEMORY else frozenset()


def _jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    both = len(left & right)
    return both / (len(left) + len(right) - both) if both else 0.0
