"""The unmodified clients of mem0, with `host` set to ours: calls, errors, and every reply by mem0's document."""

import asyncio
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from memory.values.access.identity import KeyScope
from testing.node_tools import node_itself
from tests.deployments.http.doors.mem0.conftest import SCHEMAS, Client, Door, Start

pytestmark = pytest.mark.slow
KINDS = ("sync", "async", "typescript")
TEA, SEAT = "我喜歡烏龍茶", "I always take the window seat."
CALLS = {
    "GET /v1/ping/",
    "POST /v3/memories/add/",
    "POST /v3/memories/search/",
    "POST /v3/memories/",
    "GET /v1/memories/{memory_id}/",
    "PUT /v1/memories/{memory_id}/",
    "DELETE /v1/memories/{memory_id}/",
    "GET /v1/memories/{memory_id}/history/",
    "GET /v1/entities/",
    "DELETE /v1/memories/",
    "DELETE /v2/entities/{entity_type}/{entity_id}/",
    "PUT /v1/batch/",
    "DELETE /v1/batch/",
    "POST /v1/feedback/",
    "POST /v1/exports/",
    "POST /v1/exports/get/",
    "GET /api/v1/orgs/organizations/{org_id}/projects/{project_id}/",
}
"""What every client has to have sent."""


def alice(**more: str) -> dict[str, dict[str, str]]:
    return {"filters": {"user_id": "alice"} | more}


async def added(client: Client, *texts: str, user_id: str = "alice", **named: object) -> list[str]:
    messages = [{"role": "user", "content": text} for text in texts]
    reply = await client.call("add", messages, user_id=user_id, **named)
    assert (reply["status"], [item["memory"] for item in reply["results"]]) == ("SUCCEEDED", list(texts))
    return [item["id"] for item in reply["results"]]


async def use_memories(client: Client) -> None:
    metadata = {"room": "kitchen", "tags": ["a", {"b": None}]}
    [tea] = await added(client, TEA, run_id="r1", agent_id="bot", metadata=metadata)
    [seat] = await added(client, SEAT, infer=False)
    found = (await client.call("search", "烏龍茶", **alice(), top_k=5))["results"]
    assert (found[0]["id"], found[0]["memory"], found[0]["score"] > 0) == (tea, TEA, True)
    assert [hit["id"] for hit in found if hit["score"] <= 0] == []
    assert (await client.call("search", "烏龍茶", filters={"user_id": "nobody"}))["results"] == []
    kept = await client.call("get", tea)
    assert (kept["memory"], kept["user_id"], kept["agent_id"], kept["metadata"]) == (TEA, "alice", "bot", metadata)
    page = await client.call("get_all", **alice(), page=2, page_size=1)
    assert (page["count"], page["next"], [one["id"] for one in page["results"]]) == (2, None, [tea])
    assert page["previous"].endswith("/mem0/v3/memories/?page=1&page_size=1")
    only = await client.call("get_all", filters={"AND": [{"user_id": "alice"}, {"metadata": {"room": "kitchen"}}]})
    assert [one["id"] for one in only["results"]] == [tea]
    edited = await client.call("update", seat, text="I take the aisle seat.")
    assert (edited["id"], edited["memory"]) == (seat, "I take the aisle seat.")
    history = await client.call("history", seat)
    assert [(entry["event"], entry["old_memory"], entry["new_memory"]) for entry in history] == [
        ("ADD", None, SEAT),
        ("UPDATE", SEAT, "I take the aisle seat."),
    ]
    assert "deleted" in (await client.call("delete", seat))["message"]
    gone = await client.attempt("get", seat)
    assert (gone["error"], "not found" in gone["message"]) == ("MemoryNotFoundError", True)


async def use_the_rest(client: Client) -> None:
    one, two, three = await added(client, "eins", "zwei", "drei")
    listed = (await client.call("users"))["results"]
    assert {(entity["type"], entity["name"]): entity["total_memories"] for entity in listed} == {
        ("user", "alice"): 4,
        ("agent", "bot"): 1,
        ("run", "r1"): 1,
    }
    name = "memoryId" if client.is_typescript else "memory_id"
    batch = await client.call("batch_update", [{name: one, "text": "uno"}, {name: two, "text": "due"}])
    assert batch["message"] == "Successfully updated 2 memories"
    assert (await client.call("get", two))["memory"] == "due"
    ids: list[object] = [two, three] if client.is_typescript else [{"memory_id": two}, {"memory_id": three}]
    assert (await client.call("batch_delete", ids))["message"] == "Successfully deleted 2 memories"
    said = {name: one, "feedback": "POSITIVE"}
    said |= {"feedbackReason" if client.is_typescript else "feedback_reason": "so it is"}
    if client.is_typescript:
        feedback = await client.call("feedback", said)
        request = await client.call(
            "createMemoryExport", {"schema": {"type": "object"}, "filters": {"user_id": "alice"}}
        )
        export = await client.call("getMemoryExport", {"memoryExportId": request["id"]})
        project = await client.call("getProject", {"fields": ["custom_instructions"]})
    else:
        feedback = await client.call("feedback", **said)
        request = await client.call("create_memory_export", {"type": "object"}, **alice())
        export = await client.call("get_memory_export", memory_export_id=request["id"])
        project = await client.call("get_project", fields=["custom_instructions"])
    assert (feedback["feedback"], feedback["feedback_reason"]) == ("POSITIVE", "so it is")
    assert {memory["memory"] for memory in export["memories"]} == {TEA, "uno"}
    assert project == {"custom_instructions": ""}


