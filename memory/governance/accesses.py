"""Counting uses without a write per answer: added up in memory, written in batches (001 §1.3, 002 §3.2)."""

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from datetime import datetime

import structlog
from typing_extensions import override

from ..ports.services import UseCounter
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..ports.stores.repositories import Access
from ..values.errors import Unavailable
from ..values.facts import CategoryAccess
from ..values.governance.changes import Held, ItemKind
from ..values.ids import derive_id

MAX_PENDING = 50_000
"""Items whose counts are held in memory; accesses of further items are dropped while the record is down."""
_log = structlog.get_logger(__name__)


_Key = tuple[ItemKind | Held, str]


class AccessTally(UseCounter):
    """Adds up accesses and writes them at intervals; a killed process loses those that it has not written.

    Args:
        record: Where the counts are written.
        interval_s: Seconds between writes.
    """

    def __init__(self, record: SystemOfRecord, *, interval_s: float = 30.0) -> None:
        self._record = record
        self._interval_s = interval_s
        self._pending: dict[str, dict[_Key, tuple[int, datetime]]] = {}
        self._size = 0
        self._writer: asyncio.Task[None] | None = None
        self.dropped = 0

    @property
    def pending(self) -> int:
        """Number of items whose accesses are not written yet."""
        return self._size

    @override
    def add(self, kind: ItemKind | Held, ids: Iterable[str], *, user_id: str, at: datetime) -> None:
        for item_id in ids:
            self._add(self._pending.setdefault(user_id, {}), (kind, item_id), 1, at)
        if self._pending and (self._writer is None or self._writer.done()):
            self._writer = asyncio.get_running_loop().create_task(self._write_later())

    def forget(self, user_id: str) -> None:
        """Drops the pending accesses of a user."""
        self._size -= len(self._pending.pop(user_id, {}))

    async def flush(self) -> None:
        """Writes all pending accesses, one transaction per user.

        Raises:
            Unavailable: The record is down; what is not written stays pending.
        """
        for user_id in list(self._pending):
            counts = self._pending.pop(user_id)
            self._size -= len(counts)
            try:
                await self._write(user_id, counts)
            except BaseException:
                requeued = self._pending.setdefault(user_id, {})
                for key, (count, at) in counts.items():
                    self._add(requeued, key, count, at)
                raise

    async def close(self) -> None:
        """Writes what is pending, if the record is up."""
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.gather(self._writer, return_exceptions=True)
        with contextlib.suppress(Unavailable):
            await self.flush()

    def _add(self, counts: dict[_Key, tuple[int, datetime]], key: _Key, count: int, at: datetime) -> None:
        if key in counts:
            before, last = counts[key]
            counts[key] = (before + count, max(last, at))
        elif self._size < MAX_PENDING:
            counts[key] = (count, at)
            self._size += 1
        else:
            self.dropped += count

    async def _write_later(self) -> None:
        while self._pending:
            await asyncio.sleep(self._interval_s)
            try:
                await self.flush()
            except Unavailable as error:
                _log.warning("access_write_postponed", error=error.message, pending=self._size)

    async def _write(self, user_id: str, counts: dict[_Key, tuple[int, datetime]]) -> None:
        by_kind: dict[ItemKind | Held, list[Access]] = {}
        for (kind, item_id), (count, at) in counts.items():
            by_kind.setdefault(kind, []).append(Access(item_id, count, at))
        async with self._record.writing(user_id=user_id) as unit:
            await unit.entities.count_accesses(by_kind.get(ItemKind.ENTITY, []))
            await unit.memories.count_accesses(by_kind.get(ItemKind.MEMORY, []))
            await unit.typed_memories.count_accesses(by_kind.get(ItemKind.TYPED_MEMORY, []))
            facts = by_kind.get(Held.FACT, [])
            await unit.facts.count_accesses(facts)
            used = by_kind.get(Held.CATEGORY, []) + await _categories_of(unit, facts)
            await unit.category_accesses.create_many(_category_accesses(user_id, used))
            await unit.commit()


async def _categories_of(unit: UnitOfWork, facts: Sequence[Access]) -> list[Access]:
    """The uses of the categories of facts."""
    at = {access.item_id: access.at for access in facts}
    return [Access(fact.category, 1, at[fact.fact_id]) for fact in await unit.facts.get_many(list(at))]


def _category_accesses(user_id: str, used: Iterable[Access]) -> list[CategoryAccess]:
    """One use of each category for all that held it between two writes, so that their number grows slowly."""
    last: dict[str, datetime] = {}
    for access in used:
        last[access.item_id] = max(access.at, last.get(access.item_id, access.at))
    return [
        CategoryAccess(
            access_id=derive_id("category access", user_id, category, at.isoformat()),
            user_id=user_id,
            category=category,
            accessed_at=at,
            source="use",
        )
        for category, at in last.items()
    ]
