"""Times as stores compare them: whole numbers."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(moment: datetime) -> int:
    """Whole microseconds since the epoch: exact, and ordered as moments are, whatever their zones."""
    return (moment - _EPOCH) // _MICROSECOND


def moment_of(count: float) -> datetime:
    """The moment in UTC so many microseconds after the epoch; a whole number, which AQL may give as a float."""
    return _EPOCH + int(count) * _MICROSECOND
