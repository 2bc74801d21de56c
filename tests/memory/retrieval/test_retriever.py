"""The hybrid retriever over a whole memory of fakes."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memory.indexing.indexer import requeue_lost
from memory.language.keywords import KeywordAnalyzer
from memory.ports.stores.generations import VectorSpace
from memory.ports.stores.vectors import Collection, IndexQuery, ScoredPoint
from memory.retrieval import legs
from memory.retrieval.fusion import CONVERSATION, ENTITY_MEMORY, boosted_score, fused_score
from memory.retrieval.retriever import HybridRetriever
from memory.values.entities import EntityStatus
from memory.values.errors import StoreBusy, StoreUnavailable
from memory.values.hits import HitKind, SearchFilter, SearchRequest
from memory.values.records import EXPIRES_ON, Resource
from tests.memory.conftest import World


async def test_a_note_is_found_by_its_words_with_the_parts_of_its_score(world: World) -> None:
    await world.note("The spare key is in the blue drawer.", "We had soup for dinner.")
    result = await world.find("Where is the spare key?")
    assert result.hits[0].text == "The spare key is in the blue drawer."
    parts = result.hits[0].parts
    assert {"vector", "keyword", "freshness", "cosine", "bm25"} <= set(parts)
    plain = 0.4 * parts["vector"] + 0.4 * max(parts["keyword"], parts.get("exact", 0)) + 0.2 * parts["freshness"]
    assert fused_score(parts, ENTITY_MEMORY) == pytest.approx(plain)
    assert result.hits[0].score == pytest.approx(boosted_score(plain, parts, CONVERSATION))


@pytest.mark.parametrize("query", ["台灣的倉庫在哪", "台湾的仓库在哪", "臺灣的倉庫在哪"])
async def test_either_script_and_either_variant_finds_the_other(world: World, query: str) -> None:
    [expected] = await world.note("我們在臺灣的倉庫在桃園。")
    await world.note("昨天下雨了。")
    assert (await world.find(query)).hits[0].id == expected or expected in {
        hit.id for hit in (await world.find(query)).hits[:2]
    }


async def test_an_entity_is_found_by_its_exact_name_whatever_its_width(world: World) -> None:
    await world.say("我們今天測試宏康 HCI。")
    hits = (await world.find("宏康ＨＣＩ 好用嗎", kinds=(HitKind.ENTITY,))).hits
    assert hits[0].text == "宏康 HCI"
    assert hits[0].parts["exact"] == 1.0


async def test_a_preloaded_entity_that_was_never_mentioned_is_found_by_name_only(world: World) -> None:
    await world.note("Just some text.")
    assert [hit.text for hit in (await world.find("Qdrant", kinds=(HitKind.ENTITY,))).hits] == ["Qdrant"]
    assert (await world.find("vector database", kinds=(HitKind.ENTITY,))).hits == ()


async def test_a_filter_leaves_memories_that_meet_it_and_no_entities(world: World) -> None:
    [red] = await world.note("Qdrant runs in the red room.", metadata={"room": "red", "floor": 3})
    await world.note("Qdrant runs in the blue room.", metadata={"room": "blue", "floor": 3})
    filters: list[dict[str, Any]] = [{"room": "red"}, {"room": ["red", "green"], "floor": 3}]
    for metadata in filters:
        hits = (await world.find("Qdrant", filters=SearchFilter(metadata=metadata))).hits
        assert [hit.id for hit in hits] == [red]
        assert hits[0].metadata == {"room": "red", "floor": 3}


async def test_a_memory_whose_last_day_is_over_is_found_only_where_that_is_asked_for(world: World) -> None:
    today = world.now.date()
    for text, days in (("The guest code is 1111.", -1), ("The door code is 2222.", 0), ("The gate code is 3333.", 1)):
        await world.note(text, metadata={EXPIRES_ON: (today + timedelta(days=days)).isoformat()})
    await world.note("The lift code is 4444.", metadata={EXPIRES_ON: "soon"})
    held = {hit.text[4:8] for hit in (await world.find("Which code?")).hits if "code" in hit.text}
    assert held == {"door", "gate", "lift"}
    every = {hit.text[4:8] for hit in (await world.find("Which code?", with_expired=True)).hits if "code" in hit.text}
    assert every == {"gues", "door", "gate", "lift"}


async def test_what_was_just_written_is_found_before_it_is_learned(world: World) -> None:
    world.worker.notify = lambda *, user_id: None  # type: ignore[method-assign]
    from memory.chat.messages import NewMemory

    note = NewMemory(content="車位是 B2-17", created_at=world.now)
    [added], _ = await world.additions.add([note], user_id="ann", session_id="s", wait=False)
    hits = (await world.find("車位")).hits
    assert [hit.id for hit in hits] == [added.id]


async def test_a_correction_is_found_as_it_was_meant_before_it_is_learned(world: World) -> None:
    resource = Resource(
        resource_id="r",
        user_id="ann",
        session_id="s",
        content="不是，我是說一樓",
        resolved="鑰匙放在一樓的抽屜裡。",
        created_at=world.now,
    )
    await world.record.append([resource], user_id="ann")
    [hit] = (await world.find("鑰匙在哪裡？")).hits
    assert hit.resolved == resource.resolved


async def test_while_the_index_is_down_recent_memories_are_found_and_the_result_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    [expected] = await world.note("The spare key is in the blue drawer.")

    async def down(queries: Sequence[IndexQuery], *, user_id: str) -> list[list[ScoredPoint]]:
        raise StoreUnavailable("gone", component="vectors")

    monkeypatch.setattr(world.index, "search", down)
    result = await world.find("spare key")
    assert [hit.id for hit in result.hits] == [expected]
    assert set(result.degraded) == {"vector", "keyword"}


async def test_an_error_that_is_no_outage_is_not_hidden(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(world.index, "search", broken)
    with pytest.raises(ZeroDivisionError):
        await world.find("anything")


async def test_another_user_finds_nothing(world: World) -> None:
    await world.note("The spare key is in the blue drawer.", user="ann")
    assert (await world.find("spare key", user="bob")).hits == ()


async def test_an_archived_entity_is_not_found_by_what_it_is_like(world: World) -> None:
    await world.say("我們今天測試宏康 HCI。")
    async with world.record.writing(user_id="ann") as unit:
        entity = await unit.entities.get_by_value("宏康 HCI")
        assert entity is not None
        await unit.entities.save([entity.model_copy(update={"status": EntityStatus.ARCHIVED})])
        await unit.commit()
    assert (await world.find("宏康 HCI", kinds=(HitKind.ENTITY,))).hits == ()  # the index has not heard of it yet
    await world.learn()
    assert (await world.find("宏康 HCI", kinds=(HitKind.ENTITY,))).hits == ()
    assert await world.index.count(Collection.ENTITIES, user_id="ann") == 1


async def test_archived_entities_do_not_crowd_out_active_ones(world: World) -> None:
    await world.note(*(f"RM05-{number:03} 到了" for number in range(60)))
    async with world.record.writing(user_id="ann") as unit:
        entities = [await unit.entities.get_by_value(f"RM05-{number:03}") for number in range(1, 60)]
        archived = [entity.model_copy(update={"status": EntityStatus.ARCHIVED}) for entity in entities if entity]
        await unit.entities.save(archived)
        await unit.commit()
    await world.learn()
    hits = (await world.find("RM05", kinds=(HitKind.ENTITY,), top_k=1)).hits
    assert [hit.text for hit in hits] == ["RM05-000"]


def _down(*_: Any, **__: Any) -> Any:
    raise StoreUnavailable("gone", component="record")


async def test_while_the_record_is_down_the_result_is_empty_and_says_why(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.note("The spare key is in the blue drawer.")
    monkeypatch.setattr(world.record, "reading", _down)
    result = await world.find("spare key")
    assert result.hits == ()
    assert set(result.degraded) == {"exact", "record"}
    assert len(result.degraded) == 2


@pytest.mark.parametrize("part", ["reading", "backlog"])
async def test_while_too_much_waits_for_the_record_a_search_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def busy(*_: Any, **__: Any) -> Any:
        raise StoreBusy("it was busy for 5 s", component="record")

    if part == "backlog":
        monkeypatch.setattr(world.record.backlog, "unlearned", busy)
    else:
        monkeypatch.setattr(world.record, "reading", busy)
    with pytest.raises(StoreBusy):
        await world.find("spare key")


async def test_without_the_backlog_the_index_still_answers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    [expected] = await world.note("The spare key is in the blue drawer.")
    monkeypatch.setattr(world.record.backlog, "unlearned", _down)
    result = await world.find("spare key")
    assert [hit.id for hit in result.hits] == [expected]
    assert result.degraded == ("record",)


async def test_with_both_stores_down_there_is_still_an_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.index, "search", _down)
    monkeypatch.setattr(world.record, "reading", _down)
    monkeypatch.setattr(world.record.backlog, "unlearned", _down)
    result = await world.find("spare key")
    assert result.hits == ()
    assert set(result.degraded) == {"vector", "keyword", "exact", "record"}


async def test_while_a_lost_index_comes_back_the_newest_memories_are_found(world: World) -> None:
    await world.note(*(f"note number {number}" for number in range(100)))
    [expected] = await world.note("The spare key is in the blue drawer.")
    for collection in Collection:
        await world.index.delete_user(collection, user_id="ann")
    assert await requeue_lost(world.record, VectorSpace(world.encoder, world.index)) == 101
    result = await world.find("spare key")
    assert [hit.id for hit in result.hits] == [expected]
    assert result.degraded == ()


async def test_the_turn_after_the_one_that_matches_is_lifted_by_it(world: World) -> None:
    await world.say("Which bank did you choose for the mortgage?", session="talk")
    _, _, answer = await world.say("The one with the green logo.", session="talk")
    await world.say("It rained all day.", session="other")
    hits = {hit.id: hit for hit in (await world.find("mortgage bank", kinds=(HitKind.MEMORY,))).hits}
    lifted = hits[answer.memory_id]
    assert lifted.parts["beside"] > fused_score(lifted.parts, ENTITY_MEMORY)
    assert lifted.score > fused_score(lifted.parts, ENTITY_MEMORY)


async def test_what_memory_says_of_the_thing_that_the_best_hit_names_is_found(world: World) -> None:
    await world.note("The seminar on Thursday is called Aurora.")
    [linked] = await world.note("Aurora takes place in room seven.", session="elsewhere")
    [unlinked] = await world.note("Dinner takes place in the garden.", session="garden")
    hits = {hit.id: hit for hit in (await world.find("seminar on Thursday", kinds=(HitKind.MEMORY,))).hits}
    assert hits[linked].parts["linked"] > 0
    assert "linked" not in hits[unlinked].parts


async def test_two_questions_in_one_query_both_find_their_answer(world: World) -> None:
    await world.note(*(f"Box {number} holds paper." for number in range(20)))
    [key] = await world.note("The spare key is in the blue drawer.", session="a")
    [train] = await world.note("The night train leaves at nine.", session="b")
    result = await world.find("Where is the spare key? And when does the night train leave?", top_k=4)
    assert {key, train} <= {hit.id for hit in result.hits}


async def test_a_graph_leg_that_cannot_answer_is_named_and_the_others_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    [expected] = await world.note("The spare key is in the blue drawer.")

    async def down(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("gone", component="record")

    monkeypatch.setattr(legs, "_score_neighbours", down)
    retriever = HybridRetriever(
        encoder=world.encoder,
        index=world.index,
        record=world.record,
        analyzer=KeywordAnalyzer(),
        recipe=replace(CONVERSATION, graph=0.5),
    )
    result = await retriever.search(SearchRequest(query="spare key", user_id="ann", now=world.now))
    assert result.hits[0].id == expected
    assert result.degraded == ("graph",)


async def test_where_only_the_second_step_fails_the_first_one_stands(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    [expected] = await world.note("The spare key is in the blue drawer.")
    search, calls = world.index.search, []

    async def down_at_last(queries: Sequence[IndexQuery], *, user_id: str) -> list[list[ScoredPoint]]:
        calls.append(queries)
        if len(calls) > 2:
            raise StoreUnavailable("gone", component="vectors")
        answered: list[list[ScoredPoint]] = await search(queries, user_id=user_id)
        return answered

    monkeypatch.setattr(world.index, "search", down_at_last)
    result = await world.find("spare key")
    assert result.hits[0].id == expected
    assert result.degraded == ("linked",)
