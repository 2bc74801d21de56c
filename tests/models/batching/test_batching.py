import asyncio
import os
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any, Never

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.ports.models.language import FloatMatrix, Priority, TextKind
from memory.values.errors import InvalidField, ModelUnavailable, Overloaded
from models.batching.queue import BatchLimits
from models.batching.stats import BatcherStats, BusyClock
from models.encoder.batched_encoder import BatchedEncoder
from testing.fakes.encoder import FakeEncoderEngine

INTERACTIVE, BATCH = Priority.INTERACTIVE, Priority.BATCH


@pytest.fixture
async def start(engine: Any) -> AsyncIterator[Callable[..., BatchedEncoder]]:
    """Starts encoders over the controlled engine; lets go of everything that is held back when the test ends."""
    started = []

    def start(blocked: bool = False, **limits: Any) -> BatchedEncoder:
        if blocked:
            engine.permits = threading.Semaphore(0)
        started.append(BatchedEncoder(engine, limits=BatchLimits(**limits)))
        return started[-1]

    yield start
    if engine.permits is not None:
        engine.permits.release(10_000)
    for encoder in started:
        await encoder.close(5)


def ask(encoder: BatchedEncoder, *texts: str, priority: Priority = INTERACTIVE) -> asyncio.Task[FloatMatrix]:
    return asyncio.ensure_future(encoder.encode(list(texts), kind=TextKind.QUERY, priority=priority))


async def wait_until(condition: Any) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.001)


async def wait_for_batch(engine: Any) -> None:
    """Waits until the worker has taken its next batch."""
    assert await asyncio.to_thread(engine.started.acquire, timeout=20)


async def queue_behind_batch(
    engine: Any, encoder: BatchedEncoder, *waiting: list[str], priority: Priority = INTERACTIVE
) -> list[asyncio.Task[FloatMatrix]]:
    """Occupies the worker with one batch and queues the others, in order; returns their tasks."""
    tasks = [ask(encoder, "first")]
    await wait_for_batch(engine)
    for texts in waiting:
        before = encoder.stats().queued_tokens
        tasks.append(ask(encoder, *texts, priority=priority))
        await wait_until(lambda before=before: encoder.stats().queued_tokens > before)
    return tasks


async def test_what_arrives_during_a_batch_makes_the_next_one(engine: Any, start: Any) -> None:
    """400 arrivals, 50 during each batch (1 per ms, 50 ms of work): 9 batches; a 5 ms timer makes 60 (SERVING §1.1)."""
    encoder = start(blocked=True, batch_tokens=1024)
    tasks = [ask(encoder, "text 0")]
    await wait_for_batch(engine)
    for arrived in range(1, 400, 50):
        tasks += [ask(encoder, f"text {number}") for number in range(arrived, min(arrived + 50, 400))]
        await wait_until(lambda: encoder.stats().queued_tokens == 2 * (len(tasks) - arrived))  # noqa: B023
        engine.permits.release()
        await wait_for_batch(engine)
    engine.permits.release()
    await asyncio.gather(*tasks)
    assert [len(batch) for batch in engine.batches] == [1, *[50] * 7, 49]
    assert encoder.stats().batches == 9


@given(
    requests=st.lists(
        st.tuples(st.lists(st.text("ab 中文", max_size=12), max_size=12), st.sampled_from(Priority)), max_size=12
    ),
    batch_tokens=st.integers(1, 64),
    ride_along=st.integers(0, 64),
    own_lanes=st.booleans(),
)
@settings(max_examples=40)
def test_any_mix_of_requests_comes_back_complete_and_in_order(
    requests: Any, batch_tokens: int, ride_along: int, own_lanes: bool
) -> None:
    engine = FakeEncoderEngine(dimension=16)

    async def run() -> tuple[list[FloatMatrix], BatcherStats]:
        limits = BatchLimits(batch_tokens=batch_tokens, ride_along_tokens=ride_along, own_lanes=own_lanes)
        encoder = BatchedEncoder(engine, limits=limits)
        answers = await asyncio.gather(
            *(encoder.encode(texts, kind=TextKind.QUERY, priority=priority) for texts, priority in requests)
        )
        await encoder.close()
        return answers, encoder.stats()

    answers, stats = asyncio.run(run())
    for (texts, _), vectors in zip(requests, answers, strict=True):
        assert vectors.flags.c_contiguous
        assert vectors.dtype == np.float32
        np.testing.assert_array_equal(vectors, engine.encode(texts, TextKind.QUERY))
    assert stats.items == sum(len(texts) for texts, _ in requests)
    assert stats.tokens <= stats.padded_tokens
    assert stats.queued_tokens == stats.running_tokens == 0


