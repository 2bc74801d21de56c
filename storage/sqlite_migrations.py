"""The schema of the embedded system of record, as numbered append-only migrations (DESIGN §7, STYLE §11).

A migration that was released is never changed: a new one is added at the end.
"""

import os
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from memory.errors import StoreUnavailable
from memory.values import utc_now

_RETRY_S = 0.02


@dataclass(frozen=True)
class Migration:
    """One step of the schema; its number is its place in `MIGRATIONS`, counted from 1."""

    name: str
    statements: tuple[str, ...]


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        "raw log",
        (
            # AUTOINCREMENT: a number of the log is never given twice, not even after erasure.
            """CREATE TABLE resources (
                sequence INTEGER PRIMARY KEY AUTOINCREMENT,
                user_id TEXT NOT NULL,
                resource_id TEXT NOT NULL,
                session_id TEXT NOT NULL,
                learned INTEGER NOT NULL,
                body TEXT NOT NULL,
                UNIQUE (user_id, resource_id)
            )""",
            "CREATE INDEX resources_by_session ON resources (user_id, session_id, sequence)",
            "CREATE INDEX resources_unlearned ON resources (sequence) WHERE learned = 0",
            "CREATE INDEX resources_unlearned_by_user ON resources (user_id, sequence) WHERE learned = 0",
        ),
    ),
    Migration(
        "entities, memories and the outbox",
        (
            """CREATE TABLE entities (
                user_id TEXT NOT NULL,
                entity_id TEXT NOT NULL,
                status TEXT NOT NULL,
                last_mentioned_us INTEGER NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, entity_id)
            )""",
            "CREATE INDEX entities_recent ON entities (user_id, status, last_mentioned_us)",
            """CREATE TABLE names (
                user_id TEXT NOT NULL,
                name TEXT NOT NULL,
                entity_id TEXT NOT NULL,
                rank INTEGER NOT NULL,
                head TEXT NOT NULL,
                prefix TEXT NOT NULL,
                PRIMARY KEY (user_id, name, entity_id)
            ) WITHOUT ROWID""",
            "CREATE INDEX names_by_entity ON names (user_id, entity_id)",
            "CREATE INDEX names_by_head ON names (user_id, head)",
            "CREATE INDEX names_by_prefix ON names (user_id, prefix)",
            """CREATE TABLE memories (
                user_id TEXT NOT NULL,
                memory_id TEXT NOT NULL,
                session_id TEXT NOT NULL,
                created_us INTEGER NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (user_id, memory_id)
            )""",
            "CREATE INDEX memories_recent ON memories (user_id, created_us)",
            "CREATE INDEX memories_by_session ON memories (user_id, session_id, created_us)",
            # AUTOINCREMENT: an old acknowledgement never fits an item that was saved again.
            """CREATE TABLE outbox (
                sequence INTEGER PRIMARY KEY AUTOINCREMENT,
                user_id TEXT NOT NULL,
                collection TEXT NOT NULL,
                item_id TEXT NOT NULL,
                UNIQUE (user_id, collection, item_id)
            )""",
            "CREATE INDEX outbox_by_user ON outbox (user_id, sequence)",
        ),
    ),
)


def migrate(path: Path, *, deadline_s: float, migrations: tuple[Migration, ...] = MIGRATIONS) -> None:
    """Creates the database or brings it up to date; several processes may do so at once.

    Args:
        path: The database file; it and its folder are made for this user of the machine alone.
        deadline_s: How long to wait for another process that holds the file.
        migrations: All steps there are, in order.

    Raises:
        StoreUnavailable: The file cannot be opened, is no database, or is from a newer version of Jiyi.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = sqlite3.connect(path, timeout=deadline_s, isolation_level=None)
        try:
            _use_wal(connection, path, deadline_s)
            connection.execute("BEGIN IMMEDIATE")
            try:
                _apply(connection, path, migrations)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        finally:
            connection.close()
    except (OSError, sqlite3.Error) as error:
        raise StoreUnavailable(f"The system of record {path} cannot be opened: {error}", component="record") from error


def _use_wal(connection: sqlite3.Connection, path: Path, deadline_s: float) -> None:
    """Switches to the write-ahead log; SQLite does not wait for this lock by itself, so this does."""
    give_up = time.monotonic() + deadline_s
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
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
