"""What counts as used: what an answer quotes or a prompt holds, and nothing that a search only touched (002 §5)."""

from datetime import timedelta

import pytest

from memory.governance.review import ReviewRules, review_user
from memory.values.entities import EntityStatus
from testing.fakes.reader import stated
from tests.memory.conftest import World


async def used(world: World) -> dict[str, int]:
    """The accesses of entities by name, and of memories and facts by text and object."""
    await world.tally.flush()
    async with world.record.reading(user_id="ann") as unit:
        entities = await unit.entities.recent(limit=100)
        memories = await unit.memories.recent(limit=100)
        facts = await unit.facts.list()
    counts = {entity.entity_value: entity.access_count for entity in entities}
    counts |= {memory.text: memory.access_count for memory in memories}
    return counts | {f"fact {fact.object}": fact.access_count for fact in facts}


async def test_only_what_the_answer_quotes_is_used(world: World) -> None:
    quoted = "AI-Box 放在三樓機房。"
    world.language.scripted[quoted] = stated(quoted, "AI-Box | stored_in | 三樓機房")
    await world.say(quoted)
    await world.say("HCI 的保固是三年。", session="other")
    _, replied, _ = await world.say("AI-Box 放在哪裡？", session="asking")
    assert quoted in replied.answer.text
    counts = await used(world)
    assert (counts[quoted], counts["AI-Box"], counts["fact 三樓機房"]) == (1, 1, 1)
    assert [text for text, count in counts.items() if count] == ["AI-Box", quoted, "fact 三樓機房"]


@pytest.mark.parametrize(
    ("told", "fact", "question", "category"),
    [
        ("我最喜歡爵士樂。", "user | likes | 爵士樂", "我最喜歡什麼？", "preferences"),
        ("我最喜欢爵士乐。", "user | likes | 爵士乐", "我最喜欢什么？", "preferences"),
        ("My favourite music is jazz.", "user | likes | jazz", "What is my favourite music?", "preferences"),
    ],
)
async def test_the_category_of_what_an_answer_states_is_used(
    world: World, told: str, fact: str, question: str, category: str
) -> None:
    world.language.scripted[told] = stated(told, fact)
    await world.say(told)
    _, replied, _ = await world.say(question, session="asking")
    assert replied.answer.fact_ids
    await world.tally.flush()
    async with world.record.reading(user_id="ann") as unit:
        assert await unit.category_accesses.last_accessed() == {category: world.now}


async def test_a_question_without_an_answer_uses_nothing(world: World) -> None:
    await world.say("AI-Box 放在三樓機房。")
    await world.say("我的護照號碼是多少？", session="asking")
    assert not any((await used(world)).values())


async def test_what_a_prompt_holds_is_used(world: World) -> None:
    await world.say("AI-Box 放在三樓機房。")
    service = world.entity_memory
    found = await service.before_reply("AI-Box 多大？", "s", "ann")
    assert "AI-Box" in found.context
    await service.search_entities("AI-Box", "ann")
    assert (await used(world))["AI-Box"] == 1


async def test_what_an_active_user_never_uses_is_archived(world: World) -> None:
    await world.say("我們公司上個月買了 AI-Box。")
    await world.say("HCI 的保固是三年。", session="other")
    for _ in range(20):
        world.now += timedelta(days=6)
        await world.say("AI-Box 是什麼時候買的？", session="asking")
    await world.tally.flush()
    report = await review_user(world.record, "ann", rules=ReviewRules(), now=world.now)
    async with world.record.reading(user_id="ann") as unit:
        archived = {
            entity.entity_value
            for entity in await unit.entities.page(limit=1000)
            if entity.status is EntityStatus.ARCHIVED
        }
    assert (report.archived, archived) == (1, {"HCI"})
