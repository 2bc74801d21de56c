"""Random histories of an outage, and killed processes: the store ends with what was acknowledged, once each."""

import asyncio
import random
import sys
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.ports.stores.record import SystemOfRecord
from memory.values.errors import StoreUnavailable
from storage.inmemory.record import InMemoryRecord
from storage.resilience.journaled_record import JournaledRecord
from storage.sqlite.record import SqliteRecord
from tests.storage.resilience.breakable import Breakable, ids

NEVER_S = 3600.0


class TestHistories:
    """Random histories; afterwards the store holds what was acknowledged, once each, in the order of each session."""

    STEPS = st.one_of(
        st.tuples(st.just("append"), st.sampled_from(["ann", "bob"]), st.sampled_from(["s", "t"]), st.integers(1, 3)),
        st.tuples(st.sampled_from(["down", "up", "unsure", "crash", "drain", "half a drain"])),
    )

    @given(history=st.lists(STEPS, max_size=40), batch=st.integers(1, 5))
    async def test_in_memory(self, history: list[tuple[Any, ...]], batch: int, make: SimpleNamespace) -> None:
        kept = InMemoryRecord()

        async def reopen() -> SystemOfRecord:
            return kept

        await self.live(history, reopen, batch, make)

    @settings(max_examples=5)
    @given(history=st.lists(STEPS, min_size=20, max_size=40))
    async def test_in_a_file(
        self, history: list[tuple[Any, ...]], make: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        path = tmp_path_factory.mktemp("journal") / "journal.db"
        opened: list[SqliteRecord] = []

        async def reopen() -> SystemOfRecord:
            if opened:
                await opened[-1].close()
            opened.append(SqliteRecord.open(path, readers=1, durable=False))
            return opened[-1]

        await self.live(history, reopen, 2, make)
        await opened[-1].close()

    async def live(
        self,
        history: list[tuple[Any, ...]],
        reopen: Callable[[], Awaitable[SystemOfRecord]],
        batch: int,
        make: SimpleNamespace,
    ) -> None:
        inner = Breakable(InMemoryRecord())
        journal = Breakable(await reopen())
        record = JournaledRecord(inner, journal, probe_interval_s=NEVER_S, batch=batch)
        acknowledged: dict[tuple[str, str], list[str]] = {}
        number = 0
        for step, *what in (*history, ("up",), ("crash",), ("drain",)):
            if step == "append":
                user_id, session_id, count = str(what[0]), str(what[1]), int(what[2])
                names = [str(number + n) for n in range(count)]
                number += count
                resources = [make.resource(name, user_id=user_id, session_id=session_id) for name in names]
                await record.append(resources, user_id=user_id)
                acknowledged.setdefault((user_id, session_id), []).extend(names)
            elif step == "crash":
                await stop(record)
                journal = Breakable(await reopen())
                record = JournaledRecord(inner, journal, probe_interval_s=NEVER_S, batch=batch)
            elif step in ("drain", "half a drain"):
                journal.no_units = step == "half a drain"
                try:
                    await record.flush()
                except StoreUnavailable:
                    assert inner.away or inner.unsure or journal.no_units
                journal.no_units = False
            else:
                inner.away, inner.unsure = step == "down", step == "unsure"
        for (user_id, session_id), names in acknowledged.items():
            assert await ids(inner, user_id=user_id, session_id=session_id) == names
        assert (await inner.backlog.counts())["resources"] == number
        assert (await journal.backlog.counts())["resources"] == 0
        await stop(record)


async def stop(record: JournaledRecord) -> None:
    """Ends its task as a crash does; the stores stay as they are."""
    task = record._flushing
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


WRITER = """
    import asyncio, sys
    from datetime import UTC, datetime
    from pathlib import Path
    from memory.values.errors import StoreUnavailable
    from memory.values.records import Resource
    from storage.resilience.journaled_record import JournaledRecord
    from storage.sqlite.record import SqliteRecord

    folder, session, run = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

    class Inner(SqliteRecord):
        async def append(self, resources, *, user_id, named=()):
            if (folder / "down").exists():
                raise StoreUnavailable("down", component="record")
            await super().append(resources, user_id=user_id, named=named)

    async def main():
        inner = Inner.open(folder / "inner.db", readers=1)
        journal = SqliteRecord.open(folder / "journal.db", readers=1)
        record = JournaledRecord(inner, journal, probe_interval_s=0.005, look_interval_s=0.05, batch=3)
        for n in range(1_000_000):
            entry = Resource(
                resource_id=f"{session}-{run}-{n}",
                user_id="ann",
                session_id=session,
                content="x",
                created_at=datetime.now(UTC),
            )
            await record.append([entry], user_id="ann")
            print("kept", entry.resource_id, flush=True)

    asyncio.run(main())
"""


async def test_two_processes_that_share_a_journal_may_be_killed_at_any_time(tmp_path: Path) -> None:
    down = tmp_path / "down"
    acknowledged: dict[str, list[str]] = {"one": [], "two": []}

    def note(session: str, line: bytes) -> None:
        if line.startswith(b"kept ") and line.endswith(b"\n"):  # what else it writes is its log
            acknowledged[session].append(line.decode().split()[1])

    async def write(session: str, run: int, lines: int) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            textwrap.dedent(WRITER),
            str(tmp_path),
            session,
            str(run),
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        for n in range(lines):
            note(session, await process.stdout.readline())
            if n % 15 == 5:
                down.touch()
            if n % 15 == 12:
                down.unlink(missing_ok=True)
        process.kill()
        rest, _ = await process.communicate()
        for line in rest.splitlines(keepends=True):
            note(session, line)

    for run in range(2):
        await asyncio.gather(*(write(session, run, 40 + random.randrange(20)) for session in acknowledged))
    down.unlink(missing_ok=True)
    inner = SqliteRecord.open(tmp_path / "inner.db", readers=1)
    journal = SqliteRecord.open(tmp_path / "journal.db", readers=1)
    record = JournaledRecord(inner, journal)
    await record.flush()
    for session, names in acknowledged.items():
        assert names
        kept = await ids(inner, session_id=session)
        assert len(set(kept)) == len(kept)
        # The one entry that a kill cut off before it was acknowledged may have been written.
        assert [name for name in kept if name in set(names)] == names
        assert len(kept) <= len(names) + 2
    assert (await journal.backlog.counts())["resources"] == 0
    await record.close()
