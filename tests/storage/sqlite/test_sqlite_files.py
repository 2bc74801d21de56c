"""What only SQLite has: a file and its schema."""

import contextlib
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from memory.values.errors import StoreUnavailable
from memory.values.records import ResourceKind
from memory.values.typed_memories import MemoryStatus
from memory.values.understanding.extractions import Extraction
from storage.sqlite.engine.migrations import migrate
from storage.sqlite.engine.schema import MIGRATIONS, Migration
from storage.sqlite.record import SqliteRecord


@contextlib.contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def released(path: Path) -> None:
    """A file as the release with two migrations wrote it, through its own units of work."""
    with raw(path) as connection:
        connection.executescript((Path(__file__).parent / "data" / "record_of_migration_2.sql").read_text())
        connection.execute("PRAGMA journal_mode = WAL")


def dump(path: Path) -> list[str]:
    with raw(path) as connection:
        return list(connection.iterdump())


class TestUpgrade:
    def test_the_release_had_the_first_two_migrations(self, tmp_path: Path) -> None:
        released(tmp_path / "old.db")
        migrate(tmp_path / "new.db", deadline_s=1, migrations=MIGRATIONS[:2])
        schema = "SELECT name, sql FROM sqlite_master ORDER BY name"
        with raw(tmp_path / "old.db") as old, raw(tmp_path / "new.db") as new:
            assert old.execute(schema).fetchall() == new.execute(schema).fetchall()

    @pytest.mark.parametrize("user_id", ["ann", "王小明"])
    async def test_a_file_of_the_release_keeps_all_it_has(
        self, tmp_path: Path, make: SimpleNamespace, user_id: str
    ) -> None:
        released(tmp_path / "record.db")
        record = SqliteRecord.open(tmp_path / "record.db")
        async with record.writing(user_id=user_id) as unit:
            assert [resource.resource_id for resource in await unit.log.list()] == ["r3", "r2", "r1"]
            (first,) = await unit.log.get(["r1"])
            assert first.understanding is None
            assert first.content == "我住在台北。It's 100%_\x00"
            assert [resource.resource_id for resource in await unit.log.list_unextracted()] == ["r3"]
            (remembered,) = await unit.memories.page(limit=9)
            assert (remembered.resource_id, remembered.entity_ids) == ("r1", ("e1",))
            entity = await unit.entities.get_by_value("鴻康")
            assert entity is not None
            assert entity.entity_id == "e1"
            await unit.relations.store([make.relation("e1", "e1", user_id=user_id)])
            await unit.facts.create_many([make.fact("f", user_id=user_id, resource_id="r1")])
            await unit.log.append([make.resource("r4", user_id=user_id)])
            assert (await unit.log.list())[0].sequence == 7
            await unit.commit()
        async with record.reading(user_id=user_id) as unit:
            assert await unit.log.count() == 4
        outbox = await record.backlog.outbox(limit=99, user_id=user_id)
        assert len(outbox) == {"ann": 2, "王小明": 3}[user_id]
        assert outbox[-1].sequence == 5
        await record.close()

    async def test_what_new_columns_hold_is_computed_for_old_entries(
        self, tmp_path: Path, make: SimpleNamespace
    ) -> None:
        released(tmp_path / "record.db")
        record = SqliteRecord.open(tmp_path / "record.db")
        async with record.writing(user_id="ann") as unit:
            assert [resource.resource_id for resource in await unit.log.list(kind=ResourceKind.NOTE)] == ["r3"]
            # r2 was said 1.999999 s after noon, r3 a microsecond before the epoch.
            assert [resource.resource_id for resource in await unit.log.list(since=make.at(1.999999))] == ["r2"]
            assert await unit.log.list(since=make.at(2)) == []
            epoch = datetime(1970, 1, 1, tzinfo=UTC)
            assert [resource.resource_id for resource in await unit.log.list(since=epoch)] == ["r2", "r1"]
            await unit.log.mark_learned(["r3"])
            assert await unit.log.delete_orphaned(created_before=make.at(9)) == 2
            assert [resource.resource_id for resource in await unit.log.list()] == ["r1"]
        await record.close()


async def test_typed_memories_of_an_earlier_release_are_facts_with_all_that_they_held(
    tmp_path: Path, make: SimpleNamespace
) -> None:
    path = tmp_path / "record.db"
    before = [migration.name for migration in MIGRATIONS].index("typed memories are facts")
    migrate(path, deadline_s=1, migrations=MIGRATIONS[:before])
    old = make.typed_memory("home_city", "臺北", memory_id="1", status=MemoryStatus.ARCHIVED, superseded_by="2")
    new = make.typed_memory(
        "home_city", "高雄", memory_id="2", supersedes=("1",), metadata={"a": 1}, confidence=0.9, version=3
    )
    disputed = make.typed_memory("part_number", "RM05-008", status=MemoryStatus.REVIEW, review_reason="old")
    with raw(path) as connection:
        for memory in (old, new, disputed):
            body = memory.model_dump_json(exclude={"subject", "sources"})
            row = ("ann", memory.memory_id, memory.entity_type, memory.status.value, body)
            connection.execute("INSERT INTO aam_memories VALUES (?, ?, ?, ?, ?)", row)
        queue = "INSERT INTO outbox (user_id, collection, item_id) VALUES ('ann', ?, '1')"
        connection.executemany(queue, [("ai_box_facts",), ("aam_entities",)])
    record = SqliteRecord.open(path)
    async with record.reading(user_id="ann") as unit:
        assert await unit.typed_memories.page(limit=9) == [old, new, disputed]
        assert await unit.typed_memories.find("home_city", "台北") == [old]
        [city] = await unit.facts.find_potential_conflicts("user", "lives_in")
        assert (city.fact_id, city.confidence, city.supersedes) == ("2", 0.9, "1")
        assert [fact.category for fact in await unit.facts.list()] == ["facts", "facts"]
    assert [entry.item_id for entry in await record.backlog.outbox(limit=9)] == ["1"]
    await record.close()


