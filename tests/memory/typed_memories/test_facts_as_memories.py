"""Conversation teaches typed memories, and what is given through the API is known to chat: one store (001 §5.1)."""

from datetime import timedelta

import pytest

from memory.entities.undo import undo_in
from memory.extraction.extractor import ReadingExtractor
from memory.indexing.generations import OneSpace
from memory.indexing.indexer import Indexer
from memory.learning.learner import Learner
from memory.typed_memories.conflicts import Resolution, list_conflicts
from memory.typed_memories.manager import StoreEvent
from memory.values.facts import Ending, FactStatus
from memory.values.governance.changes import ChangeActor
from memory.values.ids import memory_id
from memory.values.records import Resource, ResourceKind
from memory.values.typed_memories import MemoryStatus, TypedMemory
from testing.fakes.reader import FakeReader, stated
from tests.memory.typed_memories.harness import NOW, TypedMemories, said_of_allergy


async def say(typed_memories: TypedMemories, text: str, *facts: str, intents: str = "statement") -> str:
    """Learns a message that states facts; the id of its log entry."""
    reader = FakeReader(scripted={text: stated(text, *facts, intents=intents)})
    spaces = OneSpace(encoder=typed_memories.encoder, index=typed_memories.index)
    learner = Learner(
        record=typed_memories.record,
        extractor=ReadingExtractor(reader),
        indexer=Indexer(record=typed_memories.record, spaces=spaces, analyzer=typed_memories.analyzer),
    )
    entry = Resource(resource_id=text, user_id="ann", session_id="s", content=text, created_at=typed_memories.now)
    await typed_memories.record.append([entry], user_id="ann")
    await learner.learn(user_id="ann")
    return entry.resource_id


PEANUTS = ("我對花生過敏，不能吃堅果。", "user | allergic_to | 花生")


async def test_what_was_said_in_conversation_is_retrieved_with_its_source(typed_memories: TypedMemories) -> None:
    said = await say(typed_memories, *PEANUTS)
    found = await typed_memories.manager.retrieve_entities("我對什麼過敏？", user_id="ann")
    [memory] = [result.memory for result in found.results]
    assert (memory.entity_type, memory.entity_value, memory.content) == ("allergy", "花生", "使用者對花生過敏。")
    assert memory.sources == (said,)
    assert memory.status is MemoryStatus.ACTIVE
    listed = await typed_memories.manager.get_user_entities(user_id="ann", entity_type="allergy")
    assert [memory.memory_id for memory in listed] == [memory.memory_id]


async def test_a_type_may_be_given_by_the_name_of_its_predicate(typed_memories: TypedMemories) -> None:
    stored = (await typed_memories.store("花生", 0.9, type_="allergic_to")).memory
    again = (await typed_memories.store("花生", 0.9, type_="allergy")).memory
    assert (stored.entity_type, again.memory_id) == ("allergy", stored.memory_id)
    for entity_type in ("allergy", "allergic_to"):
        manager = typed_memories.manager
        found = await manager.retrieve_entities("過敏", user_id="ann", entity_type=entity_type)
        assert [result.memory.memory_id for result in found.results] == [stored.memory_id]
        listed = await manager.get_user_entities(user_id="ann", entity_type=entity_type)
        assert [memory.memory_id for memory in listed] == [stored.memory_id]


async def test_the_same_from_conversation_and_from_the_api_is_one_memory(typed_memories: TypedMemories) -> None:
    said = await say(typed_memories, *PEANUTS)
    [before] = (await typed_memories.all()).values()
    stored = await typed_memories.store("花生", 0.9, type_="allergy")
    assert (stored.event, stored.memory.memory_id) == (StoreEvent.UPDATED, before.memory_id)
    assert stored.memory.confidence > before.confidence
    assert stored.memory.sources == (said,)
    typed_memories.later(hours=1)
    again = await say(typed_memories, "再說一次，我對花生過敏。", "user | allergic_to | 花生")
    [after] = (await typed_memories.all()).values()
    assert (after.memory_id, after.sources) == (before.memory_id, (said, again))


async def test_what_is_given_is_a_fact_with_a_log_entry_from_which_a_memory_is_learned(
    typed_memories: TypedMemories,
) -> None:
    stored = (await typed_memories.store("花生", 0.9, type_="allergy", metadata={"asked": True})).memory
    await say(typed_memories, "早安", intents="greeting")
    async with typed_memories.record.reading(user_id="ann") as unit:
        [fact] = await unit.facts.list()
        [entry] = await unit.log.get(stored.sources)
        [memory] = await unit.memories.get([memory_id("ann", entry.resource_id)])
    assert (fact.subject, fact.predicate, fact.object, fact.category) == ("user", "allergic_to", "花生", "facts")
    assert (fact.fact_id, fact.resource_id) == (stored.memory_id, entry.resource_id)
    assert (entry.kind, entry.content, memory.text) == (ResourceKind.FACT, "使用者對花生過敏。", "使用者對花生過敏。")


@pytest.mark.parametrize("first", ["conversation", "api"])
async def test_allergies_never_take_each_others_place(typed_memories: TypedMemories, first: str) -> None:
    peanuts, shrimp = "peanuts and nuts", "shrimp and crab"
    typed_memories.encoder.alike(*map(said_of_allergy, (peanuts, shrimp)))
    if first == "conversation":
        await say(typed_memories, f"I'm allergic to {peanuts}.", f"user | allergic_to | {peanuts}")
    else:
        await typed_memories.store(peanuts, 0.6, type_="allergy")
    stored = await typed_memories.store(shrimp, 0.99, type_="allergy")
    assert {conflict.resolution for conflict in stored.conflicts} <= {Resolution.REVIEW}
    await say(typed_memories, "I'm allergic to wasps.", "user | allergic_to | wasps")
    memories = await typed_memories.all()
    assert set(memories) == {peanuts, shrimp, "wasps"}
    assert all(memory.status is not MemoryStatus.ARCHIVED for memory in memories.values())


