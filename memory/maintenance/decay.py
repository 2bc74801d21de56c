"""How age lowers the confidence of facts, and use raises it (002 §5.1, §5.2, §5.4)."""

from datetime import datetime, timedelta

from pydantic import Field

from ..ports.stores.typed_memories import is_given
from ..values.base import Value
from ..values.facts import Fact, FactStatus
from ..values.predicates import LASTING

HALF_LIFE_DAYS = 30.0


class MaintenanceRules(Value):
    """Thresholds of the jobs (002 §5); what 002 does not say is ours.

    Args:
        half_life_days: After so many days without use, the confidence of a fact is a half of what it was.
        archive_after_days: A fact that was recorded longer ago than this …
        archive_below: … and whose confidence is below this is archived: with these half-lives what was stated at 0.4
            after 90 days without use, what was stated at 1 after 130.
        promote_within_days: A use within so many days raises the confidence …
        promotion: … by this share of the distance to 1, once for all uses since the last time.
        smallest_change: Confidence is lowered in steps of at least this much, so that a job rewrites few facts.
        orphans_after_days: A log entry that nothing was made of is deleted after so many days.
        usage_window_days: Uses of a category count for so many days (002 §4.3); older ones are deleted.
        lasting: Predicates that age does not touch.
    """

    half_life_days: float = Field(default=HALF_LIFE_DAYS, gt=0)
    archive_after_days: float = Field(default=90, gt=0)
    archive_below: float = Field(default=0.05, ge=0, le=1)
    promote_within_days: float = Field(default=7, gt=0)
    promotion: float = Field(default=0.1, ge=0, le=1)
    smallest_change: float = Field(default=0.01, ge=0, le=1)
    orphans_after_days: float = Field(default=90, gt=0)
    usage_window_days: float = Field(default=30, gt=0)
    lasting: frozenset[str] = LASTING

    def decayed(self, fact: Fact, now: datetime) -> Fact:
        """The fact with the confidence that age leaves it; the same fact where that is about what it was.

        Age counts from the last time that the fact was recorded, used or decayed, so that decaying at any moments in
        between gives what decaying once gives.
        """
        if fact.status is not FactStatus.ACTIVE or fact.predicate in self.lasting or is_given(fact):
            return fact
        since = _latest(fact.recorded_at, fact.accessed_at, fact.decayed_at)
        confidence = fact.confidence * time_decay_score(since, now=now, half_life_days=self.half_life_days)
        if fact.confidence - confidence < self.smallest_change:
            return fact
        until = since + timedelta(days=(now - since).days)
        return fact.model_copy(update={"confidence": confidence, "decayed_at": until})

    def promoted(self, fact: Fact, now: datetime) -> Fact:
        """The fact with the confidence that its uses since the last promotion give it; else the same fact."""
        used = fact.accessed_at
        recent = used is not None and used >= now - timedelta(days=self.promote_within_days)
        is_new = used is not None and (fact.promoted_at is None or fact.promoted_at < used)
        if fact.status is not FactStatus.ACTIVE or not recent or not is_new:
            return fact
        confidence = fact.confidence + self.promotion * (1 - fact.confidence)
        return fact.model_copy(update={"confidence": confidence, "promoted_at": used})

    def is_archived(self, fact: Fact, now: datetime) -> bool:
        """Whether the weekly job archives the fact: old, of low confidence, and nothing that lasts."""
        return (
            fact.status is FactStatus.ACTIVE
            and fact.recorded_at < now - timedelta(days=self.archive_after_days)
            and fact.confidence < self.archive_below
            and fact.predicate not in self.lasting
            and not is_given(fact)
        )


def time_decay_score(created_at: datetime, *, now: datetime, half_life_days: float = HALF_LIFE_DAYS) -> float:
    """`0.5 ** (age_days / half_life_days)`, with the age in whole days (002 §5.4); 1 for the future."""
    age_days = max(0, (now - created_at).days)
    return float(0.5 ** (age_days / half_life_days))


def _latest(first: datetime, *others: datetime | None) -> datetime:
    return max(first, *(moment for moment in others if moment is not None)) if any(others) else first
