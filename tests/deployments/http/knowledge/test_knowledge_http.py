"""The knowledge base over HTTP (004 §6.3, §11.1)."""

import json
from typing import Any

import httpx
import pytest
import structlog

from deployments.config.access_settings import LimitArgs
from deployments.http.support.services import Services
from memory.values.errors import StoreUnavailable
from tests.deployments.serving import serving

MANUAL = "# 保固\n\n保固期為兩年，電池不在保固範圍內。\n\n# Delivery\n\nDelivery takes three days."
MISSING = "00000000-0000-0000-0000-000000000000"


async def post(http: httpx.AsyncClient, path: str, *, status: int = 200, **body: Any) -> dict[str, Any]:
    reply = await http.post(f"/knowledge{path}", json=body)
    assert reply.status_code == status, reply.text
    replied: dict[str, Any] = reply.json()
    return replied


async def get(http: httpx.AsyncClient, path: str) -> dict[str, Any]:
    reply = await http.get(f"/knowledge{path}")
    assert reply.status_code == 200, reply.text
    replied: dict[str, Any] = reply.json()
    return replied


@pytest.fixture
async def corpus(http: httpx.AsyncClient) -> str:
    created = await post(http, "/base", status=201, name="manuals", description="操作手冊")
    return str(created["corpus_id"])


async def ingest(http: httpx.AsyncClient, corpus: str, text: str, uri: str = "m://1", **body: Any) -> dict[str, Any]:
    reply = await post(http, f"/base/{corpus}/ingest", text=text, source_uri=uri, wait=True, **body)
    [source] = reply["results"]
    assert source["state"] == "ready", source
    return dict(source)


class TestCorpora:
    async def test_a_corpus_is_made_listed_changed_rolled_back_and_deleted(
        self, http: httpx.AsyncClient, corpus: str
    ) -> None:
        [listed] = (await get(http, "/base"))["results"]
        assert (listed["name"], listed["chunk_count"], listed["version"]) == ("manuals", 0, 1)
        search = listed["config"]["search"]
        assert (search["mode"], search["rrf_k"], search["reranking"]) == ("hybrid", 60, "none")
        changes = {"config": {"search": {"mode": "rrf"}, "chunking": {"chunk_size": 200}}, "expected_version": 1}
        changed = (await http.patch(f"/knowledge/base/{corpus}", json=changes)).json()
        assert (changed["config_version"], changed["config"]["chunking"]["overlap"]) == (2, 20)
        assert (await http.patch(f"/knowledge/base/{corpus}", json=changes)).status_code == 409
        back = await post(http, f"/base/{corpus}/rollback", version=1)
        assert (back["config"], back["config_version"]) == (listed["config"], 3)
        versions = (await get(http, f"/base/{corpus}/versions"))["results"]
        assert [version["restored"] for version in versions] == [1, None, None]
        await ingest(http, corpus, MANUAL)
        deleted = (await http.delete(f"/knowledge/base/{corpus}")).json()
        assert deleted["chunks"] > 0
        assert (await http.get(f"/knowledge/base/{corpus}")).status_code == 404
        assert (await get(http, "/base"))["results"] == []

    async def test_a_name_is_given_once(self, http: httpx.AsyncClient, corpus: str) -> None:
        await post(http, "/base", status=409, name="manuals")

    async def test_another_app_sees_nothing(self, http: httpx.AsyncClient, corpus: str) -> None:
        await ingest(http, corpus, MANUAL)
        other = {"X-Jiyi-App": "clinic"}
        assert (await http.get("/knowledge/base", headers=other)).json()["results"] == []
        for method, path in (
            ("GET", ""),
            ("DELETE", ""),
            ("POST", "/search"),
            ("POST", "/ingest"),
            ("GET", "/sources"),
        ):
            body = {"query": "保固"} if path == "/search" else {"text": "x"}
            sent = body if method == "POST" else None
            reply = await http.request(method, f"/knowledge/base/{corpus}{path}", headers=other, json=sent)
            assert (reply.status_code, reply.json()["title"]) == (404, "CorpusNotFound")
        found = await http.post("/knowledge/search", json={"query": "保固"}, headers=other)
        assert found.json()["results"] == []


