"""`jiyi mcp`: the same tools over standard input and output."""

import sys
from collections.abc import AsyncIterator

import pytest
from mcp import Client, StdioServerParameters

from deployments.http.support.services import Services
from tests.deployments.conftest import open_fakes
from tests.deployments.serving import at_port, running_app

_COMMAND = "from jiyi.cli import main; main()"


@pytest.fixture
async def services() -> AsyncIterator[Services]:
    async with open_fakes() as opened:
        yield opened


@pytest.mark.parametrize("era", ["2026-07-28", "legacy"])
async def test_a_client_over_stdio_remembers_for_its_user(services: Services, era: str) -> None:
    async with running_app(services) as app, at_port(app) as base:
        command = ["-c", _COMMAND, "mcp", "--url", base, "--user", "李雷"]
        async with Client(StdioServerParameters(command=sys.executable, args=command), mode=era) as client:
            assert len((await client.list_tools()).tools) == 9
            added = await client.call_tool("add_memory", {"text": "我喜歡烏龍茶。"})
            assert not added.is_error, added.content
            found = await client.call_tool("search_memories", {"query": "烏龍茶"})
            profile = await client.read_resource("memory://me")
        async with services.record.reading(user_id="李雷") as unit:
            kept = await unit.memories.timeline(limit=10)
    assert found.structured_content is not None
    assert [hit["memory"] for hit in found.structured_content["results"]] == ["我喜歡烏龍茶。"]
    assert [memory.text for memory in kept] == ["我喜歡烏龍茶。"]
    assert profile.contents[0].uri == "memory://me"


async def test_where_no_service_answers_a_tool_says_so() -> None:
    command = ["-c", _COMMAND, "mcp", "--url", "http://127.0.0.1:9"]
    async with Client(StdioServerParameters(command=sys.executable, args=command), mode="legacy") as client:
        called = await client.call_tool("list_entities", {})
    assert called.is_error
    assert "does not answer" in str(called.content)
