"""Errors of the embedded vector engine, translated: its own are bare exceptions and panics."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from memory.values.errors import StoreUnavailable

from ..shared.index_checks import unavailable

T = TypeVar("T")

REBUILD = "run `jiyi index rebuild`, which builds the index anew from the system of record"


def translate_errors(work: Callable[[], T]) -> T:
    """Runs `work`, blocking, and returns its result.

    Raises:
        StoreUnavailable: The engine failed in it.
    """
    try:
        return work()
    except BaseException as error:
        if not from_engine(error):
            raise
        raise unavailable(f"{_reason(error)}; if it does not pass, {REBUILD}") from error


def damaged(folder: Path, error: BaseException) -> StoreUnavailable:
    """The error for a shard that cannot be opened and that no process has open."""
    return unavailable(f"{folder} is damaged ({_reason(error)}): {REBUILD}")


def from_engine(error: BaseException) -> bool:
    """Whether it is one of the engine's own: a bare `Exception` (STORES, qdrant-edge-py), or a panic of its Rust code.

    A panic is a `BaseException`, so that nothing catches it by accident; damaged files cause them, and the engine
    can go on after one.
    """
    kind = type(error)
    return kind is Exception or (kind.__module__, kind.__name__) == ("pyo3_runtime", "PanicException")


def is_owned(folder: Path) -> bool:
    """Whether a process has the shard open, which may be this one: the engine holds a lock on its write-ahead log.

    The engine locks a folder, and `filelock` only opens files: hence `fcntl`.
    """
    try:
        lock = os.open(folder / "wal", os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _reason(error: BaseException) -> str:
    return str(error).strip().rstrip(".") or type(error).__name__
