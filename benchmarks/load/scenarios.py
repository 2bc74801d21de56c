"""Scenarios as data: what is asked, how often, by how many users. `scenarios/*.yaml` hold them."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from benchmarks.common.workload import QUERIES, SENTENCES, mixed_texts, short_queries

_FOLDER = Path(__file__).parent / "scenarios"
_TEXTS = 512
NAMES = tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml")))


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RequestTemplate(_Section):
    """One sort of request.

    Attributes:
        name: Under which it is counted.
        weight: How often, against the others.
        body: JSON in which `$user`, `$session`, `$query` (a short question), `$reference` (one that says "it" or
            "that one"), `$sentence` and `$text` (mixed lengths) are filled in; None for none.
    """

    name: str
    weight: float = Field(gt=0)
    method: Literal["GET", "POST"]
    path: str
    body: dict[str, Any] | None = None


class Scenario(_Section):
    """A mixture of requests of some users.

    Attributes:
        before: Memories that each user has when it begins.
        think_s: How long a user waits between two requests, on average.
    """

    about: str
    users: int = Field(ge=1)
    before: int = Field(ge=0)
    think_s: float = Field(gt=0)
    requests: tuple[RequestTemplate, ...] = Field(min_length=1)


class PlannedRequest(_Section):
    """One request, ready to be sent."""

    name: str
    method: str
    path: str
    body: bytes | None


def load_scenario(name: str) -> Scenario:
    """Reads a scenario of this folder by name, or any other by its path.

    Raises:
        FileNotFoundError: There is none.
        ValidationError: It is not one.
    """
    path = _FOLDER / f"{name}.yaml" if name in NAMES else Path(name)
    return Scenario.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))


class Planner:
    """Draws requests of a scenario; the same ones for the same seed.

    Args:
        scenario: What is asked.
        prefix: Begins the names of the users, so that two runs share none.
        seed: Of what is chosen.
    """

    def __init__(self, scenario: Scenario, *, prefix: str, seed: int) -> None:
        self._scenario = scenario
        self._chooser = random.Random(seed)
        self._weights = [request.weight for request in scenario.requests]
        self._drawn = {
            "$text": mixed_texts(_TEXTS),
            "$query": short_queries(_TEXTS),
            "$reference": QUERIES,
            "$sentence": SENTENCES,
        }
        self.users = [f"{prefix}-{number}" for number in range(scenario.users)]

    def draw(self, user: str | None = None) -> PlannedRequest:
        """The next request, of this user or of any."""
        [chosen] = self._chooser.choices(self._scenario.requests, self._weights)
        return self._filled(chosen, user or self._chooser.choice(self.users))

    def plan(self, count: int) -> list[PlannedRequest]:
        """The next so many requests."""
        return [self.draw() for _ in range(count)]

    def preparation(self) -> Iterator[PlannedRequest]:
        """The requests before the measurement, which store each user's memories."""
        for user in self.users:
            if self._scenario.before:
                messages = [
                    {"role": "user", "content": self._chooser.choice(SENTENCES)} for _ in range(self._scenario.before)
                ]
                body = {"user_id": user, "session_id": "before", "messages": messages, "wait": False}
                yield PlannedRequest(name="before", method="POST", path="/memories", body=json.dumps(body).encode())

    def _filled(self, request: RequestTemplate, user: str) -> PlannedRequest:
        path = Template(request.path).substitute(user=user)
        body = (
            None if request.body is None else json.dumps(self._value(request.body, user), ensure_ascii=False).encode()
        )
        return PlannedRequest(name=request.name, method=request.method, path=path, body=body)

    def _value(self, value: Any, user: str) -> Any:
        """Fills in, each time anew, so that one request holds different texts."""
        if isinstance(value, dict):
            return {key: self._value(item, user) for key, item in value.items()}
        if isinstance(value, list):
            return [self._value(item, user) for item in value]
        if isinstance(value, str) and value in self._drawn:
            return self._chooser.choice(self._drawn[value])
        if isinstance(value, str):
            return Template(value).substitute(user=user, session=f"{user}-session")
        return value
