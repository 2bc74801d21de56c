"""Which turn of its session a request is: one that is sent again is the same turn, what is said again is another.

OpenAI's clients repeat a request without any id, so that its place in the conversation has to tell.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from memory.chat.reader import log_degraded
from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.repositories import RawLog
from memory.values.errors import StoreUnavailable
from memory.values.ids import resource_id
from memory.values.understanding.dialogue import Role

from ...support.assistants import Message
from .chats import Sent, turns_in_log
from .reading import repetition_id, text_of

_MAX_TRIES = 8
"""So many occurrences of a message in its conversation may be requests before a retry."""


async def turn_of(record: SystemOfRecord, sent: Sent, session_id: str) -> str:
    """The id of the turn that a request is.

    A history tells the place: the same message after the same history is the same turn, on one day in UTC. A message
    without one is placed behind the latest message in the log of its session, unless it repeats that (`Sent.repeats`).
    A conversation of ours has grown by a request that was answered: only who says that it is a retry is taken for one.

    Raises:
        StoreBusy: Too much waits for the record.
    """
    placed = _placed(sent, sent.messages)
    has_place = len(sent.said) > 1 or sent.conversation_id is not None
    if sent.user_id is None or not sent.said or (has_place and not (sent.conversation_id and sent.is_retry)):
        return placed
    try:
        async with record.reading(user_id=sent.user_id) as unit:
            if not has_place:
                return await _behind_the_latest(unit.log, sent, sent.user_id, session_id)
            return await _answered(unit.log, sent, sent.user_id, session_id) or placed
    except StoreUnavailable as error:
        log_degraded("record", error)
        return placed


def _placed(sent: Sent, messages: Sequence[Message]) -> str:
    return repetition_id(messages, after=[f"{sent.at:%Y-%m-%d}", sent.conversation_id or ""])


async def _behind_the_latest(log: RawLog, sent: Sent, user_id: str, session_id: str) -> str:
    told = [entry for entry in await turns_in_log(log, session_id) if entry.role is Role.USER]
    before = ["", *(entry.resource_id for entry in told)]  # what each of them, and what comes next, is behind
    may_be_older = sent.is_retry or sent.goes_on
    for place, entry in reversed(list(enumerate(told))[0 if may_be_older else -1 :]):
        turn_id = repetition_id(sent.messages, after=[before[place]])
        if entry.resource_id == resource_id(user_id, session_id, turn_id) and sent.repeats(entry):
            return turn_id
    return repetition_id(sent.messages, after=[before[-1]])


async def _answered(log: RawLog, sent: Sent, user_id: str, session_id: str) -> str | None:
    """The turn of the request before a retry, where that was answered and is in the conversation; None where not."""
    histories = islice(_before_the_same(sent.messages[: -len(sent.own)], sent.own), _MAX_TRIES) if sent.own else ()
    turns = [_placed(sent, (*history, *sent.own)) for history in histories]
    ids = {resource_id(user_id, session_id, turn_id): turn_id for turn_id in turns}
    kept = [entry for entry in await log.get(list(ids)) if sent.repeats(entry)]
    return ids[kept[0].resource_id] if kept else None


def _before_the_same(messages: Sequence[Message], own: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """What is before each occurrence of messages in others, the latest first."""
    said, wanted = [_key(message) for message in messages], [_key(message) for message in own]
    for start in range(len(said) - len(wanted), -1, -1):
        if said[start : start + len(wanted)] == wanted:
            yield messages[:start]


def _key(message: Message) -> tuple[object, str]:
    return message.get("role"), text_of(message)
