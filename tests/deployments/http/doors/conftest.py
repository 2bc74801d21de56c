"""The app over fakes at a port of its own, for clients that nobody here wrote, and an upstream language model."""

import asyncio
import itertools
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import openai
import pytest
import uvicorn

from deployments.config.access_settings import AuthArgs, HttpArgs, LimitArgs
from deployments.config.language_model_settings import EndpointArgs
from deployments.http.app import build_http
from deployments.http.doors.openai.chats import REPEATED_WITHIN
from deployments.http.identity.authentication import Authenticator
from deployments.http.support.services import Services
from deployments.remote.chat_upstream import ChatUpstream, ChatUpstreams
from testing.language_model_server import LanguageModelServer
from tests.deployments.conftest import open_fakes

LATER = REPEATED_WITHIN + timedelta(seconds=1)


class Clock:
    """The time at which requests come."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def wait(self, time: timedelta = LATER) -> None:
        self.now += time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in ("chat.completions", "stateful.responses"):
        monkeypatch.setattr(f"deployments.http.doors.openai.{module}.utc_now", clock)
    return clock


class Door:
    """A running service.

    Attributes:
        services: What its routes call; on its own event loop (`run`).
    """

    def __init__(self, url: str, services: Services, loop: asyncio.AbstractEventLoop) -> None:
        self.url = url
        self.services = services
        self._loop = loop
        self._clients: list[openai.OpenAI] = []

    def client(self, user: str | None, **options: Any) -> openai.OpenAI:
        headers = {"X-Jiyi-User": user} if user else {}
        given: dict[str, Any] = {
            "base_url": f"{self.url}/v1",
            "api_key": "any",
            "max_retries": 0,
            "default_headers": headers,
        }
        client = openai.OpenAI(**(given | options))
        self._clients.append(client)
        return client

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def run(self, work: Callable[[Services], Any]) -> Any:
        """The result of a coroutine on the loop of the service."""
        return asyncio.run_coroutine_threadsafe(work(self.services), self._loop).result(30)

    def settle(self, user: str) -> None:
        """Has everything learned that was said."""
        self.run(lambda services: services.additions.learn(user_id=user))

    def said(self, user: str) -> list[tuple[str, str]]:
        """Role and text of each entry of the log of a user, in order."""

        async def read(services: Services) -> list[tuple[str, str]]:
            async with services.record.reading(user_id=user) as unit:
                memories = await unit.memories.recent(limit=100)
            return [(memory.role.value if memory.role else "", memory.text) for memory in reversed(memories)]

        self.settle(user)
        return list(self.run(read))


@contextmanager
def open_door(
    *, change: Callable[[Services], Services] = lambda services: services, limits: LimitArgs | None = None
) -> Iterator[Door]:
    opened: list[tuple[Services, asyncio.AbstractEventLoop]] = []

    @asynccontextmanager
    async def services() -> AsyncIterator[Services]:
        async with open_fakes() as fakes:
            authenticator = Authenticator(keys=fakes.authenticator.keys, session_headers=AuthArgs().session_headers)
            changed = change(replace(fakes, authenticator=authenticator))
            opened.append((changed, asyncio.get_running_loop()))
            yield changed
            if changed.upstreams is not None:
                await changed.upstreams.close()

    app = build_http(services, limits=limits or LimitArgs(), http=HttpArgs())
    server = uvicorn.Server(
        uvicorn.Config(app, port=0, log_level="critical", lifespan="on", ws="none", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    door = Door(f"http://127.0.0.1:{port}", *opened[0])
    yield door
    door.close()
    server.should_exit = True
    thread.join()


_persons = itertools.count()


@pytest.fixture
def person() -> str:
    """Somebody of whom nothing is known: the services run for a whole module."""
    return f"person-{next(_persons)}"


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    """A service without a language model."""
    with open_door() as opened:
        yield opened


@pytest.fixture(scope="module")
def model() -> Iterator[LanguageModelServer]:
    with LanguageModelServer(key="sk-upstream") as server:
        yield server


def upstreams_of(*servers: LanguageModelServer, **settings: Any) -> ChatUpstreams:
    given = [
        EndpointArgs.model_validate(
            {"base_url": server.url, "model": f"tiny/{place}", "max_retries": 0, "timeout_s": 5.0}
            | ({"api_key": server.key} if server.key else {})
            | settings
        )
        for place, server in enumerate(servers)
    ]
    return ChatUpstreams([ChatUpstream(endpoint) for endpoint in given])


@pytest.fixture(scope="module")
def door_with_model(model: LanguageModelServer) -> Iterator[Door]:
    """A service that has conversations continued by a language model."""
    with open_door(change=lambda services: replace(services, upstreams=upstreams_of(model))) as opened:
        yield opened
