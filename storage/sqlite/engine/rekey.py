"""Writes a SQLite file anew with another key, or with none."""

import os
from pathlib import Path

from memory.values.errors import StoreUnavailable

from ...shared.encryption import Cipher
from .driver import Driver, key_literal
from .health import explain

_DRAFT = ".rekeyed"
"""Suffix of the file that is written; it replaces the old one when it is whole."""


def rekey_file(path: Path, old: Cipher, new: Cipher) -> None:
    """Replaces a file by a copy with another key; free pages, which may hold deleted rows, are not copied.

    Killed at any moment it leaves the old file or the new one, and no write-ahead log beside the new one.

    Raises:
        StoreUnavailable: A process has the file open, the disk is full, or the copy is not sound; nothing has changed.
    """
    draft = path.with_name(path.name + _DRAFT)
    drop_draft(path)
    driver = Driver(old, sqlcipher=True)
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = driver.connect(path, timeout_s=1.0)
        try:
            # Takes the whole log into the file, and is refused while another process has the file open.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute(f"ATTACH DATABASE ? AS copy KEY {key_literal(new.page_key)}", (str(draft),))
            connection.execute("SELECT sqlcipher_export('copy')")
            connection.execute("DETACH DATABASE copy")
            _check(draft, new)
            _replace(draft, path)
        finally:
            connection.close()
    except (OSError, driver.error) as error:
        drop_draft(path)
        reason = error if isinstance(error, OSError) else explain(error)
        raise StoreUnavailable(f"{path} cannot be written anew: {reason}.", component="record") from error


def has_draft(path: Path) -> bool:
    """Whether a change was interrupted before the new file replaced the old one."""
    return path.with_name(path.name + _DRAFT).exists()


def drop_draft(path: Path) -> None:
    """Deletes what an interrupted change left beside a file."""
    for suffix in (_DRAFT, f"{_DRAFT}-journal", f"{_DRAFT}-wal", f"{_DRAFT}-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _check(path: Path, cipher: Cipher) -> None:
    connection = Driver(cipher, sqlcipher=True).connect(path, timeout_s=1.0)
    try:
        answer = connection.execute("PRAGMA quick_check").fetchone()[0]
    finally:
        connection.close()
    if answer != "ok":
        raise OSError(f"the copy is not sound ({answer})")


def _replace(draft: Path, path: Path) -> None:
    with draft.open("rb+") as file:
        os.fsync(file.fileno())
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
