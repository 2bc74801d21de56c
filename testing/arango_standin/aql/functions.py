"""AQL's functions of the subset (manual, "Functions"); on a value of the wrong type most give null and a warning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from ..database.values import double, equal, identity_key, is_number, order_key, to_number, to_string


class QueryContext(Protocol):
    """The state of the running query that functions read."""

    def warn(self, number: int, message: str) -> None:
        """Add a warning to the reply."""

    def document(self, identifier: str) -> dict[str, Any] | None:
        """Read a document by `collection/key`; a missing one gives None and a warning."""


class Function(NamedTuple):
    """A function.

    Attributes:
        least, most: Bounds of the number of arguments; `most` None for any number.
        call: Takes the query's context and the arguments.
    """

    least: int
    most: int | None
    call: Callable[..., Any]


def _mismatch(context: QueryContext, function: str) -> None:
    context.warn(1542, f"invalid argument type in call to function '{function}()'")


def _length(_context: QueryContext, value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, bool):
        return int(value)
    return len(value if isinstance(value, list | dict) else to_string(value))


def _numbers(context: QueryContext, function: str, value: Any) -> list[float] | None:
    """The numbers of an array without its nulls; None where the value is no such array."""
    if not isinstance(value, list):
        _mismatch(context, function)
        return None
    numbers = [member for member in value if member is not None]
    if not all(is_number(member) for member in numbers):
        _mismatch(context, function)
        return None
    return numbers


def _sum(context: QueryContext, value: Any) -> Any:
    numbers = _numbers(context, "SUM", value)
    return None if numbers is None else double(sum(numbers))


def _average(context: QueryContext, value: Any) -> Any:
    numbers = _numbers(context, "AVERAGE", value)
    return double(sum(numbers) / len(numbers)) if numbers else None


def _extreme(context: QueryContext, function: str, value: Any, pick: Callable[..., Any]) -> Any:
    if not isinstance(value, list):
        _mismatch(context, function)
        return None
    return pick((member for member in value if member is not None), key=order_key, default=None)


def _first(context: QueryContext, value: Any) -> Any:
    if not isinstance(value, list):
        _mismatch(context, "FIRST")
        return None
    return value[0] if value else None


def distinct(values: Sequence[Any]) -> list[Any]:
    """The different values, each as it first occurs."""
    return list({identity_key(value): value for value in reversed(values)}.values())[::-1]


def _unique(context: QueryContext, value: Any) -> Any:
    if not isinstance(value, list):
        _mismatch(context, "UNIQUE")
        return None
    return distinct(value)


def _sorted(context: QueryContext, value: Any) -> Any:
    if not isinstance(value, list):
        _mismatch(context, "SORTED")
        return None
    return sorted(value, key=order_key)


def _contains(_context: QueryContext, text: Any, search: Any, return_index: Any = False) -> Any:
    position = to_string(text).find(to_string(search)) if to_string(search) else -1
    return position if return_index is True else position >= 0


def _substring(_context: QueryContext, value: Any, offset: Any, length: Any = None) -> str:
    text = to_string(value)
    start = int(to_number(offset))
    start = max(0, len(text) + start) if start < 0 else start
    return text[start:] if length is None else text[start : start + max(0, int(to_number(length)))]


def _names(arguments: tuple[Any, ...]) -> set[str]:
    names: set[str] = set()
    for argument in arguments:
        names.update(argument if isinstance(argument, list) else [to_string(argument)])
    return names


def _keep(context: QueryContext, document: Any, *arguments: Any) -> Any:
    if not isinstance(document, dict):
        _mismatch(context, "KEEP")
        return None
    names = _names(arguments)
    return {name: value for name, value in document.items() if name in names}


def _unset(context: QueryContext, document: Any, *arguments: Any) -> Any:
    if not isinstance(document, dict):
        _mismatch(context, "UNSET")
        return None
    names = _names(arguments)
    return {name: value for name, value in document.items() if name not in names}


def _merge(context: QueryContext, *arguments: Any) -> Any:
    documents = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], list) else arguments
    merged: dict[str, Any] = {}
    for document in documents:
        if not isinstance(document, dict):
            _mismatch(context, "MERGE")
            return None
        merged.update(document)
    return merged


def _document(context: QueryContext, collection_or_identifier: Any, *keys: Any) -> Any:
    """DOCUMENT(collection, key or keys) or DOCUMENT(identifier or identifiers); missing ones are left out of arrays."""
    requested = keys[0] if keys else collection_or_identifier

    def read(key: Any) -> dict[str, Any] | None:
        if not isinstance(key, str):
            return None
        return context.document(key if "/" in key or not keys else f"{collection_or_identifier}/{key}")

    if isinstance(requested, list):
        return [document for document in map(read, requested) if document is not None]
    return read(requested)


def _not_null(_context: QueryContext, *arguments: Any) -> Any:
    return next((argument for argument in arguments if argument is not None), None)


def _concat(_context: QueryContext, *arguments: Any) -> str:
    parts = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], list) else arguments
    return "".join(map(to_string, parts))


def _has(_context: QueryContext, document: Any, name: Any) -> bool:
    return isinstance(document, dict) and to_string(name) in document


def _parse_identifier(context: QueryContext, value: Any) -> Any:
    identifier = value.get("_id") if isinstance(value, dict) else value
    if not isinstance(identifier, str) or identifier.count("/") != 1:
        _mismatch(context, "PARSE_IDENTIFIER")
        return None
    collection, key = identifier.split("/")
    return {"collection": collection, "key": key}


def _is_same_collection(context: QueryContext, collection: Any, value: Any) -> bool | None:
    identifier = value.get("_id") if isinstance(value, dict) else value
    if not isinstance(identifier, str) or not isinstance(collection, str):
        _mismatch(context, "IS_SAME_COLLECTION")
        return None
    return equal(identifier.split("/")[0], collection)


FUNCTIONS: dict[str, Function] = {
    "LENGTH": Function(1, 1, _length),
    "COUNT": Function(1, 1, _length),
    "SUM": Function(1, 1, _sum),
    "AVERAGE": Function(1, 1, _average),
    "AVG": Function(1, 1, _average),
    "MIN": Function(1, 1, lambda context, value: _extreme(context, "MIN", value, min)),
    "MAX": Function(1, 1, lambda context, value: _extreme(context, "MAX", value, max)),
    "FIRST": Function(1, 1, _first),
    "UNIQUE": Function(1, 1, _unique),
    "SORTED": Function(1, 1, _sorted),
    "CONTAINS": Function(2, 3, _contains),
    "SUBSTRING": Function(2, 3, _substring),
    "KEEP": Function(2, None, _keep),
    "UNSET": Function(2, None, _unset),
    "MERGE": Function(1, None, _merge),
    "DOCUMENT": Function(1, 2, _document),
    "NOT_NULL": Function(1, None, _not_null),
    "CONCAT": Function(1, None, _concat),
    "HAS": Function(2, 2, _has),
    "TO_NUMBER": Function(1, 1, lambda _context, value: to_number(value)),
    "PARSE_IDENTIFIER": Function(1, 1, _parse_identifier),
    "IS_SAME_COLLECTION": Function(2, 2, _is_same_collection),
}
# these take a collection itself as their first argument
COLLECTION_FUNCTIONS = frozenset({"LENGTH", "COUNT", "DOCUMENT", "IS_SAME_COLLECTION"})


def aggregate(context: QueryContext, function: str, values: list[Any]) -> Any:
    """An aggregate function of COLLECT over a group's values; over no rows SUM gives null, unlike the function SUM."""
    if function in ("LENGTH", "COUNT"):
        return len(values)
    if function == "SUM" and not values:
        return None
    return FUNCTIONS[function].call(context, values)
