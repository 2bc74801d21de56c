"""What is sent again, and what is not: both clients, over a network that does as it is told."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from jiyi import AsyncClient, Client
from jiyi.client.retrying import FIRST_PAUSE_S, LONGEST_PAUSE_S, Attempts
from jiyi.errors import Interrupted, Overloaded, Refused, ServiceFailed, UnexpectedReply, Unreachable

Answer = httpx.Response | Exception
PROBLEM = {"content-type": "application/problem+json"}
AWAY = httpx.Response(503, headers=PROBLEM, json={"detail": "the record is away"})
BUSY = httpx.Response(429, headers={**PROBLEM, "Retry-After": "7"}, json={"detail": "too much"})
FOUND = httpx.Response(200, json={"results": [], "degraded": []})
ADDED = httpx.Response(200, json={"results": [], "learned": None})
ISSUED = httpx.Response(404, headers=PROBLEM, json={"detail": "no such key"})


class Network:
    """Answers with one thing after the other, and keeps requests and pauses."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = [*answers]
        self.requests: list[httpx.Request] = []
        self.pauses: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer.stream, Broken) else _fresh(answer)

    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.requests]


def _fresh(answer: httpx.Response) -> httpx.Response:
    headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
    return httpx.Response(answer.status_code, headers=headers, content=answer.content)


Act = Callable[[Any], Any]


