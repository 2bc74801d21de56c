"""Aliases, renaming, merging, splitting, deleting: the counts still add up, and undo restores every row."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.entities.editor import EntityEditor
from memory.entities.statuses import set_status
from memory.entities.undo import undo
from memory.extraction.extractor import ReadingExtractor
from memory.indexing.generations import OneSpace
from memory.indexing.indexer import Indexer
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.values.entities import Entity, EntityRelation, EntityStatus
from memory.values.errors import BadRequest, Conflict, InvalidField, NotFound
from memory.values.governance.changes import ChangeActor, ChangeKind
from memory.values.records import Memory, Resource
from models.encoder.batched_encoder import BatchedEncoder
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.vectors import InMemoryVectors
from testing.fakes.encoder import FakeEncoderEngine
from testing.fakes.reader import FakeReader

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
USER = "ann"
NAMES = ("AI-Box", "Qdrant", "宏康 HCI", "台積電", "王小明", "RM05-008")
SENTENCES = (
    "{0} 壞了。",
    "{0} 和 {1} 都到了。",
    "王小明在{0}工作。",
    "{0} 是{1}開發的。",
    "我們用 {0}，不用 {1}。",
    "{0}, {1} and {2} are here.",
)


class EntityWorld:
    """A record with a learner and an editor."""

    def __init__(self) -> None:
        self.record = InMemoryRecord()
        self.turn_count = 0
        self.clock = AT
        self.editor = EntityEditor(record=self.record, on_change=lambda _: None, now=lambda: self.clock)

    async def say(self, *texts: str) -> None:
        encoder = BatchedEncoder(FakeEncoderEngine(dimension=8))
        learner = Learner(
            record=self.record,
            extractor=ReadingExtractor(FakeReader()),
            indexer=Indexer(
                record=self.record,
                spaces=OneSpace(encoder=encoder, index=InMemoryVectors(dimension=8)),
                analyzer=KeywordAnalyzer(),
            ),
        )
        resources = []
        for text in texts:
            self.turn_count += 1
            self.clock = AT + timedelta(hours=self.turn_count)
            resources.append(
                Resource(
                    resource_id=f"r{self.turn_count}", user_id=USER, session_id="s", content=text, created_at=self.clock
                )
            )
        await self.record.append(resources, user_id=USER)
        await learner.learn(user_id=USER)
        await encoder.close()

    async def entity(self, name: str) -> Entity:
        async with self.record.reading(user_id=USER) as unit:
            entity = await unit.entities.get_by_value(name)
        assert entity is not None, name
        return entity

    async def rows(self) -> tuple[list[Entity], list[Memory], list[EntityRelation]]:
        async with self.record.reading(user_id=USER) as unit:
            entities = await unit.entities.page(limit=1000)
            memories = await unit.memories.page(limit=1000)
            ids = {
                relation.relation_id for e in entities for relation in await unit.relations.of(e.entity_id, limit=1000)
            }
            return entities, memories, await unit.relations.get(sorted(ids))

    async def state(self) -> Any:
        """All rows but their versions, which count how often they were written."""
        entities, memories, relations = await self.rows()
        return [value.model_copy(update={"version": 0}) for value in (*entities, *memories)], relations

    async def undo(self, change_id: str) -> None:
        await undo(self.record, change_id, user_id=USER, at=self.clock)


def live_entities(entities: Sequence[Entity]) -> list[Entity]:
    return [entity for entity in entities if entity.status is not EntityStatus.ARCHIVED]


async def assert_consistent(world: EntityWorld) -> None:
    """Whatever was done: links and relations lead to what is there, no name is two entities', no relation is a loop."""
    entities, memories, relations = await world.rows()
    there = {entity.entity_id for entity in live_entities(entities)}
    assert {id_ for memory in memories for id_ in memory.entity_ids} <= there
    for relation in relations:
        assert {relation.source_entity_id, relation.target_entity_id} <= there
        assert relation.source_entity_id != relation.target_entity_id
    names = [
        name
        for entity in live_entities(entities)
        for name in {entity.normalised_value, *map(str.casefold, entity.aliases)}
    ]
    assert len(names) == len(set(names))