async def test_a_query_waits_for_no_batch_where_each_has_its_own_lane(engine: Any, start: Any) -> None:
    encoder = start(blocked=True)
    bulk = ask(encoder, "b1", "b2", priority=BATCH)
    await wait_for_batch(engine)
    query = ask(encoder, "now")
    await wait_for_batch(engine)
    assert sorted(map(len, engine.batches)) == [1, 2]
    engine.permits.release(2)
    await asyncio.gather(bulk, query)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a niceness for each thread")
async def test_batch_work_yields_the_processor_and_interactive_work_does_not(engine: Any, start: Any) -> None:
    niceness = {}

    def hook(texts: list[str]) -> None:
        niceness[texts[0]] = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    encoder = start()
    engine.hook = hook
    await ask(encoder, "bulk", priority=BATCH)
    await ask(encoder, "query")
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    assert niceness["query"] == usual
    assert niceness["bulk"] > usual or usual == 19


async def test_busy_time_goes_on_while_a_batch_is_computed_and_stands_while_none_is(engine: Any, start: Any) -> None:
    encoder = start(blocked=True)
    assert encoder.stats().busy_s == 0
    task = ask(encoder, "a")
    await wait_for_batch(engine)
    assert 0 < encoder.stats().busy_s < encoder.stats().busy_s
    engine.permits.release()
    await task
    await wait_until(lambda: encoder.stats().running_tokens == 0)
    assert encoder.stats().busy_s == encoder.stats().busy_s > 0


def test_workers_that_are_busy_at_once_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter([10.0, 14.0, 20.0, 21.0])
    monkeypatch.setattr("models.batching.stats.time", SimpleNamespace(perf_counter=lambda: next(readings)))
    busy = BusyClock()
    for step in (busy.start, busy.start, busy.stop, busy.stop, busy.start):
        step()
    assert busy.seconds() == 5.0


async def test_interactive_work_overtakes_batch_work(engine: Any, start: Any) -> None:
    encoder = start(blocked=True, own_lanes=False, batch_tokens=2)
    tasks = await queue_behind_batch(engine, encoder, ["b1", "b2", "b3", "b4"], priority=BATCH)
    tasks.append(ask(encoder, "now"))
    await wait_until(lambda: encoder.stats().queued_tokens == 5)
    engine.permits.release(100)
    await asyncio.gather(*tasks)
    assert [sorted(batch) for batch in engine.batches[1:2]] == [["now"]]


async def test_batch_work_is_not_starved_by_interactive_work_that_never_ends(engine: Any, start: Any) -> None:
    encoder = start(blocked=True, own_lanes=False, batch_tokens=1, ageing_batches=3)
    tasks = await queue_behind_batch(engine, encoder, ["batch"], priority=BATCH)
    for number in range(12):
        tasks.append(ask(encoder, f"i{number}"))
        await wait_until(lambda: encoder.stats().queued_tokens >= 2)
        engine.permits.release()
        await wait_for_batch(engine)
    engine.permits.release(100)
    await asyncio.gather(*tasks)
    assert engine.batches.index(["batch"]) == 4


async def test_one_large_request_does_not_keep_a_small_one_waiting_to_its_end(engine: Any, start: Any) -> None:
    encoder = start(blocked=True, own_lanes=False, batch_tokens=4)
    tasks = await queue_behind_batch(engine, encoder, [f"b{number}" for number in range(40)], priority=BATCH)
    tasks.append(ask(encoder, "small"))
    await wait_until(lambda: encoder.stats().queued_tokens == 41)
    engine.permits.release(2)
    await tasks[-1]
    assert not tasks[1].done()
    engine.permits.release(100)
    assert (await tasks[1]).shape == (40, 8)


async def test_a_poison_text_fails_alone(engine: Any, start: Any) -> None:
    def hook(texts: list[str]) -> None:
        if "poison" in texts:
            raise ValueError("cannot compute this")

    encoder = start(blocked=True)
    engine.hook = hook
    tasks = await queue_behind_batch(
        engine, encoder, *([f"good {number}"] for number in range(9)), ["fine", "poison"], ["last"]
    )
    engine.permits.release(100)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    failed = [position for position, result in enumerate(results) if isinstance(result, BaseException)]
    assert failed == [10]
    assert isinstance(results[10], ModelUnavailable)
    assert "cannot compute this" in str(results[10])
    assert encoder.stats().poisoned == 1
    encoder.check_health()


