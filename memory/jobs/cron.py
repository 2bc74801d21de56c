"""When a job is due: five fields as cron has them, in a time zone (001 §4.3)."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from ..values.errors import InvalidField

NEVER = "never"
"""What settings say where a job is done by command alone."""

_FIELDS = "five fields: minute hour day month weekday, as in 0 2 * * 0"
_LONGEST_SHIFT = timedelta(hours=3)
"""Clocks are put back by less: a time of day that comes twice counts where it comes first."""


@dataclass(frozen=True)
class Schedule:
    """The moments at which a job is due, in UTC.

    Days of the month and of the week are combined as Debian's cron does it: where both are restricted, either will do.
    A time of day that a clock put forward leaves out is the first one after it; one that comes twice is due once.
    """

    text: str
    zone: ZoneInfo

    @classmethod
    def parse(cls, text: str, *, timezone: str) -> "Schedule":
        """Reads `minute hour day month weekday`: numbers, `*`, ranges `1-5`, steps `*/15` and lists `1,3`.

        Raises:
            InvalidField: It is no such thing, is never due, or the time zone is unknown.
        """
        if len(text.split()) != 5:
            raise _refused(text, _FIELDS)
        try:
            zone = ZoneInfo(timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise InvalidField(
                f"{timezone!r} is no time zone", field="timezone", allowed="a name as in Asia/Taipei"
            ) from error
        try:
            next(CronSim(text, datetime(2024, 1, 1, tzinfo=UTC)))
        except CronSimError as error:
            raise _refused(text, f"{_FIELDS}; {error}") from None
        except StopIteration:
            raise _refused(text, "a day that exists") from None
        return cls(text, zone)

    def previous(self, now: datetime) -> datetime:
        """The last moment at or before `now` at which the job is due."""
        later = now.astimezone(self.zone) + _LONGEST_SHIFT
        moments = (moment.astimezone(UTC) for moment in CronSim(self.text, later, reverse=True))
        return next(moment for moment in moments if moment <= now)

    def following(self, now: datetime) -> datetime:
        """The first moment after `now` at which the job is due."""
        moments = (moment.astimezone(UTC) for moment in CronSim(self.text, now.astimezone(self.zone)))
        return next(moment for moment in moments if moment > now)


def _refused(text: str, allowed: str) -> InvalidField:
    return InvalidField(f"{text!r} is no schedule: it needs {allowed}", field="schedule", allowed=allowed)
