"""Nobody but the owner reads the files of a home."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from deployments.config.private_files import make_private_home
from deployments.telemetry.logs import configure_logs
from storage.edge.generations import EdgeGenerations
from storage.sqlite.record import SqliteRecord


@pytest.fixture(autouse=True)
def readable_by_all() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def _modes(folder: Path) -> dict[str, int]:
    paths = [folder, *folder.rglob("*")]
    return {str(path): stat.S_IMODE(path.lstat().st_mode) for path in paths if not path.is_symlink()}


def test_what_is_there_becomes_private_and_what_links_lead_to_stays(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.touch(0o644)
    home = tmp_path / "home"
    (home / "vectors" / "old").mkdir(parents=True)
    (home / "vectors" / "old" / "points").touch()
    (home / "run.sh").touch(0o755)
    (home / "link").symlink_to(outside)
    make_private_home(home)
    assert {path.removeprefix(str(home)): mode for path, mode in _modes(home).items()} == {
        "": 0o700,
        "/vectors": 0o700,
        "/vectors/old": 0o700,
        "/vectors/old/points": 0o600,
        "/run.sh": 0o700,
    }
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644


async def test_what_the_service_writes_afterwards_is_private(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "home"
    make_private_home(home)
    configure_logs(home / "logs", "test", "info")
    record = SqliteRecord.open(home / "record.sqlite")
    await record.ping()
    EdgeGenerations(home / "vectors")
    (home / "by a library").write_text("x")
    others = {path: oct(mode) for path, mode in _modes(home).items() if mode & 0o077}
    await record.close()
    assert others == {}
