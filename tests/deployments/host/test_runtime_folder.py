"""The folder of a cluster's sockets: nobody else enters it, and nobody can put another in its place."""

import shutil
import tempfile
from pathlib import Path

import pytest

from deployments.host.runtime_folder import make_runtime_folder, runtime_folder, token_path, write_token


@pytest.fixture(autouse=True)
def _folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "folders").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "folders"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    return path


def test_a_home_keeps_its_folder_and_only_its_owner_may_enter(home: Path) -> None:
    folder = make_runtime_folder(home)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert make_runtime_folder(home) == runtime_folder(home) == folder


def test_a_socket_of_haproxy_fits_into_a_socket_path() -> None:
    folder = "/tmp/jiyi-12345678"
    assert len(f"{folder}/{'0' * 56}/metrics.sock.1234567.tmp") < 107


def test_a_folder_that_others_may_enter_is_not_taken_again(home: Path) -> None:
    folder = make_runtime_folder(home)
    folder.chmod(0o755)
    assert make_runtime_folder(home) != folder
    assert runtime_folder(home) != folder


def test_a_link_in_place_of_the_folder_is_not_followed(home: Path, tmp_path: Path) -> None:
    folder = make_runtime_folder(home)
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert make_runtime_folder(home) != folder


def test_a_folder_that_was_deleted_is_made_again(home: Path) -> None:
    shutil.rmtree(make_runtime_folder(home))
    assert make_runtime_folder(home).is_dir()


def test_a_copy_of_a_home_has_a_folder_of_its_own(home: Path, tmp_path: Path) -> None:
    folder = make_runtime_folder(home)
    copy = tmp_path / "copy"
    shutil.copytree(home, copy, symlinks=True)
    assert make_runtime_folder(copy) != folder == make_runtime_folder(home)


def test_each_start_has_a_token_of_its_own_that_only_its_owner_reads(home: Path) -> None:
    write_token(home)
    first = token_path(home).read_text()
    write_token(home)
    assert len(first) == 64
    assert token_path(home).read_text() != first
    assert token_path(home).stat().st_mode & 0o777 == 0o600
