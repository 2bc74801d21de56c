"""The HTTP surface: what each endpoint does for a caller."""

import base64
from typing import Any

import httpx
import numpy as np
import pytest
from httpx_sse import aconnect_sse

from deployments.http.support.services import Services
from memory.values.errors import Overloaded, StoreUnavailable, Unavailable
from memory.values.understanding.readings import FactSpan, Qualifier, ReadRequest, StatedFact
from testing.fakes.reader import read_one


async def _post(http: httpx.AsyncClient, path: str, **body: Any) -> dict[str, Any]:
    reply = await http.post(path, json=body)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


async def _events(http: httpx.AsyncClient, **body: Any) -> list[tuple[str, Any]]:
    """Names and data of the events that `/chat` streams; anything but an event stream is an error."""
    async with aconnect_sse(http, "POST", "/chat", json=body | {"stream": True}) as source:
        return [(event.event, event.json()) async for event in source.aiter_sse()]


async def test_a_conversation_over_http(http: httpx.AsyncClient) -> None:
    await _post(http, "/chat", user_id="ann", message="我們公司買了 AI-Box，放在三樓機房。", wait=True)
    reply = await _post(http, "/chat", user_id="ann", message="它放在哪裡？")
    assert reply["resolved_query"] == "AI-Box 放在哪裡？"
    assert reply["resolution"]["resolutions"][0]["source"] == "session"
    assert "三樓機房" in reply["reply"]
    assert reply["answered_by"] == "extractive"
    assert {"vector", "keyword", "freshness"} <= set(reply["sources"][0]["parts"])
    assert reply["degraded"] == []


async def test_a_conversation_of_before_has_its_own_times(http: httpx.AsyncClient) -> None:
    said = {"user_id": "ann", "created_at": "2024-05-01T09:00:00Z"}
    await _post(http, "/chat", message="The spare key is in the blue drawer.", wait=True, **said)
    await _post(http, "/chat/after", message="The old bicycle is in the cellar.", reply="All right.", **said)
    for query in ("spare key", "old bicycle"):
        found = await _post(http, "/search", user_id="ann", query=query, kinds=["memory"])
        assert found["results"][0]["created_at"] == "2024-05-01T09:00:00Z"
    reply = await _post(http, "/chat", user_id="ann", message="Where is the spare key?", session_id="later")
    assert "2024-05-01" in reply["reply"]


async def test_the_same_as_events(http: httpx.AsyncClient) -> None:
    await _post(http, "/chat", user_id="ann", message="The spare key is in the blue drawer.", wait=True)
    events = await _events(http, user_id="ann", message="Where is the spare key?")
    names = [name for name, _ in events]
    assert names[:2] == ["resolution", "sources"]
    assert names[-1] == "done"
    assert "".join(data["text"] for name, data in events if name == "delta") == events[-1][1]["reply"]
    assert "blue drawer" in events[-1][1]["reply"]


async def test_resolve_with_a_history_stores_nothing(http: httpx.AsyncClient, services: Services) -> None:
    reply = await _post(
        http,
        "/resolve",
        user_id="ann",
        query="Is it expensive?",
        history=[{"content": "We looked at the AI-Box yesterday."}],
    )
    assert reply["resolved_query"] == "Is the AI-Box expensive?" or "AI-Box" in reply["resolved_query"]
    assert (await services.record.backlog.counts())["resources"] == 0
    assert (await services.sessions.load("default", user_id="ann")).turns == ()


