"""From a message over the learner, the real client and HTTP to facts and summaries, with a model that also fails."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest

from deployments.config.language_model_settings import EndpointArgs
from deployments.remote.language_model import EndpointModel, FallbackModel
from memory.extraction.extractor import ReadingExtractor
from memory.indexing.generations import OneSpace
from memory.indexing.indexer import Indexer
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.maintenance.fact_jobs import FactMaintenance
from memory.ports.jobs import MaintenanceKind
from memory.prompting.checked_model import CheckedModel
from memory.prompting.facts import ModelFactReader
from memory.prompting.summaries import ModelWriter
from memory.values.base import utc_now
from memory.values.records import Resource
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.vectors import InMemoryVectors
from testing.fakes.encoder import FakeEncoder
from testing.fakes.reader import FakeReader, stated
from testing.language_model_server import LanguageModelServer

MESSAGE = "I like tea and rum."
READER_ONLY = [("likes", "tea")]
BOTH = [("likes", "rum"), ("likes", "tea")]


@pytest.fixture
def server() -> Iterator[LanguageModelServer]:
    with LanguageModelServer() as running:
        yield running


@dataclass
class House:
    """One memory whose learner and jobs ask the server; its trained reader finds that somebody likes tea."""

    record: InMemoryRecord
    learner: Learner
    model: CheckedModel
    jobs: FactMaintenance

    async def learn(self) -> list[tuple[str, str]]:
        said = Resource(resource_id="r", user_id="ann", session_id="s", content=MESSAGE, created_at=utc_now())
        await self.record.append([said], user_id="ann")
        await self.learner.learn(user_id="ann")
        async with self.record.reading(user_id="ann") as unit:
            return sorted((fact.predicate, fact.object) for fact in await unit.facts.list())

    async def summary(self) -> str:
        await self.jobs.run(MaintenanceKind.NIGHTLY, "ann", now=utc_now())
        async with self.record.reading(user_id="ann") as unit:
            [category] = await unit.categories.list()
        return category.summary


@pytest.fixture
async def house(server: LanguageModelServer) -> AsyncIterator[House]:
    endpoint = EndpointArgs(base_url=server.url, model="tiny", max_retries=0, timeout_s=10, rest_s=0)
    model = CheckedModel(FallbackModel([EndpointModel(endpoint)]))
    record = InMemoryRecord()
    space = OneSpace(encoder=FakeEncoder(dimension=8), index=InMemoryVectors(dimension=8))
    learner = Learner(
        record=record,
        extractor=ReadingExtractor(FakeReader(scripted={MESSAGE: stated(MESSAGE, "user | likes | tea")})),
        indexer=Indexer(record=record, spaces=space, analyzer=KeywordAnalyzer()),
        facts=ModelFactReader(model),
    )
    yield House(record, learner, model, FactMaintenance(record=record, writer=ModelWriter(model)))
    await model.close()


def facts(*objects: str) -> dict[str, object]:
    empty: dict[str, object] = {"subject": "user", "predicate": "likes", "qualifiers": [], "time": None}
    return {"facts": [empty | {"object": name} for name in objects]}


async def test_the_facts_of_the_model_are_learned(house: House, server: LanguageModelServer) -> None:
    server.answer(facts("tea", "rum"))
    assert await house.learn() == BOTH
    assert house.model.figures()["facts_answered"] == 1


@pytest.mark.parametrize("violation", [facts("gin"), {"facts": [{"object": "tea"}]}, {"more": 1}, "Sorry, I can't."])
async def test_an_answer_that_breaks_the_rules_is_asked_for_again(
    house: House, server: LanguageModelServer, violation: str | dict[str, object]
) -> None:
    server.answer(violation, facts("tea", "rum"))
    assert await house.learn() == BOTH
    assert house.model.figures()["facts_refused"] == 1


@pytest.mark.parametrize("fault", ["429", "500", "cut", "garbage", "violations"])
async def test_without_a_valid_answer_the_readers_facts_are_learned(
    house: House, server: LanguageModelServer, fault: str
) -> None:
    match fault:
        case "cut":
            server.cut()
        case "garbage":
            server.send(b"\x00{")
        case "violations":
            server.answer(facts("gin"), facts("gin"))
        case status:
            server.fail(int(status))
    assert await house.learn() == READER_ONLY
    assert house.model.figures()["facts_missing"] == 1


async def test_a_summary_of_the_model_replaces_the_extractive_one_once_it_answers(
    house: House, server: LanguageModelServer
) -> None:
    server.answer(facts("tea", "rum"))
    await house.learn()
    server.fail(500)
    extractive = await house.summary()
    assert "tea" in extractive
    told = json.dumps({"summary": "A lover of rum and tea."})
    server.answer(told)
    assert await house.summary() == "A lover of rum and tea."
    assert await house.summary() == "A lover of rum and tea."
    assert len(server.requests) == 3, "what has not changed is not asked for again"
