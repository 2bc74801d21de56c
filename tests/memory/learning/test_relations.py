"""Relations that are learned: their weight grows and decays, whatever the order, and every word has its evidence."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.relations.strength import HALF_LIFE, MAX_CONFIDENCE, add_observation, current_strength, saturated_strength
from memory.values.entities import EntityRelation
from memory.values.ids import entity_id
from memory.values.records import Resource
from memory.values.understanding.dialogue import Role
from tests.memory.conftest import NOW, World

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def relation(days: float = 0.0, *, weight: float = 1.0, confidence: float = 0.5) -> EntityRelation:
    at = AT + timedelta(days=days)
    return EntityRelation(
        relation_id="r",
        user_id="ann",
        source_entity_id="a",
        target_entity_id="b",
        relation_type="mentioned_with",
        confidence=confidence,
        evidence=f"day {days}",
        weight=weight,
        created_at=at,
        updated_at=at,
    )


def test_a_relation_weighs_half_after_its_half_life() -> None:
    assert current_strength(relation(), AT) == 1
    assert current_strength(relation(), AT + HALF_LIFE) == pytest.approx(0.5)
    assert saturated_strength(relation(weight=3), AT) == pytest.approx(0.75)


def test_what_is_said_again_adds_to_what_is_left() -> None:
    twice = add_observation(relation(), relation(90))
    assert twice.weight == pytest.approx(1.5)
    assert twice.confidence == pytest.approx(0.75)
    assert (twice.created_at, twice.updated_at) == (AT, AT + HALF_LIFE)
    assert twice.evidence == "day 90"


@given(
    st.lists(
        st.tuples(st.integers(0, 400), st.floats(0.01, 1), st.floats(0, 1)),
        min_size=2,
        max_size=4,
        unique_by=lambda x: x[0],
    )
)
def test_the_order_in_which_observations_arrive_does_not_matter(observations: list[tuple[float, float, float]]) -> None:
    results = []
    for order in permutations(observations):
        result = relation(order[0][0], weight=order[0][1], confidence=order[0][2])
        for days, weight, confidence in order[1:]:
            result = add_observation(result, relation(days, weight=weight, confidence=confidence))
        results.append(result)
    for result in results[1:]:
        assert result.weight == pytest.approx(results[0].weight)
        assert result.confidence == pytest.approx(results[0].confidence)
        assert result.evidence == results[0].evidence
    assert all(result.confidence <= max(MAX_CONFIDENCE, *(c for _, _, c in observations)) for result in results)


async def _say(world: World, *texts: str, role: Role = Role.USER, speaker: str | None = None, days: float = 0) -> None:
    resources = [
        Resource(
            resource_id=f"{role.value}-{days}-{text}",
            user_id="ann",
            session_id="s",
            role=role,
            speaker=speaker,
            content=text,
            created_at=NOW + timedelta(days=days),
        )
        for text in texts
    ]
    await world.record.append(resources, user_id="ann")
    await world.learn()


async def _of(world: World, name: str) -> dict[str, EntityRelation]:
    async with world.record.reading(user_id="ann") as unit:
        return {relation.relation_type: relation for relation in await unit.relations.of(entity_id("ann", name))}


async def test_what_is_spoken_of_together_belongs_together_ever_more(world: World) -> None:
    await _say(world, "AI-Box 和 Qdrant 都壞了。")
    once = (await _of(world, "AI-Box"))["mentioned_with"]
    await _say(world, "Qdrant 跟 AI-Box 都修好了。", days=1)
    twice = (await _of(world, "AI-Box"))["mentioned_with"]
    assert (once.weight, once.confidence) == (1, 0.5)
    assert 1.9 < twice.weight < 2
    assert twice.confidence == 0.75
    assert twice.relation_id == once.relation_id


async def test_a_long_list_says_less_of_each_pair(world: World) -> None:
    await _say(world, "AI-Box、Qdrant、Redis、Ollama 和 FastAPI 都到了。")
    assert (await _of(world, "AI-Box"))["mentioned_with"].weight == pytest.approx(1 / 4)


async def test_what_lies_far_apart_is_not_spoken_of_together(world: World) -> None:
    await _say(world, f"AI-Box 壞了。{'今天天氣很好，我去散步。' * 30}Qdrant 也壞了。")
    assert await _of(world, "AI-Box") == {}


async def test_a_statement_is_kept_with_its_words_and_where_they_stand(world: World) -> None:
    text = "對了，王小明在台積電工作。"
    await _say(world, text)
    stated = (await _of(world, "王小明"))["works_at"]
    assert stated.evidence == f"user-0-{text}"
    assert stated.evidence_start is not None
    assert text[stated.evidence_start : stated.evidence_end] == stated.description == "王小明在台積電工作"
    assert stated.source_entity_id == entity_id("ann", "王小明")


async def test_a_speaker_who_is_known_speaks_of_himself(world: World) -> None:
    await _say(world, "Caroline came.", "Hi Caroline!")
    await _say(world, "I work at Google as an engineer.", speaker="Caroline")
    assert (await _of(world, "Caroline"))["works_at"].target_entity_id == entity_id("ann", "Google")


@pytest.mark.parametrize(
    "text", ["王小明在台積電工作嗎？", "如果王小明在台積電工作", "他說：「王小明在台積電工作」", "> 王小明在台積電工作"]
)
async def test_questions_suppositions_and_quotations_teach_no_relation(world: World, text: str) -> None:
    await _say(world, "王小明來了。", "台積電漲了。", text)
    assert await _of(world, "王小明") == {}


async def test_the_assistant_teaches_no_relation(world: World) -> None:
    await _say(world, "王小明來了。", "台積電漲了。")
    await _say(world, "王小明在台積電工作。", role=Role.ASSISTANT)
    assert await _of(world, "王小明") == {}


async def test_learning_twice_changes_nothing(world: World) -> None:
    await _say(world, "王小明在台積電工作。")
    before = await _of(world, "王小明")
    await world.learn()
    assert await _of(world, "王小明") == before


@pytest.mark.parametrize(
    "text", ["誰是陳志強？", "你認識陳志強嗎？", "他說：「陳志強來了」", "> 陳志強來了", "Who is Zaphod Beeblebrox?"]
)
async def test_a_stranger_is_not_learned_from_a_question_or_a_quotation(world: World, text: str) -> None:
    await _say(world, text)
    async with world.record.reading(user_id="ann") as unit:
        assert [entity for entity in await unit.entities.recent(limit=10) if entity.mention_count] == []
    await _say(world, "陳志強是我同事。", "Zaphod Beeblebrox is here.", days=1)
    await _say(world, text, days=2)
    async with world.record.reading(user_id="ann") as unit:
        stranger = await unit.entities.get_by_value("Zaphod Beeblebrox" if "Zaphod" in text else "陳志強")
    assert stranger is not None
    assert stranger.mention_count == 2


async def test_a_second_name_in_conversation_leads_to_the_same_entity(world: World) -> None:
    await _say(world, "宏康 HCI 又叫 Hongkang HCI。", "Hongkang HCI 很快。", "我們用宏康HCI。")
    async with world.record.reading(user_id="ann") as unit:
        entity = await unit.entities.get_by_value("hongkang hci")
        changes = await unit.changes.list()
        entities = [entity for entity in await unit.entities.recent(limit=10) if entity.mention_count]
    assert entity is not None
    assert (entity.entity_value, entity.aliases, entity.mention_count) == ("宏康 HCI", ("Hongkang HCI",), 4)
    assert entities == [entity]
    assert [(change.kind.value, change.actor.value) for change in changes] == [("alias", "system")]
    assert "user-0-宏康 HCI 又叫 Hongkang HCI。" in changes[0].subjects


async def test_two_entities_that_turn_out_to_be_one_are_merged(world: World) -> None:
    await _say(world, "台積電很大。", "TSMC 漲了。")
    await _say(world, "台積電又叫 TSMC。", "TSMC 又漲了。")
    async with world.record.reading(user_id="ann") as unit:
        entity = await unit.entities.get_by_value("TSMC")
        changes = await unit.changes.list()
    assert entity is not None
    assert (entity.entity_value, entity.mention_count) == ("台積電", 5)
    assert [change.kind.value for change in changes] == ["merge"]


async def test_what_contradicts_is_left_alone(world: World) -> None:
    await _say(
        world,
        "AI-Box 又叫愛盒。",
        "Qdrant 又叫愛盒。",
        "RM05-008 到了。",
        "RM05-009 到了。",
        "RM05-008 也叫 RM05-009。",
    )
    async with world.record.reading(user_id="ann") as unit:
        box = await unit.entities.get_by_value("愛盒")
        codes = [await unit.entities.get_by_value(name) for name in ("RM05-008", "RM05-009")]
    assert box is not None
    assert box.entity_value == "AI-Box"
    assert len({code.entity_id for code in codes if code}) == 2
