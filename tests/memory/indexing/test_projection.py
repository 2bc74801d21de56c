"""What the index holds of an item, and when that is made again."""

import uuid
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.indexing.projection import has_same_vector, project_entity, project_memory
from memory.ports.stores.vectors import PAYLOAD_FIELDS, Collection, IndexQuery
from memory.values.base import Scalar
from memory.values.entities import Entity, EntityStatus
from memory.values.facts import FactStatus
from memory.values.records import Memory
from tests.memory.index_bench import AT, Bench

FACT = str(uuid.uuid4())


def _entity(**fields: object) -> Entity:
    return Entity.model_validate(
        {
            "entity_id": "e",
            "user_id": "ann",
            "entity_value": "AI-Box",
            "normalised_value": "ai-box",
            "mention_count": 1,
            "first_mentioned": AT,
            "last_mentioned": AT,
        }
        | fields
    )


async def test_every_payload_field_of_every_collection_is_filled(bench: Bench) -> None:
    await bench.state_fact(FACT, "tea")
    await bench.store_typed("part_number", "RM05-008")
    await bench.say("我們用 RM05-008 測試。")
    contents = await bench.contents()
    del contents[Collection.KNOWLEDGE]  # an app's, not a user's: tests/memory/knowledge/test_ingestion.py
    for collection, points in contents.items():
        assert points
        for point in points.values():
            assert set(point.payload) == set(PAYLOAD_FIELDS[collection])


async def test_active_and_archived_facts_are_indexed_and_deleted_ones_taken_out(bench: Bench) -> None:
    await bench.state_fact(FACT, "tea")
    for status, there in [(FactStatus.ACTIVE, 1), (FactStatus.ARCHIVED, 1), (FactStatus.DELETED, 0)]:
        async with bench.record.writing(user_id="ann") as unit:
            await unit.facts.update_status(FACT, status, now=AT)
            await unit.commit()
        await bench.learner.learn(user_id="ann")
        assert await bench.index.count(Collection.FACTS, user_id="ann") == there


async def test_a_fact_is_found_by_its_words(bench: Bench) -> None:
    await bench.state_fact(FACT, "oolong tea")
    await bench.learner.learn(user_id="ann")
    from memory.language.keywords import KeywordAnalyzer

    sparse = KeywordAnalyzer().query_vector("who likes oolong?")
    query = IndexQuery(Collection.FACTS, 5, sparse=sparse, where={"status": "active"})
    [[hit]] = await bench.index.search([query], user_id="ann")
    assert hit.point_id == FACT


def test_an_entity_that_was_only_preloaded_does_not_belong_in_the_index() -> None:
    assert project_entity(_entity(mention_count=0, source="system")) is None
    assert project_entity(_entity(mention_count=0)) is not None


@pytest.mark.parametrize(
    ("change", "same_vector"),
    [
        ({"mention_count": 2}, True),
        ({"last_mentioned": AT + timedelta(hours=1)}, True),
        ({"status": EntityStatus.ARCHIVED}, True),
        ({"aliases": ("盒子",)}, False),
        ({"entity_value": "AI Box"}, False),
    ],
    ids=str,
)
def test_any_change_that_the_index_shows_changes_the_fingerprint(change: dict[str, object], same_vector: bool) -> None:
    before, after = project_entity(_entity()), project_entity(_entity(**change))
    assert before is not None
    assert after is not None
    assert before.fingerprint("m") != after.fingerprint("m")
    assert has_same_vector(before.fingerprint("m"), after.fingerprint("m")) is same_vector


def test_what_the_index_does_not_show_leaves_the_fingerprint() -> None:
    before, after = project_entity(_entity()), project_entity(_entity(version=7, confidence=0.5, access_count=3))
    assert before is not None
    assert after is not None
    assert before.fingerprint("m") == after.fingerprint("m")


def test_two_models_never_share_a_vector() -> None:
    projection = project_entity(_entity())
    assert projection is not None
    assert not has_same_vector(projection.fingerprint("m"), projection.fingerprint("n"))


_texts = st.text(min_size=1, max_size=20)
_metadata = st.dictionaries(_texts, st.one_of(_texts, st.integers(), st.booleans(), st.none()), max_size=4)


@given(text=_texts, metadata=_metadata)
def test_the_fingerprint_depends_on_the_content_alone(text: str, metadata: dict[str, Scalar]) -> None:
    def fingerprint(metadata: dict[str, Scalar]) -> str:
        memory = Memory(
            memory_id="m",
            user_id="ann",
            session_id="s",
            resource_id="r",
            text=text,
            metadata=metadata,
            created_at=AT,
            updated_at=AT,
        )
        projection = project_memory(memory, None)
        assert projection is not None
        return projection.fingerprint("m")

    assert fingerprint(metadata) == fingerprint(dict(reversed(metadata.items())))
    assert fingerprint(metadata) != fingerprint({**metadata, "one more": "x"})


async def test_a_name_that_is_mentioned_again_is_not_encoded_again(bench: Bench) -> None:
    await bench.say("我們用 RM05-008 測試。")
    await bench.say("RM05-008 到貨了。")
    assert bench.encoder.texts_read.count("RM05-008") == 1
    [point] = (await bench.contents())[Collection.ENTITIES].values()
    assert point.payload["mention_count"] == 2


async def test_a_new_alias_is_encoded(bench: Bench) -> None:
    await bench.say("我們用 RM05-008 測試。")
    async with bench.record.writing(user_id="ann") as unit:
        entity = await unit.entities.get_by_value("RM05-008")
        assert entity is not None
        await unit.entities.save([entity.model_copy(update={"aliases": ("新機",)})])
        await unit.commit()
    await bench.learner.learn(user_id="ann")
    assert "RM05-008、新機" in bench.encoder.texts_read
