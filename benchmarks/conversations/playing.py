"""Plays scenarios to a running service over HTTP, each as a user of its own, at the times that they name."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from typing_extensions import override

from jiyi import Client
from jiyi.errors import NotFound
from memory.values.governance.forgetting import ForgetOutcome
from memory.values.understanding.dialogue import Role

from .judge import Reply
from .own_sentences import name_sentence
from .scenarios import NOT_FOR_MEMORY, Kind, Line, Question, Scenario, Session
from .systems import AT_ONCE, Answered, Found, Prompt, System

_BETWEEN_LINES = timedelta(seconds=30)
_PROMPTED = NOT_FOR_MEMORY | {Kind.ABSTAIN, Kind.FORGET}
"""Messages whose prompt is looked at, too: nothing that the user said belongs into it."""


class Way(StrEnum):
    """How the lines of a session reach the service.

    `CHAT` sends each message by `/chat`, or with the assistant's line that follows by `/chat/after`, and waits until it
    is learned; questions are asked at their time, too. `MEMORIES` sends a session in one call of `/memories`, which
    reads each message without the ones before it, and asks at the time of the run: for services whose `/chat` takes
    no time.
    """

    CHAT = "chat"
    MEMORIES = "memories"


class Player(System):
    """Plays scenarios to one service.

    Args:
        connect: Makes a client of the service; one is made for each thread that plays.
        way: How sessions are sent.
    """

    def __init__(self, connect: Callable[[], Client], *, way: Way = Way.CHAT) -> None:
        self._connect = connect
        self._of_thread = threading.local()
        self._way = way

    @property
    def _client(self) -> Client:
        if not hasattr(self._of_thread, "client"):
            self._of_thread.client = self._connect()
        client: Client = self._of_thread.client
        return client

    @override
    def play(self, scenario: Scenario) -> Iterator[tuple[Question, Answered]]:
        """Plays the sessions of a new user; searches for the questions of each, then asks each in a session of its own.

        Raises:
            ClientError: The service refused something, or cannot be reached.
        """
        user = f"{scenario.id}-{uuid.uuid4()}"
        for place, session in enumerate(scenario.sessions):
            name = f"session-{place}"
            if session.lines and self._way is Way.MEMORIES:
                messages = [_message(line, at) for line, at in _timed(session)]
                self._client.add(messages, user_id=user, session_id=name)
            elif session.lines:
                self._talk(session, user_id=user, session_id=name)
            # before any is asked: a question is a line of its user, too, and would be found for the next
            found = [self._search(question, user_id=user) for question in session.questions]
            for number, question in enumerate(session.questions):
                own = f"{name}-question-{number}"
                yield question, self._ask(question, session.at, found[number], user_id=user, session_id=own)

    def _search(self, question: Question, *, user_id: str) -> tuple[Found, ...]:
        reply = self._client.search(
            question.text, user_id=user_id, top_k=AT_ONCE, kinds=["memory"], filters={"role": Role.USER}
        )
        return tuple(Found(hit.text, hit.score, f"{hit.created_at:%Y-%m-%d}") for hit in reply.results)

    def _talk(self, session: Session, *, user_id: str, session_id: str) -> None:
        for message, reply, at in _exchanges(_timed(session)):
            if message is None:
                line = Line(Role.ASSISTANT, reply or "")
                self._client.add([_message(line, at)], user_id=user_id, session_id=session_id)
            elif reply is None:
                self._client.chat(message, user_id=user_id, session_id=session_id, wait=True, created_at=at)
            else:
                self._client.after_reply(message, user_id=user_id, session_id=session_id, reply=reply, created_at=at)

    def _ask(
        self, question: Question, at: datetime, found: tuple[Found, ...], *, user_id: str, session_id: str
    ) -> Answered:
        shown: list[str] = []
        prompt: Prompt | None = None
        if question.kind in _PROMPTED:
            before = self._client.before_reply(question.text, user_id=user_id, session_id=session_id)
            if question.kind is Kind.FORGET:
                shown = [before.context, self._context(user_id)]
            else:
                prompt = Prompt(
                    memories=tuple(hit.text for hit in before.memories),
                    names=tuple(entity.entity_value for entity in before.entities),
                )
        said_at = at if self._way is Way.CHAT else None
        begin = time.perf_counter()
        said = self._client.chat(question.text, user_id=user_id, session_id=session_id, created_at=said_at)
        took_s = time.perf_counter() - begin
        sources = [text for hit in said.sources for text in (hit.text, hit.resolved) if text]
        chooses = said.forgotten is not None and said.forgotten.outcome is ForgetOutcome.WHICH
        asks = said.clarification is not None or chooses
        reply = Reply(
            said.reply,
            (*sources, *shown),
            asks=asks,
            confidence=said.confidence,
            sentence=name_sentence(said.reply),
        )
        return Answered(reply, found, took_s, prompt)

    def _context(self, user_id: str) -> str:
        try:
            return self._client.context(user_id=user_id).context
        except NotFound:
            return ""  # a service before 002 has none


def _timed(session: Session) -> list[tuple[Line, datetime]]:
    return [(line, session.at + place * _BETWEEN_LINES) for place, line in enumerate(session.lines)]


def _exchanges(lines: Sequence[tuple[Line, datetime]]) -> Iterator[tuple[str | None, str | None, datetime]]:
    """Messages with the assistant's lines that follow them; None for a message or a line that is not there."""
    waiting: tuple[str, datetime] | None = None
    for line, at in lines:
        if line.role is Role.ASSISTANT:
            yield (waiting[0], line.text, waiting[1]) if waiting else (None, line.text, at)
            waiting = None
            continue
        if waiting:
            yield waiting[0], None, waiting[1]
        waiting = line.text, at
    if waiting:
        yield waiting[0], None, waiting[1]


def _message(line: Line, at: datetime) -> dict[str, Any]:
    return {"role": line.role.value, "content": line.text, "created_at": at.isoformat()}