async def test_replies_say_what_was_understood(http: httpx.AsyncClient, services: Services) -> None:
    text = "咖啡機下週要搬到三樓"
    fact = StatedFact(
        subject=FactSpan(text="咖啡機", start=0, end=3),
        predicate="stored_in",
        object=FactSpan(text="三樓", start=8, end=10),
        qualifiers=(Qualifier.PLANNED,),
        time=FactSpan(text="下週", start=3, end=5),
        confidence=0.9,
    )
    reading = read_one(ReadRequest(text=text)).model_copy(update={"facts": (fact,)})
    services.extractor._extractor._reader.scripted[text] = reading  # type: ignore[attr-defined]
    shown = {
        "subject": "咖啡機",
        "predicate": "stored_in",
        "object": "三樓",
        "qualifiers": ["planned"],
        "time": "下週",
        "confidence": 0.9,
    }
    for path, field in (("/chat", "message"), ("/chat/before", "message"), ("/resolve", "query")):
        reply = await _post(http, path, user_id="ann", **{field: text})
        assert (reply["action"], reply["intents"], reply["facts"]) == ("keep", ["statement"], [shown])
    reply = await _post(http, "/entities/extract", user_id="ann", text=text)
    assert (reply["intents"], reply["facts"]) == (["statement"], [shown])
    await _post(http, "/chat", user_id="ann", message="我們買了 AI-Box。")
    reply = await _post(http, "/resolve", user_id="ann", query="它多少錢？")
    assert (reply["action"], reply["intents"], reply["resolved_query"]) == ("rewrite", ["question"], "AI-Box 多少錢？")
    events = await _events(http, user_id="ann", message="它多少錢？")
    assert (events[0][1]["action"], events[-1][1]["action"]) == ("rewrite", "rewrite")


@pytest.mark.parametrize(("path", "field"), [("/chat", "message"), ("/chat/before", "message"), ("/resolve", "query")])
async def test_a_busy_reader_refuses_and_nothing_is_stored(
    http: httpx.AsyncClient, services: Services, path: str, field: str
) -> None:
    services.extractor._extractor._reader.error = Overloaded("The reader's queue is full.", retry_after_s=3)  # type: ignore[attr-defined]
    reply = await http.post(path, json={"user_id": "ann", field: "它多少錢？"})
    assert (reply.status_code, reply.headers["retry-after"]) == (429, "3")
    assert (await services.record.backlog.counts())["resources"] == 0


async def test_resolve_in_a_session_reads_that_session(http: httpx.AsyncClient) -> None:
    await _post(http, "/chat", user_id="ann", session_id="s9", message="我們公司買了 AI-Box。")
    assert (await _post(http, "/resolve", user_id="ann", session_id="s9", query="它多少錢？"))[
        "resolved_query"
    ] == "AI-Box 多少錢？"
    assert (await _post(http, "/resolve", user_id="ann", session_id="s8", query="它多少錢？"))["resolutions"] == []


async def test_extract_gives_offsets_and_stores_only_when_asked(http: httpx.AsyncClient) -> None:
    text = "請用 RM05-008 測試"
    reply = await _post(http, "/entities/extract", user_id="ann", text=text)
    [mention] = [candidate for candidate in reply["mentions"] if candidate["level"] == "L2"]
    assert text[mention["start"] : mention["end"]] == mention["text"] == "RM05-008"
    assert reply["stored"] == []
    assert (await http.get("/entities", params={"user_id": "ann", "limit": 5})).json()["results"] == []
    stored = await _post(http, "/entities/extract", user_id="ann", text=text, store=True)
    assert [entity["entity_value"] for entity in stored["stored"]] == ["RM05-008"]


async def test_memories_come_back_with_their_metadata(http: httpx.AsyncClient) -> None:
    added = await _post(
        http, "/memories", user_id="ann", text="The spare key is in the blue drawer.", metadata={"room": "kitchen"}
    )
    [hit] = (await _post(http, "/search", user_id="ann", query="spare key", filters={"metadata": {"room": "kitchen"}}))[
        "results"
    ]
    assert hit["id"] == added["results"][0]["id"]
    assert hit["metadata"] == {"room": "kitchen"}
    none = await _post(http, "/search", user_id="ann", query="spare key", filters={"metadata": {"room": "hall"}})
    assert none["results"] == []


async def test_turns_with_ids_are_kept_once(http: httpx.AsyncClient) -> None:
    messages = [{"content": "We use RM05-008.", "turn_id": "1"}, {"role": "assistant", "content": "OK", "turn_id": "2"}]
    first = await _post(http, "/memories", user_id="ann", messages=messages)
    again = await _post(http, "/memories", user_id="ann", messages=messages)
    assert [item["id"] for item in first["results"]] == [item["id"] for item in again["results"]]
    [entity] = (await http.get("/entities", params={"user_id": "ann"})).json()["results"]
    assert entity["mention_count"] == 1