class TestOneValue:
    async def test_a_surer_value_takes_the_place_of_what_conversation_said(self, typed_memories: TypedMemories) -> None:
        await say(typed_memories, "我住在台北。", "user | lives_in | 台北")
        typed_memories.later(days=1)
        stored = await typed_memories.store("高雄", 0.99, type_="home_city")
        assert [(conflict.existing.entity_value, conflict.resolution) for conflict in stored.conflicts] == [
            ("台北", Resolution.OVERWRITE)
        ]
        async with typed_memories.record.reading(user_id="ann") as unit:
            [old] = await unit.facts.list(status=FactStatus.ARCHIVED)
            [new] = await unit.facts.list()
        assert (old.object, old.ending, old.valid_to) == ("台北", Ending.REPLACED, typed_memories.now)
        assert (new.object, new.supersedes, new.valid_from) == ("高雄", old.fact_id, typed_memories.now)
        assert old.holds(NOW)
        assert not old.holds(typed_memories.now + timedelta(days=1))

    async def test_one_that_is_not_surer_waits_in_review_also_while_the_index_is_behind(
        self, typed_memories: TypedMemories
    ) -> None:
        await say(typed_memories, "我住在台北。", "user | lives_in | 台北")
        await typed_memories.store("高雄", 0.5, type_="home_city")
        memories = await typed_memories.all()
        assert (memories["台北"].status, memories["高雄"].status) == (MemoryStatus.ACTIVE, MemoryStatus.REVIEW)
        assert memories["高雄"].conflicts_with == (memories["台北"].memory_id,)

    async def test_what_is_said_later_takes_the_place_of_what_was_given(self, typed_memories: TypedMemories) -> None:
        given = (await typed_memories.store("台北", 0.9, type_="home_city")).memory
        typed_memories.later(days=1)
        await say(typed_memories, "我搬到高雄了。", "user | lives_in | 高雄")
        memories = await typed_memories.all()
        assert memories["台北"].status is MemoryStatus.ARCHIVED
        assert (memories["高雄"].status, memories["高雄"].supersedes) == (MemoryStatus.ACTIVE, (given.memory_id,))

    @pytest.mark.parametrize("correction", [False, True])
    async def test_what_conversation_replaced_is_among_the_conflicts_and_its_undo_puts_both_in_review(
        self, typed_memories: TypedMemories, correction: bool
    ) -> None:
        await say(typed_memories, "我住在台北。", "user | lives_in | 台北")
        typed_memories.later(days=1)
        said, intents = ("不對，是高雄。", "correction") if correction else ("我搬到高雄了。", "statement")
        await say(typed_memories, said, "user | lives_in | 高雄", intents=intents)
        memories = await typed_memories.all()
        assert memories["台北"].superseded_by == memories["高雄"].memory_id
        async with typed_memories.record.writing(user_id="ann") as unit:
            [change] = (await list_conflicts(unit, limit=9)).overwritten
            assert change.subjects == (memories["高雄"].memory_id, memories["台北"].memory_id)
            await undo_in(unit, change.change_id, user_id="ann", at=typed_memories.now, actor=ChangeActor.USER)
            [conflict] = (await list_conflicts(unit, limit=9)).open
            await unit.commit()
        assert (conflict.memory.entity_value, [other.entity_value for other in conflict.contradicts]) == (
            "高雄",
            ["台北"],
        )
        assert (await typed_memories.all())["台北"].status is MemoryStatus.ACTIVE

    async def test_a_value_that_is_restored_is_linked_to_no_successor(self, typed_memories: TypedMemories) -> None:
        await say(typed_memories, "我住在台北。", "user | lives_in | 台北")
        typed_memories.later(days=1)
        await say(typed_memories, "我搬到高雄了。", "user | lives_in | 高雄")
        await say(typed_memories, "不對，不是高雄。", "user | lives_in | 高雄 | negated", intents="correction")
        restored = (await typed_memories.all())["台北"]
        assert (restored.status, restored.superseded_by) == (MemoryStatus.ACTIVE, None)


async def test_codes_of_several_things_are_no_conflict(typed_memories: TypedMemories) -> None:
    await typed_memories.store("4056", 0.6, type_="code")
    assert (await typed_memories.store("1234", 0.9, type_="code")).conflicts == ()


async def test_archiving_and_restoring_a_memory_archives_and_restores_the_fact(typed_memories: TypedMemories) -> None:
    await say(typed_memories, *PEANUTS)
    [memory] = (await typed_memories.all()).values()

    async def active() -> int:
        async with typed_memories.record.reading(user_id="ann") as unit:
            return await unit.facts.count()

    archived: TypedMemory = await typed_memories.manager.archive_memory(memory.memory_id, user_id="ann")
    assert (archived.status, await active()) == (MemoryStatus.ARCHIVED, 0)
    await typed_memories.project()
    assert (await typed_memories.manager.retrieve_entities("花生", user_id="ann")).results == ()
    await typed_memories.manager.restore_memory(memory.memory_id, user_id="ann")
    assert await active() == 1
