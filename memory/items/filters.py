"""Conditions on the members of a value, as the stores of LangGraph have them."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import JsonValue

from ..values.errors import InvalidField

_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
OPERATORS = ("$eq", "$ne", *_ORDERS)
_ALLOWED = f"a value to be equal to, or an object with operators alone: {', '.join(OPERATORS)}"


def check_filter(conditions: Mapping[str, JsonValue]) -> None:
    """Refuses what `matches` does not know.

    Raises:
        InvalidField: An operator is unknown, or stands beside members that are none.
    """
    for name, expected in conditions.items():
        if not isinstance(expected, dict) or not any(key.startswith("$") for key in expected):
            continue
        if unknown := sorted(expected.keys() - set(OPERATORS)):
            raise InvalidField(
                f"filter.{name}: {', '.join(unknown)} is no operator", field=f"filter.{name}", allowed=_ALLOWED
            )


def matches(value: Mapping[str, JsonValue], conditions: Mapping[str, JsonValue]) -> bool:
    """Whether all conditions hold.

    A condition names a member, or with dots a member of a member; one that is missing is null. Its value is compared
    as JSON, so that true is not 1; `$gt` and the like hold between two numbers or two texts alone.
    """
    return all(_holds(_member(value, name), expected) for name, expected in conditions.items())


def _holds(found: JsonValue, expected: JsonValue) -> bool:
    if not isinstance(expected, dict) or not any(key.startswith("$") for key in expected):
        return _is_same(found, expected)
    return all(_compares(found, name, operand) for name, operand in expected.items())


def _compares(found: JsonValue, name: str, operand: JsonValue) -> bool:
    if name == "$eq":
        return _is_same(found, operand)
    if name == "$ne":
        return not _is_same(found, operand)
    comparable = (_is_number(found) and _is_number(operand)) or (isinstance(found, str) and isinstance(operand, str))
    return comparable and _ORDERS[name](found, operand)


def _member(value: Mapping[str, JsonValue], name: str) -> JsonValue:
    if name in value or "." not in name:
        return value.get(name)
    head, _, rest = name.partition(".")
    inner = value.get(head)
    return _member(inner, rest) if isinstance(inner, dict) else None


def _is_same(left: JsonValue, right: JsonValue) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_is_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_is_same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