async def test_of_a_request_that_failed_nothing_more_is_computed(engine: Any, start: Any) -> None:
    def hook(texts: list[str]) -> None:
        if "poison poison" in texts:
            raise ValueError("cannot compute this")

    encoder = start()
    engine.hook = hook
    with pytest.raises(ModelUnavailable):
        await ask(encoder, "a", "poison poison", "b", "c")
    await ask(encoder, "next")
    assert [len(batch) for batch in engine.batches] == [4, 2, 1, 1]


async def test_a_text_that_cannot_be_tokenised_fails_alone(start: Any) -> None:
    encoder = start()
    good, bad = ask(encoder, "good"), ask(encoder, "fine", "unreadable")
    assert (await good).shape == (1, 8)
    with pytest.raises(ModelUnavailable, match="cannot tokenise"):
        await bad


async def test_out_of_memory_halves_the_budget_and_tries_again(engine: Any, start: Any) -> None:
    def hook(texts: list[str]) -> None:
        if len(texts) > 3:
            raise MemoryError("too large")

    encoder = start(blocked=True, batch_tokens=16)
    engine.hook = hook
    tasks = await queue_behind_batch(engine, encoder, *([f"w{number}"] for number in range(16)))
    engine.permits.release(100)
    results = await asyncio.gather(*tasks)
    assert all(result.shape == (1, 8) for result in results)
    assert encoder.stats().batch_tokens <= 4
    assert encoder.stats().poisoned == 0
    engine.batches.clear()
    await ask(encoder, *(f"x{number}" for number in range(16)))
    assert max(map(len, engine.batches)) <= 4


async def test_one_text_that_never_fits_into_memory_fails(engine: Any, start: Any) -> None:
    def hook(texts: list[str]) -> None:
        if "huge" in texts:
            raise MemoryError("too large")

    encoder = start()
    engine.hook = hook
    with pytest.raises(ModelUnavailable, match="too large"):
        await ask(encoder, "huge")
    assert (await ask(encoder, "small")).shape == (1, 8)


async def test_a_cancelled_request_leaves_the_queue(engine: Any, start: Any) -> None:
    encoder = start(blocked=True)
    tasks = await queue_behind_batch(engine, encoder, ["leaves", "too"], ["stays"])
    tasks[1].cancel()
    await wait_until(tasks[1].done)
    assert encoder.stats().queued_tokens == 1
    engine.permits.release(100)
    await asyncio.gather(tasks[0], tasks[2])
    assert engine.batches == [["first"], ["stays"]]


async def test_a_request_cancelled_while_it_runs_hurts_nobody(engine: Any, start: Any) -> None:
    encoder = start(blocked=True)
    running = ask(encoder, "gone")
    await wait_for_batch(engine)
    running.cancel()
    after = ask(encoder, "after")
    engine.permits.release(100)
    assert (await after).shape == (1, 8)


async def test_a_full_queue_says_when_to_come_back(engine: Any, start: Any) -> None:
    encoder = start(blocked=True, max_waiting_items=3)
    tasks = await queue_behind_batch(engine, encoder, ["a", "b"])
    with pytest.raises(Overloaded) as refusal:
        await ask(encoder, "c")
    assert refusal.value.retry_after_s > 0
    assert encoder.stats().rejected == 1
    engine.permits.release(100)
    await asyncio.gather(*tasks)
    assert (await ask(encoder, "c")).shape == (1, 8)


async def test_the_queue_is_bounded_in_tokens_too(engine: Any, start: Any) -> None:
    encoder = start(blocked=True, max_waiting_tokens=5)
    tasks = await queue_behind_batch(engine, encoder, ["one two three"])
    with pytest.raises(Overloaded):
        await ask(encoder, "four five six")
    engine.permits.release(100)
    await asyncio.gather(*tasks)


async def test_a_query_that_would_wait_too_long_is_refused_at_once(engine: Any, start: Any) -> None:
    encoder = start(blocked=True, max_wait_s=0.0, batch_tokens=1)
    tasks = await queue_behind_batch(engine, encoder, ["a"], ["b"], ["c"])  # nobody knows yet how fast it is
    engine.permits.release(2)
    await asyncio.gather(*tasks[:2])
    for _ in "ab":
        await wait_for_batch(engine)
    with pytest.raises(Overloaded) as refusal:
        await ask(encoder, "d")
    assert refusal.value.retry_after_s > 0
    bulk = ask(encoder, "bulk", priority=BATCH)  # has no such deadline
    engine.permits.release(100)
    await asyncio.gather(*tasks, bulk)
    assert (await ask(encoder, "d")).shape == (1, 8)


