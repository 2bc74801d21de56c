"""The forgetting curve (004 §7.1): how well a memory or fact is retained, by its last use and the number of uses."""

import math
from datetime import datetime
from typing import Annotated

from pydantic import Field

from ..base import Value
from ..facts import Fact
from ..records import Memory

_LARGEST_BOOST = 5.0
_SECONDS_PER_DAY = 86_400.0

DecayRate = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]
FrequencyWeight = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]
RetentionThreshold = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class RetentionPolicy(Value):
    """The numbers of the curve; the defaults are those of 004 §7.1.

    Args:
        decay_rate: λ, per day: the larger, the faster something is forgotten.
        frequency_weight: The weight of the logarithm of the number of uses; 1 is the document's formula.
        threshold: What is retained less than this counts as forgotten. 004 names no number; 0.01 is the last row of its
            table, which is reached after 30 days without a use. Nothing is removed because of it.
    """

    decay_rate: DecayRate = 0.1
    frequency_weight: FrequencyWeight = 1.0
    threshold: RetentionThreshold = 0.01

    def score(self, *, days_elapsed: float, access_count: int) -> float:
        """`min(1, e^(-λ·days) · (1 + w·ln(1 + access_count)) / 5)`, between 0 and 1 (004 §7.1).

        Its maximum without any use is 0.2: the boost of frequency is then 1 and is divided by 5, so that the rest of
        the scale is left to what is used (`e^4 - 1`, about 54 uses, reach 1).

        Args:
            days_elapsed: Days since the last use, with fractions; the future counts as now.
            access_count: Uses so far.
        """
        time_decay = math.exp(-self.decay_rate * max(0.0, days_elapsed))
        frequency_boost = 1 + self.frequency_weight * math.log1p(access_count)
        return min(1.0, time_decay * frequency_boost / _LARGEST_BOOST)

    def retention_of(self, item: Memory | Fact, now: datetime) -> "Retention":
        """How well an item is retained now; until it is used for the first time, its age counts."""
        if isinstance(item, Memory):
            begun, used = item.created_at, item.last_accessed_at
        else:
            begun, used = item.recorded_at, item.accessed_at
        last = begun if used is None else max(begun, used)
        days = max(0.0, (now - last).total_seconds() / _SECONDS_PER_DAY)
        score = self.score(days_elapsed=days, access_count=item.access_count)
        return Retention(
            score=score, days_elapsed=days, access_count=item.access_count, is_forgotten=score < self.threshold
        )


class Retention(Value):
    """How well something is retained.

    Args:
        score: 0 to 1; the lower, the nearer it is to being forgotten.
        days_elapsed: Days since its last use, else since it was said.
        access_count: How often an answer or a prompt held it.
        is_forgotten: Whether the score is below the policy's threshold.
    """

    score: float
    days_elapsed: float
    access_count: int
    is_forgotten: bool
