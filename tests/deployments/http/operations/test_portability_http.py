"""Export and import over HTTP: who may take and give what, what is refused, and that nothing is changed then."""

import asyncio
import dataclasses
import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from deployments.config.access_settings import LimitArgs
from deployments.http.support.services import Services
from deployments.http.support.transfers import Transfers
from memory.values.errors import StoreUnavailable
from tests.deployments.serving import serving

NDJSON = "application/x-ndjson"
TURNS = ("We run Grafana and Jenkins.", "小明住在台北。", "The office is in Room 101.")


async def _chat(http: httpx.AsyncClient, *messages: str, user: str = "ann") -> None:
    for message in messages:
        body = {"user_id": user, "session_id": "s", "message": message, "wait": True}
        assert (await http.post("/chat", json=body)).is_success


async def _export(http: httpx.AsyncClient, user: str = "ann") -> bytes:
    reply = await http.get("/export", params={"user_id": user})
    assert (reply.status_code, reply.headers["content-type"]) == (200, NDJSON)
    return reply.content


async def _import(
    http: httpx.AsyncClient, file: Any, user: str = "ann", from_user: str | None = None
) -> httpx.Response:
    users = {"user_id": user} | ({"from_user_id": from_user} if from_user else {})
    return await http.post("/import", params=users, content=file, headers={"content-type": NDJSON})


async def test_another_user_gets_the_memory_and_goes_on_with_it(http: httpx.AsyncClient, services: Services) -> None:
    await _chat(http, *TURNS)
    typed = {"user_id": "ann", "entity_type": "room", "entity_value": "101", "confidence": 0.5}
    assert (await http.post("/aam/entities", json=typed)).is_success
    file = await _export(http)
    reply = await _import(http, file, "bob", "ann")
    assert reply.status_code == 200, reply.text
    result = reply.json()
    assert (result["user_id"], result["from_user_id"], result["unchanged"]) == ("bob", "ann", {})
    assert result["imported"]["resource"] == 2 * len(TURNS) + 1  # and the entry of the typed value
    for path in ("/entities", "/sessions/s", "/aam/entities"):
        replies = [(await http.get(path, params={"user_id": user})).text for user in ("ann", "bob")]
        assert len(replies[0]) == len(replies[1])
    # Said again it is found, not stored a second time: ids are those of the other user.
    assert (await http.post("/aam/entities", json=typed | {"user_id": "bob"})).json()["memory"]["version"] == 2
    await _chat(http, TURNS[0], user="bob")
    names = [
        entity["entity_value"] for entity in (await http.get("/entities", params={"user_id": "bob"})).json()["results"]
    ]
    assert len(names) == len(set(names))
    found = await http.post("/search", json={"user_id": "bob", "query": "小明"})
    assert any("小明" in hit["text"] for hit in found.json()["results"])
    assert (await _import(http, file)).json()["imported"] == {}


@pytest.mark.parametrize(
    ("change", "field", "problem"),
    [
        (lambda lines: [], "line 1: type", "header"),
        (lambda lines: lines[:-1], None, "not whole"),
        (lambda lines: [b"{no JSON", *lines[1:]], "line 1", "JSON"),
        (lambda lines: [lines[0], b"[]", *lines[1:]], "line 2", "object"),
        (lambda lines: [lines[0].replace(b'"format":1', b'"format":9'), *lines[1:]], "line 1: format", "9"),
        (lambda lines: [lines[0], lines[0], *lines[1:]], "line 2: type", "second header"),
        (lambda lines: [lines[0], b'{"type":"secret","value":{}}', *lines[1:]], "line 2: type", "none"),
        (lambda lines: [lines[0], lines[1][:-1] + b',"more":1}', *lines[2:]], "line 2: more", "unknown"),
        (lambda lines: [lines[0], lines[1].replace(b'"content":', b'"x":'), *lines[2:]], "line 2: value.content", ""),
        (lambda lines: [lines[0], lines[1].replace(b'"ann"', b'"bob"'), *lines[2:]], "line 2: value.user_id", "header"),
        (lambda lines: [*lines[:2], lines[1], *lines[2:]], "line 3: value", "earlier line"),
        (lambda lines: [lines[0], *lines[-2:0:-1], lines[-1]], None, "too late"),
        (lambda lines: [line.replace("台北".encode(), "台南".encode()) for line in lines], None, "changed"),
        (lambda lines: [*lines[:-2], lines[-1]], None, "differ"),
        (lambda lines: [*lines, lines[-1]], None, "after the end"),
        (lambda lines: [lines[0], b'{"type":"entity","value":"' + b"x" * 1_048_576, *lines[1:]], "line 2", "too long"),
    ],
)
async def test_a_bad_file_is_refused_by_line_and_field_and_changes_nothing(
    http: httpx.AsyncClient, change: Callable[[list[bytes]], list[bytes]], field: str | None, problem: str
) -> None:
    await _chat(http, *TURNS)
    lines = (await _export(http)).splitlines()
    reply = await _import(http, b"\n".join(change(lines)), "new")
    assert (reply.status_code, reply.headers["content-type"]) == (422, "application/problem+json")
    [error] = reply.json()["errors"]
    assert field in (None, error["field"])
    assert error["field"].startswith("line ")
    assert problem in error["problem"]
    assert (await _export(http, "new")).count(b"\n") == 2


