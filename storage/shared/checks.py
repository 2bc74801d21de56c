"""Checks of the arguments that every store takes: users, sessions, owners and times."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from memory.values.base import SessionId, UserId
from memory.values.errors import InvalidField
from memory.values.facts import Category

_USER: TypeAdapter[str] = TypeAdapter(UserId)
_SESSION: TypeAdapter[str] = TypeAdapter(SessionId)
_ALLOWED_USER = "1 to 192 characters, none of them a control character"
_ALLOWED_SESSION = "1 to 128 characters, none of them a control character"


class _Owned(Protocol):
    @property
    def user_id(self) -> str: ...


def _checked(adapter: TypeAdapter[str], value: Any, field: str, allowed: str) -> str:
    try:
        return adapter.validate_python(value, strict=True)
    except ValidationError:
        raise InvalidField(f"{field} must be {allowed}.", field=field, allowed=allowed) from None


def check_user(user_id: str) -> str:
    """Returns the user id.

    Raises:
        InvalidField: It is empty, too long, or holds control characters or lone surrogates.
    """
    return _checked(_USER, user_id, "user_id", _ALLOWED_USER)


def check_session(session_id: str) -> str:
    """Returns the session id.

    Raises:
        InvalidField: It is empty, too long, or holds control characters or lone surrogates.
    """
    return _checked(_SESSION, session_id, "session_id", _ALLOWED_SESSION)


def check_owner(items: Iterable[_Owned], user_id: str) -> None:
    """Refuses items of another user before anything is written.

    Raises:
        InvalidField: An item belongs to another user.
    """
    if any(item.user_id != user_id for item in items):
        raise InvalidField("An item of another user cannot be written here.", field="user_id")


def check_aware(time: datetime, field: str) -> datetime:
    """Returns the time.

    Raises:
        InvalidField: It has no time zone.
    """
    if time.utcoffset() is None:
        raise InvalidField(f"{field} must have a time zone.", field=field, allowed="a time with its zone")
    return time


def check_category_id(category: Category, holder: Category | None) -> None:
    """Refuses to add a category under the id of another one.

    Raises:
        InvalidField: The holder of the id has another name.
    """
    if holder is not None and holder.name != category.name:
        raise InvalidField(
            f"The id {category.category_id!r} is that of the category {holder.name!r}.",
            field="category_id",
            allowed="an id that no other category has",
        )
