"""ArangoDB's errors translated to Jiyi's: one table, at the boundary (STYLE §6)."""

from arango.exceptions import ArangoServerError

from memory.values.errors import StoreUnavailable

from .http import unreachable

CONFLICT = 1200
UNIQUE_CONSTRAINT_VIOLATED = 1210
DATABASE_NOT_FOUND = 1228
DUPLICATE_NAME = 1207
GRAPH_DUPLICATE = 1925
COLLECTION_NOT_FOUND = 1203
TRANSACTION_OVER = frozenset({1653, 1654, 1655})

_NOT_ALLOWED = frozenset({11, 401, 403})
_READ_ONLY = 1004
_NO_SPACE = 1104
_BUSY = frozenset({CONFLICT, UNIQUE_CONSTRAINT_VIOLATED, 18})  # 18: no lock in time
_NOT_READY = frozenset({503, 1429, 1495, 1496})  # starting, shutting down, not the leader
_GONE = frozenset({1202, COLLECTION_NOT_FOUND, DATABASE_NOT_FOUND, 1924})
_PROGRAM_ERRORS = frozenset({10, 600, 1501, 1502, 1510, 1511, 1541, 1551, 1552, 1579, 1652})


class WriteConflict(Exception):
    """Another transaction wrote the same document: a transaction that has written nothing may try again."""


def unavailable(reason: object) -> StoreUnavailable:
    """The error that says why the system of record cannot answer."""
    return StoreUnavailable(f"The system of record cannot answer: {reason}.", component="record")


def translate(error: ArangoServerError) -> Exception:
    """The error that Jiyi raises in place of the driver's.

    A statement that the server does not understand is a fault of this program, not of the server: it becomes a
    RuntimeError, which is not treated as a store that is unavailable for a while.
    """
    code = error.error_code
    message = f"{error.error_message or error.message} (ArangoDB error {code})"
    if code == _READ_ONLY:
        return unavailable(f"ArangoDB is in read-only mode: {message}")
    if code == _NO_SPACE:
        return unavailable(f"the disk of ArangoDB is full: {message}")
    if error.http_code in (401, 403) or code in _NOT_ALLOWED:
        return unavailable(f"ArangoDB refuses this user name and password, or gives them too few rights: {message}")
    if code in _BUSY:
        return WriteConflict(message)
    if code in _NOT_READY or error.http_code == 503:
        return unreachable(f"is not ready: {message}")
    if code in _GONE:
        return unavailable(f"the database, or a part of it, is gone: {message}")
    if code in TRANSACTION_OVER:
        return unavailable(f"ArangoDB has given up the transaction, as it does when one idles too long: {message}")
    if code in _PROGRAM_ERRORS:
        return RuntimeError(f"ArangoDB does not understand a statement of Jiyi: {message}")
    return unavailable(message)