async def test_what_an_incompatible_build_understood_is_read_as_nothing(tmp_path: Path, make: SimpleNamespace) -> None:
    record = SqliteRecord.open(tmp_path / "record.db")
    await make.save(record, resources=[make.resource("r", understanding=Extraction(version="1"))])
    with raw(tmp_path / "record.db") as connection:
        connection.execute("""UPDATE resources SET understanding = '{"version": "9", "opinions": []}'""")
    (read,) = await record.backlog.unlearned(limit=9)
    assert (read.resource_id, read.understanding) == ("r", None)
    await record.close()


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
            connection.execute("INSERT INTO resources VALUES (7, 'ann', 'r', 's', 0, '{}', 'turn', 0, NULL)")
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

    @pytest.mark.parametrize("exists", [False, True])
    def test_ten_processes_that_open_at_once_migrate_once(self, tmp_path: Path, exists: bool) -> None:
        path = tmp_path / "record.db"
        if exists:
            released(path)
        code = f"""
            import os, pathlib, traceback
            from storage.sqlite.engine.migrations import migrate
            start, started = os.pipe()
            children = []
            for _ in range(10):
                child = os.fork()
                if child == 0:
                    os.close(started)
                    os.read(start, 1)
                    try:
                        migrate(pathlib.Path({str(path)!r}), deadline_s=30)
                    except BaseException:
                        traceback.print_exc()
                        os._exit(1)
                    os._exit(0)
                children.append(child)
            os.close(started)
            assert [os.waitpid(child, 0)[1] for child in children] == [0] * 10
        """
        subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)
        with raw(path) as connection:
            applied = connection.execute("SELECT number, name FROM migrations ORDER BY number").fetchall()
            assert applied == [(number, one.name) for number, one in enumerate(MIGRATIONS, start=1)]
            assert connection.execute("SELECT count(*) FROM resources").fetchone() == (6 if exists else 0,)

    def test_a_process_killed_in_the_middle_of_a_migration_leaves_the_old_version_whole(self, tmp_path: Path) -> None:
        path = tmp_path / "record.db"
        released(path)
        before = dump(path)
        code = f"""
            import os, pathlib, signal, sqlite3
            from storage.sqlite.engine import migrations as sqlite_migrations
            killing = lambda _: os.kill(os.getpid(), signal.SIGKILL)
            Killed = sqlite_migrations.Migration("killed", (
                "CREATE TABLE large AS WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 200000)"
                " SELECT x, hex(randomblob(40)) AS filler FROM n",
                "SELECT kill(0)",
            ))
            connect = sqlite3.connect
            def connecting(*arguments, **options):
                connection = connect(*arguments, **options)
                connection.create_function("kill", 1, killing)
                return connection
            sqlite3.connect = connecting
            migrations = (*sqlite_migrations.MIGRATIONS, Killed)
            sqlite_migrations.migrate(pathlib.Path({str(path)!r}), deadline_s=1, migrations=migrations)
        """
        killed = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], timeout=60)
        assert killed.returncode == -signal.SIGKILL
        assert (tmp_path / "record.db-wal").stat().st_size > 1_000_000
        assert dump(path) == before
        migrate(path, deadline_s=1)
        with raw(path) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("SELECT count(*) FROM migrations").fetchone() == (len(MIGRATIONS),)

    def test_the_file_is_for_its_owner_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "folder" / "record.db"
        migrate(path, deadline_s=1)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

    def test_every_table_can_be_searched_by_user(self, tmp_path: Path) -> None:
        migrate(tmp_path / "record.db", deadline_s=1)
        with raw(tmp_path / "record.db") as connection:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in set(tables) - {"migrations", "sqlite_sequence", "runs", "api_keys"}:
                plan = str(
                    connection.execute(f"EXPLAIN QUERY PLAN SELECT * FROM {table} WHERE user_id = 'x'").fetchall()
                )
                assert "SEARCH" in plan
                assert "user_id=?" in plan


async def test_what_was_erased_is_never_walked(tmp_path: Path, make: SimpleNamespace) -> None:
    record = SqliteRecord.open(tmp_path / "record.db")
    for user in ("ann", "bob"):
        await make.save(
            record,
            user_id=user,
            entities=[make.entity(name, user_id=user, entity_id=name) for name in "abc"],
            relations=[make.relation(*pair, user_id=user) for pair in ("ab", "bc")],
        )
    with raw(tmp_path / "record.db") as connection:
        connection.execute("DELETE FROM entities WHERE user_id = 'ann' AND entity_id = 'b'")
    async with record.reading(user_id="ann") as unit:
        assert await unit.relations.related("a", depth=3) == {}
        assert await unit.relations.related("b", depth=3) == {}
    async with record.reading(user_id="bob") as unit:
        assert await unit.relations.related("a", depth=3) == {"b": 1, "c": 2}
    await record.close()
