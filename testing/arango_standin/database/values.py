"""AQL's values: order, equality, truth, conversions (manual, "Type and value order" and "Type check and cast").

A value is what JSON decodes to: None, bool, int, float, str, list, dict.
"""

from __future__ import annotations

import json
import math
from functools import total_ordering
from typing import Any

from .collation import collation_key

_NULL = (0,)


def rank(value: Any) -> int:
    """The position of a value's type: null < bool < number < string < array < object."""
    if value is None:
        return 0
    if isinstance(value, bool):
        return 1
    if isinstance(value, int | float):
        return 2
    if isinstance(value, str):
        return 3
    return 4 if isinstance(value, list) else 5


def is_number(value: Any) -> bool:
    """Whether a value is a number; a bool is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


@total_ordering
class _ObjectKey:
    """Orders objects by the sorted union of their attribute names; a missing attribute counts as null."""

    __slots__ = ("attributes",)

    def __init__(self, attributes: dict[str, Any]) -> None:
        self.attributes = attributes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ObjectKey) and self.attributes == other.attributes

    def __lt__(self, other: _ObjectKey) -> bool:
        for name in sorted({*self.attributes, *other.attributes}):
            mine, theirs = self.attributes.get(name, _NULL), other.attributes.get(name, _NULL)
            if mine != theirs:
                return bool(mine < theirs)
        return False

    def __hash__(self) -> int:
        return hash(frozenset(self.attributes.items()))


def _key(value: Any, collate: bool) -> tuple[Any, ...]:
    kind = rank(value)
    if kind == 0:
        return _NULL
    if kind == 3:
        return (3, collation_key(value) if collate else value)
    if kind == 4:
        members = [_key(member, collate) for member in value]
        # a shorter array is compared as if it went on with nulls
        while members and members[-1] == _NULL:
            members.pop()
        return (4, tuple(members))
    if kind == 5:
        keyed = ((name, _key(member, collate)) for name, member in value.items())
        return (5, _ObjectKey({name: key for name, key in keyed if key != _NULL}))
    return (kind, value)


def order_key(value: Any) -> tuple[Any, ...]:
    """A key whose order is AQL's value order, strings by collation: for SORT and `<`."""
    return _key(value, collate=True)


def identity_key(value: Any) -> tuple[Any, ...]:
    """A hashable key, the same for two values exactly if AQL's `==` holds, strings by code points."""
    return _key(value, collate=False)


def equal(left: Any, right: Any) -> bool:
    """AQL's `==`."""
    if isinstance(left, str) or isinstance(right, str) or left is None or right is None:
        return bool(left == right)
    return identity_key(left) == identity_key(right)


def truthy(value: Any) -> bool:
    """A value as a condition: null, false, 0 and "" are false; every array and object is true."""
    if isinstance(value, list | dict):
        return True
    return bool(value)


def double(value: float) -> float | None:
    """The result of arithmetic: a double, and null where it is not finite."""
    result = float(value)
    return result if math.isfinite(result) else None


def _written(value: float) -> int | float:
    """A double as the server writes it into JSON: a whole one without a fraction unless it ends in many zeros."""
    if not value.is_integer() or abs(value) >= 2**63:
        return value
    digits = str(abs(int(value)))
    significant = len(digits.rstrip("0")) or 1
    return int(value) if len(digits) - significant < significant + 7 else value


def to_number(value: Any) -> int | float:
    """AQL's TO_NUMBER: 0 for whatever is no number."""
    if isinstance(value, bool):
        return int(value)
    if is_number(value):
        number: int | float = value
        return number
    if isinstance(value, str):
        try:
            converted = float(value.strip())
        except ValueError:
            return 0
        return converted if math.isfinite(converted) else 0
    if isinstance(value, list) and len(value) == 1:
        return to_number(value[0])
    return 0


def dumps(value: Any) -> str:
    """JSON as the server writes it: no spaces, whole doubles mostly as integers."""
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return _written(value)
    if isinstance(value, list):
        return [_plain(member) for member in value]
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    return value


def to_string(value: Any) -> str:
    """AQL's TO_STRING: "" for null, JSON for arrays and objects."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return dumps(value)
