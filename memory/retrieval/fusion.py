"""Fusion: the evidence of all legs becomes one ranking (000 §6.3, DESIGN §6)."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class FusionRecipe:
    """Weights of a fused score, as data: they add up to 1, so that scores stay in 0–1.

    Args:
        name: Where the recipe comes from.
        vector: Weight of the dense leg.
        exact: Weight of lexical evidence: 1 for an exact name, else the keyword leg's score.
        freshness: Weight of how recently the thing was mentioned.
        freshness_hours: Age at which freshness reaches 0.
        graph: What evidence over relations counts beside a name that stands in the query itself, 0 to 1.
        beside: How far the better neighbour in the conversation lifts a memory, 0 to 1.
        speaker: How far it lifts a memory that the query names its speaker, 0 to 1.
        linked: How far it lifts a memory that it goes on about what the best hit names, 0 to 1.
        alike: How much a memory loses that says the same as a better one, 0 to 1.
    """

    name: str
    vector: float
    exact: float
    freshness: float
    freshness_hours: float
    graph: float = 0.0
    beside: float = 0.0
    speaker: float = 0.0
    linked: float = 0.0
    alike: float = 0.0


ENTITY_MEMORY = FusionRecipe("000 §6.3", vector=0.4, exact=0.4, freshness=0.2, freshness_hours=240.0)
CONVERSATION = replace(ENTITY_MEMORY, name="000 §6.3, in conversation", beside=0.5, speaker=0.3, linked=0.6, alike=0.2)
"""000's formula, and what a conversation says besides. `beside` is DESIGN §6's. The others are round numbers, looked at
on the three LoCoMo conversations (`beside` and `speaker` chosen on two and measured on the third: 80.3) and on six
trajectories of each MemDaily file, which `benchmarks.retrieval.recall` leaves out."""


def freshness(last: datetime, now: datetime, *, horizon_hours: float) -> float:
    """`max(0, 1 − hours/horizon)` (000 §6.3; DESIGN §11: the formula stands); 1 for what lies in the future."""
    hours = (now - last).total_seconds() / 3600
    return min(1.0, max(0.0, 1.0 - hours / horizon_hours))


def min_max(scores: Mapping[K, float]) -> dict[K, float]:
    """Scales scores to 0–1 over the candidates; all 1 where they do not differ."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high == low:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


def share_of_best(scores: Mapping[K, float]) -> dict[K, float]:
    """Scales scores that start at 0, as BM25 does, to 0–1: each as a share of the best."""
    best = max(scores.values(), default=0.0)
    return {key: score / best for key, score in scores.items()} if best > 0 else {}


def fused_score(parts: Mapping[str, float], recipe: FusionRecipe) -> float:
    """The formula of 000 §6.3 over parts that lie in 0–1; a missing part counts 0."""
    lexical = max(parts.get("exact", 0.0), parts.get("keyword", 0.0), recipe.graph * parts.get("graph", 0.0))
    return (
        recipe.vector * parts.get("vector", 0.0)
        + recipe.exact * lexical
        + recipe.freshness * parts.get("freshness", 0.0)
    )


def lifted_score(score: float, parts: Mapping[str, float], recipe: FusionRecipe) -> float:
    """A fused score with what speaks for a thing besides: each part closes its share of the way to 1."""
    for name, weight in (("beside", recipe.beside), ("speaker", recipe.speaker), ("linked", recipe.linked)):
        score += (1.0 - score) * weight * parts.get(name, 0.0)
    return score


@dataclass(frozen=True)
class HotnessRecipe:
    """Weights of a score by use, as data: they add up to 1, so that scores stay in 0–1.

    Args:
        name: Where the recipe comes from.
        relevance: Weight of how well the thing answers the query, 0 to 1.
        hotness: Weight of how often it was retrieved.
        recency: Weight of how lately it was said.
        full_access: Accesses from which on hotness is 1.
        horizon_days: Age at which recency reaches 0.
        min_confidence: Less sure things are left out.
        limit: How many are returned where the caller does not say.
        candidates: How many candidates are looked at for each that is returned.
    """

    name: str
    relevance: float
    hotness: float
    recency: float
    full_access: int
    horizon_days: float
    min_confidence: float
    limit: int
    candidates: int


TYPED_MEMORY_HOTNESS = HotnessRecipe(
    "001 §3.4",
    relevance=0.4,
    hotness=0.3,
    recency=0.3,
    full_access=100,
    horizon_days=365.0,
    min_confidence=0.7,
    limit=5,
    candidates=2,
)


def hotness_parts(
    relevance: float, access_count: int, updated: datetime, now: datetime, recipe: HotnessRecipe = TYPED_MEMORY_HOTNESS
) -> dict[str, float]:
    """The parts of 001 §3.4's score, each cut to 0–1 (DESIGN §11: its terms are unbounded there)."""
    return {
        "relevance": min(1.0, max(0.0, relevance)),
        "hotness": min(1.0, access_count / recipe.full_access),
        "recency": freshness(updated, now, horizon_hours=24 * recipe.horizon_days),
    }


def hotness_score(parts: Mapping[str, float], recipe: HotnessRecipe = TYPED_MEMORY_HOTNESS) -> float:
    """`0.4·relevance + 0.3·min(1, access/100) + 0.3·max(0, 1 − days/365)` (001 §3.4), over parts that lie in 0–1."""
    return recipe.relevance * parts["relevance"] + recipe.hotness * parts["hotness"] + recipe.recency * parts["recency"]
