"""The session of a chat whose client names none: it is told by what the chat says and by what the log has of it.

A session is named after the first message of the person and the day on which the chat began. Another chat of that day
that begins with the same message gets the next number; which of them a request continues is told by its history.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.chat.history import is_same_reply, one_line
from memory.chat.reader import log_degraded
from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.repositories import RawLog
from memory.values.errors import StoreUnavailable
from memory.values.records import Resource, ResourceKind
from memory.values.understanding.dialogue import Role

from ...support.assistants import Message
from .reading import fingerprint, last_said, text_of

REPEATED_WITHIN = timedelta(seconds=60)
"""What is sent again within this time is one request that was repeated; later the person says it again."""
RETRIED_WITHIN = timedelta(minutes=30)
"""The same where the client says that it repeats: OpenAI's try three times, and wait ten minutes for each reply."""
DAYS_BACK = 7
"""So many days after it began a chat is still known by its history."""
SAME_BEGINNINGS = 8
"""So many chats of a person and a day that begin with the same message are told apart; later ones share the last."""
_LATEST = 40
"""So many entries of a session are compared with what the client sends."""


@dataclass(frozen=True)
class Sent:
    """A request as it came.

    Args:
        messages: The conversation, oldest first.
        user_id: The stored id of the person; None where nobody is named.
        at: When it was sent.
        is_retry: Whether the client says that it sent the same before.
        conversation_id: The conversation of ours that it continues, where it names one.
        own: Those of the messages that it brings itself; empty where it brings all.
    """

    messages: tuple[Message, ...]
    user_id: str | None
    at: datetime
    is_retry: bool = False
    conversation_id: str | None = None
    own: tuple[Message, ...] = ()

    @property
    def said(self) -> list[str]:
        """What the person says, oldest first; the last one is what is to be answered."""
        return [one_line(text_of(message)) for message in self.messages if message.get("role") == "user"]

    @property
    def goes_on(self) -> bool:
        """Whether it continues the reply to a message that was sent before, with results of tools."""
        return (place := last_said(self.messages)) is not None and place < len(self.messages) - 1

    def repeats(self, entry: Resource) -> bool:
        """Whether it may be the request again that left this entry, which has the same message."""
        within = RETRIED_WITHIN if self.is_retry else REPEATED_WITHIN
        return self.goes_on or self.at - entry.created_at < within

    def first_reply(self) -> str:
        """All that was replied to the first message of the person."""
        places = [place for place, message in enumerate(self.messages) if message.get("role") == "user"]
        replies = self.messages[places[0] : places[1]] if len(places) > 1 else self.messages[places[0] :]
        return one_line(" ".join(text_of(message) for message in replies if message.get("role") == "assistant"))


async def session_of_chat(record: SystemOfRecord, sent: Sent) -> str:
    """The session of a chat that has no id.

    A chat keeps its session as it grows, over midnight too. A request without a history begins a chat, unless it
    repeats another (`Sent.repeats`). One with a history belongs to the session whose last message is in that
    history and whose first reply is the same; where there is none, to one that is new. While the record is away, chats
    of a day that begin with the same message are not told apart.

    Raises:
        StoreBusy: Too much waits for the record.
    """
    first = fingerprint(sent.messages, at=sent.at)
    if sent.user_id is None or not sent.said:
        return first
    try:
        async with record.reading(user_id=sent.user_id) as unit:
            return await _find_session(unit.log, sent)
    except StoreUnavailable as error:
        log_degraded("record", error)
        return first


async def _find_session(log: RawLog, sent: Sent) -> str:
    new = ""
    for days in range(DAYS_BACK + 1 if len(sent.said) > 1 else 1):
        for number in range(SAME_BEGINNINGS):
            session_id = fingerprint(sent.messages, at=sent.at - timedelta(days=days), number=number)
            entries = await turns_in_log(log, session_id)
            if entries and _continues(entries, sent):
                return session_id
            if days == 0:
                new = session_id
            if not entries:
                break
    return new


async def turns_in_log(log: RawLog, session_id: str) -> list[Resource]:
    """The latest turns of a session, oldest first."""
    entries = await log.session(session_id, limit=_LATEST)
    return [entry for entry in entries if entry.kind is ResourceKind.TURN]


def _continues(entries: Sequence[Resource], sent: Sent) -> bool:
    """Whether a request belongs to a session that has these entries."""
    said, told = sent.said, [one_line(entry.content) for entry in entries if entry.role is Role.USER]
    if len(said) == 1:
        return set(told) == set(said) and sent.repeats(entries[-1])
    while told and told[-1] == said[-1]:  # the request may be a repetition
        told.pop()
    return (not told or told[-1] in said) and _has_same_first_reply(entries, sent)


def _has_same_first_reply(entries: Sequence[Resource], sent: Sent) -> bool:
    """False where the log has the beginning of the session, and another reply to the same first message."""
    if not 1 < len(entries) < _LATEST or one_line(entries[0].content) != sent.said[0]:
        return True
    known = one_line(entries[1].content) if entries[1].role is Role.ASSISTANT else ""
    return is_same_reply(known, sent.first_reply())
