"""What the user of a session waits for, kept between requests for callers that keep nothing themselves (003 §3.2).

It is an item of the record with its session, and is erased with that and with any message of it.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from pydantic import ValidationError

from ..ports.stores.record import SystemOfRecord
from ..values.base import Value, utc_now
from ..values.ids import derive_id
from ..values.items import ItemCollection, ItemPlace, StoredItem
from .state import Task

KEPT = timedelta(days=30)
"""After so long without a change a session's tasks are forgotten."""
MAX_EARLIER = 32
"""Earlier tasks of a session that are kept, the latest."""
_KEY = "tasks"


class SessionTasks(Value):
    """The task of a session and those before it, as a `DialogueResult` has them."""

    current_task: str = ""
    tasks_history: tuple[Task, ...] = ()


class TaskMemory:
    """Loads and saves the tasks of sessions.

    Args:
        record: Keeps them.
        now: The clock.
    """

    def __init__(self, record: SystemOfRecord, *, now: Callable[[], datetime] = utc_now) -> None:
        self._record = record
        self._now = now

    async def load(self, user_id: str, session_id: str) -> SessionTasks:
        """The tasks of a session; none where nothing is kept of it.

        Raises:
            StoreUnavailable: The record is down.
        """
        async with self._record.reading(user_id=user_id) as unit:
            found = await unit.items.get([_place(user_id, session_id)])
        return self._read(found)

    async def save(
        self,
        user_id: str,
        session_id: str,
        *,
        before: SessionTasks,
        current_task: str,
        tasks_history: Sequence[Task],
    ) -> None:
        """Keeps the tasks as a turn has left them; what was erased while the turn ran does not come back.

        Args:
            user_id: The user.
            session_id: The session.
            before: What the turn began with.
            current_task: As the turn has left it.
            tasks_history: As the turn has left it.

        Raises:
            StoreUnavailable: The record is down.
        """
        after = SessionTasks(current_task=current_task, tasks_history=tuple(tasks_history[-MAX_EARLIER:]))
        if after == before:
            return
        async with self._record.writing(user_id=user_id) as unit:
            there = self._read(await unit.items.get([_place(user_id, session_id)]))
            if before != SessionTasks() and there == SessionTasks():
                return
            await unit.items.put([self._item(user_id, session_id, after)])
            await unit.commit()

    def _read(self, found: Sequence[StoredItem]) -> SessionTasks:
        now = self._now()
        kept = next((item for item in found if item.is_there(now)), None)
        try:
            return SessionTasks() if kept is None else SessionTasks.model_validate(kept.value)
        except ValidationError:  # an import can write here
            return SessionTasks()

    def _item(self, user_id: str, session_id: str, tasks: SessionTasks) -> StoredItem:
        now = self._now()
        return StoredItem.model_validate(
            {
                "user_id": user_id,
                **_place(user_id, session_id)._asdict(),
                "value": tasks.model_dump(mode="json"),
                "created_at": now,
                "updated_at": now,
                "ttl_minutes": KEPT.total_seconds() / 60,
                "expires_at": now + KEPT,
                "session_id": session_id,
            }
        )


def _place(user_id: str, session_id: str) -> ItemPlace:
    return ItemPlace(ItemCollection.DIALOGUE, (derive_id("dialogue tasks", user_id, session_id),), _KEY)