@pytest.mark.parametrize("path", ["/chat", "/chat/after", "/memories", "messages"])
async def test_an_id_of_a_turn_belongs_to_one_text(http: httpx.AsyncClient, services: Services, path: str) -> None:
    def body(text: str) -> dict[str, Any]:
        if path == "messages":
            first = {"content": f"Before: {text}.", "turn_id": f"before {text}"}
            return {"user_id": "ann", "messages": [first, {"content": text, "turn_id": "1"}]}
        return {"user_id": "ann", "text" if path == "/memories" else "message": text, "turn_id": "1"}

    address = "/memories" if path == "messages" else path
    await _post(http, address, **body("The key is blue."))
    counts = await services.record.backlog.counts()
    await _post(http, address, **body("The key is blue."))
    refused = await http.post(address, json=body("The key is red."))
    assert (refused.status_code, refused.json()["title"]) == (409, "Conflict")
    assert "turn_id" in refused.json()["detail"]
    assert await services.record.backlog.counts() == counts


async def test_what_cannot_be_learned_now_is_acknowledged_all_the_same(
    http: httpx.AsyncClient, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*, user_id: str) -> None:
        raise Unavailable("gone", component="learner")

    monkeypatch.setattr(services.additions._learning, "learn", down)
    added = await _post(http, "/memories", user_id="ann", text="The spare key is in the blue drawer.")
    assert added["learned"] is None
    hits = (await _post(http, "/search", user_id="ann", query="spare key"))["results"]
    assert [hit["id"] for hit in hits] == [added["results"][0]["id"]]


