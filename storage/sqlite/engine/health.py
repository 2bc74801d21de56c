"""Health of the embedded system of record: failures, and their causes in words."""

import sqlite3
from collections.abc import Iterable

from memory.values.errors import StoreUnavailable

from ...shared.encryption import SETTING

_REASONS = {
    sqlite3.SQLITE_BUSY: "another process has locked its file",
    sqlite3.SQLITE_CANTOPEN: "its file is gone or may not be opened",
    sqlite3.SQLITE_CORRUPT: "its file is damaged",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk refuses to read or write",
    sqlite3.SQLITE_NOTADB: f"its file is no database, or not written with the key of {SETTING}",
    sqlite3.SQLITE_READONLY: "its file may not be written",
}


def unavailable(reason: str) -> StoreUnavailable:
    """The error that says why the system of record cannot answer."""
    return StoreUnavailable(f"The system of record cannot answer: {reason}.", component="record")


def error_code(error: Exception) -> int | None:
    """The primary result code of SQLite; None for what Python's own module raises."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def explain(error: Exception) -> str:
    """The cause of an error, with SQLite's own message."""
    reason = _REASONS.get(error_code(error) or sqlite3.SQLITE_OK)
    return str(error) if reason is None else f"{reason} ({error})"


class Health:
    """Counts failures; one for each connection pool, used in the event loop only.

    There is no circuit breaker before the connections: a file that is gone, full, damaged or read-only refuses at
    once, and a lock is waited for no longer than the deadline. A breaker would turn a short lock into refused writes.
    """

    def __init__(self) -> None:
        self.failures = 0
        self.last_error = ""
        self.degraded = False

    def failed(self, reason: str) -> None:
        """Counts a failure of a unit of work."""
        self.failures += 1
        self.last_error = reason
        self.degraded = True

    def succeeded(self) -> None:
        """Notes that a unit of work has succeeded."""
        self.degraded = False


def figures_of(healths: Iterable[Health]) -> dict[str, float | str]:
    """For `/health/detailed`: failures since the start; `status` and the latest `error` until work succeeds again."""
    healths = list(healths)
    figures: dict[str, float | str] = {"backend": "sqlite", "failures": sum(health.failures for health in healths)}
    for health in healths:
        if health.degraded:
            figures |= {"status": "degraded", "error": health.last_error}
    return figures
