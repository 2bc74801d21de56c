import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.ports.models.language import Priority
from models.batching.queue import BatchItem, BatchLimits, BatchQueue, BatchRequest
from models.encoder.text_tokenizer import TokenizedText

INTERACTIVE, BATCH = Priority.INTERACTIVE, Priority.BATCH
Queue = BatchQueue[TokenizedText, int]


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def request_of(loop: asyncio.AbstractEventLoop) -> Callable[..., BatchRequest[TokenizedText, int]]:
    def make(*lengths: int, priority: Priority = INTERACTIVE) -> BatchRequest[TokenizedText, int]:
        texts = [TokenizedText(np.zeros(length, np.int64)) for length in lengths]
        return BatchRequest(texts, priority, loop.create_future())

    return make


def lengths(batch: list[BatchItem[TokenizedText, int]]) -> list[int]:
    return [item.prepared.token_count for item in batch]


def test_a_batch_takes_what_fits_when_padded(request_of: Any) -> None:
    queue = Queue(BatchLimits())
    for length in (10, 10, 30, 10):
        queue.add(request_of(length))
    assert lengths(queue.take(60)) == [10, 10]  # three of 30 would be 90
    assert lengths(queue.take(60)) == [30, 10]
    assert not queue


def test_a_text_longer_than_a_batch_goes_alone(request_of: Any) -> None:
    queue = Queue(BatchLimits())
    queue.add(request_of(500))
    queue.add(request_of(5))
    assert lengths(queue.take(100)) == [500]


def test_what_does_not_fit_stays_in_front_of_what_would(request_of: Any) -> None:
    queue = Queue(BatchLimits())
    for length in (50, 60, 10):
        queue.add(request_of(length))
    assert lengths(queue.take(100)) == [50]
    assert lengths(queue.take(100)) == [60]


def test_a_large_request_spreads_over_batches_longest_first(request_of: Any) -> None:
    queue = Queue(BatchLimits())
    queue.add(request_of(1, 9, 5, 7, 3))
    assert [lengths(queue.take(16)) for _ in range(3)] == [[9], [7, 5], [3, 1]]


def test_interactive_work_goes_before_batch_work_that_came_earlier(request_of: Any) -> None:
    queue = Queue(BatchLimits(ride_along_tokens=100))
    queue.add(request_of(5, priority=BATCH))
    queue.add(request_of(6))
    assert lengths(queue.take(100)) == [6, 5]


def test_batch_work_rides_along_only_as_far_as_allowed(request_of: Any) -> None:
    queue = Queue(BatchLimits(ride_along_tokens=20))
    queue.add(request_of(5, 5, 5, 5, 5, 5, priority=BATCH))
    queue.add(request_of(5))
    assert lengths(queue.take(100)) == [5, 5, 5, 5]
    assert lengths(queue.take(100)) == [5, 5, 5]


def test_batch_work_that_was_passed_over_often_enough_leads_one_batch(request_of: Any) -> None:
    queue = Queue(BatchLimits(ageing_batches=2))
    queue.add(request_of(7, 7, priority=BATCH))
    led_by_batch = []
    for _ in range(6):
        queue.add(request_of(5))
        led_by_batch.append(queue.take(7)[0].request.priority is BATCH)
    assert led_by_batch == [False, False, True, False, False, True]


def test_from_one_lane_nothing_of_the_other_is_taken(request_of: Any) -> None:
    queue = Queue(BatchLimits(ride_along_tokens=100, ageing_batches=0))
    queue.add(request_of(5, priority=BATCH))
    assert not queue.has(INTERACTIVE)
    assert queue.take(100, [INTERACTIVE]) == []
    queue.add(request_of(6))
    assert lengths(queue.take(100, [INTERACTIVE])) == [6]
    assert lengths(queue.take(100, [BATCH])) == [5]


def test_a_withdrawn_request_leaves_nothing_behind(request_of: Any) -> None:
    queue = Queue(BatchLimits())
    staying, leaving = request_of(5), request_of(8, 8)
    queue.add(leaving)
    queue.add(staying)
    queue.take(8)
    queue.withdraw(leaving)
    queue.withdraw(leaving)
    assert queue.tokens(*Priority) == 5
    assert lengths(queue.take(100)) == [5]


@given(
    requests=st.lists(
        st.tuples(st.lists(st.integers(1, 60), min_size=1, max_size=9), st.sampled_from(Priority)), max_size=25
    ),
    budget=st.integers(1, 120),
    ride_along=st.integers(0, 120),
    ageing=st.integers(0, 5),
)
def test_every_input_leaves_once_and_no_batch_is_over_its_budget(
    request_of: Any, requests: Any, budget: int, ride_along: int, ageing: int
) -> None:
    queue = Queue(BatchLimits(ride_along_tokens=ride_along, ageing_batches=ageing))
    added = [request_of(*sizes, priority=priority) for sizes, priority in requests]
    for request in added:
        queue.add(request)
    taken_items = []
    while queue:
        batch = queue.take(budget)
        assert batch
        assert len(batch) == 1 or max(lengths(batch)) * len(batch) <= budget
        taken_items += [(id(item.request), item.position) for item in batch]
    assert sorted(taken_items) == sorted(
        (id(request), position) for request in added for position in range(len(request.inputs))
    )
    assert queue.tokens(*Priority) == 0