class TestIngestion:
    async def test_a_text_is_ingested_skipped_updated_and_rolled_back(
        self, http: httpx.AsyncClient, corpus: str
    ) -> None:
        first = await ingest(http, corpus, "The warranty lasts two years.", metadata={"year": 2025})
        assert (first["version"], first["skipped"], first["chunk_count"]) == (1, False, 1)
        again = await ingest(http, corpus, "The warranty lasts two years.", metadata={"year": 2025})
        assert (again["version"], again["skipped"]) == (1, True)
        assert (await ingest(http, corpus, "The warranty lasts three years."))["version"] == 2
        [source] = (await get(http, f"/base/{corpus}/sources"))["results"]
        assert (source["source_uri"], source["version"], source["metadata"]) == ("m://1", 2, {})
        path = f"/base/{corpus}/sources/{source['source_id']}"
        await post(http, f"{path}/rollback", status=409, version=1, expected_version=1)
        [back] = (await post(http, f"{path}/rollback", version=1, wait=True))["results"]
        assert (back["version"], back["state"]) == (1, "ready")
        [hit] = (await post(http, f"/base/{corpus}/search", query="warranty"))["results"]
        assert (hit["content"], hit["metadata"]) == ("The warranty lasts two years.", {"year": 2025})
        assert [each["version"] for each in (await get(http, f"{path}/versions"))["results"]] == [2, 1]
        assert (await http.delete(f"/knowledge{path}")).json() == {"chunks": 2}
        assert (await get(http, f"/base/{corpus}/sources"))["results"] == []

    async def test_files_of_a_form_are_ingested_and_a_bad_one_fails_alone(
        self, http: httpx.AsyncClient, corpus: str
    ) -> None:
        files = [
            ("file", ("manual.md", MANUAL.encode(), "text/markdown")),
            ("file", ("broken.bin", b"\xff\xfe[[[,,," * 10_000, "application/octet-stream")),
        ]
        form = {"metadata": json.dumps({"lang": "zh"}), "wait": "true"}
        reply = await http.post(f"/knowledge/base/{corpus}/ingest", files=files, data=form)
        assert reply.status_code == 200, reply.text
        good, bad = reply.json()["results"]
        assert (good["source_uri"], good["state"], good["error"]) == ("manual.md", "ready", None)
        assert (bad["source_uri"], bad["state"]) == ("broken.bin", "failed")
        assert bad["error"].startswith("UnreadableDocumentError: ")
        hit = (await post(http, f"/base/{corpus}/search", query="電池的保固"))["results"][0]
        assert (hit["source_uri"], hit["page"], hit["headings"], hit["metadata"]) == (
            "manual.md", 1, ["保固"], {"lang": "zh"}
        )  # fmt: skip
        content = hit["content"]
        assert "電池" in [content[span["start"] : span["end"]] for span in hit["highlights"]]
        assert {"semantic", "keyword", "cosine", "bm25"} <= hit["parts"].keys()

    async def test_without_waiting_the_reply_names_the_run(
        self, http: httpx.AsyncClient, corpus: str, services: Services
    ) -> None:
        [source] = (await post(http, f"/base/{corpus}/ingest", status=202, text="text"))["results"]
        assert (source["state"], source["skipped"]) == ("pending", False)
        await post(http, f"/base/{corpus}/ingest", text="text", wait=True)
        run = await services.record.runs.get(source["run_id"])
        assert run is not None
        assert run.input["source_id"] == source["source_id"]

    @pytest.mark.parametrize(
        ("form", "field"),
        [
            ({"metadata": "[1]"}, "metadata"),
            ({"metadata": "{"}, "metadata"),
            ({"wait": "perhaps"}, "wait"),
            ({"other": "1"}, "other"),
        ],
    )
    async def test_a_bad_field_of_a_form_is_named(
        self, http: httpx.AsyncClient, corpus: str, form: dict[str, str], field: str
    ) -> None:
        files = {"file": ("a.txt", b"text", "text/plain")}
        reply = await http.post(f"/knowledge/base/{corpus}/ingest", files=files, data=form)
        assert reply.status_code == 422, reply.text
        assert [error["field"] for error in reply.json()["errors"]] == [field]

    @pytest.mark.parametrize(
        ("path", "body", "field"),
        [
            ("/base", {"name": ""}, "name"),
            ("/base", {"name": "n" * 257}, "name"),
            ("/base", {"name": "x", "description": "d" * 4_097}, "description"),
            ("/ingest", {"text": ""}, "text"),
            ("/ingest", {"text": "x", "source_uri": "a\nb"}, "source_uri"),
            ("/ingest", {"text": "x", "source_uri": "u" * 2_049}, "source_uri"),
            ("/ingest", {"text": "x", "wait": "yes"}, "wait"),
            ("/search", {"query": ""}, "query"),
            ("/search", {"query": "x", "corpus_ids": []}, "corpus_ids"),
            ("/search", {"query": "x", "corpus_ids": ["c"] * 101}, "corpus_ids"),
            ("/search", {"query": "x", "filters": {"metadata": {f"m{n}": 1 for n in range(33)}}}, "filters.metadata"),
        ],
    )
    async def test_a_field_of_a_body_that_is_out_of_its_bounds_is_named(
        self, http: httpx.AsyncClient, corpus: str, path: str, body: dict[str, Any], field: str
    ) -> None:
        place = f"/base/{corpus}/ingest" if path == "/ingest" else path
        reply = await post(http, place, status=422, **body)
        assert [error["field"] for error in reply["errors"]] == [field]

    async def test_a_form_has_32_files_at_most_and_names_one_document_alone(
        self, http: httpx.AsyncClient, corpus: str
    ) -> None:
        path = f"/knowledge/base/{corpus}/ingest"
        files = [("file", (f"{number}.txt", b"text", "text/plain")) for number in range(33)]
        assert (await http.post(path, files=files)).status_code in (400, 422)
        two = await http.post(path, files=files[:2], data={"source_uri": "manual://one"})
        assert (two.status_code, two.json()["errors"][0]["field"]) == (422, "source_uri")

    async def test_a_form_without_a_file_and_a_body_that_is_too_large_are_refused(
        self, services: Services, corpus: str
    ) -> None:
        async with serving(services, limits=LimitArgs(file_body_bytes=2_000)) as http:
            path = f"/knowledge/base/{corpus}/ingest"
            no_file = await http.post(path, data={"wait": "true"}, files={"other": b"x"})
            assert (no_file.status_code, no_file.json()["errors"][0]["field"]) == (422, "other")
            assert (await http.post(path, json={"text": "x" * 3_000})).status_code == 413
            assert (
                await http.post(path, content=b"{", headers={"content-type": "application/json"})
            ).status_code == 422


