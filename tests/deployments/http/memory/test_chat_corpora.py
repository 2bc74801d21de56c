"""Chat answers from corpora beside memory, and says where in which document (004 §5.2)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest

from deployments.http.support.services import Services
from memory.chat.prompt_context import MAX_CONTEXT
from memory.values.errors import StoreUnavailable
from tests.deployments.serving import serving

MANUAL = "# 保固\n\n# 電池\n\n電池的保固期為十八個月。"
MISSING = "00000000-0000-0000-0000-000000000000"
CLINIC = {"X-Jiyi-App": "clinic"}


async def corpus_of(
    http: httpx.AsyncClient, text: str, *, name: str = "manuals", headers: Mapping[str, str] | None = None
) -> str:
    created = await http.post("/knowledge/base", json={"name": name}, headers=headers)
    corpus_id = str(created.json()["corpus_id"])
    body = {"text": text, "source_uri": f"file:{name}.md", "wait": True}
    ingested = await http.post(f"/knowledge/base/{corpus_id}/ingest", json=body, headers=headers)
    assert ingested.json()["results"][0]["state"] == "ready", ingested.text
    return corpus_id


async def chat(http: httpx.AsyncClient, message: str, *corpora: str, **body: Any) -> dict[str, Any]:
    headers = body.pop("headers", None)
    sent = {"user_id": "ann", "message": message, "corpus_ids": list(corpora), **body}
    reply = await http.post("/chat", json=sent, headers=headers)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


@pytest.fixture
async def manuals(http: httpx.AsyncClient) -> str:
    return await corpus_of(http, MANUAL)


async def test_a_reply_cites_the_document_and_its_headings(http: httpx.AsyncClient, manuals: str) -> None:
    reply = await chat(http, "電池的保固期多久？", manuals)
    assert "十八個月" in reply["reply"]
    [source] = reply["sources"]
    place = source["place"]
    assert (source["kind"], place["corpus"], place["source_uri"]) == ("knowledge", "manuals", "file:manuals.md")
    assert place["headings"][-1] == "電池"
    assert "電池：「" in reply["reply"]


@pytest.mark.parametrize(
    ("text", "question", "cited"),
    [
        ("\f電池的保固期為十八個月。", "電池的保固期多久？", "file:manuals.md · 第 2 頁：「電池的保固期為十八個月。」"),
        ("\f电池的保修期为十八个月。", "电池的保修期多久？", "file:manuals.md · 第 2 页：“电池的保修期为十八个月。”"),
        (
            "\fThe battery warranty lasts eighteen months.",
            "How long is the battery warranty?",
            "file:manuals.md · p. 2: “The battery warranty lasts eighteen months.”",
        ),
    ],
)
async def test_a_page_is_named_in_the_language_of_the_question(
    http: httpx.AsyncClient, text: str, question: str, cited: str
) -> None:
    reply = await chat(http, question, await corpus_of(http, text))
    assert cited in reply["reply"]


async def test_memory_and_documents_answer_together(http: httpx.AsyncClient, manuals: str) -> None:
    await chat(http, "我的電池是去年五月買的。", wait=True)
    reply = await chat(http, "電池的保固期多久？我的電池哪時買的？", manuals)
    assert {source["kind"] for source in reply["sources"]} == {"knowledge", "memory"}


async def test_without_corpora_documents_are_not_searched(http: httpx.AsyncClient, manuals: str) -> None:
    assert (await chat(http, "電池的保固期多久？"))["sources"] == []
    assert "十八個月" not in (await chat(http, "電池的保固期多久？"))["reply"]


async def test_the_corpora_that_are_set_for_the_app_answer_where_a_request_names_none(
    services: Services, http: httpx.AsyncClient, manuals: str
) -> None:
    async with serving(replace(services, corpora_in_chat={"default": (manuals,)})) as configured:
        asked = {"user_id": "ann", "message": "電池的保固期多久？"}
        assert "十八個月" in (await configured.post("/chat", json=asked)).json()["reply"]
        assert (await configured.post("/chat/before", json=asked)).json()["knowledge"]
        none = await configured.post("/chat", json=asked | {"corpus_ids": []})
        assert none.json()["sources"] == []
        elsewhere = await configured.post("/chat", json=asked, headers=CLINIC)
        assert elsewhere.json()["sources"] == []


async def test_a_corpus_of_another_app_is_none_and_nothing_is_stored(http: httpx.AsyncClient, manuals: str) -> None:
    for corpus_id, headers in ((MISSING, None), (manuals, CLINIC)):
        for path in ("/chat", "/chat/before"):
            asked = {"user_id": "ann", "message": "電池的保固期多久？", "corpus_ids": [corpus_id]}
            reply = await http.post(path, json=asked, headers=headers)
            assert (reply.status_code, reply.json()["title"]) == (404, "CorpusNotFound")
        turns = (await http.get("/sessions/default", params={"user_id": "ann"}, headers=headers)).json()["turns"]
        assert turns == []


async def test_a_prompt_gets_bounded_lines_with_their_place(http: httpx.AsyncClient) -> None:
    sections = [f"# 第 {n} 節\n\n電池的保固期為 {n} 個月，" + "另有說明" * 100 + "。" for n in range(1, 12)]
    corpus_id = await corpus_of(http, "\n\n".join(sections))
    asked = {"user_id": "ann", "message": "電池的保固期多久？", "corpus_ids": [corpus_id]}
    before = (await http.post("/chat/before", json=asked)).json()
    assert before["memories"] == []
    assert before["knowledge"]
    head, *lines = before["context"].splitlines()
    assert head == "文件中與這個問題有關的內容："
    assert len(lines) == len(before["knowledge"])
    assert all(" · 第 " in line and "節：「" in line for line in lines)
    assert len(before["context"]) <= MAX_CONTEXT


async def test_while_corpora_cannot_be_searched_memory_answers_and_the_reply_says_so(
    services: Services, http: httpx.AsyncClient, manuals: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await chat(http, "我的電池是去年五月買的。", wait=True)

    async def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("gone", component="vectors")

    monkeypatch.setattr(services.knowledge, "_search", away)
    reply = await chat(http, "我的電池哪時買的？", manuals)
    assert "去年五月" in reply["reply"]
    assert "knowledge" in reply["degraded"]


async def test_documents_are_not_counted_as_used_memories(
    services: Services, http: httpx.AsyncClient, manuals: str
) -> None:
    counted: list[str] = []
    original = services.tally.add

    def add(kind: Any, ids: Any, **fields: Any) -> None:
        counted.extend(ids)
        original(kind, ids, **fields)

    services.tally.add = add  # type: ignore[method-assign]
    reply = await chat(http, "電池的保固期多久？", manuals)
    assert reply["sources"]
    assert counted == []


async def test_only_memory_is_searched_by_the_search_in_memory(http: httpx.AsyncClient) -> None:
    reply = await http.post("/search", json={"user_id": "ann", "query": "電池", "kinds": ["knowledge"]})
    assert reply.status_code == 422
