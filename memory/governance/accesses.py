"""Counting what was retrieved without a write on the way: tallied in the process, written in batches (001 §1.3)."""

import asyncio
import contextlib
from collections.abc import Iterable
from datetime import datetime

import structlog

from ..ports.record import SystemOfRecord
from ..ports.repositories import Access
from ..values.changes import ItemKind
from ..values.errors import Unavailable

MAX_WAITING = 50_000
"""Items that may wait; what comes beyond while the record is away is not counted."""
_log = structlog.get_logger(__name__)

_Key = tuple[ItemKind, str]


class AccessTally:
    """Adds accesses up and writes them now and then; what a killed process had not written is not counted.

    Args:
        record: Where they are written.
        interval_s: How long they wait at most while the record answers.
    """

    def __init__(self, record: SystemOfRecord, *, interval_s: float = 30.0) -> None:
        self._record = record
        self._interval_s = interval_s
        self._waiting: dict[str, dict[_Key, tuple[int, datetime]]] = {}
        self._size = 0
        self._writing: asyncio.Task[None] | None = None
        self.dropped = 0

    @property
    def waiting(self) -> int:
        """Items whose accesses are not written yet."""
        return self._size

    def add(self, kind: ItemKind, ids: Iterable[str], *, user_id: str, at: datetime) -> None:
        """Counts one access of each; returns at once. Call it on the event loop."""
        mine = self._waiting.setdefault(user_id, {})
        for item_id in ids:
            self._put(mine, (kind, item_id), 1, at)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.get_running_loop().create_task(self._write_later())

    async def flush(self) -> None:
        """Writes all that waits, one transaction a user.

        Raises:
            Unavailable: The record is down; what is not written waits on.
        """
        for user_id in list(self._waiting):
            mine = self._waiting.pop(user_id)
            self._size -= len(mine)
            try:
                await self._write(user_id, mine)
            except BaseException:
                again = self._waiting.setdefault(user_id, {})
                for key, (count, at) in mine.items():
                    self._put(again, key, count, at)
                raise

    async def close(self) -> None:
        """Writes what waits, if the record answers."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
        with contextlib.suppress(Unavailable):
            await self.flush()

    def _put(self, mine: dict[_Key, tuple[int, datetime]], key: _Key, count: int, at: datetime) -> None:
        if key in mine:
            before, last = mine[key]
            mine[key] = (before + count, max(last, at))
        elif self._size < MAX_WAITING:
            mine[key] = (count, at)
            self._size += 1
        else:
            self.dropped += count

    async def _write_later(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._interval_s)
            try:
                await self.flush()
            except Unavailable as error:
                _log.warning("accesses_not_counted_yet", error=error.message, waiting=self._size)

    async def _write(self, user_id: str, counted: dict[_Key, tuple[int, datetime]]) -> None:
        by_kind: dict[ItemKind, list[Access]] = {}
        for (kind, item_id), (count, at) in counted.items():
            by_kind.setdefault(kind, []).append(Access(item_id, count, at))
        async with self._record.writing(user_id=user_id) as unit:
            await unit.entities.count_accesses(by_kind.get(ItemKind.ENTITY, []))
            await unit.memories.count_accesses(by_kind.get(ItemKind.MEMORY, []))
            await unit.typed_memories.count_accesses(by_kind.get(ItemKind.TYPED_MEMORY, []))
            await unit.commit()
