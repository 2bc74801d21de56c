"""The whole service as a user starts it: `jiyi up` in a folder of its own, real Ray, real stores, real weights."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import pytest

from deployments.host.cluster import free_ports
from jiyi import Client
from jiyi.service import ProcessMemory, find, load_settings, processes

_UP_S = 480


@dataclass
class Service:
    """A running service and what tests do to it.

    Attributes:
        home: Its data folder.
        port: Of the API.
        environment: Of `jiyi` commands, and with `up` of the service.
        api_key: What its clients send; None where it asks for no credential.
        stories: What the next `restart` advances: generators that yield twice, once before it and once while the
            service is down.
    """

    home: Path
    port: int
    environment: dict[str, str]
    api_key: str | None = None
    stories: list[Iterator[None]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def client(self) -> Client:
        """A client that waits out a restart."""
        return Client(self.url, patience_s=90, api_key=self.api_key)

    def http(self, timeout_s: float = 60) -> httpx.Client:
        """A client for bare requests."""
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        return httpx.Client(base_url=self.url, timeout=timeout_s, headers=headers)

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

    def up(self, *options: str) -> str:
        """Starts it and waits until it is ready."""
        return self.command("up", "--port", str(self.port), *options)

    def down(self) -> str:
        """Drains and ends it."""
        return self.command("down")

    def restart(self) -> None:
        """Ends it and starts it again, and tells the stories: a restart takes a minute, so tests share one."""
        stories, self.stories = self.stories, []
        for story in stories:
            next(story)
        self.down()
        try:
            for story in stories:
                next(story)
        finally:
            self.up()
        for story in stories:
            next(story, None)

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
    """The service of all tests that need no settings of their own.

    It writes down all that it may, and one user may ask without a limit: so the test of erasure needs it.
    """
    home = tmp_path_factory.mktemp("home")
    settings = {
        "JIYI_HOME": str(home),
        "JIYI_EMBEDDER__MAX_WAITING_TOKENS": "4096",
        "JIYI_LIMITS__REQUESTS_PER_MINUTE": "0",
        "JIYI_LOG_LEVEL": "debug",
    }
    started = Service(home, free_ports(1)[0], os.environ | settings)
    started.up()
    yield started
    if started.stories:  # the test that restarts it for all was not among those that ran
        started.restart()
    started.down()
    assert find(load_settings(home)) is None
