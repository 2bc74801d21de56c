"""How a message is understood: one look into the record, one reading, in the session or in turns that a caller has."""

from contextlib import AbstractAsyncContextManager

import pytest

from memory.chat.messages import ChatMessage
from memory.entities.editor import EntityEditor
from memory.entities.statuses import set_status
from memory.ports.stores.record import UnitOfWork
from memory.values.governance.changes import ChangeActor, ChangeKind
from memory.values.ids import entity_id
from memory.values.understanding.dialogue import Role, Turn
from memory.values.understanding.resolutions import ReferenceSource
from tests.memory.conftest import NOW, World


async def test_a_message_is_read_by_itself_and_in_its_conversation_and_the_record_is_opened_once(
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
    assert [bool(request.context.turns) for request in world.language.requests[before:]] == [False, True]
    assert [mention.entity_id for mention in understood.extraction.mentions if mention.text == "AI-Box"] == [
        entity_id("ann", "AI-Box")
    ]


async def test_a_name_that_only_the_user_knows_is_found_and_its_entity_is_the_antecedent(world: World) -> None:
    service = world.entity_memory
    entity = await service.remember_entity("AI-Box", "ann")
    turn = Turn(role=Role.USER, content="我們在看 AI-Box。", created_at=NOW)
    result = (await service.understand("它多少錢？", "ann", session=[turn])).resolution
    assert (result.resolved_query, result.entities_found) == ("AI-Box 多少錢？", (entity.entity_id,))
    assert result.resolutions[0].source is ReferenceSource.SESSION
    offered = (await service.understand("它多少錢？", "ann", session=[])).resolution
    assert offered.resolutions[0].source is ReferenceSource.LONG_TERM
    another = (await service.understand("它多少錢？", "bob", session=[])).resolution
    assert another.resolved_query == "它多少錢？"


@pytest.mark.parametrize("change", ["archive", "delete", "merge"])
async def test_an_entity_that_is_gone_is_no_antecedent_by_its_id(world: World, change: str) -> None:
    editor = EntityEditor(record=world.record, on_change=lambda _: None, now=lambda: world.now)
    await world.say("我們買了 AI-Box。")
    expected: str | None = None
    if change == "delete":
        await editor.delete("AI-Box", user_id="ann")
    elif change == "merge":
        expected = (await editor.remember("Hongkang Box", user_id="ann"))[0].entity_id
        await editor.merge("Hongkang Box", "AI-Box", user_id="ann")
    else:
        async with world.record.writing(user_id="ann") as unit:
            [box] = await unit.entities.get([entity_id("ann", "AI-Box")])
            await set_status(unit, box, ChangeKind.ARCHIVE, at=world.now, actor=ChangeActor.USER, reason="")
            await unit.commit()
    understood = await world.reader.read("它多少錢？", session_id="s", user_id="ann", now=world.now)
    [resolution] = understood.resolution.resolutions
    assert (resolution.resolved_text, resolution.entity_id) == ("AI-Box", expected)


async def test_an_entity_that_is_not_learned_yet_keeps_its_id(world: World) -> None:
    world.worker.notify = lambda *, user_id: None  # type: ignore[method-assign]
    message = ChatMessage(user_id="ann", session_id="s", message="我們買了 AI-Box。", now=world.now)
    async for _ in world.chat_turn.run(message):
        pass
    understood = await world.reader.read("它多少錢？", session_id="s", user_id="ann", now=world.now)
    assert understood.resolution.resolutions[0].entity_id == entity_id("ann", "AI-Box")


async def test_the_history_of_the_caller_counts_where_the_session_ends_otherwise(world: World) -> None:
    def turns(*texts: str) -> list[Turn]:
        roles = (Role.USER, Role.ASSISTANT)
        return [Turn(role=roles[place % 2], content=text, created_at=NOW) for place, text in enumerate(texts)]

    async def resolved(message: str, *earlier: str) -> str:
        given = turns(*earlier)
        read = await world.reader.read(message, session_id="s", user_id="ann", now=world.now, earlier=given)
        return read.resolution.resolved_query

    _, replied, _ = await world.say("我們買了 AI-Box。")
    reply = replied.answer.text
    assert await resolved("它多少錢？") == "AI-Box 多少錢？", "a caller without a history has that of the session"
    assert await resolved("它多少錢？", "我們賣了 Hongkang。", "好的。") == "Hongkang 多少錢？"
    assert await resolved("它多少錢？", "我們買了 AI-Box。", "你們也看了 Hongkang。") == "Hongkang 多少錢？"
    told = ("我們買了  AI-Box。", reply)
    await world.say("它多少錢？")
    stored = (await world.sessions.load("s", user_id="ann")).turns
    read = await world.reader.read("它多少錢？", session_id="s", user_id="ann", now=world.now, earlier=turns(*told))
    assert read.turns == stored, "a message that is sent again; in turns of the session mentions are known"