async def test_the_user_of_the_file_is_named_where_it_is_another(http: httpx.AsyncClient) -> None:
    await _chat(http, *TURNS)
    file = await _export(http)
    for named in (None, "eve"):
        reply = await _import(http, file, "bob", named)
        assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, "from_user_id")
    assert (await _import(http, file, "ann", "ann")).status_code == 200


async def test_an_id_that_another_item_has_is_a_conflict_and_changes_nothing(http: httpx.AsyncClient) -> None:
    await _chat(http, *TURNS)
    file = await _export(http)
    await _chat(http, "Grafana is slow.", user="bob")
    before = (await _export(http, "bob")).partition(b"\n")[2]
    reply = await _import(http, file, "bob", "ann")
    assert (reply.status_code, reply.headers["content-type"]) == (409, "application/problem+json")
    assert "is there already" in reply.json()["detail"]
    assert (await _export(http, "bob")).partition(b"\n")[2] == before


async def test_what_a_failing_store_left_of_an_import_is_found_by_the_next(
    http: httpx.AsyncClient, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _chat(http, *TURNS)
    file = await _export(http)
    writing = services.record.writing
    calls = 0

    def fail_later(**fields: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise StoreUnavailable("The record is away.", component="record")
        return writing(**fields)

    with monkeypatch.context() as patch:
        patch.setattr(services.record, "writing", fail_later)
        assert (await _import(http, file, "bob", "ann")).status_code == 503
    reply = await _import(http, file, "bob", "ann")
    assert reply.status_code == 200
    assert {"resource", "entity"} <= reply.json()["unchanged"].keys()
    assert "memory" in reply.json()["imported"]
    of_bob, of_ann = [json.loads((await _export(http, user)).splitlines()[-1]) for user in ("bob", "ann")]
    assert of_bob["counts"] == of_ann["counts"]


async def test_an_import_may_be_large_but_not_larger_than_allowed_and_not_slow(services: Services) -> None:
    limits = LimitArgs(body_bytes=1024, bulk_body_bytes=1024, import_body_bytes=100_000, body_timeout_s=0.2)

    async def large() -> AsyncIterator[bytes]:
        for _ in range(11):
            yield b"x" * 10_000

    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(5)
        yield b"}"

    async with serving(services, limits=limits) as client:
        assert (await _import(client, b" " * 50_000)).status_code == 422
        assert (await _import(client, b" " * 100_001)).status_code == 413
        for body, status in ((large(), 413), (slow(), 408)):
            reply = await _import(client, body)
            assert (reply.status_code, reply.headers["content-type"]) == (status, "application/problem+json")


async def test_a_user_has_one_export_or_import_at_a_time(services: Services, tmp_path: Path) -> None:
    services = dataclasses.replace(services, transfers=Transfers(tmp_path))
    async with serving(services, limits=LimitArgs()) as client:
        async with services.transfers.open("ann") as file:
            file.write(b"what ann said")
            file.flush()
            assert os.listdir(tmp_path) == []
            reply = await client.get("/export", params={"user_id": "ann"})
            assert (reply.status_code, reply.headers["retry-after"]) == (429, "10")
            assert (await client.get("/export", params={"user_id": "bob"})).status_code == 200
        assert (await client.get("/export", params={"user_id": "ann"})).status_code == 200


async def test_taking_and_giving_a_memory_is_written_down_without_what_is_in_it(http: httpx.AsyncClient) -> None:
    await _chat(http, *TURNS)
    with capture_logs() as lines:
        await _import(http, await _export(http), "bob", "ann")
    acts = [line for line in lines if line["event"] == "operator_act"]
    assert [(line["act"], line["given_user_id"]) for line in acts] == [
        ("export_memory", "ann"),
        ("import_memory", "bob"),
    ]
    assert "Grafana" not in str(acts)


async def test_the_file_on_the_api_page_is_one_that_can_be_imported(http: httpx.AsyncClient) -> None:
    page = (await http.get("/openapi.json")).json()
    file = page["paths"]["/import"]["post"]["requestBody"]["content"][NDJSON]["example"]
    assert (await _import(http, file.encode())).json()["imported"] == {"entity": 1}
