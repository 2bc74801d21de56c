"""Places in lists by time, and the cursors that name them to callers."""

import re
from datetime import UTC, datetime, timedelta

from ...values.errors import InvalidField

Place = tuple[datetime, str]
"""The place of an item in a list that is ordered by a time, latest first, then by id."""

CURSOR = r"^(-?[0-9]{1,16})\.([0-9A-Za-z-]{1,64})$"
"""What a cursor looks like: microseconds since 1970, and the id of an item."""

_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


def cursor_of(at: datetime, item_id: str) -> str:
    """A place as text; it stays a place when the item is gone."""
    return f"{(at - _EPOCH) // _MICROSECOND}.{item_id}"


def place_of(cursor: str | None) -> Place | None:
    """The place that a cursor names.

    Raises:
        InvalidField: It is no cursor.
    """
    if cursor is None:
        return None
    if (match := re.match(CURSOR, cursor)) is None:
        raise InvalidField("after: this is no cursor", field="after", allowed="`next` of the page before")
    return _EPOCH + int(match[1]) * _MICROSECOND, match[2]