async def test_an_alias_leads_to_the_entity_in_text_in_search_and_by_name() -> None:
    world = EntityWorld()
    await world.say("宏康 HCI 在三樓。")
    entity, change = await world.editor.add_alias((await world.entity("宏康 HCI")).entity_id, "Hongkang", user_id=USER)
    assert (entity.aliases, change is not None) == (("Hongkang",), True)
    await world.say("Hongkang 又壞了。")
    assert (await world.entity("hongkang")).mention_count == 2
    async with world.record.reading(user_id=USER) as unit:
        assert [entity.entity_value for entity in await unit.entities.found_in("ask ＨＯＮＧＫＡＮＧ today")] == [
            "宏康 HCI"
        ]


async def test_widths_and_scripts_need_no_alias() -> None:
    world = EntityWorld()
    await world.say("宏康 HCI 在三樓。", "宏康HCI 很快。", "宏康　ＨＣＩ 很貴。")
    entity = await world.entity("宏康 HCI")
    assert entity.mention_count == 3
    assert await world.editor.add_alias(entity.entity_id, "宏康ＨＣＩ", user_id=USER) == (entity, None)


async def test_an_alias_belongs_to_one_entity() -> None:
    world = EntityWorld()
    await world.say("AI-Box 和 Qdrant 都壞了。")
    box, qdrant = await world.entity("AI-Box"), await world.entity("Qdrant")
    await world.editor.add_alias(box.entity_id, "盒子", user_id=USER)
    with pytest.raises(Conflict, match="AI-Box"):
        await world.editor.add_alias(qdrant.entity_id, "盒子", user_id=USER)
    with pytest.raises(Conflict, match="Qdrant"):
        await world.editor.add_alias(box.entity_id, "ＱＤＲＡＮＴ", user_id=USER)
    with pytest.raises(Conflict, match="AI-Box"):
        await world.editor.edit(qdrant.entity_id, name="盒子", user_id=USER)
    await world.editor.remove_alias(box.entity_id, "盒子", user_id=USER)
    await world.editor.add_alias(qdrant.entity_id, "盒子", user_id=USER)


@pytest.mark.parametrize("alias", ["", "   ", "。。。", "x" * 300])
async def test_what_is_no_name_is_no_alias(alias: str) -> None:
    world = EntityWorld()
    await world.say("AI-Box 壞了。")
    with pytest.raises(InvalidField) as refused:
        await world.editor.add_alias((await world.entity("AI-Box")).entity_id, alias, user_id=USER)
    assert refused.value.field == "alias"


async def test_unknown_and_archived_entities_cannot_be_changed() -> None:
    world = EntityWorld()
    await world.say("AI-Box 和 Qdrant 都壞了。")
    box, qdrant = await world.entity("AI-Box"), await world.entity("Qdrant")
    with pytest.raises(NotFound, match="into"):
        await world.editor.merge("nobody", box.entity_id, user_id=USER)
    await world.editor.merge(box.entity_id, qdrant.entity_id, user_id=USER)
    with pytest.raises(Conflict, match="merged"):
        await world.editor.merge(box.entity_id, qdrant.entity_id, user_id=USER)
    with pytest.raises(InvalidField, match="itself"):
        await world.editor.merge(box.entity_id, box.entity_id, user_id=USER)


async def test_a_renamed_entity_is_found_by_both_names() -> None:
    world = EntityWorld()
    await world.say("AI-Box 壞了。")
    box = await world.entity("AI-Box")
    renamed, [change] = await world.editor.edit(box.entity_id, name="愛盒", user_id=USER)
    assert (renamed.entity_value, renamed.aliases) == ("愛盒", ("AI-Box",))
    await world.say("AI-Box 又壞了。", "愛盒修好了。")
    assert (await world.entity("ai-box")).mention_count == (await world.entity("愛盒")).mention_count == 3
    await world.undo(change.change_id)
    assert (await world.entity("AI-Box")).entity_value == "AI-Box"
    assert (await world.entity("AI-Box")).mention_count == 3


async def test_a_name_that_an_entity_lost_is_another_entity_when_it_is_said_again() -> None:
    world = EntityWorld()
    await world.say("AI-Box 壞了。")
    box = await world.entity("AI-Box")
    await world.editor.edit(box.entity_id, name="愛盒", user_id=USER)
    await world.editor.remove_alias(box.entity_id, "AI-Box", user_id=USER)
    await world.say("RM05-008 的 AI-Box 到了。", "AI-Box 好了。")
    namesake = await world.entity("AI-Box")
    assert namesake.entity_id != box.entity_id
    assert ((await world.entity("愛盒")).mention_count, namesake.mention_count) == (1, 2)


