"""The priority of categories: a fixed weight, raised by how often and how recently they were used (002 §4.3)."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from pydantic import Field

from ..ports.stores.record import UnitOfWork
from ..values.base import Value

STATIC_WEIGHTS: Mapping[str, float] = {
    "preferences": 1.0,
    "facts": 0.9,
    "goals": 0.7,
    "skills": 0.6,
    "relationships": 0.5,
    "events": 0.4,
}
"""The weights of the six categories of 002 §4.3, in that order."""

OTHER_WEIGHT = 0.4
"""The weight of a category that 002 does not name: that of the least of the six."""

_DAY = timedelta(days=1)


class PriorityRules(Value):
    """The parameters of 002 §4.3.

    Args:
        usage_window_days: Uses within so many days count.
        usage_norm: So many of them give the full usage score.
        usage_weight: How much usage adds to the factor.
        recency_half_life_days: After so many days without use, the recency score is a half.
        recency_weight: How much recency adds to the factor.
    """

    usage_window_days: float = Field(default=30, gt=0)
    usage_norm: float = Field(default=10, gt=0)
    usage_weight: float = Field(default=0.3, ge=0)
    recency_half_life_days: float = Field(default=14, gt=0)
    recency_weight: float = Field(default=0.2, ge=0)

    def priority(self, category: str, *, uses: int, last_used: datetime | None, now: datetime) -> float:
        """`static_weight × (1 + usage_weight × usage_score + recency_weight × recency_score)`.

        Args:
            category: Its name.
            uses: The number of uses within the window.
            last_used: None where it was never used; its recency score is then 0.
            now: When the priority holds.
        """
        usage = min(1.0, uses / self.usage_norm)
        factor = 1.0 + self.usage_weight * usage + self.recency_weight * self._recency(last_used, now)
        return STATIC_WEIGHTS.get(category, OTHER_WEIGHT) * factor

    def _recency(self, last_used: datetime | None, now: datetime) -> float:
        if last_used is None:
            return 0.0
        age_days = max(0.0, (now - last_used) / _DAY)
        return float(0.5 ** (age_days / self.recency_half_life_days))


async def prioritise(
    unit: UnitOfWork, categories: Iterable[str], *, rules: PriorityRules, now: datetime
) -> list[tuple[str, float]]:
    """Categories with their priorities, highest first; of equal ones in the order of their names."""
    uses = await unit.category_accesses.count_since(now - timedelta(days=rules.usage_window_days))
    last = await unit.category_accesses.last_accessed()
    ranked = [
        (name, rules.priority(name, uses=uses.get(name, 0), last_used=last.get(name), now=now)) for name in categories
    ]
    return sorted(ranked, key=lambda pair: (-pair[1], pair[0]))
