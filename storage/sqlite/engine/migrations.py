"""Migrates the SQLite file to the newest schema, while other processes may do the same.

By hand: migration libraries build on SQLAlchemy, and none locks the file against other processes.
"""

import os
import sqlite3
import time
from datetime import datetime
from pathlib import Path

from memory.ports.stores.typed_memories import fact_of
from memory.values.base import utc_now
from memory.values.errors import StoreUnavailable
from memory.values.typed_memories import TypedMemory

from ...shared.encryption import NO_CIPHER, Cipher
from ...shared.names import comparable
from ...shared.stored_values import timestamp_us
from .driver import Driver
from .health import error_code, explain
from .schema import MIGRATIONS, Migration

_RETRY_S = 0.02


def migrate(
    path: Path, *, deadline_s: float, cipher: Cipher = NO_CIPHER, migrations: tuple[Migration, ...] = MIGRATIONS
) -> None:
    """Creates the database or brings it up to date; several processes may do so at once.

    Args:
        path: The database file; it and its folder are made for this user of the machine alone.
        deadline_s: How long to wait for another process that holds the file.
        cipher: Encrypts the file.
        migrations: All steps there are, in order.

    Raises:
        StoreUnavailable: The file cannot be opened, is no database, or is from a newer version of Jiyi.
    """
    driver = Driver(cipher)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = driver.connect(path, timeout_s=deadline_s)
        try:
            _use_wal(connection, path, driver, deadline_s)
            connection.create_function("microseconds", 1, _microseconds, deterministic=True)
            connection.create_function("comparable", 1, comparable, deterministic=True)
            connection.create_function("fact_of", 1, _fact_of, deterministic=True)
            connection.execute("BEGIN IMMEDIATE")
            try:
                _apply(connection, path, migrations)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        finally:
            connection.close()
    except (OSError, driver.error) as error:
        reason = explain(error) if isinstance(error, driver.error) else error
        raise StoreUnavailable(
            f"The system of record {path} cannot be opened: {reason}.", component="record"
        ) from error


def _microseconds(time: str) -> int:
    return timestamp_us(datetime.fromisoformat(time))


def _fact_of(typed_memory: str) -> str:
    return fact_of(TypedMemory.model_validate_json(typed_memory)).model_dump_json()


def _use_wal(connection: sqlite3.Connection, path: Path, driver: Driver, deadline_s: float) -> None:
    """Switches to the write-ahead log; SQLite does not wait for this lock by itself, so this does."""
    give_up = time.monotonic() + deadline_s
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            break
        except driver.error as error:
            if error_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(_RETRY_S)
    if mode != "wal":
        raise StoreUnavailable(
            f"The system of record {path} needs a file system with shared memory for its write-ahead log.",
            component="record",
        )


def _apply(connection: sqlite3.Connection, path: Path, migrations: tuple[Migration, ...]) -> None:
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations"
        " (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)"
    )
    applied = dict(connection.execute("SELECT number, name FROM migrations"))
    known = {number: migration.name for number, migration in enumerate(migrations, start=1)}
    foreign = {number: name for number, name in applied.items() if known.get(number) != name}
    if foreign:
        raise StoreUnavailable(
            f"The system of record {path} was written by another version of Jiyi: it holds the migrations {foreign},"
            f" this version knows {len(migrations)}. Install that version, or restore an older copy of the file.",
            component="record",
        )
    for number, migration in enumerate(migrations, start=1):
        if number not in applied:
            for statement in migration.statements:
                connection.execute(statement)
            connection.execute(
                "INSERT INTO migrations VALUES (?, ?, ?)", (number, migration.name, utc_now().isoformat())
            )
