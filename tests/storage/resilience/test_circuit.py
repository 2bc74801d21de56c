"""The circuit between an adapter and its store (`storage.resilience.circuit`)."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from structlog.testing import capture_logs

from memory.values.errors import InvalidField, NotFound, Overloaded, StoreUnavailable
from storage.resilience.circuit import Circuit, CircuitState


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Store:
    """Does what it is told to, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.error: BaseException | None = None

    async def work(self) -> str:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return "done"


AWAY = StoreUnavailable("The store is gone.", component="store")


def state_of(circuit: Circuit) -> CircuitState:
    """The state, read anew: a type checker takes an attribute for what the last assertion said."""
    return circuit.state


def waiting_for(answer: asyncio.Future[str]) -> Callable[[], Awaitable[str]]:
    return lambda: answer


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def circuit(clock: Clock) -> Circuit:
    return Circuit("store", deadline_s=5, threshold=3, retry_after_s=2, clock=clock)


async def fail(circuit: Circuit, work: Callable[[], Awaitable[object]]) -> StoreUnavailable:
    with pytest.raises(StoreUnavailable) as caught:
        await circuit.call(work)
    return caught.value


async def open_it(circuit: Circuit, store: Store) -> None:
    store.error = AWAY
    for _ in range(3):
        await fail(circuit, store.work)
    assert state_of(circuit) is CircuitState.OPEN


async def test_a_result_passes_through(circuit: Circuit, store: Store) -> None:
    assert await circuit.call(store.work) == "done"
    assert circuit.figures() == {"circuit": "closed", "failures": 0, "rejected": 0, "opened": 0}


async def test_it_opens_after_failures_in_a_row_and_then_asks_the_store_no_more(circuit: Circuit, store: Store) -> None:
    await open_it(circuit, store)
    error = await fail(circuit, store.work)
    assert store.asked == 3
    assert (error.message, error.component) == ("store is away: The store is gone.", "store")
    assert circuit.figures() == {
        "circuit": "open",
        "failures": 3,
        "rejected": 1,
        "opened": 1,
        "status": "degraded",
        "error": "The store is gone.",
    }


async def test_a_success_between_failures_starts_the_count_again(circuit: Circuit, store: Store) -> None:
    for _ in range(5):
        store.error = AWAY
        await fail(circuit, store.work)
        await fail(circuit, store.work)
        store.error = None
        await circuit.call(store.work)
    assert state_of(circuit) is CircuitState.CLOSED


async def test_a_missed_deadline_is_a_failure_that_says_so(clock: Clock) -> None:
    circuit = Circuit("store", deadline_s=0.01, threshold=1, clock=clock)
    error = await fail(circuit, asyncio.Event().wait)
    assert error.message == "store did not answer within 0.01 s."
    assert state_of(circuit) is CircuitState.OPEN


async def test_a_call_may_have_a_deadline_of_its_own(circuit: Circuit) -> None:
    with pytest.raises(StoreUnavailable, match=r"within 0\.01 s"):
        await circuit.call(asyncio.Event().wait, deadline_s=0.01)


async def test_one_call_tries_the_store_and_the_others_fail_at_once(
    circuit: Circuit, store: Store, clock: Clock
) -> None:
    await open_it(circuit, store)
    clock.now = 2
    assert state_of(circuit) is CircuitState.HALF_OPEN
    answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    trial = asyncio.create_task(circuit.call(lambda: answer))
    await asyncio.sleep(0)
    assert state_of(circuit) is CircuitState.HALF_OPEN
    for _ in range(10):
        await fail(circuit, store.work)
    assert (store.asked, circuit.rejected) == (3, 10)
    answer.set_result("done")
    assert await trial == "done"
    assert state_of(circuit) is CircuitState.CLOSED


async def test_a_trial_that_fails_keeps_it_open_for_as_long_again(circuit: Circuit, store: Store, clock: Clock) -> None:
    await open_it(circuit, store)
    clock.now = 2
    await fail(circuit, store.work)
    clock.now = 3.9
    assert state_of(circuit) is CircuitState.OPEN
    clock.now = 4
    store.error = None
    await circuit.call(store.work)
    assert state_of(circuit) is CircuitState.CLOSED
    assert circuit.opened == 1


async def test_a_cancelled_trial_lets_the_next_call_try(circuit: Circuit, store: Store, clock: Clock) -> None:
    await open_it(circuit, store)
    clock.now = 2
    trial = asyncio.create_task(circuit.call(asyncio.Event().wait))
    await asyncio.sleep(0)
    trial.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trial
    store.error = None
    assert await circuit.call(store.work) == "done"
    assert state_of(circuit) is CircuitState.CLOSED


