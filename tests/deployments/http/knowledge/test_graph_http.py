"""Knowledge graphs over HTTP (004 §6.3, §8, §11.2)."""

import asyncio
from typing import Any

import httpx
import pytest

from deployments.http.support.services import Services
from memory.values.errors import StoreUnavailable

TEXT = "王小明在台積電工作。台積電位於新竹。"
MISSING = "00000000-0000-0000-0000-000000000000"


async def call(http: httpx.AsyncClient, method: str, path: str, *, status: int = 200, **sent: Any) -> dict[str, Any]:
    reply = await http.request(method, f"/knowledge{path}", **sent)
    assert reply.status_code == status, reply.text
    replied: dict[str, Any] = reply.json()
    return replied


async def ingest(http: httpx.AsyncClient, corpus: str, text: str, uri: str) -> None:
    body = {"text": text, "source_uri": uri, "wait": True}
    await call(http, "POST", f"/base/{corpus}/ingest", json=body)


async def build(http: httpx.AsyncClient, corpus: str, **body: Any) -> dict[str, Any]:
    run = await call(http, "POST", f"/graph/{corpus}/build", status=202, json=body)
    async with asyncio.timeout(30):
        while (shown := await call(http, "GET", f"/pipelines/{run['run_id']}"))["status"] in ("queued", "running"):
            await asyncio.sleep(0.02)
    assert shown["status"] == "completed", shown["error"]
    return shown


@pytest.fixture
async def corpus(http: httpx.AsyncClient) -> str:
    created = await call(http, "POST", "/base", status=201, json={"name": "companies"})
    corpus = str(created["corpus_id"])
    await ingest(http, corpus, TEXT, "m://1")
    return corpus


async def nodes_of(http: httpx.AsyncClient, corpus: str, **params: Any) -> dict[str, dict[str, Any]]:
    view = await call(http, "GET", f"/graph/{corpus}", params=params)
    return {node["name"]: node for node in view["nodes"]}


async def test_a_graph_is_built_asked_updated_and_rolled_back(http: httpx.AsyncClient, corpus: str) -> None:
    run = await build(http, corpus)
    assert (run["kind"], run["output"]["version"], run["input"]["mode"]) == ("knowledge_graph", 1, "incremental")
    names = await nodes_of(http, corpus)
    person, company = names["王小明"]["node_id"], names["台積電"]["node_id"]
    path = f"/graph/{corpus}/nodes/{person}"
    near = await call(http, "GET", f"{path}/neighbours", params={"hops": 1})
    assert "台積電" in {node["name"] for node in near["nodes"]}
    [edge] = [edge for edge in near["edges"] if edge["type"] == "works_at"]
    [evidence] = (await call(http, "GET", f"/graph/{corpus}/edges/{edge['edge_id']}/evidence"))["results"]
    assert (evidence["source_uri"], evidence["by"], evidence["page"]) == ("m://1", "pattern", 1)
    assert (await call(http, "GET", f"{path}/evidence"))["results"][0]["spans"] == [{"start": 0, "end": 3}]
    ends = {"source": person, "target": company}
    [way] = (await call(http, "GET", f"/graph/{corpus}/paths", params=ends))["results"]
    assert [node["name"] for node in way["nodes"]] == ["王小明", "台積電"]
    [first, *_] = (await call(http, "GET", f"/graph/{corpus}/nodes", params={"name": "台积电"}))["results"]
    assert (first["node"]["node_id"], first["match"]) == (company, "exact")
    assert (await call(http, "GET", f"/graph/{corpus}/communities"))["results"]
    await ingest(http, corpus, "Alice lives in Berlin.", "m://2")
    assert (await build(http, corpus))["output"]["extracted"] == 1
    assert "Berlin" in await nodes_of(http, corpus)
    back = await call(http, "POST", f"/graph/{corpus}/rollback", json={"expected_version": 2})
    assert (back["version"], back["active"]) == (1, True)
    assert "Berlin" not in await nodes_of(http, corpus)
    assert "Berlin" in await nodes_of(http, corpus, version=2)
    shown = await call(http, "POST", f"/graph/{corpus}/versions/2/activate", json={})
    assert shown["active"]
    versions = (await call(http, "GET", f"/graph/{corpus}/versions"))["results"]
    assert [(version["version"], version["active"]) for version in versions] == [(2, True), (1, False)]