async def remove_all(client: Client) -> None:
    await added(client, "mine", user_id="bob", run_id="r1")
    named = {"user_id": "bob", "run_id": "other"}
    await client.call("delete_all", **named)
    assert (await client.call("get_all", filters={"user_id": "bob"}))["count"] == 1
    refused = await client.attempt("delete_all")
    assert (refused["error"], "user_id" in refused["message"]) == ("ValidationError", True)
    await client.call("delete_all", user_id="bob")
    assert (await client.call("get_all", filters={"user_id": "bob"}))["count"] == 0
    assert (await client.call("delete_users", user_id="alice"))["message"] == "Entity deleted successfully."
    assert (await client.call("users"))["count"] == 0


@pytest.mark.parametrize("kind", KINDS)
async def test_a_client_uses_all_that_is_served_and_each_reply_is_as_mem0_describes_it(
    kind: str, door: Door, start: Start
) -> None:
    client = await start(kind)
    await use_memories(client)
    await use_the_rest(client)
    await remove_all(client)
    for exchange in door.recorder.exchanges:
        exchange.check()
    sent = Counter(exchange.operation for exchange in door.recorder.exchanges)
    assert sent.keys() >= CALLS, sent
    assert {f"{method.upper()} {path}" for path in SCHEMAS for method in SCHEMAS[path]} >= CALLS


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_what_python_sends_as_a_dictionary_is_read_and_a_wrong_key_refused_in_words(
    kind: str, door: Door, start: Start
) -> None:
    client = await start(kind)
    await added(client, "kept")
    await added(client, "gone", run_id="r2")
    await client.call("delete_all", filters={"AND": [{"user_id": "alice"}, {"run_id": "r2"}]})
    left = await client.call("get_all", **alice())
    assert [one["memory"] for one in left["results"]] == ["kept"]
    refused = await client.attempt("project.update", custom_instructions="only cats")
    assert (refused["error"], "its own models" in refused["message"]) == ("ValidationError", True)
    malformed = await client.attempt("get", "a/b")
    assert (malformed["error"], malformed["message"]) == ("ValidationError", "memory_id should be a valid UUID")
    stranger = await start(kind, key=f"jiyi_{'0' * 16}_{'0' * 43}")
    wrong = await stranger.attempt("users")
    assert (wrong["error"], "API key is not valid" in wrong["message"]) == ("ValueError", True)
    for exchange in door.recorder.exchanges:
        exchange.check()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_host_may_end_with_a_slash_and_a_key_of_one_user_needs_no_names(
    kind: str, door: Door, start: Start
) -> None:
    client = await start(kind, key=door.keys[KeyScope.USER], url=f"{door.url}/")
    [kept] = [item["id"] for item in (await client.call("add", [{"role": "user", "content": TEA}]))["results"]]
    assert (await client.call("get", kept))["user_id"] == "alice"
    other = await client.attempt("add", [{"role": "user", "content": TEA}], user_id="bob")
    assert (other["error"], "another user" in other["message"]) == ("AuthenticationError", True)
    for exchange in door.recorder.exchanges:
        exchange.check()


def _quick_start(language: str, door: Door) -> str:
    page = (Path(__file__).parents[5] / "docs/how-to/mem0.md").read_text(encoding="utf-8")
    code = page.partition(f"```{language}\n")[2].partition("```")[0]
    return code.replace("http://localhost:8000/mem0", door.url).replace('"any"', f'"{door.keys[KeyScope.APP]}"')


async def _output(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=subprocess.PIPE, env=os.environ | {"MEM0_TELEMETRY": "false"}
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    return output.decode().strip()


async def test_the_quick_start_in_python_runs(door: Door, mem0_python: Path) -> None:
    assert await _output(str(mem0_python), "-c", _quick_start("python", door)) == TEA


async def test_the_quick_start_in_typescript_runs(door: Door, mem0_node: Path) -> None:
    script = mem0_node / "quick_start.mjs"
    script.write_text(_quick_start("ts", door))
    assert await _output(node_itself()[0], str(script)) == SEAT
