"""A system of record that journals the raw log on this machine while its store is unavailable (DESIGN §7)."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter

import structlog
from pydantic import ValidationError
from typing_extensions import override

from memory.ports.stores.record import SystemOfRecord, UnitOfWork, check_same_content
from memory.values.base import utc_now
from memory.values.errors import BadRequest, StoreUnavailable
from memory.values.records import Resource

from ..shared.checks import check_owner, check_user

_END_OF_TIME = datetime.max.replace(tzinfo=UTC)
_log = structlog.get_logger(__name__)


class JournaledRecord(SystemOfRecord):
    """Wraps a system of record; only `append` differs: while the inner record is unavailable, it writes to the journal.

    The journal is a system of record too, so it brings its own durability: its backlog are the entries that wait, and
    an entry that the inner record has is deleted from it. Entries are forwarded oldest first. A user's new entries wait
    in the journal until the inner record has all earlier ones, which keeps the order of a session. Every step may be
    repeated: ids prevent duplicates, and an entry leaves the journal only when the inner record has it. Several
    processes may share a journal, and each forwards what it finds.

    An entry that the inner record rejects for good stays in the journal, is logged and counted, and delays no other.

    Args:
        inner: The store of all data; closed with this.
        journal: Where entries wait, durably; closed with this. Used for nothing else.
        probe_interval_s: How often the inner record is tried while entries wait.
        look_interval_s: How often the journal is read otherwise: another process may have died and left entries.
        batch: How many entries are forwarded at a time.
    """

    def __init__(
        self,
        inner: SystemOfRecord,
        journal: SystemOfRecord,
        *,
        probe_interval_s: float = 1.0,
        look_interval_s: float = 30.0,
        batch: int = 200,
    ) -> None:
        self.backlog = inner.backlog
        self.runs = inner.runs
        self.keys = inner.keys
        self._inner = inner
        self._journal = journal
        self._probe_interval_s = probe_interval_s
        self._look_interval_s = look_interval_s
        self._batch = batch
        self._held = 0
        self._flushed = 0
        self._waiting = 0
        self._refused: set[tuple[str, str]] = set()
        self._away_since: datetime | None = None
        self._error = ""
        self._has_entries = asyncio.Event()
        self._flushing: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins to forward what a crash left, in the background; the first `append` does so too."""
        if self._flushing is not None and not self._flushing.done():
            return
        if self._flushing is not None and (error := self._flushing.exception()) is not None:
            _log.error("journal_flush_failed", error=repr(error))
        self._flushing = asyncio.get_running_loop().create_task(self._flush_forever())

    @override
    def reading(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        """A consistent view of the inner record, without the entries of the journal."""
        return self._inner.reading(user_id=user_id)

    @override
    def writing(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        return self._inner.writing(user_id=user_id)

    @override
    async def append(self, resources: Sequence[Resource], *, user_id: str, named: Sequence[str] = ()) -> bool:
        """Appends to the raw log, or to the journal.

        Returns:
            Whether the inner record has them.

        Raises:
            Conflict: An id of `named` belongs to another content where they would be written.
            StoreUnavailable: Neither can be written.
        """
        check_owner(resources, check_user(user_id))
        if not resources:
            return True
        self.start()
        if self._away_since is None and await self._caught_up(user_id):
            try:
                await self._inner.append(resources, user_id=user_id, named=named)
            except StoreUnavailable as error:
                self._inner_failed(error)
            else:
                return True
        await self._write_journal(resources, user_id, named)
        return False

    @override
    async def erase_user(self, user_id: str) -> Mapping[str, int]:
        waiting = (await self._journal.erase_user(user_id))["resources"]
        erased = await self._inner.erase_user(user_id)
        return {**erased, "journal": waiting}

    @override
    async def purge(self) -> bool:
        await self._journal.purge()
        return await self._inner.purge()

    @override
    async def ping(self) -> None:
        await self._inner.ping()

    @override
    def figures(self) -> Mapping[str, float | str]:
        """The figures of the inner record, and the journal's entries that wait, were written and were forwarded."""
        figures: dict[str, float | str] = {
            **self._inner.figures(),
            "journal_waiting": self._waiting,
            "journal_held": self._held,
            "journal_flushed": self._flushed,
            "journal_refused": len(self._refused),
        }
        if self._away_since is not None or self._waiting:
            figures |= {"status": "degraded", "error": self._error or "Entries wait in the journal."}
        if self._away_since is not None:
            figures["since"] = self._away_since.isoformat()
        return figures

    @override
    async def close(self) -> None:
        """Stops forwarding; entries in the journal wait for the next start."""
        if self._flushing is not None:
            self._flushing.cancel()
            await asyncio.gather(self._flushing, return_exceptions=True)
            self._flushing = None
        await self._inner.close()
        await self._journal.close()

    async def flush(self) -> None:
        """Forwards all entries of the journal.

        Raises:
            StoreUnavailable: The inner record or the journal cannot answer; the remaining entries still wait.
        """
        while waiting := await self._next():
            await self._forward(waiting)
        if self._away_since is not None:
            await self._inner.backlog.unlearned(limit=1)  # nothing waited, so nothing has shown that it answers again
            self._inner_succeeded()
        held = self._held
        count = (await self._journal.backlog.counts())["unlearned"]
        if self._held == held:  # else an entry may have come after the count: the next flush counts again
            self._waiting = count

    async def _flush_forever(self) -> None:
        while True:
            self._has_entries.clear()
            try:
                await self.flush()
            except StoreUnavailable as error:
                self._error = error.message
            if self._away_since is None and not self._waiting:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._look_interval_s):
                        await self._has_entries.wait()
            await asyncio.sleep(self._probe_interval_s)

    async def _caught_up(self, user_id: str) -> bool:
        """Whether the inner record has all entries of the user, after forwarding a batch where it had not."""
        try:
            waiting = await self._next(user_id)
        except StoreUnavailable as error:  # a broken journal does not prevent writing to the inner record
            _log.warning("journal_unreadable", error=error.message)
            return True
        if not waiting:
            return True
        try:
            await self._forward(waiting)
            return not await self._next(user_id)
        except StoreUnavailable:
            return False

    async def _write_journal(self, resources: Sequence[Resource], user_id: str, named: Sequence[str]) -> None:
        try:
            if named:
                async with self._journal.reading(user_id=user_id) as unit:
                    waiting = await unit.log.get(named)
                check_same_content(resources, [content for entry in waiting if (content := self._unwrap(entry))])
            await self._journal.append([_envelope(resource) for resource in resources], user_id=user_id)
        except StoreUnavailable as error:
            message = f"The turn can be stored neither in the system of record nor in its journal: {error.message}"
            raise StoreUnavailable(message, component="record") from error
        self._held += len(resources)
        self._waiting += len(resources)
        self._has_entries.set()

    async def _next(self, user_id: str | None = None) -> list[Resource]:
        limit = self._batch + len(self._refused)
        waiting = await self._journal.backlog.unlearned(limit=limit, user_id=user_id)
        return [entry for entry in waiting if (entry.user_id, entry.resource_id) not in self._refused]

    async def _forward(self, waiting: Sequence[Resource]) -> None:
        for user_id, entries in groupby(sorted(waiting, key=attrgetter("user_id")), key=attrgetter("user_id")):
            taken = await self._append_entries(list(entries), user_id)
            async with self._journal.writing(user_id=user_id) as transaction:
                self._flushed += len(await transaction.log.mark_learned(taken))
                await transaction.log.delete_orphaned(created_before=_END_OF_TIME)
                await transaction.commit()

    async def _append_entries(self, entries: Sequence[Resource], user_id: str) -> list[str]:
        """Appends the content of journal entries to the inner record; returns the ids of those that it has now."""
        found = [(entry, content) for entry in entries if (content := self._unwrap(entry)) is not None]
        try:
            await self._append_to_inner([content for _, content in found], user_id)
            return [entry.resource_id for entry, _ in found]
        except BadRequest:  # at least one is wrong: try them one by one
            taken = []
            for entry, content in found:
                try:
                    await self._append_to_inner([content], user_id)
                    taken.append(entry.resource_id)
                except BadRequest as error:
                    self._refuse(entry, error.message)
            return taken

    async def _append_to_inner(self, resources: Sequence[Resource], user_id: str) -> None:
        try:
            await self._inner.append(resources, user_id=user_id)
        except StoreUnavailable as error:
            self._inner_failed(error)
            raise
        self._inner_succeeded()

    def _unwrap(self, entry: Resource) -> Resource | None:
        try:
            return Resource.model_validate_json(entry.content)
        except ValidationError as error:
            self._refuse(entry, f"unreadable: {error.error_count()} problems")
            return None

    def _refuse(self, entry: Resource, reason: str) -> None:
        self._refused.add((entry.user_id, entry.resource_id))
        _log.error("journal_entry_refused", resource_id=entry.resource_id, error=reason)

    def _inner_failed(self, error: StoreUnavailable) -> None:
        self._error = error.message
        if self._away_since is None:
            self._away_since = utc_now()
            self._has_entries.set()
            _log.warning("record_unavailable", error=error.message)

    def _inner_succeeded(self) -> None:
        if self._away_since is not None:
            self._away_since = None
            self._error = ""
            _log.info("record_available", journal_held=self._held)


def _envelope(resource: Resource) -> Resource:
    """An entry of the journal: `learn` puts it on the backlog, whatever the entry inside says of itself."""
    return Resource(
        resource_id=resource.resource_id,
        user_id=resource.user_id,
        session_id=resource.session_id,
        content=resource.model_dump_json(),
        created_at=resource.created_at,
        learn=True,
    )
