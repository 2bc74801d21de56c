"""Base types of all domain values: frozen pydantic models, checked identifiers, aware times."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, StrictInt, StringConstraints

UserId = Annotated[str, StringConstraints(min_length=1, max_length=192, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""A user with their app (`values.identity.stored_user`). Everything stored carries one and every query filters by one
(DESIGN §4).
"""

SessionId = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]

Timestamp = AwareDatetime
"""A point in time with its zone; naive datetimes are refused at the border."""

Scalar = str | int | float | bool | None
"""The type of a metadata value; filters compare it for equality."""


def _integral(value: object) -> object:
    """94.0 as 94: to JSON Schema both are an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_integral)
"""After the bounds of a `StrictInt`: 94.0 is 94."""
Whole = Annotated[StrictInt, WHOLE]
"""An integer as JSON has it: 94 or 94.0, and no text."""


class Value(BaseModel):
    """An immutable value, which is compared by content and refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def utc_now() -> datetime:
    """The current time in UTC; the domain takes `now` as an argument, which callers get here."""
    return datetime.now(UTC)
