"""mem0's filters: conditions joined by AND, OR and NOT, as values that can be asked what they let through."""

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from memory.values.errors import InvalidField

from .kept import KeptMemory

ENTITY_FIELDS = ("user_id", "agent_id", "app_id", "run_id")
_TIMES = ("created_at", "updated_at")
_PLAIN = {"memory": "icontains", "categories": "contains"}
"""The operators of a plain value, where that is not `eq`."""
_FIELDS = (
    *ENTITY_FIELDS,
    "session_id",
    "id",
    "memory_ids",
    *_TIMES,
    "expiration_date",
    "memory",
    "keywords",
    "categories",
    "metadata",
)
_SAME = {"session_id": "run_id", "memory_ids": "id", "keywords": "memory"}
_OPERATORS = ("eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains", "icontains")
_MAX_CHARACTERS = 8_192
ANY = "*"
"""As a value: whatever it is, as long as there is one."""


@dataclass(frozen=True)
class Condition:
    """What one field has to be; `key` names the entry where the field is `metadata`."""

    field: str
    operator: str
    value: Any
    key: str = ""

    def holds(self, memory: KeptMemory) -> bool:
        """Whether a memory meets it; what a memory does not have meets `ne` and `nin` alone."""
        found = memory.metadata.get(self.key) if self.field == "metadata" else memory.value(self.field)
        negated = {"ne": "eq", "nin": "in"}.get(self.operator)
        if negated is not None:
            return not _holds(self.field, negated, self.value, found)
        return _holds(self.field, self.operator, self.value, found)


@dataclass(frozen=True)
class AllOf:
    """What meets every part."""

    parts: tuple["Filter", ...]

    def holds(self, memory: KeptMemory) -> bool:
        """Whether a memory does."""
        return all(part.holds(memory) for part in self.parts)


@dataclass(frozen=True)
class AnyOf:
    """What meets some part."""

    parts: tuple["Filter", ...]

    def holds(self, memory: KeptMemory) -> bool:
        """Whether a memory does."""
        return any(part.holds(memory) for part in self.parts)


@dataclass(frozen=True)
class Not:
    """What does not meet a filter."""

    part: "Filter"

    def holds(self, memory: KeptMemory) -> bool:
        """Whether a memory does not."""
        return not self.part.holds(memory)


Filter = Condition | AllOf | AnyOf | Not


def read_filter(given: Any, name: str = "filters") -> Filter:
    """A filter from its JSON.

    Raises:
        InvalidField: It is none; names the part and what is allowed.
    """
    if not isinstance(given, Mapping):
        raise _refused(name, f"is {type(given).__name__}", "an object")
    return AllOf(tuple(_read_entry(field, value, f"{name}.{field}") for field, value in given.items()))


def read_written(text: str, name: str) -> Any:
    """The value of a query parameter: JSON, or the literal of a Python value, which mem0's client sends.

    Nothing of it is evaluated.

    Raises:
        InvalidField: It is neither.
    """
    if len(text) > _MAX_CHARACTERS:
        raise _refused(name, "is too long", f"at most {_MAX_CHARACTERS} characters")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise _refused(name, "cannot be read", "an object as JSON") from None


def mentions(filter_: Filter, *fields: str) -> bool:
    """Whether a condition of the filter is about one of these fields."""
    match filter_:
        case Condition():
            return filter_.field in fields
        case Not():
            return mentions(filter_.part, *fields)
        case _:
            return any(mentions(part, *fields) for part in filter_.parts)


def names_entity(filter_: Filter) -> bool:
    """Whether whatever meets the filter is of a user, agent, app or run that it names, or of any with `ANY`."""
    match filter_:
        case Condition(field, "eq" | "in", value):
            return field in ENTITY_FIELDS and value is not None
        case AllOf(parts):
            return any(map(names_entity, parts))
        case AnyOf(parts):
            return bool(parts) and all(map(names_entity, parts))
        case _:
            return False


def users_of(filter_: Filter) -> frozenset[str] | None:
    """The users who can have what meets a filter; None where it says nothing of that."""
    match filter_:
        case Condition("user_id", "eq", value) if value != ANY:
            return frozenset({str(value)})
        case Condition("user_id", "in", values) if ANY not in values:
            return frozenset(map(str, values))
        case AllOf(parts):
            named = [users for part in parts if (users := users_of(part)) is not None]
            return frozenset.intersection(*named) if named else None
        case AnyOf(parts):
            each = [users_of(part) for part in parts]
            return None if None in each else frozenset().union(*(users for users in each if users is not None))
        case _:
            return None


def required(filter_: Filter) -> list[Condition]:
    """The conditions that all have to hold, whatever else does."""
    match filter_:
        case Condition():
            return [filter_]
        case AllOf(parts):
            return [condition for part in parts for condition in required(part)]
        case _:
            return []


