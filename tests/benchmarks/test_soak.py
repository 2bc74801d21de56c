"""The soak: turns are repeated until they are acknowledged, and every refusal is explained or shown."""

import json
from collections.abc import Iterator

import pytest

from benchmarks.load.http import Answer
from benchmarks.load.samples import Run, Sample
from benchmarks.load.scenarios import PlannedRequest, Planner, load_scenario
from benchmarks.soak import traffic as traffic_module
from benchmarks.soak.kills import Kill, short_name
from benchmarks.soak.report import explained, minutes
from benchmarks.soak.traffic import Refusal, Traffic, numbered

_PROBLEM = "application/problem+json"


class Caller:
    """Gives the answers in line, whatever is asked, and keeps what was sent."""

    def __init__(self, answers: Iterator[Answer]) -> None:
        self._answers = answers
        self.bodies: list[bytes | None] = []

    async def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        self.bodies.append(body)
        return next(self._answers)


def _traffic(*answers: Answer) -> tuple[Traffic, Caller]:
    caller = Caller(iter(answers))
    planner = Planner(load_scenario("chat"), prefix="test", seed=1)
    return Traffic(caller, planner, 0.0), caller  # type: ignore[arg-type]


def test_a_turn_has_an_id_and_a_text_of_its_own() -> None:
    request = PlannedRequest(name="chat", method="POST", path="/chat", body=b'{"user_id": "a", "message": "hello"}')
    turn_id, text, sent = numbered(request, 7)
    body = json.loads(sent.body or b"")
    assert (body["turn_id"], body["message"]) == (turn_id, text)
    assert text.startswith("hello ")
    assert text != numbered(request, 8)[1]


def test_a_request_that_stores_nothing_is_sent_as_it_is() -> None:
    request = PlannedRequest(name="search", method="POST", path="/search", body=b'{"user_id": "a", "query": "b"}')
    assert numbered(request, 7) == ("", "", request)


async def test_a_refused_turn_is_sent_again_as_it_was_until_it_is_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic_module, "_PAUSE_S", 0.0)
    refused = Answer("503", {"Content-Type": _PROBLEM, "Retry-After": "0"}, b'{"title": "Unavailable", "detail": "d"}')
    traffic, caller = _traffic(Answer("ServerDisconnectedError"), refused, Answer("200", {}, b'{"degraded": ["a"]}'))
    assert await traffic.send(0) == "ServerDisconnectedError"
    await traffic.finish()
    assert len(set(caller.bodies)) == 1
    assert list(traffic.acknowledged) == ["t0"]
    assert [refusal.status for refusal in traffic.refusals] == ["ServerDisconnectedError", "503"]
    assert [parts for _, parts in traffic.degraded] == [("a",)]


async def test_a_turn_that_is_never_acknowledged_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic_module, "_PATIENCE_S", 0.0)
    traffic, _ = _traffic(Answer("500", {"Content-Type": "text/plain"}, b"Internal Server Error"))
    await traffic.send(0)
    await traffic.finish()
    assert (list(traffic.given_up), traffic.acknowledged) == (["t0"], {})


def _refusal(status: str, media_type: str = "text/plain", *, at_s: float = 12.0, retry_after: str = "") -> Refusal:
    headers = {"Content-Type": media_type} | ({"Retry-After": retry_after} if retry_after else {})
    body = b'{"title": "t", "detail": "d"}' if media_type == _PROBLEM else b""
    return traffic_module.refusal("chat", Answer(status, headers, body), at_s=at_s)


@pytest.mark.parametrize(
    ("refusal", "victim", "is_explained"),
    [
        (_refusal("503", _PROBLEM, retry_after="1"), "Retriever", True),
        (_refusal("429", _PROBLEM, retry_after="1"), "Retriever", True),
        (_refusal("503", _PROBLEM), "Retriever", False),
        (_refusal("500"), "Retriever", False),
        (_refusal("500"), "Ingress", False),
        (_refusal("404"), "haproxy", False),
        (_refusal("ServerDisconnectedError"), "Ingress", True),
        (_refusal("ServerDisconnectedError"), "Retriever", False),
        (_refusal("ServerDisconnectedError", at_s=500.0), "Ingress", False),
        (_refusal("timeout"), "Retriever", False),
    ],
)
def test_a_refusal_is_explained_by_its_reply_or_by_a_kill_that_breaks_connections(
    refusal: Refusal, victim: str, is_explained: bool
) -> None:
    reason = explained(refusal, [Kill(10.0, victim, 4.0)])
    assert bool(reason.explanation) is is_explained
    assert reason.victim == victim


@pytest.mark.parametrize(
    ("answer", "is_refusal"),
    [
        (Answer("429", {"Content-Type": _PROBLEM, "Retry-After": "2"}), True),
        (Answer("503", {"Content-Type": _PROBLEM}), False),
        (Answer("500", {"Content-Type": _PROBLEM, "Retry-After": "2"}), False),
        (Answer("200", {}, b'{"degraded": []}'), False),
    ],
)
def test_a_refusal_is_told_from_an_error(answer: Answer, is_refusal: bool) -> None:
    assert answer.is_refusal is is_refusal
    assert answer.degraded == ()


def test_latency_is_that_of_the_requests_due_in_a_minute() -> None:
    samples = [Sample(0, 1.0, 1.0, 1.5, "200"), Sample(1, 2.0, 2.0, 9.0, "503"), Sample(2, 61.0, 61.0, 63.0, "200")]
    rows = minutes(Run(samples, 120.0, 120.0, 0.0))
    assert [(row["minute"], row["requests"], row["failed"], row["p95_ms"]) for row in rows] == [
        (0, 2, 1, 500.0),
        (1, 1, 0, 2000.0),
    ]


@pytest.mark.parametrize(
    ("process", "name"),
    [
        ("ServeReplica:jiyi:Embedder", "Embedder"),
        ("SERVE_REPLICA::jiyi#Embedder#a:ServeReplica:jiyi:Embedder.__init__", "Embedder"),
        ("ServeController", "ServeController"),
        ("haproxy", "haproxy"),
        ("deployments.host.supervisor", "deployments.host.supervisor"),
    ],
)
def test_a_process_has_one_name_whatever_runs_in_it(process: str, name: str) -> None:
    assert short_name(process) == name
