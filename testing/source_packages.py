"""Source packages of the package index, for tests: they hold the tests of a library, which wheels leave out."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from filelock import FileLock

_CACHE = Path(__file__).parent.parent / "build" / "source_packages"
_DOWNLOAD_S = 600


def source_package(name: str, version: str) -> Path:
    """The folder of an unpacked source package, fetched once; the test is skipped where it cannot be had.

    Args:
        name: Of the package.
        version: Exact.
    """
    folder = _CACHE / f"{name}-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        if not (folder / ".unpacked").exists():
            _unpack(_downloaded(f"{name}=={version}", folder), folder)
            (folder / ".unpacked").touch()
    return folder / "source"


def _downloaded(wanted: str, folder: Path) -> Path:
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary",
        ":all:",
        "--dest",
        str(folder),
    ]
    done = subprocess.run([*pip, wanted], capture_output=True, text=True, check=False, timeout=_DOWNLOAD_S)
    if done.returncode != 0:
        pytest.skip(f"the source of {wanted} cannot be had: {done.stderr.strip()[-300:]}")
    [archive] = folder.glob("*.tar.gz")
    return archive


def _unpack(archive: Path, folder: Path) -> None:
    shutil.rmtree(folder / "source", ignore_errors=True)
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    [root] = (folder / "unpacked").iterdir()
    root.rename(folder / "source")
