"""Caches whose keys are texts, or parts of them: all of them are emptied when somebody is forgotten."""

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar, cast
from weakref import WeakMethod

P = ParamSpec("P")
T = TypeVar("T")

_clear: list[Callable[[], object]] = []
_clear_of_objects: list[WeakMethod[Callable[[], object]]] = []


def text_cache(*, maxsize: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator like `functools.lru_cache`, for functions that are given texts of users."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        cached = lru_cache(maxsize=maxsize)(function)
        _clear.append(cached.cache_clear)
        return cast("Callable[P, T]", cached)  # typeshed has any hashable arguments

    return decorate


def clear_with_texts(method: Callable[[], object]) -> None:
    """Has a bound method called whenever texts are forgotten, as long as its object lives."""
    _clear_of_objects.append(WeakMethod(method))


def forget_texts() -> None:
    """Empties all of these caches of this process; blocks until work with them has ended."""
    for clear in _clear:
        clear()
    for reference in [*_clear_of_objects]:
        if (method := reference()) is None:
            _clear_of_objects.remove(reference)
        else:
            method()
