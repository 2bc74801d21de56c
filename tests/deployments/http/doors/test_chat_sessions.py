"""The sessions of chats whose clients name none: each chat has its own, and keeps it as it grows."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from deployments.http.doors.openai.chats import SAME_BEGINNINGS
from memory.values.errors import StoreUnavailable

from .conftest import Clock, Door

GREETING = "你好"


class Chat:
    """A chat of a program that sends all of it each time, and no id."""

    def __init__(self, door: Door, person: str) -> None:
        self._client = door.client(person)
        self.messages: list[Any] = []

    def ask(self) -> Any:
        """Sends the chat as it is."""
        return self._client.chat.completions.create(model="jiyi", messages=self.messages)

    def say(self, text: str, *, replied: str | None = None) -> str:
        """The session of what is said next, to which the program shows this reply, else the one that it got."""
        self.messages.append({"role": "user", "content": text})
        reply = self.ask()
        self.messages.append({"role": "assistant", "content": replied or reply.choices[0].message.content})
        return str(reply.model_extra["jiyi"]["session_id"])


@pytest.fixture
def chats(door: Door, person: str) -> Any:
    def begin() -> Chat:
        return Chat(door, person)

    return begin


def test_a_chat_keeps_its_session_as_it_grows_over_midnight_and_when_its_turns_have_expired(
    door: Door, person: str, chats: Any, clock: Clock
) -> None:
    chat = chats()
    clock.now = datetime(2026, 3, 2, 23, 50, tzinfo=UTC)
    session = chat.say(GREETING)
    sessions = {session}
    for text in ("我們買了 AI-Box。", "它多少錢？", "謝謝。"):
        clock.wait(timedelta(hours=9))
        door.run(lambda services: services.sessions.clear(session, user_id=person))
        sessions.add(chat.say(text))
    assert len(sessions) == 1


def test_chats_that_begin_with_the_same_message_have_a_session_each(chats: Any, clock: Clock) -> None:
    first, second, tomorrow = chats(), chats(), chats()
    sessions = [first.say(GREETING)]
    clock.wait()
    first.say("我們買了 AI-Box。")
    sessions.append(second.say(GREETING))
    second.say("我搬到台南了。")
    clock.wait(timedelta(days=1))
    sessions.append(tomorrow.say(GREETING))
    tomorrow.say("今天好熱。")
    assert len(set(sessions)) == 3
    assert [chat.say("謝謝。") for chat in (first, second, tomorrow)] == sessions


def test_chats_that_begin_at_once_part_where_their_second_message_differs(chats: Any, clock: Clock) -> None:
    first, second = chats(), chats()
    assert first.say(GREETING) == second.say(GREETING), "nothing tells them apart yet"
    sessions = [first.say("我們買了 AI-Box。"), second.say("我搬到台南了。")]
    assert sessions[0] != sessions[1]
    assert [first.say("謝謝。"), second.say("謝謝。")] == sessions


def test_another_first_reply_is_another_chat_and_a_shortened_one_is_not(chats: Any, clock: Clock) -> None:
    shortened, other = chats(), chats()
    session = shortened.say("我的車停在地下二樓。")
    reply = shortened.messages[-1]["content"]
    shortened.messages[-1] = {"role": "assistant", "content": f"<think>Greet.</think>\n\n {reply}"}
    other.messages = [shortened.messages[0], {"role": "assistant", "content": "Something else."}]
    assert other.say("謝謝。") != session
    assert shortened.say("車在哪裡？") == session


def test_a_request_that_is_repeated_has_the_session_of_the_first(chats: Any, clock: Clock) -> None:
    chat = chats()
    sessions = {chat.say(GREETING), chat.say("我們買了 AI-Box。")}
    for length in (3, 3):
        clock.wait()
        del chat.messages[length - 1 :]
        sessions.add(chat.say("我們買了 AI-Box。"))
    assert len(sessions) == 1


def test_results_of_tools_belong_to_the_message_that_they_are_for(chats: Any, clock: Clock) -> None:
    chat = chats()
    session = chat.say(GREETING)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chat.messages[-1] = {"role": "assistant", "content": None, "tool_calls": [call]}
    chat.messages.append({"role": "tool", "tool_call_id": "c", "content": "x"})
    clock.wait()
    assert chat.ask().model_extra["jiyi"]["session_id"] == session


def test_after_many_chats_with_the_same_beginning_the_last_session_is_shared(chats: Any, clock: Clock) -> None:
    sessions = []
    for _ in range(SAME_BEGINNINGS + 1):
        clock.wait()
        sessions.append(chats().say(GREETING))
    assert len(set(sessions)) == SAME_BEGINNINGS
    assert sessions[-1] == sessions[-2]


def test_while_the_record_is_away_a_chat_has_the_session_of_its_day(
    door: Door, chats: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = chats()
    session = chat.say(GREETING)
    clock.wait()

    def fail(*, user_id: str) -> Any:
        raise StoreUnavailable("away", component="record")

    with monkeypatch.context() as patched:
        patched.setattr(door.services.record, "reading", fail)
        assert chat.say("我們買了 AI-Box。") == session


def test_responses_without_an_id_have_the_same_sessions(door: Door, person: str, chats: Any, clock: Clock) -> None:
    chat = chats()
    session = chat.say(GREETING)
    reply = door.client(person).responses.create(
        model="jiyi", input=[*chat.messages, {"role": "user", "content": "我們買了 AI-Box。"}]
    )
    assert reply.model_extra is not None
    assert reply.model_extra["jiyi"]["session_id"] == session


def test_a_reference_means_what_the_chat_says_whatever_its_session_has(door: Door, person: str) -> None:
    client = door.client(person)
    history: list[Any] = [{"role": "user", "content": "我們買了 AI-Box。"}, {"role": "assistant", "content": "好的。"}]
    client.chat.completions.create(
        model="jiyi",
        messages=[{"role": "user", "content": "我們賣了 Hongkang。"}],
        extra_headers={"X-Jiyi-Session": "shared"},
    )
    reply = client.chat.completions.create(
        model="jiyi",
        messages=[*history, {"role": "user", "content": "它多少錢？"}],
        extra_headers={"X-Jiyi-Session": "shared"},
    )
    assert reply.model_extra is not None
    assert reply.model_extra["jiyi"]["resolved_query"] == "AI-Box 多少錢？"
