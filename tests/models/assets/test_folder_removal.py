"""What nobody uses any more is removed, and only that; other processes are real ones."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from models.assets.cache_folders import lock_path, open_and_lock, open_folder, remove_unused

READERS = re.compile(r"reader-[0-9]+")

OPENS_AND_WAITS = """
import sys
from pathlib import Path
from models.assets.cache_folders import open_and_lock
mark = open_and_lock(Path(sys.argv[1]), origin={"source": "one"}, build=lambda folder: None)
print("open", flush=True)
sys.stdin.read()
"""


def build(folder: Path) -> None:
    (folder / "weights.bin").write_bytes(b"weights")


def prepare_folder(folder: Path) -> Path:
    return open_folder(folder, origin={"source": "one"}, build=build)


def remove_folders(parent: Path, *, keep: tuple[str, ...] = ()) -> list[str]:
    return remove_unused(parent, READERS, keep=keep)


@pytest.fixture
def open_elsewhere() -> Iterator[Callable[[Path], subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def open_in_process(folder: Path) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", OPENS_AND_WAITS, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        return process

    yield open_in_process
    for process in started:
        process.kill()
        process.communicate()


def test_a_folder_that_nobody_uses_is_removed_with_all_that_is_in_it(tmp_path: Path) -> None:
    folder = prepare_folder(tmp_path / "reader-1")
    assert remove_folders(tmp_path) == ["reader-1"]
    assert not folder.exists()
    assert [path.name for path in tmp_path.iterdir()] == [lock_path(folder).name]


def test_a_folder_to_be_kept_or_of_another_kind_stays(tmp_path: Path) -> None:
    names = ["reader-1", "reader-2", "reader-x", "my-reader-3", "reranker-4", "reader-5-old"]
    for name in names:
        prepare_folder(tmp_path / name)
    assert remove_folders(tmp_path, keep=("reader-2",)) == ["reader-1"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == sorted(names[1:])


def test_a_folder_in_use_stays_until_its_mark_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "reader-1"
    marks = [open_and_lock(folder, origin={"source": "one"}, build=build) for _ in range(2)]
    for mark in marks:
        assert remove_folders(tmp_path) == []
        mark.close()
    assert remove_folders(tmp_path) == ["reader-1"]


def test_a_folder_that_another_process_uses_stays_until_that_process_is_gone(
    tmp_path: Path, open_elsewhere: Callable[[Path], subprocess.Popen[str]]
) -> None:
    process = open_elsewhere(prepare_folder(tmp_path / "reader-1"))
    assert remove_folders(tmp_path) == []
    process.kill()
    process.wait()
    assert remove_folders(tmp_path) == ["reader-1"]


def test_a_folder_that_is_being_built_is_left_alone(tmp_path: Path) -> None:
    folder = prepare_folder(tmp_path / "reader-1")
    half = tmp_path / ".reader-1.new-abc"
    half.mkdir()
    with FileLock(lock_path(folder)):
        assert remove_folders(tmp_path) == []
        assert half.exists()
        assert folder.exists()


def test_what_a_killed_build_left_is_removed_even_of_a_folder_that_is_kept(tmp_path: Path) -> None:
    folder = prepare_folder(tmp_path / "reader-1")
    for name in (".reader-1.new-abc", ".reader-2.old-abc", ".reranker-3.new-abc"):
        (tmp_path / name).mkdir()
    assert remove_folders(tmp_path, keep=("reader-1",)) == []
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == [".reranker-3.new-abc", folder.name]


def test_a_folder_that_is_removed_before_it_is_marked_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "reader-1"
    builds = []

    def prepare_and_lose_the_first(*args: object, **options: object) -> Path:
        builds.append(prepare_folder(folder))
        if len(builds) == 1:
            assert remove_folders(tmp_path) == ["reader-1"]
        return folder

    monkeypatch.setattr("models.assets.cache_folders.open_folder", prepare_and_lose_the_first)
    with open_and_lock(folder, origin={"source": "one"}, build=build):
        assert len(builds) == 2
        assert remove_folders(tmp_path) == []


def test_what_was_mapped_outlives_its_folder(tmp_path: Path) -> None:
    import numpy as np

    folder = prepare_folder(tmp_path / "reader-1")
    mapped = np.memmap(folder / "weights.bin", mode="r")
    assert remove_folders(tmp_path) == ["reader-1"]
    assert mapped.tobytes() == b"weights"


def test_a_cache_that_may_only_be_read_is_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = prepare_folder(tmp_path / "reader-1")

    def refused(folder: Path) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr("models.assets.cache_folders._set_aside", refused)
    assert remove_folders(tmp_path) == []
    assert folder.exists()
