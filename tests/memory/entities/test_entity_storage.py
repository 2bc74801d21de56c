"""000 §5.4, method by method."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memory.entities.entity_storage import EntityStorage
from memory.values.entities import Entity, EntityRelation
from memory.values.errors import InvalidField, StoreUnavailable
from memory.values.ids import entity_id
from memory.values.text import normalise
from memory.values.understanding.dialogue import Role, SessionContext, Turn
from memory.values.understanding.resolutions import CoreferenceResolution, ReferenceSource
from storage.inmemory.sessions import InMemorySessions
from tests.memory.conftest import World


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, **length: float) -> None:
        self.now += timedelta(**length)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def storage(world: World, clock: Clock) -> EntityStorage:
    return EntityStorage(
        record=world.record, sessions=InMemorySessions(now=clock), retriever=world.retriever, now=clock
    )


def _entity(value: str, clock: Clock, *, user: str = "ann", **fields: Any) -> Entity:
    return Entity(
        entity_id=entity_id(user, value),
        user_id=user,
        entity_value=value,
        normalised_value=normalise(value),
        first_mentioned=clock(),
        last_mentioned=clock(),
        mention_count=1,
        **fields,
    )


def _relation(source: Entity, target: Entity, clock: Clock) -> EntityRelation:
    return EntityRelation(
        relation_id=f"{source.entity_id} {target.entity_id}",
        user_id=source.user_id,
        source_entity_id=source.entity_id,
        target_entity_id=target.entity_id,
        relation_type="runs on",
        created_at=clock(),
        updated_at=clock(),
    )


async def test_an_entity_that_was_stored_is_got_by_id_by_name_and_by_alias(
    storage: EntityStorage, clock: Clock
) -> None:
    box = _entity("AI-Box", clock, aliases=("盒子",))
    assert await storage.store_entity(box, user_id="ann") is True
    assert await storage.get_entity(box.entity_id, user_id="ann") == box
    for name in ("AI-Box", "ａｉ－ｂｏｘ", "盒子"):
        assert await storage.get_entity_by_value(name, user_id="ann") == box
    assert await storage.get_entity_by_value("AI", user_id="ann") is None


async def test_nobody_gets_another_s_entity_or_stores_one_for_her(storage: EntityStorage, clock: Clock) -> None:
    box = _entity("AI-Box", clock)
    await storage.store_entity(box, user_id="ann")
    assert await storage.get_entity(box.entity_id, user_id="bob") is None
    assert await storage.get_entity_by_value("AI-Box", user_id="bob") is None
    assert await storage.search_entities("AI-Box", user_id="bob") == []
    assert await storage.update_entity_mention(box.entity_id, user_id="bob") is False
    with pytest.raises(InvalidField):
        await storage.store_entity(box, user_id="bob")


async def test_a_search_finds_entities_best_first_and_not_too_many(
    world: World, storage: EntityStorage, clock: Clock
) -> None:
    for value in ("RM05-008", "RM05-009", "宏康 HCI"):
        await storage.store_entity(_entity(value, clock), user_id="ann")
    await world.learn()
    results = await storage.search_entities("宏康HCI 多少錢", user_id="ann")
    assert results[0].entity_value == "宏康 HCI"
    assert len(await storage.search_entities("RM05", user_id="ann", limit=1)) == 1
    for limit in (0, 101):
        with pytest.raises(InvalidField):
            await storage.search_entities("RM05", user_id="ann", limit=limit)


async def test_a_mention_counts_and_moves_the_time(storage: EntityStorage, clock: Clock) -> None:
    box = _entity("AI-Box", clock)
    await storage.store_entity(box, user_id="ann")
    clock.pass_by(hours=1)
    assert await storage.update_entity_mention(box.entity_id, user_id="ann") is True
    now = await storage.get_entity(box.entity_id, user_id="ann")
    assert now is not None
    assert (now.mention_count, now.first_mentioned, now.last_mentioned) == (2, box.first_mentioned, clock())
    assert await storage.update_entity_mention(entity_id("ann", "never seen"), user_id="ann") is False


async def test_related_entities_are_found_from_both_ends(storage: EntityStorage, clock: Clock) -> None:
    box, rack, second_rack = (_entity(value, clock) for value in ("AI-Box", "Rack 7", "Rack 8"))
    for entity in (box, rack, second_rack):
        await storage.store_entity(entity, user_id="ann")
    assert await storage.store_relation(_relation(box, rack, clock), user_id="ann") is True
    assert await storage.get_related_entities(box.entity_id, user_id="ann") == [rack.entity_id]
    assert await storage.get_related_entities(rack.entity_id, user_id="ann") == [box.entity_id]
    assert await storage.get_related_entities(second_rack.entity_id, user_id="ann") == []
    assert await storage.get_related_entities(box.entity_id, user_id="bob") == []


async def test_a_relation_to_nothing_is_refused(storage: EntityStorage, clock: Clock) -> None:
    box = _entity("AI-Box", clock)
    await storage.store_entity(box, user_id="ann")
    with pytest.raises(InvalidField):
        await storage.store_relation(_relation(box, _entity("Rack 7", clock), clock), user_id="ann")


async def test_while_the_record_is_down_relations_are_skipped_and_other_writes_fail_aloud(
    world: World, storage: EntityStorage, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(**_: Any) -> None:
        raise StoreUnavailable("gone", component="record")

    monkeypatch.setattr(world.record, "writing", down)
    box = _entity("AI-Box", clock)
    assert await storage.store_relation(_relation(box, box, clock), user_id="ann") is False
    with pytest.raises(StoreUnavailable):
        await storage.store_entity(box, user_id="ann")
    with pytest.raises(StoreUnavailable):
        await storage.update_entity_mention(box.entity_id, user_id="ann")


async def test_a_session_in_which_nothing_was_said_has_no_context(storage: EntityStorage) -> None:
    assert await storage.get_session_context("s", user_id="ann") is None


async def test_what_is_added_to_a_session_is_in_its_context(storage: EntityStorage) -> None:
    for id_ in ("e1", "e2", "e1"):
        assert await storage.add_entity_to_session("s", id_, user_id="ann") is True
    assert await storage.set_last_referred_entity("s", "e2", user_id="ann") is True
    context = await storage.get_session_context("s", user_id="ann")
    assert context is not None
    assert (context.mentioned_entities, context.last_referred_entity) == (("e2", "e1"), "e2")
    assert await storage.get_session_context("s", user_id="bob") is None
    assert await storage.get_session_context("t", user_id="ann") is None


async def test_a_context_comes_back_as_it_was_stored_and_is_forgotten_after_a_day(
    storage: EntityStorage, clock: Clock
) -> None:
    context = SessionContext(
        session_id="s",
        user_id="ann",
        mentioned_entities=("e1", "e2"),
        last_referred_entity="e1",
        coreference_history=({"original_text": "它", "resolved_text": "AI-Box", "confidence": 0.9},),
        deixis=("昨天",),
        started_at=clock(),
        last_activity=clock(),
    )
    assert await storage.store_session_context("s", context, user_id="ann") is True
    assert await storage.get_session_context("s", user_id="ann") == context
    clock.pass_by(hours=24, seconds=1)
    assert await storage.get_session_context("s", user_id="ann") is None


async def test_a_context_of_another_session_or_user_is_refused(storage: EntityStorage, clock: Clock) -> None:
    context = SessionContext(session_id="s", user_id="ann", started_at=clock(), last_activity=clock())
    with pytest.raises(InvalidField):
        await storage.store_session_context("t", context, user_id="ann")
    with pytest.raises(InvalidField):
        await storage.store_session_context("s", context, user_id="bob")


async def test_a_session_that_only_ever_heard_a_greeting_has_a_context(world: World, clock: Clock) -> None:
    sessions = InMemorySessions(now=clock)
    storage = EntityStorage(record=world.record, sessions=sessions, retriever=world.retriever, now=clock)
    hello = Turn(role=Role.USER, content="hello", created_at=clock())
    resolution = CoreferenceResolution(
        original_text="it", resolved_text="x", source=ReferenceSource.SESSION, confidence=1.0, start=0, end=2
    )
    await sessions.append("s", user_id="ann", turns=[hello])
    await sessions.append("r", user_id="ann", turns=[], resolutions=[resolution])
    for session in ("s", "r"):
        assert await storage.get_session_context(session, user_id="ann") is not None
