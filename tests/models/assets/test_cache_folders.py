import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Never

import pytest

from models.assets.cache_folders import open_folder

ORIGIN = {"source": "one"}


class Builder:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, folder: Path) -> None:
        self.calls += 1
        (folder / "sub").mkdir()
        (folder / "sub" / "weights.bin").write_bytes(b"weights")
        (folder / "config.json").write_text("{}")


@pytest.fixture
def build() -> Builder:
    return Builder()


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.parent.iterdir() if path != folder and not path.name.endswith(".lock")]


def test_it_is_built_once_and_then_found(tmp_path: Path, build: Any) -> None:
    first = open_folder(tmp_path / "a" / "model", origin=ORIGIN, build=build)
    assert open_folder(first, origin=ORIGIN, build=build) == first
    assert build.calls == 1
    assert (first / "sub" / "weights.bin").read_bytes() == b"weights"
    assert leftovers(first) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "sub" / "weights.bin").write_bytes(b"weighty"),
        lambda folder: (folder / "sub" / "weights.bin").write_bytes(b"w"),
        lambda folder: (folder / "config.json").unlink(),
        lambda folder: (folder / "manifest.json").unlink(),
        lambda folder: (folder / "manifest.json").write_text("{"),
        lambda folder: (folder / "manifest.json").write_text("[]"),
        lambda folder: (folder / "stranger.txt").write_text("x"),
    ],
    ids=["changed", "cut", "file gone", "manifest gone", "manifest broken", "manifest of another kind", "file added"],
)
def test_a_corrupt_or_partial_folder_is_built_again(tmp_path: Path, build: Any, damage: Any) -> None:
    folder = open_folder(tmp_path / "model", origin=ORIGIN, build=build)
    damage(folder)
    open_folder(folder, origin=ORIGIN, build=build)
    assert build.calls == 2
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "manifest.json", "sub"]
    assert leftovers(folder) == []


def test_a_folder_of_another_origin_is_built_again(tmp_path: Path, build: Any) -> None:
    open_folder(tmp_path / "model", origin=ORIGIN, build=build)
    open_folder(tmp_path / "model", origin={"source": "two"}, build=build)
    assert build.calls == 2


def test_an_interrupted_build_leaves_nothing_that_looks_whole(tmp_path: Path, build: Any) -> None:
    def interrupted(folder: Path) -> Never:
        (folder / "half").write_bytes(b"h")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_folder(tmp_path / "model", origin=ORIGIN, build=interrupted)
    assert not (tmp_path / "model").exists()
    assert leftovers(tmp_path / "model") == []
    open_folder(tmp_path / "model", origin=ORIGIN, build=build)
    assert build.calls == 1


def test_what_a_killed_build_left_is_removed_by_the_next_one(tmp_path: Path, build: Any) -> None:
    killed = tmp_path / ".model.new-killed"
    killed.mkdir()
    (killed / "half").write_bytes(b"h")
    folder = open_folder(tmp_path / "model", origin=ORIGIN, build=build)
    assert leftovers(folder) == []


def test_of_many_that_ask_at_once_one_builds_and_all_get_it(tmp_path: Path, build: Any) -> None:
    together = threading.Barrier(8)

    def ask() -> Path:
        together.wait()
        return open_folder(tmp_path / "model", origin=ORIGIN, build=build)

    with ThreadPoolExecutor(8) as pool:
        folders = {future.result() for future in [pool.submit(ask) for _ in range(8)]}
    assert folders == {tmp_path / "model"}
    assert build.calls == 1


def test_without_its_source_a_sound_folder_is_found_and_a_missing_one_is_not(tmp_path: Path, build: Any) -> None:
    with pytest.raises(FileNotFoundError):
        open_folder(tmp_path / "model", origin=ORIGIN, build=build, rebuild=False)
    folder = open_folder(tmp_path / "model", origin=ORIGIN, build=build)
    assert open_folder(folder, origin=ORIGIN, build=build, rebuild=False) == folder
