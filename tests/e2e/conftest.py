"""The whole service as a user starts it: `jiyi up` in a folder of its own, real Ray, real stores, real weights."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from deployments.host.cluster import free_ports
from jiyi import Client
from jiyi.service import ProcessMemory, find, load_settings, processes

_UP_S = 480


@dataclass
class Service:
    """A running service and what tests do to it."""

    home: Path
    port: int
    environment: dict[str, str]

    @property
    def client(self) -> Client:
        """A client that waits out a restart."""
        return Client(f"http://127.0.0.1:{self.port}", patience_s=90)

    def command(self, *words: str) -> str:
        """Runs `jiyi …` and returns what it printed."""
        done = subprocess.run(
            [str(Path(sys.executable).with_name("jiyi")), *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=_UP_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def up(self) -> str:
        """Starts it and waits until it is ready."""
        return self.command("up", "--port", str(self.port))

    def down(self) -> str:
        """Drains and ends it."""
        return self.command("down")

    def processes(self) -> list[ProcessMemory]:
        """All its processes, the supervisor's first."""
        settings = load_settings(self.home)
        endpoint = find(settings)
        assert endpoint is not None
        return processes(settings, endpoint)

    def kill(self, is_victim: Callable[[str], bool]) -> list[str]:
        """`kill -9` of the processes whose name is chosen; returns their names."""
        victims = [process for process in self.processes() if is_victim(process.name)]
        for victim in victims:
            psutil.Process(victim.pid).kill()
        return [victim.name for victim in victims]

    def kill_until_replaced(self, name: str, timeout_s: float = 60) -> None:
        """`kill -9` of all processes of a name; returns when there is another: until then nobody may have noticed."""
        gone = {process.pid for process in self.processes() if process.name == name}
        assert self.kill(lambda candidate: candidate == name)
        end = time.monotonic() + timeout_s
        while not any(process.name == name and process.pid not in gone for process in self.processes()):
            assert time.monotonic() < end, f"no {name} again"
            time.sleep(0.1)

    def wait_until_whole(self, timeout_s: float = 120) -> float:
        """Seconds until every part answers again."""
        begin = time.monotonic()
        with self.client as client:
            while True:
                if client.is_ready() and client.operations.health().status == "ok":
                    return time.monotonic() - begin
                assert time.monotonic() - begin < timeout_s, client.operations.health()
                time.sleep(0.3)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("home")
    environment = os.environ | {"JIYI_HOME": str(home), "JIYI_EMBEDDER__MAX_WAITING_TOKENS": "4096"}
    started = Service(home, free_ports(1)[0], environment)
    started.up()
    yield started
    started.down()
    assert find(load_settings(home)) is None