@pytest.mark.parametrize("encoding", ["float", "base64"])
async def test_embeddings_look_as_openai_s_clients_expect(http: httpx.AsyncClient, encoding: str) -> None:
    reply = await _post(http, "/v1/embeddings", input=["one", "兩個"], model="fake", encoding_format=encoding)
    assert reply["object"] == "list"
    assert [item["index"] for item in reply["data"]] == [0, 1]
    vectors = [
        np.frombuffer(base64.b64decode(item["embedding"]), "<f4") if encoding == "base64" else item["embedding"]
        for item in reply["data"]
    ]
    assert np.linalg.norm(np.asarray(vectors), axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert reply["usage"]["total_tokens"] > 0


async def test_one_text_and_a_list_of_it_are_encoded_alike(http: httpx.AsyncClient) -> None:
    single = await _post(http, "/v1/embeddings", input="記憶", input_type="passage")
    many = await _post(http, "/v1/embeddings", input=["記憶"], input_type="passage")
    assert single["data"] == many["data"]


async def test_the_metrics_have_the_names_of_the_specification(http: httpx.AsyncClient) -> None:
    await _post(http, "/chat", user_id="ann", message="我們買了 AI-Box。", wait=True)
    await _post(http, "/chat", user_id="ann", message="它多少錢？")
    text = (await http.get("/metrics")).text
    for name in (
        'entity_memory_resolve_latency_ms_count{replica="local"} 2.0',
        "entity_memory_extract_latency_ms_count",
        'entity_memory_search_latency_ms_count{replica="local"} 2.0',
        'entity_memory_resolutions_success_total{replica="local"} 1.0',
        "entity_memory_resolutions_failed_total",
        "entity_memory_extractions_count",
        "entity_memory_recall_hits_total",
        "entity_memory_recall_misses_total",
        "entity_memory_storage_count",
        "entity_memory_storage_size_bytes",
    ):
        assert name in text, name


async def test_health(http: httpx.AsyncClient, services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await http.get("/health/live")).json() == {"status": "alive"}
    assert (await http.get("/health/ready")).status_code == 200
    assert (await http.get("/health/detailed")).json()["status"] == "ok"

    async def down() -> dict[str, float]:
        raise Unavailable("gone", component="record")

    monkeypatch.setitem(services.probes, "record", down)
    assert (await http.get("/health/live")).status_code == 200
    ready = await http.get("/health/ready")
    assert (ready.status_code, ready.json()["down"]) == (503, ["record"])
    detailed = (await http.get("/health/detailed")).json()
    assert (detailed["status"], detailed["not_ok"]) == ("degraded", ["record"])


async def test_outages_and_overload_have_their_own_answers(
    http: httpx.AsyncClient, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error, status, retry in [
        (StoreUnavailable("disk full", component="record"), 503, "1"),
        (Overloaded("busy", retry_after_s=2.5), 429, "3"),
    ]:

        async def fail(*_: Any, error: Exception = error, **__: Any) -> None:
            raise error

        monkeypatch.setattr(services.additions, "add", fail)
        reply = await http.post("/memories", json={"user_id": "ann", "text": "x"})
        assert (reply.status_code, reply.headers["retry-after"]) == (status, retry)
        assert reply.headers["content-type"] == "application/problem+json"


def _examples(page: dict[str, Any], method: dict[str, Any]) -> list[dict[str, Any]]:
    """Bodies to send; an empty one where the method takes none."""
    if "requestBody" not in method:
        return [{}]
    if "application/json" not in method["requestBody"]["content"]:
        return []  # JSON lines: `test_portability_http`
    reference = method["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    examples: list[dict[str, Any]] = page["components"]["schemas"][reference.rsplit("/", 1)[-1]]["examples"]
    return examples


_ENDINGS = ("/index/reembed/rollback", "/index/reembed/finish", "/keys/{key_id}/rotate", "/memories/audit")
"""They need a run that is at rest, a key, or a memory: `test_{index,keys,retention}_http`; others in the same way a
corpus or a run: `test_{knowledge,pipelines}_http`."""


async def test_every_example_of_the_api_page_runs(http: httpx.AsyncClient, services: Services) -> None:
    page = (await http.get("/openapi.json")).json()
    requests = 0
    for path, methods in page["paths"].items():
        if "post" not in methods or path in _ENDINGS or "{corpus_id}" in path or "{run_id}" in path:
            continue
        if "{conversation_id}" in path:
            continue
        for example in _examples(page, methods["post"]):
            body = example | ({"model": "fake"} if path == "/v1/embeddings" else {})
            named = path.replace("{kind}", "nightly").replace("{vector_store_id}", "memory")
            headers = {"X-Jiyi-User": "ada"} if path.startswith("/v1/") else {}
            reply = await http.post(named, json=body, headers=headers)
            assert reply.is_success, f"{path}: {reply.text}"
            await services.index.close()  # type: ignore[attr-defined]
            requests += 1
    assert requests >= 6
    assert (await http.get("/docs")).status_code == 200


async def test_an_open_reference_is_asked_about_in_every_way_of_asking(http: httpx.AsyncClient) -> None:
    session = {"user_id": "ann", "session_id": "s"}
    await _post(http, "/chat", **session, message="We run Grafana and Jenkins.", wait=True)
    resolution = await _post(http, "/resolve", **session, query="Which port does it use?")
    assert resolution["clarification"]["question"] == "By “it”, do you mean Grafana or Jenkins?"
    assert [option["text"] for option in resolution["clarification"]["options"]] == ["Grafana", "Jenkins"]
    names = [name for name, _ in await _events(http, **session, message="Which port does it use?")]
    assert names[:3] == ["resolution", "clarification", "sources"]
    reply = await _post(http, "/chat", **session, message="Which port does it use?")
    assert reply["reply"] == reply["clarification"]["question"] == resolution["clarification"]["question"]
    answered = await _post(http, "/chat", **session, message="the second one")
    assert (answered["resolved_query"], answered["clarification"]) == ("Which port does Jenkins use?", None)


async def test_a_session_shows_what_was_resolved_and_corrected(http: httpx.AsyncClient) -> None:
    session_fields = {"user_id": "ann", "session_id": "s"}
    for message in ("I tried Redis.", "I bought an AI-Box.", "Is it fast?", "No, I meant Redis."):
        await _post(http, "/chat", **session_fields, message=message, wait=True)
    session = (await http.get("/sessions/s", params={"user_id": "ann"})).json()
    wrong, right = session["context"]["coreference_history"]
    assert (wrong["original_text"], wrong["corrected"], right["resolved_text"]) == ("it", "Redis", "Redis")
    assert {"source", "confidence", "entity_id"} <= set(right)
    assert session["context"]["last_referred_entity"] == right["entity_id"]
    assert [turn["role"] for turn in session["turns"]] == ["user", "assistant"] * 4
    other_session = (await http.get("/sessions/s", params={"user_id": "bob"})).json()
    assert (other_session["turns"], other_session["context"]["coreference_history"]) == ([], [])
