"""When a job is due: five fields as cron has them, in a time zone (001 §4.3)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..values.errors import InvalidField

NEVER = "never"
"""What settings say where a job is done by command alone."""

_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("day of week", 0, 7))
_DAYS = 366 * 8
"""So far is looked: 29 February comes every eight years at the latest."""


@dataclass(frozen=True)
class Schedule:
    """Minutes, hours, days of the month, months and days of the week (0 is Sunday) at which a job is due.

    Where both kinds of days are restricted, either will do, as in cron.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    zone: ZoneInfo

    @classmethod
    def parse(cls, text: str, *, timezone: str) -> "Schedule":
        """Reads `minute hour day month weekday`: numbers, `*`, ranges `1-5`, steps `*/15` and lists `1,3`.

        Raises:
            InvalidField: It is no such thing, is never due, or the time zone is unknown.
        """
        words = text.split()
        if len(words) != len(_FIELDS):
            raise _refused(text, "five fields: minute hour day month weekday, as in 0 2 * * 0")
        sets = [_values(word, *field, text=text) for word, field in zip(words, _FIELDS, strict=True)]
        try:
            zone = ZoneInfo(timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise InvalidField(
                f"{timezone!r} is no time zone", field="timezone", allowed="a name as in Asia/Taipei"
            ) from error
        schedule = cls(
            minutes=sets[0],
            hours=sets[1],
            days=sets[2],
            months=sets[3],
            weekdays=frozenset(day % 7 for day in sets[4]),
            either_day=not words[2].startswith("*") and not words[4].startswith("*"),
            zone=zone,
        )
        if next(schedule._days(date(2024, 1, 1), 1), None) is None:
            raise _refused(text, "a day that exists")
        return schedule

    def previous(self, now: datetime) -> datetime:
        """The last moment at or before `now` at which the job is due, in UTC."""
        return next(moment for moment in self._moments(now, -1) if moment <= now)

    def following(self, now: datetime) -> datetime:
        """The first moment after `now` at which the job is due, in UTC."""
        return next(moment for moment in self._moments(now, 1) if moment > now)

    def _moments(self, now: datetime, direction: int) -> Iterator[datetime]:
        # A day earlier or later than it is here, since a wall clock may be put back or forward.
        start = now.astimezone(self.zone).date() - timedelta(days=direction)
        times = sorted((hour, minute) for hour in self.hours for minute in self.minutes)
        for day in self._days(start, direction):
            moments = {
                datetime.combine(day, time(hour, minute), tzinfo=self.zone).astimezone(UTC) for hour, minute in times
            }
            yield from sorted(moments, reverse=direction < 0)

    def _days(self, start: date, direction: int) -> Iterator[date]:
        for offset in range(_DAYS):
            day = start + timedelta(days=direction * offset)
            if day.month in self.months and self._is_day(day):
                yield day

    def _is_day(self, day: date) -> bool:
        by_month, by_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return (by_month or by_week) if self.either_day else (by_month and by_week)


def _values(word: str, name: str, low: int, high: int, *, text: str) -> frozenset[int]:
    found: set[int] = set()
    for part in word.split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        try:
            begin, end = (low, high) if span == "*" else (int(first), int(last if dash else first))
            every = int(step) if step else 1
        except ValueError:
            raise _refused(text, f"{name}: a number, *, a range or a list, not {part!r}") from None
        if span != "*" and step and not dash:
            end = high
        if not low <= begin <= end <= high or every < 1:
            raise _refused(text, f"{name}: {low} to {high}, not {part!r}")
        found.update(range(begin, end + 1, every))
    return frozenset(found)


def _refused(text: str, allowed: str) -> InvalidField:
    return InvalidField(f"{text!r} is no schedule: it needs {allowed}", field="schedule", allowed=allowed)