async def test_merging_moves_counts_links_and_relations() -> None:
    world = EntityWorld()
    await world.say("王小明在台積電工作。", "TSMC 很大。", "王小明在 TSMC 上班。")
    chips, tsmc = await world.entity("台積電"), await world.entity("TSMC")
    merged, _ = await world.editor.merge(chips.entity_id, tsmc.entity_id, user_id=USER)
    assert (merged.mention_count, merged.aliases) == (3, ("TSMC",))
    related = await world.editor.get_related((await world.entity("王小明")).entity_id, user_id=USER)
    assert [neighbour.entity.entity_value for neighbour in related] == ["台積電"]
    assert {relation.relation_type for relation in related[0].relations} == {"works_at", "mentioned_with"}
    await assert_consistent(world)
    await world.say("TSMC 漲了。")
    assert (await world.entity("TSMC")).entity_id == chips.entity_id
    assert (await world.entity("TSMC")).mention_count == 4


async def test_what_is_said_after_a_merge_survives_its_undoing() -> None:
    world = EntityWorld()
    await world.say("王小明在台積電工作。", "王小明在 TSMC 上班。")
    chips, tsmc = await world.entity("台積電"), await world.entity("TSMC")
    _, change = await world.editor.merge(chips.entity_id, tsmc.entity_id, user_id=USER)
    await world.say("王小明和台積電都很忙。", "台積電又叫護國神山。")
    await world.undo(change.change_id)
    chips = await world.entity("台積電")
    assert (chips.mention_count, chips.aliases) == (3, ("護國神山",))
    assert (await world.entity("TSMC")).mention_count == 1
    await assert_consistent(world)


async def test_splitting_takes_the_mentions_under_a_name_along() -> None:
    world = EntityWorld()
    await world.say("小王住在台北。", "小王在台積電工作。")
    wang = await world.entity("小王")
    await world.editor.add_alias(wang.entity_id, "王經理", user_id=USER)
    await world.say("王經理在聯發科工作。", "王經理和小王都來了。")
    created, change = await world.editor.split(wang.entity_id, names=["王經理"], user_id=USER)
    rest = await world.entity("小王")
    assert (rest.mention_count, created.mention_count) == (3, 2)
    assert (rest.aliases, created.entity_value) == ((), "王經理")
    employers = {
        neighbour.entity.entity_value for neighbour in await world.editor.get_related(created.entity_id, user_id=USER)
    }
    assert "聯發科" in employers
    assert "台北" not in employers
    await assert_consistent(world)
    await world.undo(change.change_id)
    assert (await world.entity("王經理")).entity_id == wang.entity_id
    assert (await world.entity("王經理")).mention_count == 5


async def test_what_was_said_of_a_split_off_entity_since_is_joined_again_by_merging() -> None:
    world = EntityWorld()
    await world.say("小王住在台北。")
    wang = (await world.entity("小王")).entity_id
    await world.editor.add_alias(wang, "王經理", user_id=USER)
    await world.say("王經理來了。")
    created, change = await world.editor.split(wang, names=["王經理"], user_id=USER)
    await world.say("王經理走了。")
    assert (await world.entity("王經理")).entity_id == created.entity_id
    with pytest.raises(Conflict, match="mention_count"):
        await world.undo(change.change_id)
    merged, _ = await world.editor.merge(wang, created.entity_id, user_id=USER)
    assert (merged.mention_count, merged.aliases) == (3, ("王經理",))


async def test_two_people_of_one_name_are_split_by_what_was_said_of_them() -> None:
    world = EntityWorld()
    await world.say("小王住在台北。", "小王在聯發科工作。")
    wang = await world.entity("小王")
    _, memories, _ = await world.rows()
    mediatek = next(memory for memory in memories if "聯發科" in memory.text)
    created, _ = await world.editor.split(
        wang.entity_id, memory_ids=[mediatek.memory_id], name="小王（聯發科）", user_id=USER
    )
    assert (created.mention_count, (await world.entity("小王")).mention_count) == (1, 1)
    await assert_consistent(world)