async def test_corrections_are_written_back(http: httpx.AsyncClient, corpus: str) -> None:
    await build(http, corpus)
    removed = (await nodes_of(http, corpus))["王小明"]["node_id"]
    body = {"edges": [{"source": "台積電", "target": "鴻海", "type": "supplies"}], "remove": [removed]}
    written = await call(http, "POST", f"/graph/{corpus}/write-back", json=body | {"expected_version": 1})
    assert (written["version"], written["removed"]) == (2, [removed])
    names = await nodes_of(http, corpus)
    assert ("王小明" in names, "鴻海" in names) == (False, True)
    await call(http, "POST", f"/graph/{corpus}/write-back", status=409, json=body | {"expected_version": 1})
    same = {"edges": [{"source": "台積電", "target": "台积电"}]}
    problem = await call(http, "POST", f"/graph/{corpus}/write-back", status=422, json=same)
    assert "one node" in problem["detail"]


async def test_a_node_shows_what_the_memory_of_one_user_has_of_it(http: httpx.AsyncClient, corpus: str) -> None:
    await build(http, corpus)
    node_id = (await nodes_of(http, corpus))["台積電"]["node_id"]
    for user, value in (("ann", "台积电"), ("bob", "鴻海")):
        body = {"user_id": user, "entity_value": value}
        assert (await http.post("/entities", json=body)).status_code == 200
    path = f"/graph/{corpus}/nodes/{node_id}/memory"
    [link] = (await call(http, "GET", path, params={"user_id": "ann"}))["results"]
    assert (link["entity"]["user_id"], link["entity"]["entity_value"]) == ("ann", "台积电")
    assert (await call(http, "GET", path, params={"user_id": "bob"}))["results"] == []
    await call(http, "GET", path, status=422)


@pytest.mark.parametrize(
    ("path", "title"),
    [
        (f"/graph/{MISSING}", "CorpusNotFound"),
        (f"/graph/{MISSING}/versions", "CorpusNotFound"),
        ("/graph/{corpus}", "KnowledgeNotFound"),
        (f"/graph/{{corpus}}/nodes/{MISSING}/neighbours", "KnowledgeNotFound"),
        (f"/graph/{{corpus}}/edges/{MISSING}/evidence", "KnowledgeNotFound"),
    ],
)
async def test_what_is_not_there_is_404(http: httpx.AsyncClient, corpus: str, path: str, title: str) -> None:
    problem = await call(http, "GET", path.format(corpus=corpus), status=404)
    assert problem["title"] == title


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("?limit=0", "limit"),
        ("?limit=1001", "limit"),
        ("?version=0", "version"),
        ("/nodes", "name"),
        ("/nodes?name=x&match=like", "match"),
        ("/nodes/x/neighbours?hops=3", "hops"),
        ("/paths?source=a&target=b&hops=9", "hops"),
    ],
)
async def test_bad_parameters_are_named(http: httpx.AsyncClient, corpus: str, path: str, field: str) -> None:
    problem = await call(http, "GET", f"/graph/{corpus}{path}", status=422)
    assert field in problem["detail"]


async def test_a_strategy_that_the_service_has_not_is_named(http: httpx.AsyncClient, corpus: str) -> None:
    problem = await call(http, "POST", f"/graph/{corpus}/build", status=422, json={"strategy": "model"})
    assert "patterns" in str(problem)


async def test_another_app_sees_nothing_of_a_graph(http: httpx.AsyncClient, corpus: str) -> None:
    run = await build(http, corpus)
    other = {"X-Jiyi-App": "clinic"}
    for path in ("", "/versions", "/nodes?name=台積電", "/communities"):
        problem = await call(http, "GET", f"/graph/{corpus}{path}", status=404, headers=other)
        assert problem["title"] == "CorpusNotFound"
    for path in ("/build", "/rollback", "/write-back", "/versions/1/activate"):
        await call(http, "POST", f"/graph/{corpus}{path}", status=404, headers=other, json={})
    assert run["app"] == "default"


async def test_a_record_that_is_away_is_a_database_error(
    http: httpx.AsyncClient, corpus: str, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("The record is away.", component="record")

    monkeypatch.setattr(services.record, "reading", away)
    problem = await call(http, "GET", f"/graph/{corpus}/versions", status=500)
    assert problem["title"] == "DatabaseError"
