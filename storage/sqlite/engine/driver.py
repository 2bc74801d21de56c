"""What opens the SQLite file: SQLite, or SQLCipher where the file is encrypted."""

import sqlite3
from pathlib import Path
from types import ModuleType
from typing import Any

from ...shared.encryption import Cipher, State

_PLAIN_HEADER = b"SQLite format 3\0"


class Driver:
    """The library for a cipher's files, and its errors, which are not those of another one.

    Args:
        cipher: Of which SQLCipher uses `page_key`: the pages of the file and of its write-ahead log are encrypted.
        sqlcipher: Use SQLCipher for a file in clear, too.

    Attributes:
        error: The base of all errors of the library.
        caller_errors: Errors of a statement; they say nothing about the health of the store.

    Raises:
        ModuleNotFoundError: There is a key and SQLCipher is not installed.
    """

    def __init__(self, cipher: Cipher, *, sqlcipher: bool = False) -> None:
        self._page_key = cipher.page_key
        library: Any = _sqlcipher() if sqlcipher or cipher.page_key else sqlite3
        self.error: type[Exception] = library.Error
        self.caller_errors: tuple[type[Exception], ...] = (
            library.IntegrityError,
            library.ProgrammingError,
            library.InterfaceError,
            library.NotSupportedError,
        )
        self._connect = library.connect

    def connect(self, database: Path | str, *, timeout_s: float) -> sqlite3.Connection:
        """Opens a file, by path or `file:` address, in autocommit mode.

        With another key the first statement fails with SQLITE_NOTADB, as for a file that is no database.
        """
        connection: sqlite3.Connection = self._connect(
            str(database), uri=isinstance(database, str), timeout=timeout_s, isolation_level=None
        )
        if self._page_key is not None:
            connection.execute("PRAGMA cipher_log_level = NONE")  # to stderr, and the exception says the same
            connection.execute(f"PRAGMA key = {key_literal(self._page_key)}")
        return connection


def key_literal(page_key: str | None) -> str:
    """The key of a file in SQL: the bytes themselves, so that SQLCipher derives none from a passphrase."""
    return "''" if page_key is None else f"\"x'{page_key}'\""


def file_state(path: Path, cipher: Cipher) -> State:
    """How a SQLite file is written; changes nothing.

    Not in a process that has the file open: the locks of a process are lost when it closes any handle of the file.

    Raises:
        OSError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            header = file.read(len(_PLAIN_HEADER))
    except FileNotFoundError:
        return State.MISSING
    if not header:
        return State.MISSING
    if header == _PLAIN_HEADER:
        return State.CLEAR
    if cipher.page_key is None:
        return State.FOREIGN
    driver = Driver(cipher)
    connection = driver.connect(f"{path.absolute().as_uri()}?mode=rw", timeout_s=1.0)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except driver.error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_NOTADB:
            return State.FOREIGN
        raise OSError(str(error)) from error
    finally:
        connection.close()
    return State.ENCRYPTED


def _sqlcipher() -> ModuleType:
    try:
        from sqlcipher3 import dbapi2  # lazy: an extra
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("Encrypted stores need SQLCipher: pip install 'jiyi[encryption]'") from error
    module: ModuleType = dbapi2
    return module
