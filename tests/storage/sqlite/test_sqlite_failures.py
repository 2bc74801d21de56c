"""The ways in which SQLite fails, each for real, and how work goes on afterwards without a restart."""

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Never

import pytest

from memory.values.errors import StoreBusy, StoreUnavailable
from storage.sqlite.record import SqliteRecord


@contextlib.contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


_PROLOGUE = """
import asyncio, os, pathlib, resource
from memory.values.errors import StoreBusy, StoreUnavailable
from memory.values.records import Resource
from memory.values.base import utc_now
from storage.sqlite.record import SqliteRecord

path = pathlib.Path({path!r})

def made(name, content="c"):
    return Resource(resource_id=name, user_id="ann", session_id="s", content=content, created_at=utc_now())

async def contents(record):
    async with record.reading(user_id="ann") as unit:
        return [resource.resource_id for resource in await unit.log.list()]
"""


def in_a_process_of_its_own(path: Path, code: str) -> None:
    """Runs `main` where limits and permissions of a process can be changed."""
    program = _PROLOGUE.format(path=str(path)) + textwrap.dedent(code) + "asyncio.run(main())\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


class TestFailures:
    def test_what_is_no_database_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "record.db").write_bytes(b"no database at all, " * 100)
        with pytest.raises(StoreUnavailable, match="not a database") as caught:
            SqliteRecord.open(tmp_path / "record.db")
        assert caught.value.component == "record"

    def test_a_folder_that_cannot_be_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(StoreUnavailable, match="cannot be opened"):
            SqliteRecord.open(tmp_path / "file" / "record.db")

    async def test_a_locked_file_is_unavailable_after_the_deadline_and_works_later(
        self, tmp_path: Path, make: SimpleNamespace
    ) -> None:
        record = SqliteRecord.open(tmp_path / "record.db", deadline_s=0.1)
        with raw(tmp_path / "record.db") as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable, match="another process has locked its file"):
                async with record.writing(user_id="ann"):
                    pass
            figures = record.figures()
            assert (figures["status"], figures["failures"]) == ("degraded", 1)
            assert "locked" in str(figures["error"])
            async with record.reading(user_id="ann") as unit:
                assert await unit.memories.recent(limit=1) == []
        async with record.writing(user_id="ann") as unit:
            await unit.memories.save([make.memory("m")])
            await unit.commit()
        assert record.figures() == {"backend": "sqlite", "failures": 1}
        await record.close()

    async def test_a_ping_tells_that_a_lock_is_gone_though_nobody_writes(self, tmp_path: Path) -> None:
        record = SqliteRecord.open(tmp_path / "record.db", deadline_s=0.1)
        with raw(tmp_path / "record.db") as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable):
                async with record.writing(user_id="ann"):
                    pass
            with pytest.raises(StoreUnavailable, match="locked"):
                await record.ping()
        await record.ping()
        assert "status" not in record.figures()
        await record.close()

    async def test_a_ping_writes_though_nobody_has_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        record = SqliteRecord.open(tmp_path / "record.db", deadline_s=0.1)
        await record.ping()
        with raw(tmp_path / "record.db") as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable, match="locked"):
                await record.ping()
        with monkeypatch.context() as full:
            full.setattr("os.statvfs", lambda _: SimpleNamespace(f_bavail=2047, f_frsize=4096))
            with pytest.raises(StoreUnavailable, match="the disk is full"):
                await record.ping()
            assert "full" in str(record.figures()["error"])
        await record.ping()
        assert "status" not in record.figures()
        await record.close()

    async def test_a_writer_that_waits_too_long_is_told_so(self, tmp_path: Path) -> None:
        record = SqliteRecord.open(tmp_path / "record.db", deadline_s=0.1)
        async with record.writing(user_id="ann"):
            with pytest.raises(StoreUnavailable, match="busy"):
                async with record.writing(user_id="ann"):
                    pass
        await record.close()

    async def test_one_that_waits_while_others_are_served_is_told_that_it_is_busy_and_nothing_is_degraded(
        self, tmp_path: Path
    ) -> None:
        record = SqliteRecord.open(tmp_path / "record.db", readers=1, deadline_s=0.2)
        ready = asyncio.Event()

        async def hold(seconds: float) -> None:
            async with record.reading(user_id="ann"):
                ready.set()
                await asyncio.sleep(seconds)

        first = asyncio.create_task(hold(0.1))
        await ready.wait()
        second = asyncio.create_task(hold(0.4))
        await asyncio.sleep(0)
        with pytest.raises(StoreBusy):
            async with record.reading(user_id="bob"):
                pass
        assert "status" not in record.figures()
        await asyncio.gather(first, second)
        await record.close()

    async def test_a_full_disk_is_unavailable_and_undone_and_written_to_once_there_is_room(
        self, tmp_path: Path, make: SimpleNamespace
    ) -> None:
        record = SqliteRecord.open(tmp_path / "record.db")
        await make.save(record, memories=[make.memory("kept")])
        await record._writer._connections[0].run(lambda connection: connection.execute("PRAGMA max_page_count = 1"))
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            await make.save(record, memories=[make.memory("lost", text="x" * 1_000_000)])
        async with record.reading(user_id="ann") as unit:
            assert [memory.memory_id for memory in await unit.memories.recent(limit=9)] == ["kept"]
        assert record.figures()["status"] == "degraded"
        await make.save(record, memories=[make.memory("later", text="x" * 1_000_000)])
        assert "status" not in record.figures()
        await record.close()

    def test_a_disk_that_takes_no_more_bytes_is_unavailable_until_it_does(self, tmp_path: Path) -> None:
        in_a_process_of_its_own(
            tmp_path / "record.db",
            """
            async def main():
                record = SqliteRecord.open(path)
                await record.append([made("kept")], user_id="ann")
                resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, resource.RLIM_INFINITY))
                for n in range(4):
                    try:
                        await record.append([made(f"lost {n}", "x" * 2_000_000)], user_id="ann")
                        raise AssertionError("it was written")
                    except StoreUnavailable as error:
                        assert "the disk" in error.message, error
                assert record.figures()["status"] == "degraded"
                assert await contents(record) == ["kept"]
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                await record.append([made("later", "x" * 2_000_000)], user_id="ann")
                assert "status" not in record.figures()
                assert await contents(record) == ["later", "kept"]
                await record.close()
            """,
        )

    def test_a_file_that_may_only_be_read_is_read_and_written_once_it_may_be(self) -> None:
        with tempfile.TemporaryDirectory() as folder:  # not below pytest's own, where only its user may go
            in_a_process_of_its_own(
                Path(folder) / "record.db",
                """
                async def main():
                    if os.geteuid() == 0:  # whom no permission stops
                        os.chown(path.parent, 65534, 65534)
                        os.setgroups([])
                        os.setgid(65534)
                        os.setuid(65534)
                    record = SqliteRecord.open(path)
                    await record.append([made("kept")], user_id="ann")
                    await record.close()
                    record = SqliteRecord.open(path)
                    path.chmod(0o400)
                    for _ in range(4):
                        try:
                            await record.append([made("lost")], user_id="ann")
                            raise AssertionError("it was written")
                        except StoreUnavailable as error:
                            assert "its file may not be written" in error.message, error
                    assert await contents(record) == ["kept"]
                    assert record.figures()["status"] == "degraded"
                    for file in path.parent.iterdir():
                        file.chmod(0o600)
                    for _ in range(100):
                        try:
                            await record.append([made("later")], user_id="ann")
                            break
                        except StoreUnavailable:  # a reader has the file as it was until its thread has closed it
                            await asyncio.sleep(0.05)
                    assert await contents(record) == ["later", "kept"]
                    assert "status" not in record.figures()
                    await record.close()
                    path.chmod(0o000)
                    try:
                        SqliteRecord.open(path)
                        raise AssertionError("it was opened")
                    except StoreUnavailable as error:
                        assert "Permission denied" in error.message, error
                """,
            )

    @pytest.mark.parametrize("used", [False, True])
    async def test_a_vanished_file_is_unavailable_and_never_an_empty_memory_and_may_come_back(
        self, tmp_path: Path, make: SimpleNamespace, used: bool
    ) -> None:
        path = tmp_path / "record.db"
        record = SqliteRecord.open(path)
        await make.save(record, memories=[make.memory("kept")])
        await record.close()
        record = SqliteRecord.open(path, readers=2)
        if used:
            await make.save(record, memories=[make.memory("also kept")])
            async with record.reading(user_id="ann"), record.reading(user_id="ann") as unit:
                await unit.memories.recent(limit=9)
        backup = tmp_path / "backup.db"
        with raw(path) as connection:
            connection.execute("VACUUM INTO ?", (str(backup),))
        path.rename(tmp_path / "taken away.db")
        for _ in range(3):
            for opening in (record.reading, record.writing):
                with pytest.raises(StoreUnavailable, match="its file is gone"):
                    async with opening(user_id="ann"):
                        pass
        assert record.figures()["status"] == "degraded"
        assert not path.exists()
        for left_over in ("-wal", "-shm"):
            path.with_name(f"record.db{left_over}").unlink(missing_ok=True)
        backup.rename(path)
        await make.save(record, memories=[make.memory("later")])
        async with record.reading(user_id="ann") as unit:
            found = {memory.memory_id for memory in await unit.memories.recent(limit=9)}
        assert found == {"kept", "later"} | ({"also kept"} if used else set())
        assert "status" not in record.figures()
        await record.close()

    async def test_another_file_in_its_place_is_no_record(self, tmp_path: Path, make: SimpleNamespace) -> None:
        path = tmp_path / "record.db"
        record = SqliteRecord.open(path)
        await make.save(record, memories=[make.memory("kept")])
        with raw(tmp_path / "other.db") as other:
            other.execute("CREATE TABLE other (x)")
        (tmp_path / "other.db").rename(path)
        with pytest.raises(StoreUnavailable, match="no such table"):
            async with record.reading(user_id="ann"):
                pass
        await record.close()

    async def test_what_fails_in_reading_does_not_hide_behind_what_can_be_written(
        self, tmp_path: Path, make: SimpleNamespace
    ) -> None:
        record = SqliteRecord.open(tmp_path / "record.db", readers=1, deadline_s=0.05)
        async with record.reading(user_id="ann"):
            with pytest.raises(StoreUnavailable, match="busy"):
                async with record.reading(user_id="bob"):
                    pass
            await make.save(record, memories=[make.memory("m")])
            assert record.figures()["status"] == "degraded"
        assert "status" not in record.figures()
        await record.close()

    async def test_a_damaged_page_is_unavailable(self, tmp_path: Path, make: SimpleNamespace) -> None:
        path = tmp_path / "record.db"
        record = SqliteRecord.open(path)
        async with record.writing(user_id="ann") as unit:
            await unit.memories.save([make.memory(str(n)) for n in range(500)])
            await unit.commit()
        await record.close()
        content = path.read_bytes()
        whole = 3 * len(content) // 4  # behind the schema, which is read when the file is opened
        path.write_bytes(content[:whole] + b"\xff" * (len(content) - whole))
        record = SqliteRecord.open(path)
        with pytest.raises(StoreUnavailable, match=r"its file is damaged \(.*malformed"):
            async with record.reading(user_id="ann") as unit:
                await unit.memories.recent(limit=500)
        assert record.figures()["status"] == "degraded"
        path.write_bytes(content)
        async with record.reading(user_id="ann") as unit:
            assert len(await unit.memories.recent(limit=999)) == 500
        assert "status" not in record.figures()
        await record.close()

    @pytest.mark.parametrize(
        "error",
        [error for error in vars(sqlite3).values() if isinstance(error, type) and issubclass(error, sqlite3.Error)],
    )
    async def test_every_error_of_sqlite_is_either_unavailability_or_a_mistake_of_ours(
        self, tmp_path: Path, error: type[sqlite3.Error]
    ) -> None:
        def fail(_connection: Any) -> Never:
            raise error("reason")

        record = SqliteRecord.open(tmp_path / "record.db")
        ours = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.NotSupportedError)
        with pytest.raises(error if issubclass(error, ours) else StoreUnavailable):
            await record._writer._connections[0].run(fail)
        await record.close()

    async def test_close_waits_for_the_unit_under_way(self, tmp_path: Path, make: SimpleNamespace) -> None:
        record = SqliteRecord.open(tmp_path / "record.db")

        async def write() -> None:
            async with record.writing(user_id="ann") as unit:
                await asyncio.sleep(0.05)
                await unit.memories.save([make.memory("m")])
                await unit.commit()

        writing = asyncio.create_task(write())
        await asyncio.sleep(0.01)
        await record.close()
        await writing
        reopened = SqliteRecord.open(tmp_path / "record.db")
        async with reopened.reading(user_id="ann") as unit:
            assert len(await unit.memories.recent(limit=9)) == 1
        await reopened.close()
