"""Preloaded entities: there before the first learned turn, once, and deleted for good (000 §10.1)."""

from memory.entities.editor import EntityEditor
from memory.entities.lookup import find_by_name
from memory.entities.seeding import names_seed, preload, system_entities
from memory.entities.undo import undo
from memory.values.entities import Entity
from memory.values.understanding.mentions import EntitySubtype
from tests.memory.conftest import NOW, World


def editor(world: World) -> EntityEditor:
    return EntityEditor(record=world.record, on_change=lambda _: None, now=lambda: world.now)


async def find(world: World, name: str) -> Entity | None:
    async with world.record.reading(user_id="ann") as unit:
        return await find_by_name(unit, name)


async def test_they_are_stored_once_and_count_as_unseen(world: World) -> None:
    for _ in range(2):
        await preload(world.record, "ann", at=world.now)
    async with world.record.reading(user_id="ann") as unit:
        stored = await unit.entities.page(limit=99)
    assert {entity.entity_value for entity in stored} == {seed.entity_value for seed in system_entities("ann", at=NOW)}
    assert all(entity.is_unseen_seed for entity in stored)
    counts = await world.record.backlog.counts()
    assert counts["entities"] == counts["preloaded"] == len(stored)


async def test_one_can_be_edited_before_anything_was_said(world: World) -> None:
    entity, change = await editor(world).add_alias("ArangoDB", "the graph store", user_id="ann")
    assert (entity.entity_value, entity.aliases) == ("ArangoDB", ("the graph store",))
    assert change is not None


async def test_a_deleted_one_stays_deleted_and_its_deletion_can_be_undone(world: World) -> None:
    await world.say("我們在台北開會。")
    deletion = await editor(world).delete("ChromaDB", user_id="ann")
    await world.say("下午又開了一次會。")
    assert await find(world, "ChromaDB") is None
    await undo(world.record, deletion.change_id, user_id="ann", at=world.now)
    assert await find(world, "ChromaDB") is not None


async def test_one_that_is_said_again_after_its_deletion_is_learned(world: World) -> None:
    await world.say("我們在台北開會。")
    await editor(world).delete("ChromaDB", user_id="ann")
    await world.say("我們的 ChromaDB 壞了。")
    found = await find(world, "ChromaDB")
    assert found is not None
    assert found.mention_count == 1


def test_a_text_that_holds_its_name_names_it() -> None:
    assert names_seed("請問宏康ＨＣＩ 的保固")
    assert not names_seed("a vector database")


def test_hongkang_hci_is_a_product_that_a_system_or_product_may_refer_to() -> None:
    types = {seed.entity_value: seed.subtype for seed in system_entities("ann", at=NOW)}
    assert set(types.values()) == {EntitySubtype.PRODUCT}
