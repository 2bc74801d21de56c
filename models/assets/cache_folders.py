"""Folders in the model cache: written whole or not at all, verified when opened, removed when nobody uses them.

A process that uses a folder holds a shared lock on its manifest; the operating system releases it when the process
ends, however that ends. `fcntl.flock` and not `filelock`, whose `FileLock` is exclusive only and whose `ReadWriteLock`
writes a database file, which a cache that may only be read does not allow.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import structlog
from filelock import FileLock, Timeout

MANIFEST = "manifest.json"
"""The file that is written last: the origin of a folder and the checksums of its files."""

_LEFTOVER = re.compile(r"\.(?P<name>.+)\.(new|old)-[^.]+")
_log = structlog.get_logger(__name__)


def open_folder(folder: Path, *, origin: dict[str, Any], build: Callable[[Path], None], rebuild: bool = True) -> Path:
    """Verifies a folder and writes it where it is missing, outdated, partial or corrupt.

    It is written beside its place and then renamed, so a reader sees all of it or nothing, and an interrupted build
    leaves nothing that looks whole. Of several processes that ask at once one builds and the others wait.

    Args:
        folder: Its place; the parent is created.
        origin: The sources of the folder, as JSON values; a folder of another origin is outdated.
        build: Fills the empty folder that it is given.
        rebuild: False where the sources are not available, so that the folder can only be verified.

    Returns:
        `folder`.

    Raises:
        FileNotFoundError: The folder is missing or unsound and `rebuild` is False.
    """
    if _is_sound(folder, origin):
        return folder
    if not rebuild:
        raise FileNotFoundError(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(lock_path(folder)):
        if _is_sound(folder, origin):
            return folder
        _remove_leftovers(folder)
        new_folder = Path(tempfile.mkdtemp(prefix=f".{folder.name}.new-", dir=folder.parent))
        try:
            build(new_folder)
            manifest = {"origin": origin, "files": _checksums(new_folder)}
            (new_folder / MANIFEST).write_text(json.dumps(manifest, indent=2), encoding="utf-8")
            if folder.exists():
                _log.warning("cache_folder_replaced", folder=str(folder))
                _set_aside(folder)
            new_folder.rename(folder)
        finally:
            _remove_leftovers(folder)
    return folder


def open_and_lock(folder: Path, *, origin: dict[str, Any], build: Callable[[Path], None]) -> BinaryIO:
    """Opens a folder as `open_folder` does, and keeps `remove_unused` from removing it.

    Args:
        folder: Its place.
        origin: The sources of the folder.
        build: Fills the empty folder that it is given.

    Returns:
        The locked file: the folder is in use until it is closed.
    """
    while True:
        open_folder(folder, origin=origin, build=build)
        try:
            return _locked_manifest(folder)
        except FileNotFoundError:  # another process has removed it before it was locked
            continue


def remove_unused(parent: Path, names: re.Pattern[str], *, keep: Collection[str]) -> list[str]:
    """Removes folders that no process uses and the remains of interrupted builds.

    A folder that is being built, or cannot be removed, stays for the next call.

    Args:
        parent: The folder that holds them.
        names: Matches the whole name of every folder that may be removed.
        keep: Names of folders that stay, used or not.

    Returns:
        The names of the folders that were removed.
    """
    present = {match["name"] if (match := _LEFTOVER.fullmatch(path.name)) else path.name for path in parent.iterdir()}
    removed = []
    for name in sorted(name for name in present if names.fullmatch(name)):
        folder = parent / name
        try:
            with FileLock(lock_path(folder), timeout=0):
                if name not in keep and _set_aside_unused(folder):
                    removed.append(name)
                _remove_leftovers(folder)
        except Timeout:
            continue
        except OSError as error:  # a cache that this user may only read
            _log.info("cache_folder_not_removed", folder=str(folder), reason=str(error))
    if removed:
        _log.info("cache_folders_removed", parent=str(parent), names=removed)
    return removed


def lock_path(folder: Path) -> Path:
    """The file that a process locks with `FileLock` while it writes or removes a folder."""
    return folder.parent / f".{folder.name}.lock"


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_sound(folder: Path, origin: dict[str, Any]) -> bool:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return bool(manifest["origin"] == origin and manifest["files"] == _checksums(folder))
    except FileNotFoundError:
        return False
    except (ValueError, KeyError, TypeError, OSError) as error:
        _log.warning("cache_folder_unreadable", folder=str(folder), reason=str(error))
        return False


def _checksums(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != MANIFEST)
    return {path.relative_to(folder).as_posix(): sha256_of(path) for path in files}


def _set_aside(folder: Path) -> None:
    """Renames a folder, which is immediate; `_remove_leftovers` deletes its files."""
    folder.rename(Path(tempfile.mkdtemp(prefix=f".{folder.name}.old-", dir=folder.parent)) / "old")


def _remove_leftovers(folder: Path) -> None:
    """Deletes what interrupted builds left; only under the lock, so never a build in progress."""
    for kind in ("new", "old"):
        for leftover in folder.parent.glob(f".{folder.name}.{kind}-*"):
            shutil.rmtree(leftover, ignore_errors=True)


def _locked_manifest(folder: Path) -> BinaryIO:
    with ExitStack() as stack:
        manifest = stack.enter_context((folder / MANIFEST).open("rb"))
        fcntl.flock(manifest, fcntl.LOCK_SH)
        if not os.path.samestat(os.fstat(manifest.fileno()), (folder / MANIFEST).stat()):
            raise FileNotFoundError(folder)
        stack.pop_all()
        return manifest


def _set_aside_unused(folder: Path) -> bool:
    """Whether the folder existed and no process used it; it is set aside then."""
    try:
        with (folder / MANIFEST).open("rb") as manifest:
            fcntl.flock(manifest, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _set_aside(folder)
    except (FileNotFoundError, BlockingIOError):
        return False
    return True
