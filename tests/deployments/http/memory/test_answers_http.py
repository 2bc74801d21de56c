"""What was read with a question, over HTTP: `/chat`, `/chat/before` and `/search`."""

import dataclasses
from collections.abc import AsyncIterator

import httpx
import pytest

from deployments.http.support.services import Services
from memory.chat.turn import ChatTurn
from memory.retrieval.answers import AnswerRetriever
from memory.values.errors import ModelUnavailable
from testing.fakes.answer_reader import FakeAnswerReader
from tests.deployments.serving import serving

QUESTION = "Where is the spare key?"
OTHER = "Where is the passport?"


@pytest.fixture
def reader() -> FakeAnswerReader:
    return FakeAnswerReader(answers={QUESTION: {"spare key": "under the flowerpot"}, OTHER: {}})


@pytest.fixture
async def http(services: Services, reader: FakeAnswerReader) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the fakes, with memories read together with what is asked."""
    retriever = AnswerRetriever(services.retriever, reader=reader)
    chat = ChatTurn(
        reader=services.chat._reader,
        retriever=retriever,
        answerer=services.chat._answerer,
        additions=services.additions,
        uses=services.tally,
    )
    async with serving(dataclasses.replace(services, chat=chat, retriever=retriever)) as client:
        for text in ("The spare key lies under the flowerpot.", "The key of the shed is green."):
            await client.post("/memories", json={"user_id": "ann", "text": text})
        yield client


async def test_a_reply_begins_with_the_answer_and_says_how_sure_it_is(http: httpx.AsyncClient) -> None:
    reply = (await http.post("/chat", json={"user_id": "ann", "message": QUESTION})).json()
    answer, quoted = reply["reply"].splitlines()
    assert answer == "under the flowerpot."
    assert "The spare key lies under the flowerpot." in quoted
    assert reply["confidence"] == pytest.approx(0.95)
    [source] = reply["sources"]
    assert (source["words"], source["parts"]["answers"]) == ("under the flowerpot", 0.95)
    unknown = (await http.post("/chat", json={"user_id": "ann", "message": OTHER})).json()
    assert (unknown["sources"], unknown["confidence"]) == ([], pytest.approx(0.98))
    assert "key" not in unknown["reply"]
    assert (await http.post("/chat", json={"user_id": "ann", "message": "Thank you!"})).json()["confidence"] is None


async def test_a_search_says_how_probably_nothing_answers(http: httpx.AsyncClient) -> None:
    found = (await http.post("/search", json={"user_id": "ann", "query": QUESTION})).json()
    assert found["unanswered"] == pytest.approx(0.05)
    assert found["results"][0]["words"] == "under the flowerpot"
    assert found["results"][0]["parts"]["answers"] == 0.95
    nothing = (await http.post("/search", json={"user_id": "ann", "query": OTHER})).json()
    assert nothing["unanswered"] == pytest.approx(0.98)
    words = (await http.post("/search", json={"user_id": "ann", "query": "spare key"})).json()
    assert words["unanswered"] is None
    assert all(hit["words"] is None for hit in words["results"])


async def test_only_what_answers_enters_a_prompt(http: httpx.AsyncClient) -> None:
    before = (await http.post("/chat/before", json={"user_id": "ann", "message": QUESTION})).json()
    assert [memory["text"] for memory in before["memories"]] == ["The spare key lies under the flowerpot."]
    assert "flowerpot" in before["context"]
    assert "shed" not in before["context"]
    other = (await http.post("/chat/before", json={"user_id": "ann", "message": OTHER})).json()
    assert (other["memories"], other["context"]) == ([], "")


async def test_while_nobody_reads_replies_go_on_and_it_is_counted(
    http: httpx.AsyncClient, reader: FakeAnswerReader
) -> None:
    reader.error = ModelUnavailable("gone", component="answers")
    reply = (await http.post("/chat", json={"user_id": "ann", "message": QUESTION})).json()
    assert "flowerpot" in reply["reply"]
    assert (reply["degraded"], reply["confidence"]) == (["answers"], None)
    found = (await http.post("/search", json={"user_id": "ann", "query": QUESTION})).json()
    assert (found["degraded"], found["unanswered"]) == (["answers"], None)
    assert 'jiyi_degraded_total{part="answers",replica="local"} 2.0' in (await http.get("/metrics")).text