@pytest.fixture(params=["sync", "async"])
def act(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Does something with a client over a network, in either way; pauses take no time."""

    def synchronously(network: Network, work: Act, **options: Any) -> Any:
        monkeypatch.setattr("jiyi.client.transports.time.sleep", network.pauses.append)
        with Client("http://jiyi", transport=httpx.MockTransport(network), **options) as client:
            return _listed(work(client))

    def asynchronously(network: Network, work: Act, **options: Any) -> Any:
        async def sleep(pause_s: float) -> None:
            network.pauses.append(pause_s)

        async def run() -> Any:
            async with AsyncClient("http://jiyi", transport=httpx.MockTransport(network), **options) as client:
                result = work(client)
                return [item async for item in result] if hasattr(result, "__aiter__") else await result

        with monkeypatch.context() as patch:
            patch.setattr("jiyi.client.transports.asyncio.sleep", sleep)
            return asyncio.run(run())

    return synchronously if request.param == "sync" else asynchronously


def _listed(result: Any) -> Any:
    return [*result] if hasattr(result, "__next__") or type(result).__name__ == "Pages" else result


def search(client: Any) -> Any:
    return client.search("x", user_id="ann")


def create_key(client: Any) -> Any:
    return client.keys.create("backend", scope="app")


def test_a_call_is_repeated_until_it_is_answered(act: Callable[..., Any]) -> None:
    network = Network(httpx.ConnectError("refused"), AWAY, httpx.ReadTimeout("slow"), httpx.Response(502), FOUND)
    assert act(network, search).results == ()
    assert len(network.requests) == 5
    assert len(network.pauses) == 4


def test_the_service_says_when_to_come_back(act: Callable[..., Any]) -> None:
    network = Network(BUSY, FOUND)
    act(network, search)
    assert 7 <= network.pauses[0] <= 7 + FIRST_PAUSE_S


def test_without_patience_there_is_one_attempt(act: Callable[..., Any]) -> None:
    network = Network(BUSY)
    with pytest.raises(Overloaded) as refused:
        act(network, search, patience_s=0)
    assert refused.value.retry_after_s == 7


def test_what_was_not_answered_is_said(act: Callable[..., Any]) -> None:
    with pytest.raises(Unreachable, match="http://jiyi does not answer: no route"):
        act(Network(httpx.ConnectError("no route")), search, patience_s=0)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422])
def test_what_would_fail_again_is_not_repeated(act: Callable[..., Any], status: int) -> None:
    network = Network(httpx.Response(status, headers=PROBLEM, json={"detail": "no"}))
    with pytest.raises(Refused, match="no"):
        act(network, search)
    assert len(network.requests) == 1


def test_a_message_has_one_id_in_all_attempts(act: Callable[..., Any]) -> None:
    network = Network(httpx.ReadError("gone"), AWAY, ADDED)
    act(network, lambda client: client.add([{"content": "a"}, {"content": "b", "turn_id": "own"}], user_id="ann"))
    first, second, third = ([turn["turn_id"] for turn in body["messages"]] for body in network.bodies())
    assert first == second == third
    assert first[0]
    assert first[1] == "own"


@pytest.mark.parametrize(
    "send",
    [
        lambda client: client.chat("x", user_id="ann"),
        lambda client: client.after_reply("x", user_id="ann"),
        lambda client: client.add_text("x", user_id="ann"),
        lambda client: client.facts.ingest("x", user_id="ann"),
        lambda client: client.memories.decide({"m": "retain"}, user_id="ann"),
    ],
)
def test_what_stores_something_carries_an_id_that_differs_from_call_to_call(act: Callable[..., Any], send: Act) -> None:
    ids = set()
    for _ in range(2):
        network = Network(httpx.Response(409, headers=PROBLEM, json={"detail": "no"}))
        with pytest.raises(Refused):
            act(network, send)
        [body] = network.bodies()
        ids.add(body.get("turn_id") or body.get("idempotency_key"))
    assert len(ids) == 2
    assert None not in ids


@pytest.mark.parametrize("answer", [AWAY, httpx.ReadTimeout("slow"), httpx.Response(502)])
def test_what_may_have_been_done_is_not_done_twice(act: Callable[..., Any], answer: Answer) -> None:
    network = Network(answer)
    with pytest.raises((ServiceFailed, Unreachable)):
        act(network, create_key)
    assert len(network.requests) == 1


@pytest.mark.parametrize("answer", [httpx.ConnectError("refused"), BUSY, httpx.Response(404, text="starting")])
def test_what_was_certainly_not_done_is_tried_again(act: Callable[..., Any], answer: Answer) -> None:
    network = Network(answer, ISSUED)
    with pytest.raises(Refused, match="no such key"):
        act(network, create_key)
    assert len(network.requests) == 2


def test_an_answer_of_something_else_is_no_reply(act: Callable[..., Any]) -> None:
    with pytest.raises(UnexpectedReply, match="POST /search"):
        act(Network(httpx.Response(200, html="<h1>Welcome</h1>")), search)


def test_fields_of_a_newer_service_are_left_out(act: Callable[..., Any]) -> None:
    newer = httpx.Response(200, json={"results": [], "degraded": [], "news": {"a": 1}})
    assert act(Network(newer), search).results == ()


def test_a_list_goes_over_its_pages_and_repeats_each(act: Callable[..., Any]) -> None:
    def page(next_: str | None) -> httpx.Response:
        return httpx.Response(200, json={"results": [], "next": next_})

    network = Network(page("a"), AWAY, page("b"), page(None))
    assert act(network, lambda client: client.keys.list(app="shop")) == []
    asked = [dict(request.url.params) for request in network.requests]
    assert asked == [
        {"app": "shop"},
        {"app": "shop", "after": "a"},
        {"app": "shop", "after": "a"},
        {"app": "shop", "after": "b"},
    ]


class Broken(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that ends too soon."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __iter__(self) -> Any:
        yield self._text.encode()
        raise httpx.ReadError("gone")

    async def __aiter__(self) -> Any:
        yield self._text.encode()
        raise httpx.ReadError("gone")


def events(text: str, *, broken: bool = False) -> httpx.Response:
    headers = {"content-type": "text/event-stream"}
    return (
        httpx.Response(200, headers=headers, stream=Broken(text))
        if broken
        else httpx.Response(200, headers=headers, text=text)
    )


def test_a_stream_that_begins_late_is_asked_for_again_and_one_that_ends_early_says_so(act: Callable[..., Any]) -> None:
    network = Network(AWAY, events('event: delta\ndata: {"text": "a"}\n\n', broken=True))
    with pytest.raises(Interrupted):
        act(network, lambda client: client.stream("x", user_id="ann"))
    first, second = network.bodies()
    assert first == second


def test_an_error_within_a_stream_is_raised_and_an_unknown_event_passed_over(act: Callable[..., Any]) -> None:
    text = 'event: news\ndata: {}\n\nevent: error\ndata: {"status": 503, "detail": "away", "component": "record"}\n\n'
    with pytest.raises(ServiceFailed) as failed:
        act(Network(events(text)), lambda client: client.stream("x", user_id="ann"))
    assert failed.value.component == "record"


def test_a_run_is_followed_over_an_interruption_from_where_it_was(act: Callable[..., Any]) -> None:
    absent = ("app", "retry_of", "queued_at", "started_at", "ended_at", "alive_until", "duration_s", "error")
    known = {"run_id": "r", "kind": "export", "status": "running", "done": 1, "total": 2, "attempts": 1}
    more = {"cancel_requested": False, "updated_at": "2026-03-01T12:00:00Z", "input": {}, "output": {}}
    run = {**dict.fromkeys((*absent, "cursor", "stack")), **known, **more}
    first = events(f"id: 1\nevent: state\ndata: {json.dumps(run)}\n\n", broken=True)
    last = events(f"id: 2\nevent: end\ndata: {json.dumps(run | {'status': 'completed'})}\n\n")
    network = Network(first, httpx.ConnectError("refused"), last)
    seen = act(network, lambda client: client.runs.follow("r"))
    assert [(event.name, event.run.status) for event in seen] == [("state", "running"), ("end", "completed")]
    assert [request.headers.get("last-event-id") for request in network.requests] == [None, "1", "1"]


@pytest.mark.parametrize(("answer", "is_ready"), [(FOUND, True), (AWAY, False), (httpx.ConnectError("refused"), False)])
def test_a_service_is_ready_or_not_at_the_first_attempt(
    act: Callable[..., Any], answer: Answer, is_ready: bool
) -> None:
    network = Network(answer)
    assert act(network, lambda client: client.is_ready()) is is_ready
    assert network.pauses == []


def test_pauses_grow_to_a_limit_and_end_with_the_patience() -> None:
    now = 0.0
    attempts = Attempts(repeatable=True, patience_s=60, clock=lambda: now)
    pauses = []
    while (pause_s := attempts.pause_s(AWAY)) is not None:
        pauses.append(pause_s)
        now += pause_s
    assert now == pytest.approx(60)
    assert all(pause_s <= FIRST_PAUSE_S + LONGEST_PAUSE_S for pause_s in pauses)
    assert len(pauses) > 6
