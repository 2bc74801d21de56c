"""A system of record that fails when it is told to, and what is asked of one in tests of the journal."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

from memory.ports.stores.record import Backlog, SystemOfRecord, UnitOfWork
from memory.values.errors import InvalidField, StoreUnavailable
from memory.values.records import Resource
from storage.resilience.journaled_record import JournaledRecord

MANY = 10_000


class _BreakableBacklog:
    def __init__(self, store: "Breakable") -> None:
        self._store = store

    def __getattr__(self, method: str) -> Any:
        self._store.check(self._store.away)
        return getattr(self._store.record.backlog, method)


class Breakable(SystemOfRecord):
    """A store that can be away, can fail after it has done what it was asked, and can refuse an entry."""

    def __init__(self, record: SystemOfRecord) -> None:
        self.record = record
        self.backlog = cast("Backlog", _BreakableBacklog(self))
        self.runs = record.runs
        self.keys = record.keys
        self.away = False
        self.unsure = False
        self.no_units = False
        self.refuses: set[str] = set()
        self.appends = 0

    def reading(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        return self.record.reading(user_id=user_id)

    @asynccontextmanager
    async def writing(self, *, user_id: str) -> AsyncIterator[UnitOfWork]:
        self.check(self.away or self.no_units)
        async with self.record.writing(user_id=user_id) as unit:
            yield unit

    async def append(self, resources: Sequence[Resource], *, user_id: str, named: Sequence[str] = ()) -> bool:
        self.appends += 1
        self.check(self.away)
        if any(resource.resource_id in self.refuses for resource in resources):
            raise InvalidField("Too long.", field="content")
        await self.record.append(resources, user_id=user_id, named=named)
        self.check(self.unsure)
        return True

    async def erase_user(self, user_id: str) -> Mapping[str, int]:
        self.check(self.away)
        return await self.record.erase_user(user_id)

    async def purge(self) -> bool:
        self.check(self.away)
        return await self.record.purge()

    async def ping(self) -> None:
        self.check(self.away)

    def figures(self) -> Mapping[str, float | str]:
        return {"kind": "breakable"}

    async def close(self) -> None:
        await self.record.close()

    def check(self, broken: bool) -> None:
        if broken:
            raise StoreUnavailable("It is away.", component="record")


async def entries(record: SystemOfRecord, *, user_id: str = "ann", session_id: str = "s") -> list[Resource]:
    async with record.reading(user_id=user_id) as unit:
        return await unit.log.session(session_id, limit=MANY)


async def ids(record: SystemOfRecord, *, user_id: str = "ann", session_id: str = "s") -> list[str]:
    return [entry.resource_id for entry in await entries(record, user_id=user_id, session_id=session_id)]


async def until(condition: Callable[[], Awaitable[bool] | bool]) -> None:
    async with asyncio.timeout(60):
        while True:
            met = condition()
            if met if isinstance(met, bool) else await met:
                return
            await asyncio.sleep(0.005)


async def drained(record: JournaledRecord) -> None:
    await until(lambda: "status" not in record.figures())
