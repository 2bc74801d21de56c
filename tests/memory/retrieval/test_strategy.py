"""What a search for entities does depends on its query: a name, a description, a type (000 §6.1, §6.2, §6.4)."""

from typing import Any

import pytest

from memory.entities.editor import EntityEditor
from memory.values.hits import Hit, HitKind
from memory.values.understanding.mentions import EntitySubtype
from tests.memory.conftest import World


async def remember(world: World, *names: str, index: bool = True, **fields: Any) -> None:
    editor = EntityEditor(record=world.record, on_change=lambda _: None, now=lambda: world.now)
    for name in names:
        await editor.remember(name, user_id="ann", **fields)
    if index:
        await world.learn()


async def search(world: World, query: str, **fields: Any) -> tuple[Hit, ...]:
    return (await world.find(query, kinds=(HitKind.ENTITY,), **fields)).hits


async def test_an_entity_that_the_query_names_ranks_above_one_that_shares_more_words(world: World) -> None:
    await remember(world, "IBM", "世貿展覽中心", "Nvidia", "Blue Sky Exhibition Hall")
    for query in ("IBM 的展覽中心在哪裡", "Does IBM have a Blue Sky Exhibition booth?"):
        first, *others = await search(world, query)
        assert first.text == "IBM"
        assert "exact" in first.parts
        assert all(hit.score < first.score for hit in others)
    assert others[0].parts["named"] == first.score


async def test_words_of_a_name_are_not_the_whole_name(world: World) -> None:
    await remember(world, "世貿展覽中心")
    [partly] = await search(world, "展覽中心在哪裡")
    [whole] = await search(world, "世貿展覽中心在哪裡")
    assert partly.parts["keyword"] <= 0.5 < whole.parts["exact"]
    assert partly.score < whole.score


async def test_what_is_less_sure_ranks_lower(world: World) -> None:
    await remember(world, "Harbor Hall", "Garden Hall", index=False)
    async with world.record.writing(user_id="ann") as unit:
        [entity] = [found for found in await unit.entities.recent(limit=9) if found.entity_value == "Harbor Hall"]
        await unit.entities.save([entity.model_copy(update={"confidence": 0.6})])
        await unit.commit()
    found = await search(world, "Harbor Hall or Garden Hall")
    assert [(hit.text, hit.parts["confidence"]) for hit in found] == [("Garden Hall", 1.0), ("Harbor Hall", 0.6)]


async def test_a_name_alone_needs_no_encoder_and_a_description_does(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await remember(world, "宏康 HCI", "宏康大樓")
    asked: list[list[str]] = []
    encode = world.encoder.encode

    async def count(texts: list[str], **options: Any) -> Any:
        asked.append(list(texts))
        return await encode(texts, **options)

    monkeypatch.setattr(world.encoder, "encode", count)
    assert (await search(world, "宏康ＨＣＩ"))[0].text == "宏康 HCI"
    assert asked == []
    await search(world, "宏康的機器")
    assert len(asked) == 1


async def test_a_type_restricts_the_result_and_brings_its_latest_entities(world: World) -> None:
    await remember(world, "王小明", subtype=EntitySubtype.PERSON)
    await remember(world, "小明文具行", subtype=EntitySubtype.ORGANISATION)
    found = await search(world, "小明", entity_type=EntitySubtype.PERSON)
    assert [hit.text for hit in found] == ["王小明"]
    everyone = await world.find("小明", entity_type="entity_noun")
    assert {hit.text for hit in everyone.hits} == {"王小明", "小明文具行"}
    assert await search(world, "小明", entity_type=EntitySubtype.PLACE) == ()
