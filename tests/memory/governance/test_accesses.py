"""Accesses: tallied without a write on the way, written in batches, none lost while the record is away."""

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.governance import accesses
from memory.governance.accesses import AccessTally
from memory.values.entities import Entity
from memory.values.errors import StoreUnavailable
from memory.values.facts import Fact
from memory.values.governance.changes import Held, ItemKind
from storage.inmemory.record import InMemoryRecord
from tests.memory.typed_memories.harness import NOW

IDS = ("a", "b", "c")


async def filled(users: tuple[str, ...] = ("ann", "bob")) -> InMemoryRecord:
    record = InMemoryRecord()
    for user in users:
        async with record.writing(user_id=user) as unit:
            await unit.entities.save(
                [
                    Entity(
                        entity_id=id_,
                        user_id=user,
                        entity_value=id_,
                        normalised_value=id_,
                        first_mentioned=NOW,
                        last_mentioned=NOW,
                    )
                    for id_ in IDS
                ]
            )
            await unit.commit()
    return record


async def counts(record: InMemoryRecord, user: str) -> dict[str, int]:
    async with record.reading(user_id=user) as unit:
        return {entity.entity_id: entity.access_count for entity in await unit.entities.page(limit=9)}


steps = st.lists(
    st.one_of(st.tuples(st.sampled_from(["ann", "bob"]), st.lists(st.sampled_from([*IDS, "gone"]))), st.none()),
    max_size=12,
)


@settings(max_examples=50)
@given(operations=steps)
def test_every_access_is_counted_once_whenever_it_is_written(operations: Any) -> None:
    async def run() -> None:
        record = await filled()
        tally = AccessTally(record, interval_s=3600)
        expected: dict[str, Counter[str]] = {"ann": Counter(), "bob": Counter()}
        for operation in operations:
            if operation is None:
                await tally.flush()
                assert tally.pending == 0
            else:
                user, ids = operation
                tally.add(ItemKind.ENTITY, ids, user_id=user, at=NOW)
                expected[user].update(ids)
        await tally.close()
        for user in expected:
            assert await counts(record, user) == {id_: expected[user][id_] for id_ in IDS}

    asyncio.run(run())


async def test_what_cannot_be_written_waits_and_is_written_later(monkeypatch: pytest.MonkeyPatch) -> None:
    record = await filled()
    tally = AccessTally(record, interval_s=0.001)
    writing = record.writing

    def away(*, user_id: str) -> Any:
        raise StoreUnavailable("away", component="record")

    monkeypatch.setattr(record, "writing", away)
    tally.add(ItemKind.ENTITY, ["a"], user_id="ann", at=NOW)
    with pytest.raises(StoreUnavailable):
        await tally.flush()
    tally.add(ItemKind.ENTITY, ["a", "b"], user_id="ann", at=NOW + timedelta(hours=1))
    assert tally.pending == 2
    monkeypatch.setattr(record, "writing", writing)
    while tally.pending:
        await asyncio.sleep(0.001)
    await tally.close()
    assert await counts(record, "ann") == {"a": 2, "b": 1, "c": 0}
    async with record.reading(user_id="ann") as unit:
        assert [entity.accessed_at for entity in await unit.entities.get(["a"])] == [NOW + timedelta(hours=1)]


async def test_no_more_than_so_many_items_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accesses, "MAX_PENDING", 2)
    tally = AccessTally(await filled(), interval_s=3600)
    tally.add(ItemKind.ENTITY, ["a", "b", "c", "a"], user_id="ann", at=NOW)
    assert (tally.pending, tally.dropped) == (2, 1)
    await tally.close()


async def test_what_a_prompt_held_of_facts_and_categories_is_counted() -> None:
    record = await filled()
    fact = Fact(
        fact_id="f", user_id="ann", resource_id="r", subject="user", predicate="likes", object="茶",
        category="preferences", recorded_at=NOW, updated_at=NOW,
    )  # fmt: skip
    async with record.writing(user_id="ann") as unit:
        await unit.facts.create_many([fact])
        await unit.commit()
    tally = AccessTally(record, interval_s=3600)
    for hours in (1, 2):
        tally.add(Held.CATEGORY, ["preferences"], user_id="ann", at=NOW + timedelta(hours=hours - 0.5))
        tally.add(Held.FACT, ["f"], user_id="ann", at=NOW + timedelta(hours=hours))
    await tally.close()
    async with record.reading(user_id="ann") as unit:
        [used] = await unit.facts.list()
        assert (used.access_count, used.accessed_at) == (2, NOW + timedelta(hours=2))
        assert await unit.category_accesses.count_since(NOW) == {"preferences": 1}
        assert await unit.category_accesses.last_accessed() == {"preferences": NOW + timedelta(hours=2)}