async def test_a_split_after_a_merge_brings_the_old_entity_back() -> None:
    world = EntityWorld()
    await world.say("AI-Box 到了。", "Qdrant 壞了。", "Qdrant 好了。")
    box, qdrant = await world.entity("AI-Box"), await world.entity("Qdrant")
    await world.editor.merge(box.entity_id, qdrant.entity_id, user_id=USER)
    back, _ = await world.editor.split(box.entity_id, names=["Qdrant"], user_id=USER)
    assert (back.entity_id, back.mention_count) == (qdrant.entity_id, 2)
    assert (await world.entity("AI-Box")).mention_count == 1


async def test_a_split_names_what_it_cannot_take() -> None:
    world = EntityWorld()
    await world.say("AI-Box 到了。")
    box = (await world.entity("AI-Box")).entity_id
    splits: list[tuple[dict[str, Any], str]] = [
        ({"names": ["Nobody"]}, "names"),
        ({"memory_ids": ["none"], "name": "X1"}, "memory_ids"),
        ({}, "name"),
        ({"name": "ＡＩ-Box"}, "name"),
    ]
    for wrong, field in splits:
        with pytest.raises(InvalidField) as refused:
            await world.editor.split(box, user_id=USER, **wrong)
        assert refused.value.field == field


async def test_forgetting_an_entity_leaves_the_memories_and_can_be_undone() -> None:
    world = EntityWorld()
    await world.say("王小明在台積電工作。")
    before = await world.state()
    change = await world.editor.delete((await world.entity("王小明")).entity_id, user_id=USER)
    entities, memories, relations = await world.rows()
    assert "王小明" not in {entity.entity_value for entity in entities}
    assert (len(memories), relations) == (1, [])
    await assert_consistent(world)
    await world.undo(change.change_id)
    assert await world.state() == before


async def test_relations_can_be_stated_and_taken_back() -> None:
    world = EntityWorld()
    await world.say("AI-Box 到了。", "Qdrant 壞了。")
    box, qdrant = (await world.entity("AI-Box")).entity_id, (await world.entity("Qdrant")).entity_id
    relation, _ = await world.editor.add_relation(box, "runs on", qdrant, user_id=USER, description="從一開始")
    assert [relation.relation_id for relation in await world.editor.list_relations(qdrant, user_id=USER)] == [
        relation.relation_id
    ]
    with pytest.raises(InvalidField):
        await world.editor.add_relation(box, "runs on", box, user_id=USER)
    change = await world.editor.delete_relation(relation.relation_id, user_id=USER)
    assert await world.editor.list_relations(box, user_id=USER) == []
    await world.undo(change.change_id)
    assert await world.editor.list_relations(box, user_id=USER) == [relation]
    with pytest.raises(NotFound):
        await world.editor.delete_relation("nothing", user_id=USER)


_sentence = st.tuples(st.sampled_from(SENTENCES), st.permutations(NAMES)).map(lambda parts: parts[0].format(*parts[1]))
_conversation = st.lists(_sentence, min_size=2, max_size=8)
_deed = st.tuples(st.sampled_from(("merge", "alias", "rename", "forget", "split")), st.permutations(NAMES))


async def _do(world: EntityWorld, what: str, names: Sequence[str]) -> str | None:
    """Does it where it can be done; the id of the change."""
    async with world.record.reading(user_id=USER) as unit:
        entities = [await unit.entities.get_by_value(name) for name in names[:2]]
    first, second = entities
    if first is None:
        return None
    try:
        match what:
            case "merge":
                return (
                    None
                    if second is None
                    else (await world.editor.merge(first.entity_id, second.entity_id, user_id=USER))[1].change_id
                )
            case "alias":
                _, change = await world.editor.add_alias(first.entity_id, "第二個名字 " + names[0], user_id=USER)
            case "rename":
                changes = (await world.editor.edit(first.entity_id, name="新 " + names[0], user_id=USER))[1]
                change = changes[0] if changes else None
            case "split":
                _, change = await world.editor.split(first.entity_id, names=first.aliases[:1], user_id=USER)
            case _:
                change = await world.editor.delete(first.entity_id, user_id=USER)
    except BadRequest:
        return None
    return change.change_id if change else None


