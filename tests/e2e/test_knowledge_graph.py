"""Documents in three languages become a graph, over HTTP as a product's backend uses it (004 §8, §11.2)."""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.e2e.conftest import Service

pytestmark = pytest.mark.e2e
_PATIENCE_S = 240
_DOCUMENTS = 60
TEXTS = {
    "zh-Hant": "張忠謀在台積電工作。台積電位於新竹。",
    "zh-Hans": "任正非在华为工作。华为位于深圳。",
    "en": "Tim Cook works at Apple. Apple is located in Cupertino.",
}
NAMES = {"zh-Hant": ("張忠謀", "台積電", "新竹"), "zh-Hans": ("任正非", "华为", "深圳"), "en": ("Tim Cook", "Apple")}


class Graph:
    """The calls of a backend on the graph of one corpus."""

    def __init__(self, http: httpx.Client, name: str) -> None:
        self.http = http
        self.corpus = str(self.call("POST", "/base", json={"name": name})["corpus_id"])

    def call(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        reply = self.http.request(method, f"/knowledge{path}", **sent)
        assert reply.status_code in (200, 201, 202), f"{path}: {reply.text}"
        return dict(reply.json())

    def ingest(self, text: str, uri: str) -> None:
        body = {"text": text, "source_uri": uri, "wait": True}
        [source] = self.call("POST", f"/base/{self.corpus}/ingest", json=body)["results"]
        assert source["state"] == "ready", source

    def start(self, **body: Any) -> str:
        return str(self.call("POST", f"/graph/{self.corpus}/build", json=body)["run_id"])

    def ended(self, run_id: str) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE_S
        while (run := self.call("GET", f"/pipelines/{run_id}"))["status"] in ("queued", "running"):
            assert time.monotonic() < end, run
            time.sleep(0.2)
        assert run["status"] == "completed", run
        return run

    def get(self, part: str = "", **params: Any) -> dict[str, Any]:
        return self.call("GET", f"/graph/{self.corpus}{part}", params=params)

    def names(self) -> dict[str, str]:
        return {node["name"]: node["node_id"] for node in self.get(limit=1000)["nodes"]}


@pytest.fixture
def http(service: Service) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{service.port}", timeout=120) as client:
        yield client


def test_a_graph_of_three_languages_is_built_asked_updated_and_rolled_back(http: httpx.Client) -> None:
    graph = Graph(http, "companies")
    for language, text in TEXTS.items():
        graph.ingest(text, f"text:{language}")
    run = graph.ended(graph.start())
    assert (run["output"]["sources"], run["output"]["extracted"]) == (3, 3)
    ids = graph.names()
    for language, names in NAMES.items():
        assert ids.keys() >= {*names}, f"{language}: {sorted(ids)}"
        person, company = ids[names[0]], ids[names[1]]
        near = graph.get(f"/nodes/{person}/neighbours")
        assert names[1] in {node["name"] for node in near["nodes"]}
        [way, *_] = graph.get("/paths", source=person, target=company)["results"]
        assert [node["name"] for node in way["nodes"]] == [*names[:2]]
        [edge, *_] = [edge for edge in near["edges"] if {edge["source_id"], edge["target_id"]} == {person, company}]
        [evidence, *_] = graph.get(f"/edges/{edge['edge_id']}/evidence")["results"]
        assert evidence["source_uri"] == f"text:{language}"
        [span] = evidence["spans"]
        start = span["start"] - evidence["quote_start"]
        assert names[0] in evidence["quote"][start : start + span["end"] - span["start"]]
    [first, *_] = graph.get("/nodes", name="台积电")["results"]
    assert (first["node"]["name"], first["match"]) == ("台積電", "exact")
    graph.ingest("魏哲家在台積電工作。", "text:zh-Hant")
    updated = graph.ended(graph.start())
    assert updated["output"]["extracted"] == 1
    assert "新竹" not in graph.names()
    assert graph.call("POST", f"/graph/{graph.corpus}/rollback", json={"expected_version": 2})["version"] == 1
    assert "新竹" in graph.names()
    assert graph.get("/communities")["results"]
    graph.call("DELETE", f"/base/{graph.corpus}")
    assert http.get(f"/knowledge/graph/{graph.corpus}").status_code == 404


def test_a_build_survives_a_killed_learner_with_nothing_twice(service: Service, http: httpx.Client) -> None:
    graph = Graph(http, "meetings")
    for number in range(_DOCUMENTS):
        graph.ingest(f"Alice Chen met Bob Miller in Berlin on day {number}.", f"day:{number}")
    run_id = graph.start()
    end = time.monotonic() + _PATIENCE_S
    while graph.call("GET", f"/pipelines/{run_id}")["done"] == 0:
        assert time.monotonic() < end
        time.sleep(0.02)
    service.kill(lambda name: "Learner" in name)
    run = graph.ended(run_id)
    assert (run["output"]["version"], run["output"]["chunks"]) == (1, _DOCUMENTS)
    [node] = [node for node in graph.get()["nodes"] if node["name"] == "Berlin"]
    assert (node["chunks"], node["mentions"]) == (_DOCUMENTS, _DOCUMENTS)
    assert [version["version"] for version in graph.get("/versions")["results"]] == [1]
