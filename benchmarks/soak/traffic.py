"""Numbered turns of a scenario, repeated until they are acknowledged, and what became of each attempt."""

import asyncio
import itertools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.load.http import PROBLEM_JSON, Answer, HttpCaller
from benchmarks.load.samples import TIMEOUT
from benchmarks.load.scenarios import PlannedRequest, Planner
from jiyi.client.retrying import backoff_s

_PATIENCE_S = 120.0
_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 16.0
_TIMEOUT_S = 30.0
_SHOWN_CHARACTERS = 200
_TEXT_FIELDS = ("message", "text")
"""Fields that hold what a turn says, in the bodies of requests that store one."""


@dataclass(frozen=True)
class Refusal:
    """An attempt that was not answered with 2xx.

    Attributes:
        at_s: When it ended, in seconds since the soak began.
        status: HTTP status as text, `timeout`, or the name of the error.
        media_type: Of the reply.
        problem: The title of the problem and its component; the beginning of the body where it is none.
        is_announced: Whether the service refused it as documented, with the time to come back.
    """

    at_s: float
    name: str
    status: str
    media_type: str
    problem: str
    is_announced: bool


@dataclass
class Traffic:
    """The requests of a soak; each turn has an id and a text of its own, and is sent again until it is acknowledged.

    Args:
        began: When the soak began (monotonic).
        on_end: Called when a request ended, acknowledged or given up.
    """

    caller: HttpCaller
    planner: Planner
    began: float
    on_end: Callable[[], None] = lambda: None
    acknowledged: dict[str, str] = field(default_factory=dict)
    """Text of each turn that was acknowledged, by the id it was sent with."""
    given_up: dict[str, str] = field(default_factory=dict)
    """Text of each turn that was sent and never acknowledged."""
    refusals: list[Refusal] = field(default_factory=list)
    degraded: list[tuple[float, tuple[str, ...]]] = field(default_factory=list)
    """When a reply was made without some parts, and which."""
    _repeats: set[asyncio.Task[None]] = field(default_factory=set)

    async def send(self, index: int) -> str:
        """Sends request number `index` once and says how that ended; repeats go on in the background."""
        turn_id, text, request = numbered(self.planner.draw(), index)
        answer = await self._attempt(request)
        if _is_ok(answer):
            self._keep(turn_id, text)
        elif text:
            repeat = asyncio.create_task(self._repeat(turn_id, text, request, answer))
            self._repeats.add(repeat)
            repeat.add_done_callback(self._repeats.discard)
        else:
            self.on_end()
        return answer.status

    async def finish(self) -> None:
        """Waits for the repeats."""
        while self._repeats:
            await asyncio.wait(set(self._repeats))

    async def _repeat(self, turn_id: str, text: str, request: PlannedRequest, answer: Answer) -> None:
        end = time.monotonic() + _PATIENCE_S
        for attempt in itertools.count():
            if time.monotonic() >= end:
                break
            at_least_s = float(answer.headers.get("Retry-After", _PAUSE_S))
            await asyncio.sleep(backoff_s(min(_LONGEST_PAUSE_S, at_least_s * 2.0**attempt), at_least_s))
            answer = await self._attempt(request)
            if _is_ok(answer):
                self._keep(turn_id, text)
                return
        self.given_up[turn_id] = text
        self.on_end()

    def _keep(self, turn_id: str, text: str) -> None:
        if text:
            self.acknowledged[turn_id] = text
        self.on_end()

    async def _attempt(self, request: PlannedRequest) -> Answer:
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                answer = await self.caller.ask(request.method, request.path, request.body)
        except TimeoutError:
            answer = Answer(TIMEOUT)
        if not _is_ok(answer):
            self.refusals.append(refusal(request.name, answer, at_s=time.monotonic() - self.began))
        elif answer.degraded:
            self.degraded.append((time.monotonic() - self.began, answer.degraded))
        return answer


def numbered(request: PlannedRequest, number: int) -> tuple[str, str, PlannedRequest]:
    """A request whose turn is known by its number: the turn's id and text, both empty where it stores none."""
    body = json.loads(request.body) if request.body else {}
    field_name = next((name for name in _TEXT_FIELDS if name in body), None)
    if request.path not in ("/chat", "/memories") or field_name is None:
        return "", "", request
    body["turn_id"] = f"t{number}"
    body[field_name] = f"{body[field_name]} 料號 ZX{number:06d}-77。"
    encoded = json.dumps(body, ensure_ascii=False).encode()
    return body["turn_id"], body[field_name], request.model_copy(update={"body": encoded})


def refusal(name: str, answer: Answer, *, at_s: float) -> Refusal:
    """What the reply to a failed attempt says."""
    media_type = answer.headers.get("Content-Type", "").partition(";")[0]
    said = answer.body.decode(errors="replace")[:_SHOWN_CHARACTERS]
    if media_type == PROBLEM_JSON:
        problem = json.loads(answer.body)
        said = " ".join(filter(None, (problem["title"], problem.get("component"), problem["detail"])))
    return Refusal(at_s, name, answer.status, media_type, said, answer.is_refusal)


def _is_ok(answer: Answer) -> bool:
    return answer.status.startswith("2")
