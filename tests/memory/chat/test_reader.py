"""How a message is understood: one look into the record, one reading, in the session or in turns that a caller has."""

from contextlib import AbstractAsyncContextManager

import pytest

from memory.chat.entity_memory import EntityMemoryService
from memory.ports.record import UnitOfWork
from memory.values.dialogue import Role, Turn
from memory.values.ids import entity_id
from memory.values.resolutions import ReferenceSource
from tests.memory.conftest import NOW, World


async def test_a_message_is_read_once_and_the_record_is_opened_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.say("我們買了 AI-Box。")
    opened: list[str] = []
    reading = world.record.reading

    def count(*, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        opened.append(user_id)
        return reading(user_id=user_id)

    monkeypatch.setattr(world.record, "reading", count)
    before = len(world.language.requests)
    understood = await world.reader.read("上週提到的 AI-Box 多少錢？", session_id="s", user_id="ann", now=NOW)
    assert opened == ["ann"]
    assert len(world.language.requests) == before + 1
    assert [mention.entity_id for mention in understood.extraction.mentions if mention.text == "AI-Box"] == [
        entity_id("ann", "AI-Box")
    ]


async def test_a_name_that_only_the_user_knows_is_found_and_its_entity_is_the_antecedent(world: World) -> None:
    service = EntityMemoryService(
        record=world.record,
        sessions=world.sessions,
        extractor=world.reader._extractor,
        resolver=world.reader._resolver,
        retriever=world.retriever,
        additions=world.additions,
        now=lambda: NOW,
    )
    entity = await service.remember_entity("AI-Box", "ann")
    turn = Turn(role=Role.USER, content="我們在看 AI-Box。", created_at=NOW)
    result = (await service.understand("它多少錢？", "ann", session=[turn])).resolution
    assert (result.resolved_query, result.entities_found) == ("AI-Box 多少錢？", (entity.entity_id,))
    assert result.resolutions[0].source is ReferenceSource.SESSION
    offered = (await service.understand("它多少錢？", "ann", session=[])).resolution
    assert offered.resolutions[0].source is ReferenceSource.LONG_TERM
    another = (await service.understand("它多少錢？", "bob", session=[])).resolution
    assert another.resolved_query == "它多少錢？"
