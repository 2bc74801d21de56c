"""Fusion: one score from the scores of all search legs (000 §6.3, DESIGN §6)."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class FusionRecipe:
    """Weights of a fused score; `vector`, `exact` and `freshness` add up to 1, so that scores lie in 0–1.

    Args:
        name: Where the recipe comes from.
        vector: Weight of the dense leg.
        exact: Weight of lexical evidence: 1 for an exact name, else the keyword leg's score.
        freshness: Weight of how recently a candidate was mentioned.
        freshness_hours: Age at which freshness reaches 0.
        partial_name: Factor for keyword evidence of an entity that the query does not name in full, 0 to 1.
        confidence: Share of an entity's score that its confidence decides, 0 to 1 (000 §6.2).
        graph: Factor for evidence from relations, beside 1 for a name in the query itself, 0 to 1.
        beside: Boost by the better neighbour in the conversation, 0 to 1.
        speaker: Boost of memories whose speaker the query names, 0 to 1.
        linked: Boost of memories that share terms with the best hit, 0 to 1.
        alike: Penalty for memories that say the same as a better hit, 0 to 1.
        across: Share of the gap between languages by which cosines in another language are raised, 0 to 1.
    """

    name: str
    vector: float
    exact: float
    freshness: float
    freshness_hours: float
    partial_name: float = 0.5
    confidence: float = 0.5
    graph: float = 0.0
    beside: float = 0.0
    speaker: float = 0.0
    linked: float = 0.0
    alike: float = 0.0
    across: float = 0.0


ENTITY_MEMORY = FusionRecipe("000 §6.3", vector=0.4, exact=0.4, freshness=0.2, freshness_hours=240.0, across=0.8)
CONVERSATION = replace(ENTITY_MEMORY, name="000 §6.3, in conversation", beside=0.5, speaker=0.3, linked=0.6, alike=0.2)
"""000's formula with boosts for conversations. `beside` is DESIGN §6's. The others are round numbers, checked on the
three LoCoMo conversations (`beside` and `speaker` chosen on two and measured on the third: 80.3) and on six
trajectories of each MemDaily file, which `benchmarks.retrieval.recall` leaves out."""


def freshness(last: datetime, now: datetime, *, horizon_hours: float) -> float:
    """`max(0, 1 − hours/horizon)` (000 §6.3; DESIGN §11: the formula stands); 1 for times in the future."""
    hours = (now - last).total_seconds() / 3600
    return min(1.0, max(0.0, 1.0 - hours / horizon_hours))


def min_max(scores: Mapping[K, float]) -> dict[K, float]:
    """Scales scores to 0–1 over the candidates; all are 1 where they do not differ."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high == low:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


def below_best(scores: Mapping[K, float], *, spread: float | None) -> dict[K, float]:
    """1 for the best score, 0 for one that lies `spread` or more below it; None for `min_max`.

    Unlike `min_max`, a score means the same however many candidates there are.
    """
    if spread is None:
        return min_max(scores)
    best = max(scores.values(), default=0.0)
    return {key: max(0.0, 1.0 - (best - score) / spread) for key, score in scores.items()}


def share_of_best(scores: Mapping[K, float]) -> dict[K, float]:
    """Divides scores that start at 0, such as BM25, by the best one."""
    best = max(scores.values(), default=0.0)
    return {key: score / best for key, score in scores.items()} if best > 0 else {}


def reciprocal_ranks(rankings: Iterable[Sequence[K]], *, k: int) -> dict[K, float]:
    """Reciprocal rank fusion: `Σ 1/(k + rank)` over the rankings, each best first, ranks from 1 (004 §5.2)."""
    scores: dict[K, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(ranking, start=1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (k + rank)
    return scores


def fused_score(parts: Mapping[str, float], recipe: FusionRecipe) -> float:
    """The formula of 000 §6.3 over parts in 0–1; a missing part counts as 0."""
    lexical = max(parts.get("exact", 0.0), parts.get("keyword", 0.0), recipe.graph * parts.get("graph", 0.0))
    return (
        recipe.vector * parts.get("vector", 0.0)
        + recipe.exact * lexical
        + recipe.freshness * parts.get("freshness", 0.0)
    )


def boosted_score(score: float, parts: Mapping[str, float], recipe: FusionRecipe) -> float:
    """A fused score with its boosts: each moves the score towards 1 by the weighted part."""
    for name, weight in (("beside", recipe.beside), ("speaker", recipe.speaker), ("linked", recipe.linked)):
        score += (1.0 - score) * weight * parts.get(name, 0.0)
    return score
