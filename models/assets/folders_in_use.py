"""Prepared folders in use: whoever opens one marks it, and one that nobody has marked may be removed.

A mark is a shared lock on the folder's manifest, which the operating system ends with its process, however that ends.
"""

import fcntl
import os
import re
from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import structlog
from filelock import FileLock, Timeout

from .prepared_folder import MANIFEST, lock_of, prepared_folder, remove_leftovers, set_aside

_log = structlog.get_logger(__name__)
_LEFTOVER = re.compile(r"\.(?P<name>.+)\.(new|old)-[^.]+")


def folder_in_use(folder: Path, *, origin: dict[str, Any], build: Callable[[Path], None]) -> BinaryIO:
    """Opens a folder as `prepared_folder` does, and marks it.

    Args:
        folder: Its place.
        origin: What it is made from.
        build: Fills the empty folder that it is given.

    Returns:
        The mark: the folder is in use until this file is closed.
    """
    while True:
        prepared_folder(folder, origin=origin, build=build)
        try:
            return _marked(folder)
        except FileNotFoundError:  # another process has removed it before it was marked
            continue


def remove_unused(parent: Path, names: re.Pattern[str], *, keep: Collection[str]) -> list[str]:
    """Removes folders without a mark, and what killed builds left, for names of one kind.

    A folder that is being built, or cannot be removed, stays for the next time.

    Args:
        parent: Where the folders are.
        names: Matches the whole name of each folder of that kind.
        keep: Names of folders that stay, used or not.

    Returns:
        The names of the folders that were removed.
    """
    there = {found["name"] if (found := _LEFTOVER.fullmatch(path.name)) else path.name for path in parent.iterdir()}
    removed = []
    for name in sorted(name for name in there if names.fullmatch(name)):
        folder = parent / name
        try:
            with FileLock(lock_of(folder), timeout=0):
                if name not in keep and _taken_away(folder):
                    removed.append(name)
                remove_leftovers(folder)
        except Timeout:
            continue
        except OSError as error:  # a cache that this user may only read
            _log.info("prepared_folder_not_removed", folder=str(folder), reason=str(error))
    if removed:
        _log.info("prepared_folders_removed", parent=str(parent), names=removed)
    return removed


def _marked(folder: Path) -> BinaryIO:
    with ExitStack() as stack:
        mark = stack.enter_context((folder / MANIFEST).open("rb"))
        fcntl.flock(mark, fcntl.LOCK_SH)
        if not os.path.samestat(os.fstat(mark.fileno()), (folder / MANIFEST).stat()):
            raise FileNotFoundError(folder)
        stack.pop_all()
        return mark


def _taken_away(folder: Path) -> bool:
    """Whether the folder was there without a mark; it is set aside then."""
    try:
        with (folder / MANIFEST).open("rb") as manifest:
            fcntl.flock(manifest, fcntl.LOCK_EX | fcntl.LOCK_NB)
            set_aside(folder)
    except (FileNotFoundError, BlockingIOError):
        return False
    return True
