"""A folder that is written once, whole or not at all, and checked whenever it is opened."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import structlog
from filelock import FileLock

MANIFEST = "manifest.json"
"""Its file that is written last, beside what the folder was built from."""

_log = structlog.get_logger(__name__)


def prepared_folder(
    folder: Path, *, origin: dict[str, Any], build: Callable[[Path], None], rebuild: bool = True
) -> Path:
    """Opens a prepared folder, writing it first where it is missing, outdated, partial or corrupt.

    It is written beside its place and then renamed, so a reader sees all of it or nothing, and an interrupted build
    leaves nothing that looks whole. Several processes may ask at once: one builds, the others wait for it.

    Args:
        folder: Its place; the parent is created.
        origin: What it is made from (JSON), kept in its manifest; a folder of another origin is outdated.
        build: Fills the empty folder that it is given.
        rebuild: False where the folder can only be checked, since what it is made from is not at hand.

    Returns:
        `folder`.

    Raises:
        FileNotFoundError: Nothing sound is there and `rebuild` is False.
    """
    if _is_sound(folder, origin):
        return folder
    if not rebuild:
        raise FileNotFoundError(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(lock_of(folder)):
        if _is_sound(folder, origin):
            return folder
        remove_leftovers(folder)
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.new-", dir=folder.parent))
        try:
            build(fresh)
            _write_manifest(fresh, origin)
            if folder.exists():
                _log.warning("prepared_folder_replaced", folder=str(folder))
                set_aside(folder)
            fresh.rename(folder)
        finally:
            remove_leftovers(folder)
    return folder


def lock_of(folder: Path) -> Path:
    """The file that whoever writes or removes a folder locks with `FileLock`."""
    return folder.parent / f".{folder.name}.lock"


def set_aside(folder: Path) -> None:
    """Takes a folder from its place at once; `remove_leftovers` does the slow part."""
    folder.rename(Path(tempfile.mkdtemp(prefix=f".{folder.name}.old-", dir=folder.parent)) / "old")


def remove_leftovers(folder: Path) -> None:
    """Removes what an earlier, interrupted build left; only under the lock, so never what another is building."""
    for kind in ("new", "old"):
        for leftover in folder.parent.glob(f".{folder.name}.{kind}-*"):
            shutil.rmtree(leftover, ignore_errors=True)


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
        _log.warning("prepared_folder_unreadable", folder=str(folder), reason=str(error))
        return False


def _checksums(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != MANIFEST)
    return {path.relative_to(folder).as_posix(): sha256_of(path) for path in files}


def _write_manifest(folder: Path, origin: dict[str, Any]) -> None:
    manifest = {"origin": origin, "files": _checksums(folder)}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2), encoding="utf-8")
