"""What is sent again is learned once, and what is said again is learned again, through OpenAI's client."""

from datetime import timedelta
from typing import Any

import pytest

from deployments.http.doors.openai.chats import RETRIED_WITHIN

from .conftest import LATER, Clock, Door

OK = "好"
RETRY = {"x-stainless-retry-count": "1"}
SESSION = {"X-Jiyi-Session": "s"}


class Speaker:
    """Somebody who says something, by one of the ways in which only the latest message is sent."""

    def __init__(self, door: Door, person: str, way: str) -> None:
        self._door, self._person, self._way = door, person, way
        self._client = door.client(person)
        self._last: str | None = None
        self._before: str | None = None
        self._conversation = self._client.conversations.create().id if way == "conversation" else ""

    def say(self, text: str, *, headers: dict[str, str] | None = None, as_before: bool = False) -> None:
        """Says it; with `as_before`, after the same response as the last time."""
        extra = headers or {}
        if self._way == "session":
            self._client.chat.completions.create(
                model="jiyi", messages=[{"role": "user", "content": text}], extra_headers=SESSION | extra
            )
            return
        continued: Any = {"conversation": self._conversation}
        if self._way == "previous":
            before = self._before if as_before else self._last
            continued, self._before = {"previous_response_id": before} if before else {}, before
        reply = self._client.responses.create(model="jiyi", input=text, extra_headers=extra, **continued)
        self._last = reply.id

    def logged(self) -> list[str]:
        """What the log has of the person, oldest first."""

        async def read(services: Any) -> list[str]:
            async with services.record.reading(user_id=self._person) as unit:
                entries = await unit.log.list()
            return [entry.content for entry in reversed(entries) if entry.role == "user"]

        return list(self._door.run(read))


@pytest.fixture(params=["session", "conversation", "previous"])
def speaker(door: Door, person: str, request: pytest.FixtureRequest) -> Speaker:
    return Speaker(door, person, request.param)


def test_what_is_said_twice_is_learned_twice(speaker: Speaker, clock: Clock) -> None:
    for text in (OK, OK, "我們買了 AI-Box。", OK):
        speaker.say(text)
        clock.wait()
    assert speaker.logged() == [OK, OK, "我們買了 AI-Box。", OK]


@pytest.mark.parametrize("way", ["conversation", "previous"])
def test_where_the_conversation_tells_the_place_it_may_be_said_twice_at_once(
    door: Door, person: str, clock: Clock, way: str
) -> None:
    speaker = Speaker(door, person, way)
    for _ in range(3):
        speaker.say(OK)
    assert speaker.logged() == [OK] * 3


def test_what_the_client_says_is_a_retry_is_learned_once(speaker: Speaker, clock: Clock) -> None:
    speaker.say("早。")
    clock.wait()
    speaker.say(OK)
    for _ in range(2):
        clock.wait(timedelta(minutes=10))
        speaker.say(OK, headers=RETRY, as_before=True)
    assert speaker.logged() == ["早。", OK]


def test_a_retry_of_what_failed_is_no_retry_of_what_was_said_long_before(speaker: Speaker, clock: Clock) -> None:
    speaker.say(OK)
    clock.wait(RETRIED_WITHIN)
    speaker.say(OK, headers=RETRY)
    assert speaker.logged() == [OK, OK]


def test_without_a_sign_the_same_is_a_repetition_for_a_short_time(door: Door, person: str, clock: Clock) -> None:
    speaker = Speaker(door, person, "session")
    for _ in range(3):
        clock.wait(timedelta(seconds=19))
        speaker.say(OK)
    assert speaker.logged() == [OK]
    speaker.say("謝謝。")
    speaker.say(OK)
    assert speaker.logged() == [OK, "謝謝。", OK], "something else was said between"


def test_a_retry_is_known_although_somebody_spoke_between(door: Door, person: str, clock: Clock) -> None:
    speaker = Speaker(door, person, "session")
    for text, headers in ((OK, None), ("謝謝。", None), (OK, RETRY)):
        speaker.say(text, headers=headers)
    assert speaker.logged() == [OK, "謝謝。"]


@pytest.mark.parametrize("count", ["0", "x", "-1", ""])
def test_a_count_that_says_nothing_is_none(door: Door, person: str, clock: Clock, count: str) -> None:
    speaker = Speaker(door, person, "session")
    speaker.say(OK)
    clock.wait(LATER)
    speaker.say(OK, headers={"x-stainless-retry-count": count})
    assert speaker.logged() == [OK, OK]


def test_the_same_after_the_same_history_is_one_turn_all_day(door: Door, person: str, clock: Clock) -> None:
    client, speaker = door.client(person), Speaker(door, person, "session")
    history: Any = [{"role": "user", "content": "早。"}, {"role": "assistant", "content": "早安。"}]
    messages = [*history, {"role": "user", "content": OK}]
    longer = [*messages, {"role": "assistant", "content": "好的。"}, messages[-1]]
    for sent in (messages, messages, longer):
        client.chat.completions.create(model="jiyi", messages=sent, extra_headers=SESSION)
        clock.wait()
    assert speaker.logged() == [OK, OK]


def test_results_of_tools_are_no_new_message(door: Door, person: str, clock: Clock) -> None:
    client, speaker = door.client(person), Speaker(door, person, "previous")
    call: Any = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    result: Any = {"type": "function_call_output", "call_id": "c", "output": "x"}
    asked = client.responses.create(model="jiyi", input=[{"role": "user", "content": OK}, call])
    clock.wait()
    client.responses.create(model="jiyi", input=[result], previous_response_id=asked.id)
    assert speaker.logged() == [OK]
