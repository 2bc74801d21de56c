"""The outbox in SQLite: what the vector index has not seen yet."""

import sqlite3
from collections.abc import Iterable

from memory.ports.vectors import Collection


def queue(connection: sqlite3.Connection, user_id: str, collection: Collection, item_ids: Iterable[str]) -> None:
    """Queues items in the transaction that changes them; one that waits already gets a new number."""
    connection.executemany(
        "INSERT OR REPLACE INTO outbox (user_id, collection, item_id) VALUES (?, ?, ?)",
        ((user_id, collection.value, item_id) for item_id in item_ids),
    )