def as_time(value: Any, name: str, *, end_of_day: bool = False) -> datetime:
    """A time from a date, a time in ISO 8601 (UTC where it has no zone) or seconds since 1970.

    Args:
        value: What was sent.
        name: The field, for the error.
        end_of_day: Of a date, its last moment.

    Raises:
        InvalidField: It is none of these.
    """
    try:
        if isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        if isinstance(value, str) and len(value) == len("2026-01-31"):
            day = datetime.combine(date.fromisoformat(value), time(), UTC)
            return day + timedelta(days=1, microseconds=-1) if end_of_day else day
        if isinstance(value, str):
            read = datetime.fromisoformat(value)
            return read if read.tzinfo else read.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise _refused(name, f"is {value!r}", "a date, a time in ISO 8601 or seconds since 1970")


def _read_entry(field: str, value: Any, name: str) -> Filter:
    if field in ("AND", "OR"):
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise _refused(name, "is no list", "a list of filters")
        parts = tuple(read_filter(part, f"{name}.{place}") for place, part in enumerate(value))
        return AllOf(parts) if field == "AND" else AnyOf(parts)
    if field == "NOT":
        listed = value if isinstance(value, list) else [value]
        return Not(AnyOf(tuple(read_filter(part, f"{name}.{place}") for place, part in enumerate(listed))))
    if field not in _FIELDS:
        raise _refused(name, "is no field of a memory", f"AND, OR, NOT, {', '.join(_FIELDS)}")
    if field == "metadata":
        if value == ANY:
            return Not(Condition("metadata_size", "eq", 0))
        if not isinstance(value, Mapping):
            raise _refused(name, f"is {value!r}", "an object")
        return AllOf(tuple(_condition("metadata", part, f"{name}.{key}", key=key) for key, part in value.items()))
    return _condition(_SAME.get(field, field), value, name)


def _condition(field: str, value: Any, name: str, *, key: str = "") -> Filter:
    if isinstance(value, list):
        return Condition(field, "in", _value(field, "in", value, name), key)
    if not isinstance(value, Mapping):
        operator = "eq" if value == ANY else _PLAIN.get(field, "eq")
        return Condition(field, operator, _value(field, operator, value, name), key)
    if unknown := [operator for operator in value if operator not in _OPERATORS]:
        raise _refused(f"{name}.{unknown[0]}", "is no operator", ", ".join(_OPERATORS))
    parts = tuple(
        Condition(field, operator, _value(field, operator, wanted, f"{name}.{operator}"), key)
        for operator, wanted in value.items()
    )
    return parts[0] if len(parts) == 1 else AllOf(parts)


def _value(field: str, operator: str, value: Any, name: str) -> Any:
    if operator in ("in", "nin"):
        if not isinstance(value, list | tuple):
            raise _refused(name, f"is {value!r}", "a list")
        return tuple(_value(field, "eq", part, name) for part in value)
    if not (value is None or isinstance(value, str | int | float)):
        raise _refused(name, f"is {type(value).__name__}", "a string, a number, true, false or null")
    if field in ENTITY_FIELDS and not isinstance(value, str) and (value is not None or field == "user_id"):
        raise _refused(name, f"is {value!r}", "an id")
    if operator in ("contains", "icontains") and not isinstance(value, str):
        raise _refused(name, f"is {value!r}", "a string")
    if field in _TIMES and value not in (ANY, None):
        return as_time(value, name, end_of_day=operator in ("lte", "gt"))
    return value


def _holds(field: str, operator: str, wanted: Any, found: Any) -> bool:
    if wanted == ANY and operator == "eq":
        return found not in (None, (), "")
    if operator == "in" and ANY in wanted and found is not None:
        return True
    if isinstance(found, tuple):  # categories
        found = list(found)
        if operator == "in":
            return any(part in wanted for part in found)
        if operator == "eq":
            return bool(found == ([] if wanted is None else [wanted]))
    compare = _COMPARISONS[operator]
    try:
        return bool(compare(found, wanted))
    except TypeError:  # not of one kind, or nothing there
        return False


def _contains(found: Any, wanted: str) -> bool:
    return wanted in found if isinstance(found, str | list) else False


def _contains_folded(found: Any, wanted: str) -> bool:
    if isinstance(found, list):
        return any(isinstance(part, str) and part.casefold() == wanted.casefold() for part in found)
    return isinstance(found, str) and wanted.casefold() in found.casefold()


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": lambda found, wanted: bool(found == wanted),
    "in": lambda found, wanted: found in wanted,
    "gt": lambda found, wanted: bool(found > wanted),
    "gte": lambda found, wanted: bool(found >= wanted),
    "lt": lambda found, wanted: bool(found < wanted),
    "lte": lambda found, wanted: bool(found <= wanted),
    "contains": _contains,
    "icontains": _contains_folded,
}


def _refused(name: str, problem: str, allowed: str) -> InvalidField:
    return InvalidField(f"{name}: {problem}", field=name, allowed=allowed)
