"""Virtual environments of the peers: made once with the machine's own pip settings, used by every later run."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

from benchmarks.embedding.peers import TORCH, Environment

_READY = "ready.json"


class NotInstalled(Exception):
    """An environment could not be made; the message ends with what pip said."""


def ensure(environment: Environment, folder: Path) -> Path:
    """Makes the environment unless it is there, whole and of the same requirements.

    Args:
        environment: What is to be in it.
        folder: Where environments are kept.

    Returns:
        Its `bin` folder.

    Raises:
        NotInstalled: pip failed.
    """
    home = folder / environment.name
    wanted = hashlib.sha256("\n".join(environment.requirements).encode()).hexdigest()
    ready = home / _READY
    if not ready.exists() or json.loads(ready.read_text())["requirements"] != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        _run([sys.executable, "-m", "venv", "--clear", str(home)])
        constraints = folder / "constraints.txt"
        constraints.write_text(f"{TORCH}\n")
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, "--constraint", str(constraints), *environment.requirements])
        ready.write_text(json.dumps({"requirements": wanted}))
    return home / "bin"


def versions(environment: Environment, folder: Path) -> dict[str, str]:
    """The versions of the packages that a report names."""
    code = "import importlib.metadata as m, json, sys; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"
    python = folder / environment.name / "bin" / "python"
    done = subprocess.run([str(python), "-c", code, *environment.shows], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise NotInstalled(f"{' '.join(command)}\n{done.stderr[-2000:]}")
