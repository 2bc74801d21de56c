"""`/chat` with a language model at an endpoint: grounded answers over HTTP at both ends, and its failures."""

import dataclasses
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from deployments.builders.models.language import answer_with_model, open_language_model
from deployments.config.language_model_settings import LanguageModelArgs
from deployments.config.settings import AppArgs
from deployments.http.support.services import Services
from memory.chat.turn import ChatTurn
from memory.retrieval.answers import AnswerRetriever
from testing.fakes.answer_reader import FakeAnswerReader
from testing.language_model_server import LanguageModelServer
from tests.deployments.serving import serving

QUESTION = "Where is the spare key?"
UNKNOWN = "Where is the passport?"
MEMORY = "The spare key lies under the flowerpot."
READER = {QUESTION: {"spare key": "under the flowerpot"}, UNKNOWN: {}}
GROUNDED: dict[str, Any] = {"answer": "It lies under the flowerpot.", "lines": [1]}


@pytest.fixture
def model() -> Iterator[LanguageModelServer]:
    with LanguageModelServer() as server:
        yield server


@pytest.fixture
async def http(services: Services, model: LanguageModelServer, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    settings = LanguageModelArgs(base_url=model.url, model="tiny", max_retries=0, timeout_s=5, rest_s=0)
    args = AppArgs(home=tmp_path / "home", cache=tmp_path / "cache", language_model=settings)
    language_model = open_language_model(args)
    assert language_model is not None
    chat = ChatTurn(
        reader=services.chat._reader,
        retriever=AnswerRetriever(services.retriever, reader=FakeAnswerReader(answers=READER)),
        answerer=answer_with_model(args, services.chat._answerer, language_model, extractor=services.extractor),
        additions=services.additions,
        uses=services.tally,
    )
    async with serving(dataclasses.replace(services, chat=chat)) as client:
        await client.post("/memories", json={"user_id": "ann", "text": MEMORY})
        yield client
    await language_model.close()


async def ask(http: httpx.AsyncClient, question: str = QUESTION) -> dict[str, Any]:
    reply: dict[str, Any] = (await http.post("/chat", json={"user_id": "ann", "message": question})).json()
    return reply


async def test_a_grounded_answer_comes_with_its_sources(http: httpx.AsyncClient, model: LanguageModelServer) -> None:
    model.answer(GROUNDED)
    reply = await ask(http)
    assert (reply["reply"], reply["answered_by"]) == (GROUNDED["answer"], "language_model")
    assert [source["text"] for source in reply["sources"]] == [MEMORY]
    assert reply["degraded"] == []
    [body] = model.requests
    assert body["response_format"]["json_schema"]["name"] == "grounded_answer"
    assert json.loads(body["messages"][1]["content"])["lines"][0]["text"] == MEMORY
    await ask(http, UNKNOWN)
    assert len(model.requests) == 1, "what nothing answers is not sent"


async def test_what_is_not_in_its_sources_is_not_said(http: httpx.AsyncClient, model: LanguageModelServer) -> None:
    model.answer(*[GROUNDED | {"answer": "It lies in the Fort of Paris."}] * 2)
    reply = await ask(http)
    assert (reply["answered_by"], reply["degraded"]) == ("extractive", [])
    assert MEMORY in reply["reply"]


@pytest.mark.parametrize("fault", ["429", "500", "cut", "garbage"])
async def test_without_an_answer_memories_are_quoted_and_the_reply_names_the_model(
    http: httpx.AsyncClient, model: LanguageModelServer, fault: str
) -> None:
    match fault:
        case "cut":
            model.cut()
        case "garbage":
            model.send(b"\x00{")
        case status:
            model.fail(int(status))
    reply = await ask(http)
    assert (reply["answered_by"], reply["degraded"]) == ("extractive", ["language_model"])
    assert MEMORY in reply["reply"]
    assert 'jiyi_degraded_total{part="language_model",replica="local"} 1.0' in (await http.get("/metrics")).text
