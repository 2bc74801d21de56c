"""What goes in by one door is found by every other, and agents that nobody here wrote remember across a restart."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from agents import Agent, OpenAIConversationsSession, OpenAIResponsesModel, RunConfig, Runner
from mcp import Client as McpClient

from tests.e2e.conftest import Service

pytestmark = pytest.mark.e2e

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "langgraph.md"
TOLD, ASKED = "The spare key is in the blue drawer.", "Where is the spare key?"


class Doors:
    """The doors of a service, each as its clients use it; all act for one user.

    Each way to add gives the ids of what it kept, each way to search those of what it found, best first.
    """

    def __init__(self, url: str, http: httpx.AsyncClient, user_id: str) -> None:
        self.url, self.http, self.user_id = url, http, user_id
        self.add: dict[str, Callable[[str], Awaitable[list[str]]]] = {
            "own": self._add_own,
            "mem0": self._add_mem0,
            "mcp": self._add_mcp,
            "openai": self._add_openai,
        }
        self.search: dict[str, Callable[[str], Awaitable[list[str]]]] = {
            "own": self._search_own,
            "mem0": self._search_mem0,
            "mcp": self._search_mcp,
            "openai": self._search_openai,
        }

    async def _post(self, path: str, **body: object) -> list[dict[str, object]]:
        reply = await self.http.post(path, json=body)
        assert reply.status_code in (200, 201), reply.text
        return list(reply.json()["results"])

    async def _add_own(self, text: str) -> list[str]:
        return _ids(await self._post("/memories", user_id=self.user_id, text=text))

    async def _add_mem0(self, text: str) -> list[str]:
        messages = [{"role": "user", "content": text}]
        return _ids(await self._post("/mem0/v3/memories/add/", user_id=self.user_id, messages=messages))

    async def _add_mcp(self, text: str) -> list[str]:
        return _ids(await call_tool(self.url, "add_memory", user_id=self.user_id, text=text))

    async def _add_openai(self, text: str) -> list[str]:
        """What a person says in a chat completion; its reply gives no id, so the own search does."""
        reply = await self._said(text)
        assert reply["learned"]
        found = await self._post("/search", user_id=self.user_id, query=text, kinds=["memory"])
        return _ids([hit for hit in found if (hit["text"], hit["role"]) == (text, "user")])

    async def cited(self, question: str) -> list[str]:
        """What a chat completion names as the sources of its reply; the question is learned, too."""
        return _ids((await self._said(question))["sources"])

    async def _said(self, message: str) -> dict[str, Any]:
        """What memory did for a message in a conversation of its own."""
        async with asked_as(self.url, self.user_id) as client:
            reply = await client.chat.completions.create(model="jiyi", messages=[{"role": "user", "content": message}])
        assert reply.model_extra is not None
        return dict(reply.model_extra["jiyi"])

    async def _search_own(self, query: str) -> list[str]:
        return _ids(await self._post("/search", user_id=self.user_id, query=query, kinds=["memory"]))

    async def _search_mem0(self, query: str) -> list[str]:
        return _ids(await self._post("/mem0/v3/memories/search/", query=query, filters={"user_id": self.user_id}))

    async def _search_mcp(self, query: str) -> list[str]:
        return _ids(await call_tool(self.url, "search_memories", user_id=self.user_id, query=query))

    async def _search_openai(self, query: str) -> list[str]:
        async with asked_as(self.url, self.user_id) as client:
            page = await client.vector_stores.search("memory", query=query)
        return [found.file_id for found in page.data]


def _ids(results: list[dict[str, object]]) -> list[str]:
    return [str(result["id"]) for result in results]


async def call_tool(url: str, tool: str, **arguments: object) -> list[dict[str, object]]:
    """The results of a tool of the MCP door."""
    async with McpClient(f"{url}/mcp") as client:
        result = await client.call_tool(tool, dict(arguments))
    assert result.structured_content is not None, result
    return list(result.structured_content["results"])


def asked_as(url: str, user_id: str) -> openai.AsyncOpenAI:
    """OpenAI's client for a user."""
    headers = {"X-Jiyi-User": user_id}
    return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0, default_headers=headers)


@pytest.fixture
def url(service: Service) -> str:
    return service.url


