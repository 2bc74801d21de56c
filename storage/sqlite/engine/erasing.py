"""Erasing in the SQLite file: the rows of a user, and what deleted rows left on disk."""

import sqlite3
import time

from .health import unavailable

OWNING_TABLES = (
    "resources",
    "entities",
    "relations",
    "memories",
    "facts",
    "categories",
    "category_accesses",
    "edges",
    "changes",
    "corpora",
    "knowledge_sources",
    "knowledge",
    "items",
)
"""The tables that hold what is remembered of users, and the knowledge of apps."""
USER_TABLES = (
    *OWNING_TABLES,
    "names",
    "change_subjects",
    "corpus_versions",
    "source_versions",
    "knowledge_graphs",
    "graph_members",
    "graph_extractions",
    "graph_mentions",
    "graph_links",
    "outbox",
    "retention_policies",
)
"""Every table with a column `user_id`; a test compares this with the schema."""
_IN_MEMORY_BYTES = 512 * 2**20
_RETRY_S = 0.05


def delete_user(connection: sqlite3.Connection, user_id: str) -> dict[str, int]:
    """Deletes a user's rows; how many there were, by table."""
    return {
        table: connection.execute(f"DELETE FROM {table} WHERE user_id = ?", (user_id,)).rowcount  # noqa: S608
        for table in USER_TABLES
    }


def purge(connection: sqlite3.Connection, *, deadline_s: float) -> None:
    """Writes the file anew and empties its write-ahead log.

    `secure_delete` overwrites deleted cells, but copies of them that balancing left in the free space of a page only
    go with the page. Other processes read meanwhile, and their writes wait.

    Args:
        connection: In no transaction.
        deadline_s: How long to wait for readers that still use an old state of the file.

    Raises:
        StoreUnavailable: A reader did not end in time; the file is written anew, the log is not empty.
    """
    size = _pragma(connection, "page_count") * _pragma(connection, "page_size")
    connection.execute(f"PRAGMA temp_store = {'MEMORY' if size <= _IN_MEMORY_BYTES else 'FILE'}")
    try:
        connection.execute("VACUUM")
    finally:
        connection.execute("PRAGMA temp_store = MEMORY")
    give_up = time.monotonic() + deadline_s
    while _pragma(connection, "wal_checkpoint(TRUNCATE)"):
        if time.monotonic() > give_up:
            raise unavailable("a reader keeps its write-ahead log in use")
        time.sleep(_RETRY_S)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    """The first number of the reply, which SQLCipher writes as text."""
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
