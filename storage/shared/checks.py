"""Checks at the border of every store: whose data a call may touch."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from memory.ports.facts import MAX_DEPTH
from memory.values.base import SessionId, UserId
from memory.values.errors import InvalidField
from memory.values.facts import Category

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


def check_depth(depth: int) -> int:
    """How far to walk, if a graph may be walked so far.

    Raises:
        InvalidField: It is not 1 to `MAX_DEPTH`.
    """
    if not 1 <= depth <= MAX_DEPTH:
        allowed = f"1 to {MAX_DEPTH}"
        raise InvalidField(f"depth must be {allowed}.", field="depth", allowed=allowed)
    return depth


def check_moment(moment: datetime, field: str) -> datetime:
    """A point in time, if it says in which zone it is.

    Raises:
        InvalidField: It has no zone.
    """
    if moment.utcoffset() is None:
        raise InvalidField(f"{field} must have a time zone.", field=field, allowed="a time with its zone")
    return moment


def check_ends(ends: Iterable[str], known: Iterable[str]) -> None:
    """Refuses relations whose ends are not entities of the user.

    Raises:
        InvalidField: An end is not known.
    """
    unknown = sorted(set(ends).difference(known))
    if unknown:
        raise InvalidField(
            f"A relation must join entities of this user; {unknown[0]!r} is none.",
            field="source_entity_id, target_entity_id",
            allowed="ids of entities",
        )


def check_weight(weight: float) -> float:
    """The weight of an edge, if it is one.

    Raises:
        InvalidField: It is negative or not a number.
    """
    if not weight >= 0:
        raise InvalidField("weight must be a number from 0 up.", field="weight", allowed="a number from 0 up")
    return weight


def check_category_id(category: Category, holder: Category | None) -> None:
    """Refuses to add a category under the id of another one.

    Raises:
        InvalidField: The id is that of a category of another name.
    """
    if holder is not None and holder.name != category.name:
        raise InvalidField(
            f"The id {category.category_id!r} is that of the category {holder.name!r}.",
            field="category_id",
            allowed="an id that no other category has",
        )
