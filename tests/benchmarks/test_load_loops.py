"""The open-loop generator: what it sends, when, and what it says of it."""

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.load.loops import long_enough, poisson_schedule, run_closed_loop, run_open_loop
from benchmarks.load.samples import TIMEOUT, Run, Sample, percentile

_RATES = st.floats(min_value=0.1, max_value=500)


@given(rate=_RATES, seconds=st.floats(min_value=0.1, max_value=10), seed=st.integers(0, 99))
def test_a_schedule_rises_within_its_time_and_is_the_same_for_the_same_seed(
    rate: float, seconds: float, seed: int
) -> None:
    schedule = poisson_schedule(rate, seconds, seed=seed)
    assert schedule == sorted(schedule) == poisson_schedule(rate, seconds, seed=seed)
    assert all(0 < due < seconds for due in schedule)


def test_gaps_have_the_mean_and_the_spread_of_a_poisson_process() -> None:
    schedule = poisson_schedule(50, 400, seed=3)
    gaps = [after - before for before, after in itertools.pairwise(schedule)]
    mean = sum(gaps) / len(gaps)
    variance = sum((gap - mean) ** 2 for gap in gaps) / len(gaps)
    assert mean == pytest.approx(1 / 50, rel=0.03)
    assert variance == pytest.approx(mean**2, rel=0.06)


@pytest.mark.parametrize(("rate", "seconds"), [(0, 1), (1, 0), (-1, 1)])
def test_a_schedule_without_rate_or_time_is_refused(rate: float, seconds: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        poisson_schedule(rate, seconds, seed=1)


@pytest.mark.parametrize(("rate", "seconds", "expected"), [(100, 5, 5), (2, 5, 10)])
def test_a_run_at_a_low_rate_lasts_until_twenty_requests_are_expected(
    rate: float, seconds: float, expected: float
) -> None:
    assert long_enough(rate, seconds) == expected


async def test_a_server_that_stalls_does_not_keep_later_requests_from_leaving() -> None:
    released = asyncio.Event()
    left: list[int] = []

    async def send(index: int) -> str:
        left.append(index)
        if index == 4:  # the last one can only leave if nobody waits for the first
            released.set()
        await released.wait()
        return "200"

    run = await run_open_loop(send, [0.0, 0.001, 0.002, 0.003, 0.004], seconds=0.005, timeout_s=30)
    assert sorted(left) == [0, 1, 2, 3, 4]
    assert run.summary().statuses == {"200": 5}


async def test_a_request_without_an_answer_is_given_up_and_counts_as_failed() -> None:
    async def send(index: int) -> str:
        await asyncio.Event().wait()
        return "200"

    run = await run_open_loop(send, [0.0], seconds=0.01, timeout_s=0.01)
    summary = run.summary()
    assert summary.statuses == {TIMEOUT: 1}
    assert summary.failed == 1


async def test_each_request_of_a_closed_loop_is_sent_once_and_no_more_are_under_way_than_callers() -> None:
    under_way, most, sent = 0, 0, []

    async def send(index: int) -> str:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        sent.append(index)
        return "200"

    await run_closed_loop(send, callers=3, requests=20, timeout_s=5)
    assert sorted(sent) == list(range(20))
    assert most == 3


async def test_a_closed_loop_needs_an_end() -> None:
    async def send(index: int) -> str:
        return "200"

    with pytest.raises(ValueError, match="seconds"):
        await run_closed_loop(send, callers=1, timeout_s=1)


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0.1, 100))
def test_a_percentile_is_a_value_that_so_many_do_not_exceed(values: list[float], percent: float) -> None:
    ordered = sorted(values)
    found = percentile(ordered, percent)
    assert found in ordered
    assert sum(value <= found for value in ordered) >= len(ordered) * percent / 100 - 1e-9


def test_latency_counts_from_when_a_request_was_due_and_not_from_when_it_left() -> None:
    late = Sample(index=0, due_s=1.0, sent_s=1.5, done_s=1.75, status="200")
    assert (late.latency_s, late.lag_s) == (0.75, 0.5)


def test_a_summary_leaves_out_what_was_due_early_and_the_times_of_refused_requests() -> None:
    samples = [
        Sample(0, 0.1, 0.1, 9.0, "200"),
        Sample(1, 1.0, 1.0, 1.1, "200"),
        Sample(2, 1.5, 1.5, 1.501, "429"),
        Sample(3, 2.0, 2.0, 2.3, "200"),
    ]
    summary = Run(samples, seconds=3.0, elapsed_s=4.0, client_cpu_s=1.0).summary(since_s=1.0)
    assert (summary.requests, summary.offered_per_s) == (3, 1.5)
    assert (summary.p50_ms, summary.max_ms) == (100, 300)
    assert summary.statuses == {"200": 2, "429": 1}
    assert summary.failed == 1
    assert summary.completed_per_s == 1.0
    assert summary.client_cpu == 0.25