class TestErrors:
    """The tree of 004 §6.3 and its status codes."""

    @pytest.mark.parametrize(
        ("path", "body", "title"),
        [
            ("/base", {"name": "x", "config": {"chunking": {"chunk_size": 0}}}, "InvalidChunkSize"),
            ("/base", {"name": "x", "config": {"chunking": {"chunk_size": 10, "overlap": 6}}}, "InvalidChunkSize"),
            ("/base", {"name": "x", "config": {"search": {"limit": 1001}}}, "InvalidSearchConfig"),
            ("/search", {"query": "x", "semantic_weight": 1.5}, "InvalidSearchConfig"),
            ("/search", {"query": "x", "limit": 0}, "InvalidSearchConfig"),
        ],
    )
    async def test_a_value_out_of_its_range_is_400(
        self, http: httpx.AsyncClient, path: str, body: dict[str, Any], title: str
    ) -> None:
        with structlog.testing.capture_logs() as logs:
            reply = await post(http, path, status=400, **body)
        assert reply["title"] == title
        [line] = [line for line in logs if line["event"] == "validation_error"]
        assert (line["log_level"], line["details"]["error"]) == ("warning", title)

    async def test_metadata_that_the_schema_refuses_is_400(self, http: httpx.AsyncClient) -> None:
        schema = {"required": ["year"], "properties": {"year": {"type": "integer"}}}
        created = await post(http, "/base", status=201, name="strict", config={"metadata_schema": schema})
        path = f"/base/{created['corpus_id']}/ingest"
        reply = await post(http, path, status=400, text="x", metadata={"year": "2026"})
        assert (reply["title"], reply["errors"][0]["field"]) == ("InvalidMetadata", "metadata.year")

    async def test_what_is_not_there_is_404_and_logged(self, http: httpx.AsyncClient, corpus: str) -> None:
        with structlog.testing.capture_logs() as logs:
            assert (await http.get(f"/knowledge/base/{MISSING}")).json()["title"] == "CorpusNotFound"
            reply = await http.delete(f"/knowledge/base/{corpus}/sources/{MISSING}")
            assert (reply.status_code, reply.json()["title"]) == (404, "KnowledgeNotFound")
        events = [(line["event"], line["log_level"]) for line in logs if "details" in line]
        assert events == [("corpus_not_found", "warning"), ("knowledge_not_found", "warning")]

    async def test_another_version_is_409_and_logged(self, http: httpx.AsyncClient, corpus: str) -> None:
        with structlog.testing.capture_logs() as logs:
            reply = await http.patch(f"/knowledge/base/{corpus}", json={"description": "x", "expected_version": 7})
        assert (reply.status_code, reply.json()["title"]) == (409, "VersionConflict")
        assert "version_conflict" in [line["event"] for line in logs]

    async def test_stores_that_are_away_are_500_and_logged(
        self, http: httpx.AsyncClient, corpus: str, services: Services, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away(*_: object, **__: object) -> None:
            raise StoreUnavailable("the file is locked", component="record")

        monkeypatch.setattr(services.record, "reading", away)
        with structlog.testing.capture_logs() as logs:
            reply = await http.get("/knowledge/base")
        assert (reply.status_code, reply.json()["title"]) == (500, "DatabaseError")
        assert ("database_error", "error") in [(line["event"], line["log_level"]) for line in logs]


class TestSearch:
    async def test_several_corpora_are_one_ranking(self, http: httpx.AsyncClient, corpus: str) -> None:
        other = await post(http, "/base", status=201, name="faq")
        await ingest(http, corpus, "The warranty lasts two years.")
        await ingest(http, other["corpus_id"], "辦公室的電話是分機 302。")
        reply = await post(http, "/search", query="辦公室的電話")
        assert (reply["results"][0]["corpus"], len(reply["results"]), reply["mode"]) == ("faq", 2, "hybrid")
        reply = await post(http, "/search", query="辦公室的電話", corpus_ids=[corpus], mode="rrf")
        assert {hit["corpus"] for hit in reply["results"]} == {"manuals"}
        await post(http, "/search", status=404, query="x", corpus_ids=[corpus, MISSING])

    async def test_the_request_goes_before_the_configuration(self, http: httpx.AsyncClient, corpus: str) -> None:
        await http.patch(f"/knowledge/base/{corpus}", json={"config": {"search": {"mode": "keyword", "limit": 1}}})
        await ingest(http, corpus, "The warranty lasts two years.", "m://1", metadata={"year": 2025})
        await ingest(http, corpus, "The warranty of the battery lasts a year.", "m://2", metadata={"year": 2026})
        path = f"/base/{corpus}/search"
        reply = await post(http, path, query="warranty")
        assert (reply["mode"], len(reply["results"])) == ("keyword", 1)
        reply = await post(http, path, query="warranty", mode="semantic", limit=5)
        assert (reply["mode"], len(reply["results"])) == ("semantic", 2)
        reply = await post(http, path, query="warranty", limit=5, filters={"metadata": {"year": [2026, 2027]}})
        assert [hit["source_uri"] for hit in reply["results"]] == ["m://2"]

    async def test_searches_are_counted_and_timed(self, http: httpx.AsyncClient, corpus: str) -> None:
        await ingest(http, corpus, "The warranty lasts two years.")
        reply = await post(http, "/search", query="warranty")
        assert {"embed", "index", "record", "total"} <= reply["took_ms"].keys()
        metrics = (await http.get("/metrics")).text
        assert "knowledge_search_hits_total" in metrics
        assert 'step="index"' in metrics