async def test_batch_work_never_keeps_interactive_work_out(engine: Any, start: Any) -> None:
    encoder = start(blocked=True, own_lanes=False, max_waiting_items=4)
    tasks = await queue_behind_batch(engine, encoder, ["a", "b", "c", "d"], priority=BATCH)
    with pytest.raises(Overloaded):
        await ask(encoder, "e", priority=BATCH)
    tasks.append(ask(encoder, "now"))
    engine.permits.release(100)
    assert all(result.shape[1] == 8 for result in await asyncio.gather(*tasks))


async def test_more_texts_than_could_ever_wait_are_a_bad_request(start: Any) -> None:
    with pytest.raises(InvalidField, match="at most 3"):
        await ask(start(max_waiting_items=3), "a", "b", "c", "d")


async def test_closing_finishes_what_is_there_and_refuses_what_comes(engine: Any, start: Any) -> None:
    encoder = start(blocked=True, batch_tokens=1)
    tasks = await queue_behind_batch(engine, encoder, ["a", "b"], ["c"])
    closing = asyncio.ensure_future(encoder.close(20))
    await asyncio.sleep(0.01)
    with pytest.raises(ModelUnavailable, match="closed"):
        await ask(encoder, "late")
    engine.permits.release(100)
    await closing
    assert [result.shape for result in await asyncio.gather(*tasks)] == [(1, 8), (2, 8), (1, 8)]
    with pytest.raises(ModelUnavailable):
        encoder.check_health()


async def test_what_cannot_be_finished_before_the_deadline_fails(engine: Any, start: Any) -> None:
    encoder = start(blocked=True, batch_tokens=1)
    tasks = await queue_behind_batch(engine, encoder, ["a"], ["b"])
    await encoder.close(0)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [ModelUnavailable] * 3


async def test_a_dead_worker_is_reported_and_leaves_nobody_waiting(engine: Any, start: Any) -> None:
    def hook(texts: list[str]) -> Never:
        raise SystemExit("killed")

    encoder = start(blocked=True)
    engine.hook = hook
    encoder.check_health()
    tasks = await queue_behind_batch(engine, encoder, ["a"], ["b"])
    engine.permits.release(100)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [ModelUnavailable] * 3
    with pytest.raises(ModelUnavailable, match="died"):
        encoder.check_health()
    with pytest.raises(ModelUnavailable, match="died"):
        await ask(encoder, "more")


async def test_an_engine_that_fails_on_everything_is_unhealthy_until_it_recovers(engine: Any, start: Any) -> None:
    def hook(texts: list[str]) -> Never:
        raise RuntimeError("device lost")

    encoder = start()
    engine.hook = hook
    results = await asyncio.gather(*(ask(encoder, f"t{number}") for number in range(20)), return_exceptions=True)
    assert Counter(map(type, results)) == {ModelUnavailable: 20}
    with pytest.raises(ModelUnavailable, match="in a row"):
        encoder.check_health()
    engine.hook = lambda texts: None
    await ask(encoder, "good")
    encoder.check_health()


async def test_the_figures_add_up(engine: Any, start: Any) -> None:
    encoder = start(blocked=True)
    engine.pass_overhead_tokens = 1000
    tasks = await queue_behind_batch(engine, encoder, ["one", "one two three"])
    assert encoder.stats().queued_tokens == 4
    assert encoder.stats().running_tokens == 1
    engine.permits.release(100)
    await asyncio.gather(*tasks)
    await wait_until(lambda: encoder.stats().running_tokens == 0)
    stats = encoder.stats()
    assert (stats.items, stats.tokens, stats.padded_tokens, stats.queued_tokens) == (3, 5, 7, 0)
    assert stats.tokens_per_s > 0


async def test_no_texts_need_no_batch(engine: Any, start: Any) -> None:
    assert (await ask(start())).shape == (0, 8)
    assert engine.batches == []


async def test_callers_in_several_event_loops_share_one_batcher(start: Any) -> None:
    encoder = start()

    def elsewhere(number: int) -> FloatMatrix:
        return asyncio.run(encoder.encode([f"loop {number}"], kind=TextKind.QUERY))

    vectors = await asyncio.gather(*(asyncio.to_thread(elsewhere, number) for number in range(4)))
    assert all(vector.shape == (1, 8) for vector in vectors)