@pytest.mark.parametrize("door", ["own", "mem0", "mcp", "openai"])
async def test_what_a_door_keeps_is_found_at_once_by_every_door_under_the_same_id(url: str, door: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=60) as http:
        doors = Doors(url, http, f"visitor of {door}")
        others = Doors(url, http, f"neighbour of {door}")
        kept = {}
        for text, query in ((TOLD, ASKED), ("備用鑰匙在藍色抽屜裡。", "備用鑰匙在哪？")):
            [id_] = await doors.add[door](text)
            kept[query] = id_
            firsts = [(await search(query))[0] for search in doors.search.values()]
            assert firsts == [id_] * len(doors.search)
            assert not any([await search(query) for search in others.search.values()]), "one user's alone"
        for query, id_ in kept.items():
            assert id_ in await doors.cited(query), "the chat of the OpenAI door answers from it"
        assert await others.cited(ASKED) == []


async def test_every_door_knows_the_agent_of_a_memory(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=60) as http:
        user, bot, other = "one with two agents", "bot", "other bot"

        async def results(path: str, **body: object) -> list[str]:
            reply = await http.post(path, json=body)
            assert reply.is_success, reply.text
            return _ids(reply.json()["results"])

        messages = [{"role": "user", "content": TOLD}]
        [by_mem0] = await results("/mem0/v3/memories/add/", user_id=user, agent_id=bot, messages=messages)
        [by_mcp] = _ids(
            await call_tool(url, "add_memory", user_id=user, agent_id=bot, text="The shed key is there, too.")
        )
        [own] = await results("/memories", user_id=user, text="The cellar key is lost.", metadata={"agent_id": bot})
        await results("/mem0/v3/memories/add/", user_id=user, agent_id=other, messages=messages)
        expected = {by_mem0, by_mcp, own}
        asked = {"query": "key"}
        assert expected == set(
            await results("/mem0/v3/memories/search/", filters={"AND": [{"user_id": user}, {"agent_id": bot}]}, **asked)
        )
        filters = {"agent_id": bot}
        assert expected == set(_ids(await call_tool(url, "search_memories", user_id=user, filters=filters, **asked)))
        conditions = {"metadata": {"agent_id": bot}}
        assert expected == set(await results("/search", user_id=user, kinds=["memory"], filters=conditions, **asked))
        shown = (await http.get(f"/mem0/v1/memories/{by_mcp}/")).json()
        assert (shown["agent_id"], shown["metadata"]) == (bot, {})


async def test_agents_remember_across_a_restart(service: Service, url: str, tmp_path: Path) -> None:
    async with asked_as(url, "openai-agent") as client:
        session = OpenAIConversationsSession(openai_client=client)
        await _say(client, TOLD, session)
        conversation = await session._get_session_id()
    assert await call_tool(url, "add_memory", text=TOLD, user_id="mcp-agent")
    [code, *_] = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    graph = tmp_path / "agent.py"
    graph.write_text(code.replace("http://127.0.0.1:8000", url), encoding="utf-8")
    assert _run(graph, "1", TOLD) == f"said: {[TOLD]} found: []"
    service.stories.append(_remembered_across_a_restart(url, conversation, graph))


def _remembered_across_a_restart(url: str, conversation: str, graph: Path) -> Iterator[None]:
    yield
    yield
    asyncio.run(_assert_remembered(url, conversation, graph))


async def _assert_remembered(url: str, conversation: str, graph: Path) -> None:
    async with asked_as(url, "openai-agent") as client:
        session = OpenAIConversationsSession(conversation_id=conversation, openai_client=client)
        assert len(await session.get_items()) == 2
        assert TOLD in await _say(client, ASKED, OpenAIConversationsSession(openai_client=client))
    [found, *_] = await call_tool(url, "search_memories", query=ASKED, user_id="mcp-agent")
    assert found["memory"] == TOLD
    assert _run(graph, "1", ASKED) == f"said: {[TOLD, ASKED]} found: {[TOLD]}"
    elsewhere = _run(graph, "2", "Key?")
    assert elsewhere.startswith("said: ['Key?'] found: ")
    assert TOLD in elsewhere


async def _say(client: openai.AsyncOpenAI, message: str, session: OpenAIConversationsSession) -> str:
    agent = Agent(name="Helper", model=OpenAIResponsesModel("jiyi", client))
    done = await Runner.run(agent, message, session=session, run_config=RunConfig(tracing_disabled=True))
    return str(done.final_output)


def _run(script: Path, thread: str, message: str) -> str:
    done = subprocess.run(
        [sys.executable, str(script), thread], input=f"{message}\n", capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