@settings(max_examples=60)
@given(texts=_conversation, deeds=st.lists(_deed, min_size=1, max_size=5))
def test_undoing_in_reverse_puts_every_row_back(texts: list[str], deeds: list[tuple[str, list[str]]]) -> None:
    async def play() -> None:
        world = EntityWorld()
        await world.say(*texts)
        states, changes = [await world.state()], []
        for what, names in deeds:
            change = await _do(world, what, names)
            if change is not None:
                changes.append(change)
                await assert_consistent(world)
                states.append(await world.state())
        for change in reversed(changes):
            states.pop()
            await world.undo(change)
            assert await world.state() == states[-1]

    asyncio.run(play())


@settings(max_examples=40)
@given(texts=_conversation, later_texts=_conversation, deeds=st.lists(_deed, min_size=1, max_size=3))
def test_no_mention_is_lost_or_doubled_whatever_is_merged_and_split(
    texts: list[str], later_texts: list[str], deeds: list[tuple[str, list[str]]]
) -> None:
    async def play() -> None:
        plain, world = EntityWorld(), EntityWorld()
        await plain.say(*texts)
        await plain.say(*later_texts)
        await world.say(*texts)
        for what, names in deeds:
            if what != "forget":
                await _do(world, what, names)
        await world.say(*later_texts)
        await assert_consistent(world)
        expected = sum(entity.mention_count for entity in live_entities((await plain.rows())[0]))
        assert sum(entity.mention_count for entity in live_entities((await world.rows())[0])) == expected

    asyncio.run(play())


async def test_what_was_merged_without_a_memory_comes_back_with_its_mentions() -> None:
    world = EntityWorld()
    for name in ("Aurora Labs", "Borealis GmbH"):
        await world.editor.remember(name, user_id=USER)
    await world.editor.merge("Aurora Labs", "Borealis GmbH", user_id=USER)
    split, _ = await world.editor.split("Aurora Labs", user_id=USER, names=["Borealis GmbH"])
    assert (split.entity_value, split.mention_count, split.is_unseen_seed) == ("Borealis GmbH", 1, False)
    assert (await world.entity("Aurora Labs")).mention_count == 1


async def test_an_alias_that_nobody_used_is_split_off_as_an_entity_that_lists_show() -> None:
    world = EntityWorld()
    await world.editor.remember("Aurora Labs", user_id=USER)
    await world.editor.add_alias("Aurora Labs", "Polar Light", user_id=USER)
    split, _ = await world.editor.split("Aurora Labs", user_id=USER, names=["Polar Light"])
    assert (split.mention_count, split.is_unseen_seed) == (0, False)


async def test_remembering_by_hand_is_a_change_that_can_be_undone() -> None:
    world = EntityWorld()
    _, added = await world.editor.remember("Aurora Labs", user_id=USER, attributes={"floor": 3})
    _, edited = await world.editor.remember("Aurora Labs", user_id=USER, attributes={"floor": 4})
    _, nothing = await world.editor.remember("aurora labs", user_id=USER)
    assert added is not None
    assert edited is not None
    assert (added.kind, edited.kind, nothing) == ("add", "edit", None)
    await undo(world.record, edited.change_id, user_id=USER, at=world.clock)
    assert (await world.entity("Aurora Labs")).attributes == {"floor": 3}


async def test_remembering_an_archived_name_is_a_change_and_archiving_it_can_still_be_undone() -> None:
    world = EntityWorld()
    entity, _ = await world.editor.remember("Aurora Labs", user_id=USER)
    async with world.record.writing(user_id=USER) as unit:
        _, archived = await set_status(
            unit, entity, ChangeKind.ARCHIVE, at=world.clock, actor=ChangeActor.USER, reason=""
        )
        await unit.commit()
    assert archived is not None
    again, restored = await world.editor.remember("Aurora Labs", user_id=USER)
    assert again.is_current
    assert restored is not None
    assert restored.kind == "restore"
    await undo(world.record, archived.change_id, user_id=USER, at=world.clock)
    assert (await world.entity("Aurora Labs")).is_current


async def test_a_name_is_one_line() -> None:
    world = EntityWorld()
    entity, _ = await world.editor.remember("Aurora\nLabs\u2028GmbH", user_id=USER)
    assert entity.entity_value == "Aurora Labs GmbH"
