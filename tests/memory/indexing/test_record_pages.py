"""The order in which everything is met, from any place in it."""

import pytest

from memory.indexing.record_pages import Position, walk_selected
from memory.ports.stores.generations import Selection
from memory.ports.stores.vectors import Collection
from tests.memory.index_bench import Bench


async def read_positions(bench: Bench, selection: Selection, after: str | None = None) -> list[Position]:
    pages = [page async for page in walk_selected(bench.record, selection, after=after)]
    assert all(page.items for page in pages)
    return [Position(page.user_id, page.collection, item.item_id) for page in pages for item in page.items]


async def fill(bench: Bench) -> None:
    for user in ("zoë", "ann", "bob"):
        await bench.log("我們用 RM05-008 測試。", "The spare key is in the blue drawer.", "車位是 B2-17", user=user)
        await bench.learner.learn(user_id=user, index=False)
        await bench.store_typed("preference", "green tea", user=user)


@pytest.mark.parametrize("waiting", [None, 1000])
async def test_behind_any_item_come_all_that_follow_it(bench: Bench, waiting: int | None) -> None:
    await fill(bench)
    selection = Selection(waiting=waiting)
    positions = await read_positions(bench, selection)
    assert [*dict.fromkeys(position.user_id for position in positions)] == ["ann", "bob", "zoë"]
    assert {position.collection for position in positions} >= {Collection.MEMORIES, Collection.FACTS}
    assert await read_positions(bench, Selection()) == positions
    for place, position in enumerate(positions):
        assert await read_positions(bench, selection, position.to_cursor()) == positions[place + 1 :]


@pytest.mark.parametrize("waiting", [None, 1000])
async def test_collections_that_are_not_selected_are_not_met(bench: Bench, waiting: int | None) -> None:
    await fill(bench)
    positions = await read_positions(bench, Selection(collections=(Collection.FACTS,), waiting=waiting))
    assert [(position.user_id, position.collection) for position in positions] == [
        (user, Collection.FACTS) for user in ("ann", "bob", "zoë")
    ]


async def test_what_is_indexed_or_gone_does_not_wait(bench: Bench) -> None:
    await fill(bench)
    await bench.learner.learn(user_id="bob")
    async with bench.record.writing(user_id="ann") as unit:
        [memory, *_] = await unit.memories.page(after=None, limit=1)
        await unit.memories.delete([memory.memory_id])
        await unit.commit()
    positions = await read_positions(bench, Selection(waiting=1000))
    assert {position.user_id for position in positions} == {"ann", "zoë"}
    assert memory.memory_id not in [position.item_id for position in positions]


async def test_only_the_oldest_of_a_long_outbox_are_taken(bench: Bench) -> None:
    await fill(bench)
    oldest = {entry.item_id for entry in await bench.record.backlog.outbox(limit=5)}
    assert {position.item_id for position in await read_positions(bench, Selection(waiting=5))} <= oldest
