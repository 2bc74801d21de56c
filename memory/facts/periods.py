"""Periods of validity: half open, with ends that may be unknown, and the facts that hold at a time (002 §1.1)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from ..values.facts import Fact
from ..values.predicates import ONE_VALUED
from ..values.text import normalise


@dataclass(frozen=True, slots=True)
class Period:
    """A period; `start` None is an unknown begin, `end` None an unknown end, which does not belong to it."""

    start: datetime | None = None
    end: datetime | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it holds no moment."""
        return self.start is not None and self.end is not None and self.start >= self.end

    def holds(self, moment: datetime) -> bool:
        """Whether a moment lies in it."""
        return (self.start is None or self.start <= moment) and (self.end is None or moment < self.end)

    def until(self, end: datetime) -> "Period":
        """The part before a moment; empty, at its own begin, where there is none."""
        latest = end if self.end is None else min(self.end, end)
        return Period(self.start, latest if self.start is None else max(self.start, latest))

    def overlaps(self, other: "Period") -> bool:
        """Whether some moment lies in both."""
        if self.is_empty or other.is_empty:
            return False
        self_first = self.end is None or other.start is None or other.start < self.end
        other_first = other.end is None or self.start is None or self.start < other.end
        return self_first and other_first


def period_of(fact: Fact) -> Period:
    """The period of validity of a fact."""
    return Period(fact.valid_from, fact.valid_to)


def facts_at(facts: Iterable[Fact], at: datetime) -> list[Fact]:
    """The facts that hold at a time, in their order.

    Of a one-valued predicate only the latest said: what was said last about that time is believed.
    """
    holding = [fact for fact in facts if fact.holds(at)]
    latest: dict[tuple[str, str], Fact] = {}
    for fact in sorted(holding, key=lambda fact: fact.recorded_at):
        if fact.predicate in ONE_VALUED and not fact.is_negated and not fact.conflicts_with:
            latest[normalise(fact.subject), fact.predicate] = fact
    believed = {fact.fact_id for fact in latest.values()}
    return [
        fact
        for fact in holding
        if fact.fact_id in believed or fact.predicate not in ONE_VALUED or fact.is_negated or fact.conflicts_with
    ]
