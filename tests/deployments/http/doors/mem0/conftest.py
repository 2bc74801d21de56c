"""The door on a real port, and mem0's own clients in processes of their own."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import uvicorn
from filelock import FileLock
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deployments.http.identity.authentication import Authenticator
from deployments.http.support.services import Services
from memory.values.access.identity import KeyScope
from testing.node_tools import node_itself, node_packages
from tests.deployments.serving import running_app

HERE = Path(__file__).parent
SCHEMAS: dict[str, dict[str, dict[str, Any]]] = json.loads((HERE / "schemas.json").read_text())


@dataclass(frozen=True)
class Exchange:
    """A request and the reply to it."""

    method: str
    path: str
    status: int
    content_type: str
    body: Any

    @property
    def operation(self) -> str:
        return f"{self.method} {self._template}"

    @property
    def _template(self) -> str:
        path = re.sub("/{2,}", "/", self.path).removeprefix("/mem0")
        for template in sorted(SCHEMAS, key=lambda template: template.count("{")):
            if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
                return template
        return path

    def check(self) -> None:
        """Compares the reply with mem0's document, or an error with what its clients read of one."""
        if self.status >= 400:
            assert self.content_type == "application/json"
            assert self.body["detail"] == self.body["error"]
            assert isinstance(self.body["detail"], str)
            assert self.body["detail"]
            return
        schema = SCHEMAS[self._template][self.method.lower()][str(self.status)]
        jsonschema.validate(self.body, _with_null(schema), format_checker=jsonschema.FormatChecker())


def _with_null(schema: Any) -> Any:
    """The schema with OpenAPI 3.0's `nullable` as JSON Schema has it."""
    if isinstance(schema, list):
        return [_with_null(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    converted = {name: _with_null(part) for name, part in schema.items() if name != "nullable"}
    return {"anyOf": [converted, {"type": "null"}]} if schema.get("nullable") is True else converted


class Recorder:
    """ASGI middleware that keeps every exchange."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.exchanges: list[Exchange] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start: dict[str, Any] = {}
        body = bytearray()

        async def send_kept(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            body.extend(message.get("body", b""))
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                kind = dict(start["headers"]).get(b"content-type", b"").decode()
                self.exchanges.append(Exchange(scope["method"], scope["path"], start["status"], kind, json.loads(body)))
            await send(message)

        await self._app(scope, receive, send_kept if scope["type"] == "http" else send)


@dataclass(frozen=True)
class Client:
    """One of mem0's clients in its process; each call returns what the client returned."""

    process: asyncio.subprocess.Process
    is_typescript: bool = False

    async def call(self, method: str, *args: Any, **named: Any) -> Any:
        outcome = await self.attempt(method, *args, **named)
        assert "result" in outcome, outcome
        return outcome["result"]

    async def attempt(self, method: str, *args: Any, **named: Any) -> dict[str, Any]:
        """What came of a call: `result`, or `error` (its class) and `message`."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        line = json.dumps({"method": method, "args": args, "named": named})
        self.process.stdin.write(f"{line}\n".encode())
        answer = await self.process.stdout.readline()
        assert answer, "the client's process has ended"
        outcome: dict[str, Any] = json.loads(answer)
        return _snake(outcome) if self.is_typescript else outcome


def _snake(value: Any) -> Any:
    """The TypeScript client shows snake_case as camelCase, but for what is the caller's."""
    if isinstance(value, list):
        return [_snake(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name): part if name == "metadata" else _snake(part)
        for name, part in value.items()
    }


Start = Callable[..., Awaitable[Client]]


@dataclass(frozen=True)
class Door:
    """The running door.

    Args:
        url: Its base URL, with `/mem0`.
        recorder: What was sent to it.
        services: What it runs over.
    """

    url: str
    recorder: Recorder
    services: Services
    keys: dict[KeyScope, str] = field(default_factory=dict)


@asynccontextmanager
async def open_door(services: Services) -> AsyncIterator[Door]:
    """The door on a free port, with credentials required, and a key of each scope."""
    keys = services.authenticator.keys
    guarded = replace(services, authenticator=Authenticator(keys=keys, required=True))
    secrets = {
        scope: (await keys.create("test", scope=scope, user="alice" if scope is KeyScope.USER else None)).secret
        for scope in KeyScope
    }
    async with running_app(guarded) as app:
        recorder = Recorder(app)
        server = uvicorn.Server(uvicorn.Config(recorder, port=0, log_level="critical", lifespan="off", ws="none"))
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Door(f"http://127.0.0.1:{port}/mem0", recorder, guarded, secrets)
        server.should_exit = True
        await task


@pytest.fixture
async def door(services: Services) -> AsyncIterator[Door]:
    async with open_door(services) as opened:
        yield opened


@pytest.fixture(scope="session")
def mem0_python(pytestconfig: pytest.Config) -> Path:
    """A Python that has mem0's client, made once and kept in pytest's cache."""
    wanted = HERE / "requirements.txt"
    folder = _cache(pytestconfig, "mem0-python")
    python = folder / "venv" / "bin" / "python"
    commands = [
        [sys.executable, "-m", "venv", "--clear", str(folder / "venv")],
        [str(python), "-m", "pip", "install", "--quiet", "--requirement", str(wanted)],
    ]
    _install(folder, wanted, commands)
    return python


@pytest.fixture(scope="session")
def mem0_node() -> Path:
    """A folder in which Node finds mem0's TypeScript client."""
    return node_packages(HERE / "package.json", "--legacy-peer-deps")


def _cache(config: pytest.Config, name: str) -> Path:
    folder = config.rootpath / "build" / "test-clients" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _install(folder: Path, wanted: Path, commands: list[list[str]]) -> None:
    """Runs the commands unless they have run for this list; the test is skipped where a registry is out of reach."""
    mark = folder / "installed"
    with FileLock(folder / "lock"):
        if mark.exists() and mark.read_text() == wanted.read_text():
            return
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"{wanted.name} cannot be installed here: {done.stderr.strip()[-300:]}")
        mark.write_text(wanted.read_text())


@pytest.fixture
async def start(door: Door, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Start]:
    """Starts a client: `sync`, `async` or `typescript`."""
    environment: Mapping[str, str] = os.environ | {"MEM0_TELEMETRY": "false", "MEM0_DIR": str(tmp_path)}
    async with AsyncExitStack() as stack:

        async def started(kind: str, *, key: str | None = None, url: str | None = None) -> Client:
            target = url or door.url, key or door.keys[KeyScope.APP]
            if kind == "typescript":
                folder = request.getfixturevalue("mem0_node")
                command = [node_itself()[0], str(HERE / "driver.mjs"), str(folder), *target]
            else:
                python = request.getfixturevalue("mem0_python")
                command = [str(python), str(HERE / "driver.py"), kind, *target]
            process = await asyncio.create_subprocess_exec(
                *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, limit=2**20
            )
            stack.push_async_callback(_end, process)
            return Client(process, kind == "typescript")

        yield started


async def _end(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    await process.wait()
