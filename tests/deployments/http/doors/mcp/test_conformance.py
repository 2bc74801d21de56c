"""Clients and suites that nobody here wrote: the conformance package of the protocol, and its inspector."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from starlette.routing import Route

from deployments.http.doors.mcp.route import McpDoor
from deployments.http.support.services import Services
from memory.values.access.identity import KeyScope
from testing.node_tools import node_tool
from tests.deployments.http.doors.mcp.conformance_fixtures import add_fixtures
from tests.deployments.http.doors.mcp.conftest import Secret
from tests.deployments.http.doors.mcp.test_tools import TOOLS
from tests.deployments.serving import at_port, running_app

CONFORMANCE = ("@modelcontextprotocol/conformance", "0.1.16", "conformance")
INSPECTOR = ("@modelcontextprotocol/inspector", "2.12.0", "mcp-inspector")
APPLICABLE = {
    "server-initialize": 1,
    "ping": 1,
    "completion-complete": 1,
    "tools-list": 1,
    "tools-call-simple-text": 1,
    "tools-call-image": 1,
    "tools-call-audio": 1,
    "tools-call-embedded-resource": 1,
    "tools-call-mixed-content": 1,
    "tools-call-error": 1,
    "tools-call-with-progress": 1,
    "resources-list": 1,
    "resources-read-text": 1,
    "resources-read-binary": 1,
    "resources-templates-read": 1,
    "prompts-list": 1,
    "prompts-get-simple": 1,
    "prompts-get-with-args": 1,
    "prompts-get-embedded-resource": 1,
    "prompts-get-with-image": 1,
    "dns-rebinding-protection": 2,
}
"""The scenarios that apply, with the number of their checks.

The others need a session, which the service does not keep, so that any replica answers any message: the server asks the
client (tools-call-sampling, tools-call-elicitation, elicitation-*), has the client's log level (logging-set-level,
tools-call-with-logging) or subscriptions (resources-subscribe, -unsubscribe), or a stream is taken up again or opened
twice (server-sse-polling, -multiple-streams). json-schema-2020-12 is about a schema written by hand; ours come from
types.
"""


_TIME = re.compile(r"-\d{4}-\d\d-\d\dT.*$")
"""How the name of a folder of results ends; its milliseconds may begin with anything."""


async def _run(command: list[str], environment: dict[str, str]) -> str:
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    return output.decode()


@pytest.mark.slow
async def test_the_conformance_scenarios_that_apply_pass(services: Services, tmp_path: Path) -> None:
    command, environment = node_tool(*CONFORMANCE)
    async with running_app(services) as app, at_port(app) as base:
        [door] = [route.app for route in app.router.routes if isinstance(route, Route) and route.path == "/mcp"]
        assert isinstance(door, McpDoor)
        add_fixtures(await door.server())
        suite = [*command, "server", "--url", f"{base}/mcp", "--suite", "all", "-o", str(tmp_path)]
        output = await _run(suite, environment)
    passed = await asyncio.to_thread(_passed, tmp_path)
    assert {name: passed.get(name) for name in APPLICABLE} == APPLICABLE, output


def _passed(folder: Path) -> dict[str, int]:
    """The scenarios without a failed check, with the number of those that succeeded."""
    passed = {}
    for file in folder.rglob("checks.json"):
        statuses = [check["status"] for check in json.loads(file.read_text())]
        if set(statuses) <= {"SUCCESS", "INFO"}:
            scenario = _TIME.sub("", file.parent.name.removeprefix("server-"))
            passed[scenario] = statuses.count("SUCCESS")
    return passed


@pytest.mark.slow
async def test_the_inspector_lists_and_calls_the_tools(guarded_url: str, secret: Secret) -> None:
    command, environment = node_tool(*INSPECTOR)
    key = await secret(KeyScope.USER, user="ada")
    inspect = [*command, "--cli", guarded_url, "--transport", "http", "--header", f"Authorization: Bearer {key}"]
    listed = json.loads(await _run([*inspect, "--method", "tools/list"], environment))
    assert {tool["name"] for tool in listed.get("tools", ())} == TOOLS, listed
    call = ["--method", "tools/call", "--tool-name", "add_memory", "--tool-arg", "text=茶是烏龍。"]
    added = json.loads(await _run([*inspect, *call], environment))
    assert added["structuredContent"]["results"][0]["memory"] == "茶是烏龍。"
