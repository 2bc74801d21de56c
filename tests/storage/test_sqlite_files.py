"""What only SQLite has: a file, its schema, and the ways in which it fails."""

import asyncio
import contextlib
import sqlite3
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Never

import pytest

from memory.errors import StoreUnavailable
from storage.sqlite_migrations import MIGRATIONS, Migration, migrate
from storage.sqlite_record import SqliteRecord


@contextlib.contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


class TestMigrations:
    def test_a_new_file_has_every_migration_recorded(self, tmp_path: Path) -> None:
        migrate(tmp_path / "record.db", deadline_s=1)
        with raw(tmp_path / "record.db") as connection:
            applied = connection.execute("SELECT number, name FROM migrations").fetchall()
        assert applied == [(number, one.name) for number, one in enumerate(MIGRATIONS, start=1)]

    def test_an_older_file_gets_what_it_lacks_and_keeps_what_it_has(self, tmp_path: Path) -> None:
        path = tmp_path / "record.db"
        migrate(path, deadline_s=1)
        with raw(path) as connection:
            connection.execute("INSERT INTO resources VALUES (7, 'ann', 'r', 's', 0, '{}')")
        added = Migration("notes", ("ALTER TABLE resources ADD COLUMN note TEXT NOT NULL DEFAULT 'none'",))
        for _ in range(2):
            migrate(path, deadline_s=1, migrations=(*MIGRATIONS, added))
        with raw(path) as connection:
            assert connection.execute("SELECT sequence, note FROM resources").fetchall() == [(7, "none")]

    def test_a_migration_that_fails_leaves_the_file_as_it_was(self, tmp_path: Path) -> None:
        path = tmp_path / "record.db"
        migrate(path, deadline_s=1)
        broken = Migration("broken", ("CREATE TABLE half (x)", "CREATE TABLE resources (x)"))
        with pytest.raises(StoreUnavailable):
            migrate(path, deadline_s=1, migrations=(*MIGRATIONS, broken))
        with raw(path) as connection:
            assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'half'").fetchall() == []

    def test_a_file_from_the_future_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "record.db"
        migrate(path, deadline_s=1, migrations=(*MIGRATIONS, Migration("from the future", ())))
        with pytest.raises(StoreUnavailable, match=r"another version of Jiyi.*from the future"):
            SqliteRecord.open(path)

    def test_several_processes_may_create_the_file_at_once(self, tmp_path: Path) -> None:
        code = f"""
            import pathlib
            from storage.sqlite_migrations import migrate
            migrate(pathlib.Path({str(tmp_path / "record.db")!r}), deadline_s=10)
        """
        processes = [subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)]) for _ in range(3)]
        assert [process.wait(timeout=30) for process in processes] == [0, 0, 0]

    def test_the_file_is_for_its_owner_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "folder" / "record.db"
        migrate(path, deadline_s=1)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

    def test_every_table_can_be_searched_by_user(self, tmp_path: Path) -> None:
        migrate(tmp_path / "record.db", deadline_s=1)
        with raw(tmp_path / "record.db") as connection:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in set(tables) - {"migrations", "sqlite_sequence"}:
                plan = str(
                    connection.execute(f"EXPLAIN QUERY PLAN SELECT * FROM {table} WHERE user_id = 'x'").fetchall()
                )
                assert "SEARCH" in plan
                assert "user_id=?" in plan


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
            with pytest.raises(StoreUnavailable, match="locked"):
                async with record.writing(user_id="ann"):
                    pass
            async with record.reading(user_id="ann") as unit:
                assert await unit.memories.recent(limit=1) == []
        async with record.writing(user_id="ann") as unit:
            await unit.memories.save([make.memory("m")])
            await unit.commit()
        await record.close()

    async def test_a_writer_that_waits_too_long_is_told_so(self, tmp_path: Path) -> None:
        record = SqliteRecord.open(tmp_path / "record.db", deadline_s=0.1)
        async with record.writing(user_id="ann"):
            with pytest.raises(StoreUnavailable, match="busy"):
                async with record.writing(user_id="ann"):
                    pass
        await record.close()

    async def test_a_full_disk_is_unavailable_and_undone(self, tmp_path: Path, make: SimpleNamespace) -> None:
        record = SqliteRecord.open(tmp_path / "record.db")
        async with record.writing(user_id="ann") as unit:
            await unit.memories.save([make.memory("kept")])
            await unit.commit()
        await record._writer._lanes[0].run(lambda connection: connection.execute("PRAGMA max_page_count = 1"))
        async with record.writing(user_id="ann") as unit:
            with pytest.raises(StoreUnavailable, match="full"):
                await unit.memories.save([make.memory("lost", text="x" * 1_000_000)])
        async with record.reading(user_id="ann") as unit:
            assert [one.memory_id for one in await unit.memories.recent(limit=9)] == ["kept"]
        await record.close()

    async def test_a_vanished_file_is_unavailable_and_not_an_empty_memory(self, tmp_path: Path) -> None:
        record = SqliteRecord.open(tmp_path / "record.db")
        (tmp_path / "record.db").unlink()
        with pytest.raises(StoreUnavailable):
            async with record.reading(user_id="ann"):
                pass
        await record.close()

    async def test_a_damaged_page_is_unavailable(self, tmp_path: Path, make: SimpleNamespace) -> None:
        path = tmp_path / "record.db"
        record = SqliteRecord.open(path)
        async with record.writing(user_id="ann") as unit:
            await unit.memories.save([make.memory(str(n)) for n in range(500)])
            await unit.commit()
        await record.close()
        content = path.read_bytes()
        path.write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))
        record = SqliteRecord.open(path)
        with pytest.raises(StoreUnavailable, match="malformed"):
            async with record.reading(user_id="ann") as unit:
                await unit.memories.recent(limit=500)
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
            await record._writer._lanes[0].run(fail)
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
