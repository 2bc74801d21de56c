"""Calls between deployments: what a caller sees of a replica that fails, dies, is slow or busy."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from ray.exceptions import RayActorError, RayTaskError
from ray.serve.context import _RequestContext, _serve_request_context
from ray.serve.exceptions import (
    BackPressureError,
    RayServeException,
    ReplicaUnavailableError,
    RequestCancelledError,
)

from deployments.remote.handles import Remote, RemoteExtractor
from deployments.telemetry.tracing import current_span, headers_of, in_span, span_for
from memory.values.errors import InvalidField, Overloaded, Unavailable
from memory.values.understanding.extractions import Extraction
from tests.deployments.remote.handles import Broadcast, Response


class Method:
    def __init__(self, behave: Callable[[int], Awaitable[Any]]) -> None:
        self._behave = behave
        self.responses: list[Response] = []
        self.keywords: dict[str, Any] = {}

    def remote(self, *_: Any, **keywords: Any) -> Response:
        self.keywords = keywords
        self.responses.append(Response(self._behave(len(self.responses))))
        return self.responses[-1]


class Handle:
    """A deployment handle whose one method does what a test wants; gets the number of the try."""

    def __init__(self, behave: Callable[[int], Awaitable[Any]]) -> None:
        self.work = Method(behave)


class BroadcastHandle:
    """A deployment handle whose replicas answer, or raise, what is next in line."""

    def __init__(self, *rounds: list[Any]) -> None:
        self._rounds = iter(rounds)

    def broadcast(self, method: str) -> Broadcast:
        assert method == "report"
        return Broadcast(next(self._rounds))


def _remote(handle: Handle | BroadcastHandle, *, deadline_s: float = 5.0, away_s: float | None = None) -> Remote:
    return Remote(handle, component="part", deadline_s=deadline_s, away_s=away_s)  # type: ignore[arg-type]


async def test_an_answer_is_passed_on() -> None:
    async def answer(_: int) -> str:
        return "done"

    assert await _remote(Handle(answer)).call("work") == "done"


async def test_a_call_says_to_which_trace_it_belongs() -> None:
    async def answer(_: int) -> str:
        return "done"

    handle = Handle(answer)
    await _remote(handle).call("work")
    assert handle.work.keywords == {}
    traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    with in_span(span := span_for([traceparent], ["vendor=1"])):
        await _remote(handle).call("work")
    assert handle.work.keywords == {"_ray_trace_ctx": headers_of(span)}
    assert headers_of(span)["tracestate"] == "vendor=1"


def test_what_a_replica_does_for_a_call_belongs_to_the_trace() -> None:
    span = span_for(["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"])
    assert current_span() is None
    token = _serve_request_context.set(_RequestContext(_ray_trace_ctx=headers_of(span)))  # type: ignore[arg-type]
    try:
        inside = current_span()
    finally:
        _serve_request_context.reset(token)
    assert inside is not None
    assert (inside.trace_id, inside.span_id, inside.trace_flags) == (span.trace_id, span.span_id, span.trace_flags)


async def test_a_replica_that_died_is_asked_again_until_a_fresh_one_answers() -> None:
    async def die_twice(number: int) -> str:
        if number < 2:
            raise RayActorError
        return "fresh"

    handle = Handle(die_twice)
    assert await _remote(handle).call("work") == "fresh"
    assert len(handle.work.responses) == 3


def _grpc_error(code: grpc.StatusCode) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), "Stream removed")


@pytest.mark.parametrize(
    "lost",
    [
        ReplicaUnavailableError("a"),
        RayServeException("an upstream actor died before finishing a dependent task"),
        RequestCancelledError("a"),
        *map(_grpc_error, (grpc.StatusCode.CANCELLED, grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL)),
    ],
    ids=lambda error: error.code().name if isinstance(error, grpc.aio.AioRpcError) else type(error).__name__,
)
async def test_however_serve_says_that_a_replica_was_lost_another_one_is_asked(lost: Exception) -> None:
    async def lose_one(number: int) -> str:
        if number == 0:
            raise lost
        return "fresh"

    assert await _remote(Handle(lose_one)).call("work") == "fresh"


async def test_a_cancellation_inside_a_replica_does_not_cancel_the_caller() -> None:
    async def be_cancelled_once(number: int) -> str:
        if number == 0:
            raise asyncio.CancelledError  # as Serve passes it on
        return "fresh"

    assert await _remote(Handle(be_cancelled_once)).call("work") == "fresh"


async def test_a_call_that_no_replica_will_answer_is_not_repeated() -> None:
    async def refuse(_: int) -> None:
        raise _grpc_error(grpc.StatusCode.RESOURCE_EXHAUSTED)

    handle = Handle(refuse)
    with pytest.raises(grpc.aio.AioRpcError):
        await _remote(handle).call("work")
    assert len(handle.work.responses) == 1


async def test_what_a_replica_raised_on_purpose_arrives_as_it_was_raised() -> None:
    async def refuse(_: int) -> None:
        cause = InvalidField("no such model", field="model", allowed="a")
        raise RayTaskError("work", "traceback", cause).as_instanceof_cause()

    with pytest.raises(InvalidField) as caught:
        await _remote(Handle(refuse)).call("work")
    assert type(caught.value) is InvalidField
    assert (caught.value.message, caught.value.field) == ("no such model", "model")


async def test_a_defect_is_not_taken_for_an_outage() -> None:
    async def fail(_: int) -> None:
        raise RayTaskError("work", "traceback", ZeroDivisionError()).as_instanceof_cause()

    with pytest.raises(ZeroDivisionError):
        await _remote(Handle(fail)).call("work")


async def test_a_part_that_does_not_answer_in_time_is_unavailable_and_its_work_is_cancelled() -> None:
    async def sleep(_: int) -> None:
        await asyncio.sleep(60)

    handle = Handle(sleep)
    with pytest.raises(Unavailable) as caught:
        await _remote(handle, deadline_s=0.05).call("work")
    assert caught.value.component == "part"
    assert handle.work.responses[0].cancelled


async def test_a_full_queue_says_when_to_come_back() -> None:
    async def full(_: int) -> None:
        raise BackPressureError(9, 9, 429, 3.0)

    with pytest.raises(Overloaded) as caught:
        await _remote(Handle(full)).call("work")
    assert caught.value.retry_after_s == 3.0


async def test_a_caller_that_leaves_takes_its_work_with_it() -> None:
    async def sleep(_: int) -> None:
        await asyncio.sleep(60)

    handle = Handle(sleep)
    calling = asyncio.ensure_future(_remote(handle).call("work"))
    await asyncio.sleep(0.02)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert handle.work.responses[0].cancelled


async def test_a_lost_part_is_given_up_before_the_deadline_of_a_busy_one_until_it_answers_again() -> None:
    answers: dict[int, Any] = {}

    async def behave(number: int) -> str:
        if number == 0:
            raise RayActorError
        await asyncio.sleep(answers.get(number, 60))
        return "fresh"

    remote = _remote(Handle(behave), deadline_s=30, away_s=0.1)
    for _ in range(2):
        with pytest.raises(Unavailable, match="part is away"):
            await asyncio.wait_for(remote.call("work"), 10)
    answers |= {3: 0.0, 4: 0.3}
    assert await remote.call("work") == "fresh"
    assert await remote.call("work") == "fresh"  # takes longer than a lost part may


async def test_a_long_text_has_more_time_to_be_read() -> None:
    async def read(_: int) -> list[Extraction]:
        await asyncio.sleep(0.2)
        return [Extraction()]

    def extractor() -> RemoteExtractor:
        return RemoteExtractor(Remote(SimpleNamespace(extract=Method(read)), component="extractor", deadline_s=0.05))  # type: ignore[arg-type]

    with pytest.raises(Unavailable):
        await extractor().extract(["short"])
    assert await extractor().extract(["long" * 2000]) == [Extraction()]


async def test_every_replica_is_asked_and_one_that_ends_meanwhile_is_left_out() -> None:
    handle = BroadcastHandle(["a", RayActorError(), "c"])
    assert await _remote(handle).call_each_replica("report") == ["a", "c"]


async def test_replicas_are_asked_again_until_one_runs() -> None:
    handle = BroadcastHandle([], [RayActorError()], ["fresh"])
    assert await _remote(handle).call_each_replica("report") == ["fresh"]


async def test_what_one_of_all_replicas_raised_arrives_as_it_was_raised() -> None:
    error = RayTaskError("report", "traceback", Unavailable("no store", component="record")).as_instanceof_cause()
    with pytest.raises(Unavailable, match="no store") as caught:
        await _remote(BroadcastHandle(["a", error])).call_each_replica("report")
    assert type(caught.value) is Unavailable
