"""Sends recorded conversations to the service and waits until they are learned."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from more_itertools import chunked
from rich.progress import Progress

from .conversations import Conversation, RecordedTurn

if TYPE_CHECKING:
    from .client.clients import Client

_POLL_S = 0.5


@dataclass(frozen=True)
class Replayed:
    """How long a replay took: until everything was acknowledged, and until everything could be found."""

    turns: int
    acknowledged_s: float
    learned_s: float

    @property
    def turns_per_s(self) -> float:
        """Turns acknowledged a second."""
        return self.turns / self.acknowledged_s if self.acknowledged_s else 0.0


def replay(
    client: "Client", conversations: list[Conversation], *, users: dict[str, str], batch: int, progress: Progress
) -> Replayed:
    """Sends every turn once, `batch` turns a call, and waits until all are learned.

    Args:
        client: A client with patience, so that a restart of the service only costs time.
        conversations: What to send.
        users: The `user_id` of each conversation, by its `user`.
        batch: Turns a call; never across two sessions.
        progress: Shows the progress.
    """
    total = sum(len(conversation.turns) for conversation in conversations)
    sending = progress.add_task("turns", total=total)
    start = time.perf_counter()
    for conversation in conversations:
        for session_id, turns in _batches(conversation.turns, batch):
            messages = [turn.as_message() for turn in turns]
            client.add(messages, user_id=users[conversation.user], session_id=session_id, wait=False)
            progress.advance(sending, len(turns))
    acknowledged_s = time.perf_counter() - start
    _wait_until_learned(client, progress)
    return Replayed(total, acknowledged_s, time.perf_counter() - start)


def _batches(turns: list[RecordedTurn], size: int) -> Iterator[tuple[str, list[RecordedTurn]]]:
    for session_id, group in groupby(turns, key=lambda turn: turn.session_id):
        for batch in chunked(group, size):
            yield session_id, batch


def _wait_until_learned(client: "Client", progress: Progress) -> None:
    learning = progress.add_task("learning", total=None)
    total = 0
    while backlog := _backlog(client):
        total = max(total, backlog)
        progress.update(learning, total=total, completed=total - backlog)
        time.sleep(_POLL_S)
    progress.update(learning, total=total or 1, completed=total or 1)


def _backlog(client: "Client") -> int:
    """Log entries not learned and items not indexed; at least 1 while the record does not answer."""
    record = client.operations.health().parts["record"]
    return int(record["unlearned"] + record["outbox"]) if record["status"] == "ok" else 1
