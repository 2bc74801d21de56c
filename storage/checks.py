"""Checks at the border of every store: whose data a call may touch."""

from collections.abc import Iterable
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from memory.errors import InvalidField
from memory.values import SessionId, UserId

_USER: TypeAdapter[str] = TypeAdapter(UserId)
_SESSION: TypeAdapter[str] = TypeAdapter(SessionId)
_ALLOWED = "1 to 128 characters, none of them a control character"


class _Owned(Protocol):
    @property
    def user_id(self) -> str: ...


def _checked(adapter: TypeAdapter[str], value: Any, field: str) -> str:
    try:
        return adapter.validate_python(value, strict=True)
    except ValidationError:
        raise InvalidField(f"{field} must be {_ALLOWED}.", field=field, allowed=_ALLOWED) from None


def check_user(user_id: str) -> str:
    """The user id, if it is one that a store may use in a key.

    Raises:
        InvalidField: It is empty, too long, or holds control characters or lone surrogates.
    """
    return _checked(_USER, user_id, "user_id")


def check_session(session_id: str) -> str:
    """The session id, if it is one that a store may use in a key.

    Raises:
        InvalidField: It is empty, too long, or holds control characters or lone surrogates.
    """
    return _checked(_SESSION, session_id, "session_id")


def check_owner(items: Iterable[_Owned], user_id: str) -> None:
    """Refuses items of another user before anything is written.

    Raises:
        InvalidField: An item belongs to somebody else.
    """
    if any(item.user_id != user_id for item in items):
        raise InvalidField("An item of another user cannot be written here.", field="user_id")