@pytest.mark.parametrize("refusal", [InvalidField("No."), NotFound("No."), Overloaded("Later.")])
async def test_a_store_that_refuses_a_request_is_well(
    circuit: Circuit, store: Store, clock: Clock, refusal: Exception
) -> None:
    await open_it(circuit, store)
    clock.now = 2
    store.error = refusal
    with pytest.raises(type(refusal)):
        await circuit.call(store.work)
    assert state_of(circuit) is CircuitState.CLOSED
    assert circuit.failures == 3


@pytest.mark.parametrize("foreign", [KeyError("bug"), TimeoutError("of something inside"), asyncio.CancelledError()])
async def test_any_other_exception_says_nothing_about_the_store(
    circuit: Circuit, store: Store, clock: Clock, foreign: BaseException
) -> None:
    store.error = AWAY
    await fail(circuit, store.work)
    await fail(circuit, store.work)
    store.error = foreign
    with pytest.raises(type(foreign)):
        await circuit.call(store.work)
    store.error = AWAY
    await fail(circuit, store.work)
    assert state_of(circuit) is CircuitState.OPEN
    clock.now = 2
    store.error = foreign
    with pytest.raises(type(foreign)):
        await circuit.call(store.work)
    assert state_of(circuit) is CircuitState.HALF_OPEN


async def test_calls_that_a_hanging_store_left_behind_do_not_open_it_again(
    circuit: Circuit, store: Store, clock: Clock
) -> None:
    answers: list[asyncio.Future[str]] = [asyncio.get_running_loop().create_future() for _ in range(10)]
    left_behind = [asyncio.create_task(circuit.call(waiting_for(answer))) for answer in answers]
    await asyncio.sleep(0)
    await open_it(circuit, store)
    clock.now = 2
    store.error = None
    await circuit.call(store.work)
    for answer in answers:
        answer.set_exception(AWAY)
    await asyncio.gather(*left_behind, return_exceptions=True)
    assert state_of(circuit) is CircuitState.CLOSED
    assert circuit.failures == 13


async def test_a_call_that_was_left_behind_neither_closes_it_nor_keeps_it_open_for_longer(
    circuit: Circuit, store: Store, clock: Clock
) -> None:
    late: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    later: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    left_behind = [asyncio.create_task(circuit.call(waiting_for(answer))) for answer in (late, later)]
    await asyncio.sleep(0)
    await open_it(circuit, store)
    clock.now = 1
    late.set_result("done")
    later.set_exception(AWAY)
    await asyncio.gather(*left_behind, return_exceptions=True)
    assert state_of(circuit) is CircuitState.OPEN
    clock.now = 2
    assert state_of(circuit) is CircuitState.HALF_OPEN


async def test_opening_and_closing_are_logged_once_each(circuit: Circuit, store: Store, clock: Clock) -> None:
    with capture_logs() as logs:
        await open_it(circuit, store)
        await fail(circuit, store.work)
        for clock.now in (2, 4):
            await fail(circuit, store.work)
        clock.now = 6
        store.error = None
        await circuit.call(store.work)
        await circuit.call(store.work)
    assert [entry["event"] for entry in logs] == ["circuit_opened", "circuit_closed"]


async def test_a_failure_that_took_long_opens_it_at_once(circuit: Circuit, clock: Clock) -> None:
    async def slow() -> None:
        clock.now += 2.6
        raise AWAY

    await fail(circuit, slow)
    assert state_of(circuit) is CircuitState.OPEN


async def test_with_a_probe_nobody_waits_for_a_store_that_is_away(store: Store) -> None:
    circuit = Circuit("store", deadline_s=5, threshold=3, retry_after_s=0.001)
    asked = asyncio.Event()
    back = asyncio.Event()

    async def probe() -> None:
        asked.set()
        if not back.is_set():
            raise AWAY

    circuit.use_probe(probe)
    await open_it(circuit, store)
    await asked.wait()
    await fail(circuit, store.work)
    assert store.asked == 3
    back.set()
    store.error = None
    while state_of(circuit) is not CircuitState.CLOSED:
        await asyncio.sleep(0.001)
    assert await circuit.call(store.work) == "done"


async def test_closing_it_ends_the_asking(store: Store) -> None:
    circuit = Circuit("store", deadline_s=5, threshold=3, retry_after_s=3600)
    circuit.use_probe(store.work)
    await open_it(circuit, store)
    await circuit.close()
    assert len(asyncio.all_tasks()) == 1
