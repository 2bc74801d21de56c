"""What becomes of a wish to forget: it reaches governance, is never learned or quoted, and the reply says so."""

import pytest

from memory.extraction.extractor import ReadingExtractor
from memory.language.phrases import ENGLISH, SIMPLIFIED, TRADITIONAL, Phrases
from memory.values.changes import Change, ChangeActor, ChangeKind
from memory.values.errors import ModelUnavailable
from memory.values.ids import entity_id
from testing.fakes.reader import FakeReader
from tests.memory.conftest import World


async def wishes(world: World, user: str = "ann") -> list[Change]:
    async with world.record.reading(user_id=user) as unit:
        return await unit.changes.list(kind=ChangeKind.FORGET)


@pytest.mark.parametrize(
    ("message", "phrases"),
    [
        ("請忘掉我們買了 AI-Box。", TRADITIONAL),
        ("请忘掉我们买了 AI-Box。", SIMPLIFIED),
        ("Please forget that we bought an AI-Box.", ENGLISH),
    ],
)
async def test_it_is_written_down_for_a_person_and_the_reply_is_honest(
    world: World, message: str, phrases: Phrases
) -> None:
    await world.say("AI-Box 到貨了。")
    _, replied, acknowledged = await world.say(message)
    assert replied.answer.text == phrases.forget
    [wish] = await wishes(world)
    assert (wish.actor, wish.reason, wish.items) == (ChangeActor.USER, message, ())
    assert wish.subjects == (acknowledged.turn_id, entity_id("ann", "AI-Box"))
    assert await wishes(world, "bob") == []


async def test_nothing_is_learned_from_it(world: World) -> None:
    await world.say("AI-Box 到貨了。")
    _, _, acknowledged = await world.say("忘掉 AI-Box 跟王小明的事。")
    assert acknowledged.learned
    assert (acknowledged.learned.memories, acknowledged.learned.new_entities) == (0, 0)
    async with world.record.reading(user_id="ann") as unit:
        box = await unit.entities.get_by_value("AI-Box")
        assert await unit.entities.get_by_value("王小明") is None
        assert [memory.text for memory in await unit.memories.recent(limit=10)] == ["AI-Box 到貨了。"]
    assert box
    assert box.mention_count == 1


async def test_it_is_not_quoted_later(world: World) -> None:
    await world.say("忘掉保險箱的密碼是 4711。")
    _, replied, _ = await world.say("保險箱的密碼是多少？")
    assert "4711" not in replied.answer.text
    assert replied.answer.sources == ()


async def test_a_repeated_message_is_one_wish(world: World) -> None:
    for _ in range(2):
        await world.say("忘掉我的生日。", turn_id="t1")
    assert len(await wishes(world)) == 1


async def test_a_message_that_was_read_without_intents_is_read_again_before_it_is_learned(world: World) -> None:
    world.reader._extractor = ReadingExtractor(FakeReader(error=ModelUnavailable("no weights", component="reader")))
    await world.say("忘掉我的生日。")
    assert len(await wishes(world)) == 1
