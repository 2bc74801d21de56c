"""Typed memories that were stored while the index was away: what they contradict is looked for when it is back."""

from collections.abc import Sequence

import pytest

from memory.extraction.extractor import ReadingExtractor
from memory.indexing.generations import OneSpace, PerSpace
from memory.indexing.indexer import Indexer
from memory.learning.learner import Learner
from memory.values.errors import StoreUnavailable
from memory.values.governance.changes import ChangeKind
from memory.values.typed_memories import MemoryStatus
from testing.fakes.reader import FakeReader
from tests.memory.typed_memories.harness import TypedMemories

TEA, COFFEE, COCOA = "likes tea", "likes coffee", "likes cocoa"
Statements = Sequence[tuple[str, float]]


async def say(typed_memories: TypedMemories, statements: Statements) -> None:
    for value, confidence in statements:
        typed_memories.later(minutes=1)
        await typed_memories.store(value, confidence)


async def outcome(typed_memories: TypedMemories) -> dict[str, tuple[MemoryStatus, tuple[str, ...], bool]]:
    """Status, what the place was taken of or what is contradicted, and whether that is still to be looked for."""
    memories = await typed_memories.all()
    names = {memory.memory_id: value for value, memory in memories.items()}
    return {
        value: (
            memory.status,
            tuple(sorted(names[id_] for id_ in (*memory.supersedes, *memory.conflicts_with))),
            memory.unchecked,
        )
        for value, memory in memories.items()
    }


@pytest.fixture
def alike(typed_memories: TypedMemories) -> TypedMemories:
    typed_memories.encoder.alike(TEA, COFFEE, COCOA)
    return typed_memories


async def test_while_the_index_is_away_they_wait(alike: TypedMemories) -> None:
    alike.index.away = True
    await say(alike, [(TEA, 0.6), (COFFEE, 0.9)])
    with pytest.raises(StoreUnavailable):
        await alike.project()
    assert {memory.unchecked for memory in (await alike.all()).values()} == {True}


@pytest.mark.parametrize("before", [0, 1, 2])
@pytest.mark.parametrize(
    "statements",
    [
        [(TEA, 0.6), (COFFEE, 0.9)],
        [(TEA, 0.9), (COFFEE, 0.6)],
        [(TEA, 0.6), (COFFEE, 0.6)],
        [(TEA, 0.9), (COFFEE, 0.5), (COCOA, 0.7)],
        [(TEA, 0.5), (COFFEE, 0.9), (COCOA, 0.7)],
        [(TEA, 0.5), (COFFEE, 0.7), (COCOA, 0.9)],
    ],
)
async def test_then_it_comes_out_as_if_it_had_never_been_away(
    alike: TypedMemories, statements: Statements, before: int
) -> None:
    never_away = TypedMemories()
    never_away.encoder.alike(TEA, COFFEE, COCOA)
    await say(never_away, statements)
    await never_away.tally.close()

    await say(alike, statements[:before])
    await alike.project()
    alike.index.away = True
    await say(alike, statements[before:])
    alike.index.away = False
    await alike.project()
    assert await outcome(alike) == await outcome(never_away)
    active = {value for value, memory in (await alike.all()).items() if memory.status is not MemoryStatus.ARCHIVED}
    assert await alike.indexed() == active


async def test_an_overwriting_that_comes_late_is_in_the_log_like_any_other(alike: TypedMemories) -> None:
    await say(alike, [(TEA, 0.6)])
    alike.index.away = True
    await say(alike, [(COFFEE, 0.9)])
    alike.index.away = False
    await alike.project()
    async with alike.record.reading(user_id="ann") as unit:
        changes = await unit.changes.list(limit=9)
    assert [change.kind for change in changes] == [ChangeKind.OVERWRITE]


async def test_nothing_is_said_again_by_it(alike: TypedMemories) -> None:
    alike.index.away = True
    await say(alike, [(TEA, 0.6)])
    stored = (await alike.all())[TEA]
    alike.index.away = False
    alike.later(days=1)
    await alike.project()
    checked = (await alike.all())[TEA]
    same = ("updated_at", "accessed_at", "access_count", "confidence", "status")
    assert [getattr(checked, name) for name in same] == [getattr(stored, name) for name in same]
    assert (checked.unchecked, checked.version) == (False, stored.version + 1)


async def test_what_was_archived_meanwhile_is_looked_at_when_it_is_restored(alike: TypedMemories) -> None:
    await say(alike, [(TEA, 0.6)])
    alike.index.away = True
    await say(alike, [(COFFEE, 0.9)])
    coffee = (await alike.all())[COFFEE].memory_id
    await alike.manager.archive_memory(coffee, user_id="ann")
    alike.index.away = False
    await alike.project()
    assert (await outcome(alike))[TEA][0] is MemoryStatus.ACTIVE
    await alike.manager.restore_memory(coffee, user_id="ann")
    await alike.project()
    assert await outcome(alike) == {
        TEA: (MemoryStatus.ARCHIVED, (), False),
        COFFEE: (MemoryStatus.ACTIVE, (TEA,), False),
    }


async def test_others_memories_are_never_looked_at(alike: TypedMemories) -> None:
    await alike.store(TEA, 0.6, user="bob")
    await alike.project("bob")
    alike.index.away = True
    await say(alike, [(COFFEE, 0.9)])
    alike.index.away = False
    await alike.project()
    assert (await alike.all("bob"))[TEA].status is MemoryStatus.ACTIVE


async def test_the_learner_does_it_when_it_next_drains_the_backlog(alike: TypedMemories) -> None:
    alike.index.away = True
    await say(alike, [(TEA, 0.6), (COFFEE, 0.9)])
    spaces = OneSpace(encoder=alike.encoder, index=alike.index)
    learner = Learner(
        record=alike.record,
        extractor=ReadingExtractor(FakeReader()),
        indexer=Indexer(
            record=alike.record, spaces=spaces, analyzer=alike.analyzer, rechecks=PerSpace(spaces, alike.recheck)
        ),
    )
    with pytest.raises(StoreUnavailable):
        await learner.learn(user_id="ann")
    alike.index.away = False
    await learner.learn(user_id="ann")
    assert await outcome(alike) == {
        TEA: (MemoryStatus.ARCHIVED, (), False),
        COFFEE: (MemoryStatus.ACTIVE, (TEA,), False),
    }
