"""Undoing changes: what was touched is put back, unless something else has touched it since."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.entities.undo import revert_fields, undo
from memory.values.entities import Entity, EntityRelation, EntityStatus
from memory.values.errors import Conflict, NotFound
from memory.values.governance.changes import Change, ChangeActor, ChangedItem, ChangeKind, new_change
from memory.values.ids import entity_id
from memory.values.text import normalise
from storage.inmemory.record import InMemoryRecord

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LATER = AT + timedelta(hours=1)


def entity(value: str, *aliases: str, **fields: Any) -> Entity:
    defaults: dict[str, Any] = {
        "user_id": "ann",
        "entity_id": entity_id("ann", value),
        "entity_value": value,
        "normalised_value": normalise(value),
        "aliases": aliases,
        "mention_count": 3,
        "first_mentioned": AT,
        "last_mentioned": AT,
    }
    return Entity(**defaults | fields)


async def change(record: InMemoryRecord, *pairs: tuple[Any, Any], kind: ChangeKind = ChangeKind.RENAME) -> Change:
    """Makes a change: each pair is a thing before and after it."""
    recorded = new_change(
        kind,
        user_id="ann",
        at=AT,
        actor=ChangeActor.USER,
        reason="test",
        items=[ChangedItem.of(before, after) for before, after in pairs],
    )
    async with record.writing(user_id="ann") as unit:
        await unit.entities.save([after for _, after in pairs if isinstance(after, Entity)])
        await unit.relations.store([after for _, after in pairs if isinstance(after, EntityRelation)])
        await unit.entities.delete([b.entity_id for b, a in pairs if a is None and isinstance(b, Entity)])
        await unit.changes.append([recorded])
        await unit.commit()
    return recorded


async def entities(record: InMemoryRecord) -> Sequence[Entity]:
    async with record.reading(user_id="ann") as unit:
        return await unit.entities.page(limit=99)


async def save(record: InMemoryRecord, *values: Entity) -> None:
    async with record.writing(user_id="ann") as unit:
        await unit.entities.save(values)
        await unit.commit()


def revise(value: Entity, **fields: Any) -> Entity:
    return value.model_copy(update=fields)


async def test_a_change_is_undone_and_undoing_is_a_change_that_can_be_undone() -> None:
    record = InMemoryRecord()
    old = entity("宏康")
    new = revise(old, entity_value="宏康 HCI", normalised_value="宏康hci", version=2)
    await save(record, old)
    renamed = await change(record, (old, new))
    undone = await undo(record, renamed.change_id, user_id="ann", at=LATER)
    assert (undone.kind, undone.undoes, undone.subjects) == (ChangeKind.UNDO, renamed.change_id, renamed.subjects)
    assert await entities(record) == [revise(old, version=3)]
    async with record.reading(user_id="ann") as unit:
        assert [change_.undone_at for change_ in await unit.changes.list()] == [None, LATER]
    again = await undo(record, undone.change_id, user_id="ann", at=LATER)
    assert await entities(record) == [revise(new, version=4)]
    await undo(record, again.change_id, user_id="ann", at=LATER)
    assert await entities(record) == [revise(old, version=5)]
    async with record.reading(user_id="ann") as unit:
        marks = {change_.change_id: change_.undone_at for change_ in await unit.changes.list()}
    assert marks[renamed.change_id] == marks[again.change_id] == LATER
    assert marks[undone.change_id] is None


async def test_what_was_created_goes_and_what_was_deleted_comes_back() -> None:
    record = InMemoryRecord()
    old_entity, new_entity = entity("宏康"), entity("AI-Box")
    await save(record, old_entity)
    split = await change(record, (None, new_entity), (old_entity, None), kind=ChangeKind.SPLIT)
    assert await entities(record) == [new_entity]
    await undo(record, split.change_id, user_id="ann", at=LATER)
    assert await entities(record) == [old_entity]


async def test_relations_are_moved_back_with_the_entities_they_join() -> None:
    record = InMemoryRecord()
    company, product = entity("宏康"), entity("AI-Box")
    relation = EntityRelation(
        relation_id="r",
        user_id="ann",
        source_entity_id=company.entity_id,
        target_entity_id=product.entity_id,
        relation_type="makes",
        created_at=AT,
        updated_at=AT,
    )
    split = await change(record, (None, company), (None, product), (None, relation), kind=ChangeKind.SPLIT)
    undone = await undo(record, split.change_id, user_id="ann", at=LATER)
    async with record.reading(user_id="ann") as unit:
        assert await unit.relations.count() == 0
        assert await unit.entities.page(limit=9) == []
    await undo(record, undone.change_id, user_id="ann", at=LATER)
    async with record.reading(user_id="ann") as unit:
        assert await unit.relations.get(["r"]) == [relation]


async def test_the_index_hears_of_what_is_put_back() -> None:
    record = InMemoryRecord()
    old = entity("宏康")
    archiving = await change(record, (old, revise(old, status=EntityStatus.ARCHIVED)))
    await record.backlog.acknowledge(await record.backlog.outbox(limit=9))
    await undo(record, archiving.change_id, user_id="ann", at=LATER)
    assert [entry.item_id for entry in await record.backlog.outbox(limit=9)] == [old.entity_id]


async def test_what_was_counted_since_is_kept() -> None:
    record = InMemoryRecord()
    old = entity("宏康", mention_count=3, confidence=0.7)
    merged = revise(old, aliases=("HCI",), mention_count=5, confidence=0.9, version=2)
    merging = await change(record, (old, merged), kind=ChangeKind.MERGE)
    await save(
        record, revise(merged, mention_count=7, access_count=4, confidence=0.95, last_mentioned=LATER, version=4)
    )
    await undo(record, merging.change_id, user_id="ann", at=LATER)
    [restored] = await entities(record)
    assert restored == revise(old, mention_count=5, access_count=4, confidence=0.7, last_mentioned=LATER, version=5)


async def test_a_field_that_the_change_did_not_touch_keeps_what_it_has_now() -> None:
    record = InMemoryRecord()
    old = entity("宏康")
    archiving = await change(record, (old, revise(old, status=EntityStatus.ARCHIVED)))
    await save(record, revise(old, status=EntityStatus.ARCHIVED, aliases=("HCI",)))
    await undo(record, archiving.change_id, user_id="ann", at=LATER)
    [restored] = await entities(record)
    assert (restored.status, restored.aliases) == (EntityStatus.ACTIVE, ("HCI",))


async def test_where_something_else_changed_it_since_nothing_is_undone_and_the_message_says_what() -> None:
    record = InMemoryRecord()
    old, box = entity("宏康"), entity("AI-Box")
    first = await change(record, (old, revise(old, entity_value="宏康科技")), (box, revise(box, aliases=("Box",))))
    middle = revise(old, entity_value="宏康科技")
    second = await change(record, (middle, revise(middle, entity_value="宏康 HCI")), kind=ChangeKind.RENAME)
    before = await entities(record)
    with pytest.raises(Conflict) as caught:
        await undo(record, first.change_id, user_id="ann", at=LATER)
    for words in ("宏康科技", "entity_value", second.change_id, "rename"):
        assert words in caught.value.message
    assert "AI-Box" not in caught.value.message
    assert await entities(record) == before
    await undo(record, second.change_id, user_id="ann", at=LATER)
    await undo(record, first.change_id, user_id="ann", at=LATER)
    assert all(stored.attributes == {} for stored in await entities(record))


async def test_a_name_that_was_given_since_stays() -> None:
    record = InMemoryRecord()
    old = entity("宏康")
    first = await change(record, (old, revise(old, aliases=("HCI",))))
    await change(record, (revise(old, aliases=("HCI",)), revise(old, aliases=("HCI", "鴻康"))), kind=ChangeKind.ALIAS)
    await undo(record, first.change_id, user_id="ann", at=LATER)
    [restored] = await entities(record)
    assert restored.aliases == ("鴻康",)


async def test_what_a_change_created_and_people_have_used_since_is_not_deleted() -> None:
    record = InMemoryRecord()
    new_entity = entity("AI-Box")
    split = await change(record, (None, new_entity), kind=ChangeKind.SPLIT)
    await save(record, revise(new_entity, access_count=2, version=2))
    await save(record, revise(new_entity, mention_count=9, version=3))
    with pytest.raises(Conflict, match="mention_count"):
        await undo(record, split.change_id, user_id="ann", at=LATER)


async def test_what_is_gone_or_there_again_cannot_be_put_back() -> None:
    record = InMemoryRecord()
    old = entity("宏康")
    renamed = await change(record, (old, revise(old, aliases=("HCI",))))
    deleted = await change(record, (revise(old, aliases=("HCI",)), None), kind=ChangeKind.DELETE)
    with pytest.raises(Conflict, match="gone"):
        await undo(record, renamed.change_id, user_id="ann", at=LATER)
    await save(record, old)
    with pytest.raises(Conflict, match="exists again"):
        await undo(record, deleted.change_id, user_id="ann", at=LATER)


async def test_a_change_is_undone_once_and_only_by_its_user() -> None:
    record = InMemoryRecord()
    old = entity("宏康")
    renaming = await change(record, (old, revise(old, aliases=("HCI",))))
    with pytest.raises(NotFound):
        await undo(record, renaming.change_id, user_id="bob", at=LATER)
    await undo(record, renaming.change_id, user_id="ann", at=LATER)
    with pytest.raises(Conflict, match="already"):
        await undo(record, renaming.change_id, user_id="ann", at=LATER)


async def test_a_snapshot_that_this_version_cannot_read_is_a_conflict() -> None:
    record = InMemoryRecord()
    old = entity("宏康")
    deletion = await change(record, (old, None), kind=ChangeKind.DELETE)
    [item] = deletion.items
    foreign = deletion.model_copy(
        update={"change_id": "f", "items": (item.model_copy(update={"before": {"colour": "blue"}}),)}
    )
    async with record.writing(user_id="ann") as unit:
        await unit.changes.append([foreign])
        await unit.commit()
    with pytest.raises(Conflict, match="another version"):
        await undo(record, "f", user_id="ann", at=LATER)


fields = st.fixed_dictionaries(
    {
        "aliases": st.lists(st.sampled_from("abc"), unique=True, max_size=3).map(sorted).map(tuple),
        "mention_count": st.integers(0, 9),
        "access_count": st.integers(0, 9),
        "confidence": st.sampled_from([0.5, 0.7, 1.0]),
        "status": st.sampled_from(list(EntityStatus)),
        "attributes": st.dictionaries(st.sampled_from("kl"), st.sampled_from([1, 1.5, True, "x", None]), max_size=2),
        "last_mentioned": st.integers(0, 3).map(lambda hours: AT + timedelta(hours=hours)),
    }
)


@given(before=fields, after=fields)
def test_a_thing_left_alone_is_afterwards_as_it_was_before(before: Any, after: Any) -> None:
    old, new = entity("宏康", **before), entity("宏康", **after)
    snapshot = old.model_dump(mode="json")
    result, moved = revert_fields(snapshot, new.model_dump(mode="json"), new.model_dump(mode="json"))
    assert moved == []
    assert Entity.model_validate(result) == revise(old, version=2)


@given(before=fields, after=fields, now=fields)
def test_nothing_that_was_counted_since_is_lost_and_no_count_is_negative(before: Any, after: Any, now: Any) -> None:
    dumps = [entity("宏康", **fields).model_dump(mode="json") for fields in (before, after, now)]
    result, _ = revert_fields(*dumps)
    for name in ("mention_count", "access_count"):
        assert result[name] == max(0, before[name] + now[name] - after[name])
