"""Periods of time: half open, with ends that may be unknown."""

from dataclasses import dataclass
from datetime import datetime


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
