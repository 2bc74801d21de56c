"""What a conversation says of a memory besides its words: what stands beside it, who spoke, what was said twice."""

import heapq
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from ..extraction.rules.lexicon import ComparableText
from ..values.dialogue import Role
from ..values.hits import Hit, HitKind
from ..values.records import Memory

_FIRST = re.compile(r"我|\b(?:i|me|my|mine|we|us|our|ours)\b", re.IGNORECASE)
_SECOND = re.compile(r"你|您|\b(?:you|your|yours)\b", re.IGNORECASE)
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")


def beside(scores: Mapping[str, float], previous: Mapping[str, str]) -> dict[str, float]:
    """The score of the better neighbour of each memory that has one among these.

    An answer often shares no word with the question: the turn before it does (DESIGN §6, measured).

    Args:
        scores: By id of the memory.
        previous: The memory before each in its session.
    """
    best: dict[str, float] = {}
    for later, earlier in previous.items():
        if later in scores and earlier in scores:
            best[later] = max(best.get(later, 0.0), scores[earlier])
            best[earlier] = max(best.get(earlier, 0.0), scores[later])
    return best


def spoken_by_named(query: str, memories: Iterable[Memory]) -> frozenset[str]:
    """Ids of the memories whose speaker the query names: by name, or, where they have none, by 我 and "I", or by 你 and
    "you". A query that says both of these names neither.
    """
    text = ComparableText(query)
    own, ours = bool(_FIRST.search(query)), bool(_SECOND.search(query))
    role = None if own == ours else Role.USER if own else Role.ASSISTANT
    known: dict[str, bool] = {}
    found = set()
    for memory in memories:
        if not memory.speaker:
            named = memory.role is role
        else:
            named = known.setdefault(memory.speaker, next(text.find(memory.speaker), None) is not None)
        if named:
            found.add(memory.memory_id)
    return frozenset(found)


def unlike(hits: Sequence[Hit], *, top_k: int, weight: float) -> list[Hit]:
    """The best hits, a memory losing by how alike it is to one that stands before it (003: MMR).

    `score · (1 − weight · alike)`, where `alike` is the share of words that the two have in common (Jaccard; a Han
    character counts as a word). It is among the parts of a hit that lost by it.

    Args:
        hits: Of any order.
        top_k: How many are wanted.
        weight: What saying the very same costs, 0 to 1.
    """
    words = cache(lambda place: _words(hits[place]))
    alike = [0.0] * len(hits)
    chosen: list[int] = []
    # A score only ever falls: the best of the heap is the next one as soon as it has been compared with all chosen.
    heap = [(-hit.score, -hit.created_at.timestamp(), hit.id, place, 0) for place, hit in enumerate(hits)]
    heapq.heapify(heap)
    while heap and len(chosen) < top_k:
        _, age, id_, place, compared = heapq.heappop(heap)
        if weight and compared < len(chosen):
            nearest = max(_shared(words(place), words(other)) for other in chosen[compared:])
            alike[place] = max(alike[place], nearest)
            score = hits[place].score * (1.0 - weight * alike[place])
            heapq.heappush(heap, (-score, age, id_, place, len(chosen)))
        else:
            chosen.append(place)
    return [_lowered(hits[place], alike[place], weight) for place in chosen]


def _lowered(hit: Hit, alike: float, weight: float) -> Hit:
    if not alike:
        return hit
    return hit.model_copy(update={"score": hit.score * (1.0 - weight * alike), "parts": {**hit.parts, "alike": alike}})


def _words(hit: Hit) -> frozenset[str]:
    return frozenset(_WORD.findall(hit.text.casefold())) if hit.kind is HitKind.MEMORY else frozenset()


def _shared(left: frozenset[str], right: frozenset[str]) -> float:
    both = len(left & right)
    return both / (len(left) + len(right) - both) if both else 0.0
