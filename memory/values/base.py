"""Base types of all domain values: frozen pydantic models, checked identifiers, aware times."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, StringConstraints

UserId = Annotated[str, StringConstraints(min_length=1, max_length=192, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""A user with their app (`values.identity.stored_user`). Everything stored carries one and every query filters by one
(DESIGN §4).
"""

SessionId = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]

Timestamp = AwareDatetime
"""A point in time with its zone; naive datetimes are refused at the border."""

Scalar = str | int | float | bool | None
"""The type of a metadata value; filters compare it for equality."""


class Value(BaseModel):
    """An immutable value, which is compared by content and refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def utc_now() -> datetime:
    """The current time in UTC; the domain takes `now` as an argument, which callers get here."""
    return datetime.now(UTC)
