"""Requests in one message: who is alone waits for nobody, who is many costs few messages, and errors stay apart."""

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployments.remote.messages import SharedMessages
from memory.values.errors import InvalidField, JiyiError, Unavailable


class Wire:
    """Carries messages; each waits until the test lets it through, and doubles the numbers in it."""

    def __init__(self) -> None:
        self.carried: list[list[int]] = []
        self.cancelled = 0
        self._gates: list[asyncio.Event] = []

    async def send(self, requests: list[int]) -> Sequence[int | JiyiError]:
        self.carried.append(requests)
        gate = asyncio.Event()
        self._gates.append(gate)
        try:
            await gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return [_doubled(request) for request in requests]

    async def let_through(self, number: int) -> None:
        await _settle()
        self._gates[number].set()
        await _settle()


def _doubled(request: int) -> int | JiyiError:
    return InvalidField("it is negative", field="request") if request < 0 else 2 * request


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_requests_leave_at_once_while_few_messages_are_in_flight() -> None:
    wire = Wire()
    shared = SharedMessages(wire.send, in_flight=2)
    waiting = [asyncio.create_task(shared.ask(number)) for number in range(2)]
    await _settle()
    assert wire.carried == [[0], [1]]
    await wire.let_through(1)
    assert await waiting[1] == 2
    await wire.let_through(0)
    assert await waiting[0] == 0


async def test_what_comes_meanwhile_leaves_together_when_a_message_is_back() -> None:
    wire = Wire()
    shared = SharedMessages(wire.send, in_flight=1)
    waiting = [asyncio.create_task(shared.ask(number)) for number in range(4)]
    await wire.let_through(0)
    assert wire.carried == [[0], [1, 2, 3]]
    await wire.let_through(1)
    assert [await answer for answer in waiting] == [0, 2, 4, 6]


async def test_a_full_message_waits_for_none_to_come_back() -> None:
    wire = Wire()
    shared = SharedMessages(wire.send, in_flight=1, full=3)
    waiting = [asyncio.create_task(shared.ask(number)) for number in range(5)]
    await _settle()
    assert wire.carried == [[0], [1, 2, 3]]
    for number in range(3):
        await wire.let_through(number)
    assert [await answer for answer in waiting] == [0, 2, 4, 6, 8]


async def test_a_request_that_is_refused_does_not_harm_those_beside_it() -> None:
    wire = Wire()
    shared = SharedMessages(wire.send, in_flight=1)
    waiting = [asyncio.create_task(shared.ask(number)) for number in (0, 1, -1, 3)]
    await wire.let_through(0)
    await wire.let_through(1)
    assert [await waiting[number] for number in (0, 1, 3)] == [0, 2, 6]
    with pytest.raises(InvalidField):
        await waiting[2]


async def test_what_befalls_a_message_befalls_all_in_it_and_none_after_it() -> None:
    is_away = True

    async def fail_once(requests: list[int]) -> list[int | JiyiError]:
        nonlocal is_away
        if is_away:
            is_away = False
            raise Unavailable("away", component="part")
        return [*requests]

    shared = SharedMessages(fail_once, in_flight=1)
    replies = await asyncio.gather(*(shared.ask(number) for number in range(3)), return_exceptions=True)
    assert [type(reply) for reply in replies] == [Unavailable, int, int]


async def test_a_message_is_called_back_only_when_nobody_waits_for_it() -> None:
    wire = Wire()
    shared = SharedMessages(wire.send, in_flight=1)
    waiting = [asyncio.create_task(shared.ask(number)) for number in range(3)]
    await wire.let_through(0)
    waiting[1].cancel()
    await _settle()
    assert wire.cancelled == 0
    waiting[2].cancel()
    await _settle()
    assert wire.cancelled == 1
    assert await asyncio.wait_for(_through(shared, wire), 5) == 14


async def _through(shared: SharedMessages[int, int], wire: Wire) -> int:
    asking = asyncio.create_task(shared.ask(7))
    await wire.let_through(len(wire.carried))
    return await asking


async def test_who_leaves_before_the_message_does_is_not_waited_for() -> None:
    wire = Wire()
    shared = SharedMessages(wire.send, in_flight=1)
    waiting = [asyncio.create_task(shared.ask(number)) for number in range(2)]
    await _settle()
    waiting[1].cancel()
    await wire.let_through(0)
    assert await waiting[0] == 0
    assert wire.carried == [[0]]


@given(st.lists(st.integers(0, 10**6), max_size=60), st.integers(1, 4), st.integers(1, 8), st.lists(st.integers(0, 3)))
def test_everybody_gets_the_reply_to_his_own_request(
    numbers: list[int], in_flight: int, full: int, pauses: list[int]
) -> None:
    async def all_of_them() -> list[int]:
        messages: list[int] = []

        async def send(requests: list[int]) -> list[int | JiyiError]:
            messages.append(len(requests))
            for _ in range(pauses[len(messages) % len(pauses)] if pauses else 0):
                await asyncio.sleep(0)
            return [2 * request for request in requests]

        shared = SharedMessages(send, in_flight=in_flight, full=full)
        replies = await asyncio.gather(*(shared.ask(number) for number in numbers))
        assert sum(messages) == len(numbers)
        assert max(messages, default=0) <= full
        return [*replies]

    assert asyncio.run(all_of_them()) == [2 * number for number in numbers]


async def test_a_message_belongs_to_no_caller() -> None:
    of_caller: ContextVar[str] = ContextVar("of_caller", default="nobody")
    seen: list[str] = []

    async def send(requests: list[int]) -> Sequence[int | JiyiError]:
        seen.append(of_caller.get())  # Serve cancels what a request asked for by a variable like this
        return requests

    of_caller.set("a request")
    assert await SharedMessages(send).ask(1) == 1
    assert seen == ["nobody"]
