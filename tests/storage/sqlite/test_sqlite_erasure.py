"""What an erased user leaves in the file of the embedded record, its log and the memory that is shared over it."""

import sqlite3
from pathlib import Path
from types import SimpleNamespace

from memory.erasure.effects import apply
from memory.erasure.planning import plan
from memory.erasure.selection import select
from memory.values.governance.erasures import ErasureKind, ErasureScope
from storage.sqlite.engine.erasing import USER_TABLES
from storage.sqlite.record import SqliteRecord
from tests.memory.erasure.conversations import Said, learn


def files_with(folder: Path, word: str) -> list[str]:
    return [file.name for file in folder.iterdir() if word.encode() in file.read_bytes()]


async def test_nothing_of_an_erased_user_is_left_in_any_file(tmp_path: Path, make: SimpleNamespace) -> None:
    path = tmp_path / "record.sqlite"
    record, reader = SqliteRecord.open(path), SqliteRecord.open(path)
    for round_ in range(3):  # replaced again and again, so that pages hold what was
        for user_id in ("ann-secret", "bob-kept"):
            own = {"user_id": user_id}
            names = [make.entity(f"{user_id} {number} {'x' * 50 * round_}", **own) for number in range(40)]
            notes = [make.resource(f"{round_} {n}", content=f"{user_id} " * 300, **own) for n in range(20)]
            await make.save(record, **own, entities=names, resources=notes)
    async with record.writing(user_id="ann-secret") as unit:
        await unit.entities.delete([entity.entity_id for entity in await unit.entities.page(limit=20)])
        await unit.commit()
    assert files_with(tmp_path, "ann-secret")
    await record.erase_user("ann-secret")
    assert await record.purge()
    assert files_with(tmp_path, "ann-secret") == []
    assert files_with(tmp_path, "bob-kept") == ["record.sqlite"]
    async with reader.reading(user_id="bob-kept") as unit:  # another process goes on
        assert await unit.log.count() == 60
    await reader.close()
    await record.close()


async def test_nothing_of_an_erased_session_is_left_in_any_file(tmp_path: Path) -> None:
    record = SqliteRecord.open(tmp_path / "record.sqlite")
    kept = [Said("t", minute, ("Basalt",)) for minute in range(20)]
    await learn(record, [*(Said("s", 100 + minute, ("Quarzborn",), words="x" * 500) for minute in range(20)), *kept])
    scope = ErasureScope(kind=ErasureKind.SESSION, session_id="s")
    assert files_with(tmp_path, "Quarzborn")
    async with record.reading(user_id="ann") as unit:
        effects = await plan(unit, "ann", await select(unit, scope))
    async with record.writing(user_id="ann") as unit:
        await apply(unit, effects)
        await unit.commit()
    assert await record.purge()
    assert files_with(tmp_path, "uarzborn") == []
    assert files_with(tmp_path, "Basalt") == ["record.sqlite"]
    await record.close()


async def test_every_table_with_a_user_is_erased(tmp_path: Path) -> None:
    path = tmp_path / "record.sqlite"
    await SqliteRecord.open(path).close()
    with sqlite3.connect(path) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        owning = {
            table
            for table in tables
            if "user_id" in {column[1] for column in connection.execute(f"PRAGMA table_info({table})")}
        }
    connection.close()
    assert owning == set(USER_TABLES)
