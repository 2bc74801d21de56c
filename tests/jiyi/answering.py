"""Replaces a call of the client by an answer, for tests of commands."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass(frozen=True)
class OnePage:
    """A list that ends with its first page."""

    page: dict[str, Any]

    def first(self) -> dict[str, Any]:
        return self.page


def answering(
    patch: pytest.MonkeyPatch, resource: type, name: str, answer: Callable[..., Any], calls: list[tuple[str, Any]]
) -> None:
    """Answers a call with what `answer` returns for its arguments; what was not given is left out of `calls`."""

    def call(_: Any, *given: Any, **options: Any) -> Any:
        calls.append((name, (*given, {name: value for name, value in options.items() if value is not None})))
        return answer(*given, **options)

    patch.setattr(resource, name, call)
