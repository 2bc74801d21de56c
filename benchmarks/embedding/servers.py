"""Starting and ending what serves: a peer's process, or the whole of ours; and the CPU seconds that it takes."""

import contextlib
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.embedding.peers import Server
from deployments.config.model_settings import EmbedderArgs
from deployments.config.settings import AppArgs
from deployments.host.cluster import free_ports, members
from jiyi import service

_START_S = 300.0
_STOP_S = 20.0


class NotStarted(Exception):
    """A server did not come up; the message says where its log is."""


@dataclass(frozen=True)
class Running:
    """A server that answers.

    Attributes:
        url: Base URL.
        processes: All its processes, as it began to answer.
        home: Of our own service.
    """

    url: str
    processes: Sequence[psutil.Process]
    home: Path | None = None

    def cpu_s(self) -> float:
        """CPU seconds that its processes have taken so far."""
        return sum(_cpu_s(process) for process in self.processes)

    def memory_mib(self) -> float:
        """Memory of its processes, shared pages counted once."""
        return sum(_pss_mib(process) for process in self.processes)


def thread_variables(threads: int) -> dict[str, str]:
    """What tells every numerical library how many threads it has, and every library to ask no hub."""
    return {
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "true",
        "HF_HUB_OFFLINE": "1",
    }


@contextmanager
def peer_server(server: Server, binaries: Path, model: Path, threads: int, log: Path) -> Iterator[Running]:
    """A peer's server, from its first answer until the context ends.

    Raises:
        NotStarted: It ended, or did not answer in time.
    """
    [port] = free_ports(1)
    filled = [part.format(model=model, port=port, threads=threads) for part in server.command]
    variables = os.environ | thread_variables(threads) | dict(server.environment_variables)
    url = f"http://127.0.0.1:{port}"
    with log.open("ab") as output:
        process = subprocess.Popen(
            [str(binaries / filled[0]), *filled[1:]],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        _wait_until_it_answers(url, process, log)
        parent = psutil.Process(process.pid)
        yield Running(url, [parent, *parent.children(recursive=True)])
    finally:
        _end(process)


@contextmanager
def our_service(home: Path, cache: Path, threads: int) -> Iterator[Running]:
    """The service as `jiyi up` starts it, with one Embedder replica of so many threads."""
    settings = AppArgs(home=home, cache=cache, embedder=EmbedderArgs(threads=threads, max_replicas=1))
    service.prepare(settings)
    [port] = free_ports(1)
    try:
        endpoint = service.start(settings, host="127.0.0.1", port=port, timeout_s=_START_S, on_wait=lambda _: None)
        processes = [psutil.Process(endpoint.pid), *members(settings.data_home)]
        yield Running(endpoint.url, processes, settings.data_home)
    finally:
        service.stop(settings, timeout_s=_START_S)


def _wait_until_it_answers(url: str, process: subprocess.Popen[Any], log: Path) -> None:
    end = time.monotonic() + _START_S
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/openapi.json", timeout=5).close()
        except urllib.error.HTTPError:
            return  # it has no such page, and says so
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.2)
        else:
            return
    raise NotStarted(f"the server did not answer; see {log}")


def _end(process: subprocess.Popen[Any]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _cpu_s(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return 0.0
    return times.user + times.system


def _pss_mib(process: psutil.Process) -> float:
    try:
        return process.memory_full_info().pss / 2**20
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return 0.0
