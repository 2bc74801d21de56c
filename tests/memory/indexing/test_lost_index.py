"""An index that was lost comes back by itself, whatever happens meanwhile."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from memory.indexing.indexer import requeue_lost
from memory.learning.worker import LearningWorker
from memory.ports.stores.vectors import Collection
from memory.values.errors import StoreUnavailable
from tests.memory.index_bench import Bench


async def _points(bench: Bench, user: str = "ann") -> dict[Collection, set[str]]:
    return {collection: set(points) for collection, points in (await bench.contents(user)).items()}


def lose_index(bench: Bench) -> None:
    """The folder is gone, and the process starts again."""
    bench.index._points.clear()
    bench.start()


async def _work_until_idle(bench: Bench) -> LearningWorker:
    worker = LearningWorker(learner=bench.learner, record=bench.record, poll_s=0.01, retry_s=0.01)
    running = asyncio.create_task(worker.run())
    await asyncio.sleep(0.02)
    while await bench.record.backlog.outbox(limit=1):
        await asyncio.sleep(0.005)
    worker.close()
    await running
    return worker


async def test_a_sound_index_is_left_alone(bench: Bench) -> None:
    await bench.say("我們用 RM05-008 測試。")
    await bench.say("hello there", user="somebody without entities")
    assert await requeue_lost(bench.record, await bench.spaces.live()) == 0


async def test_what_waits_to_be_indexed_for_the_first_time_is_not_lost(bench: Bench) -> None:
    await bench.state_fact("a fact", "tea")
    assert await requeue_lost(bench.record, await bench.spaces.live()) == 0


async def test_what_was_in_a_lost_index_can_be_found_again(bench: Bench) -> None:
    for user in ("ann", "bob"):
        await bench.say("The spare key is in the blue drawer.", "我們用 RM05-008 測試。", user=user)
    before = await _points(bench)
    lose_index(bench)
    worker = await _work_until_idle(bench)
    assert await _points(bench) == before
    assert worker.requeued == 2 * sum(map(len, before.values()))


async def test_one_lost_collection_comes_back_without_the_others(bench: Bench) -> None:
    await bench.say("我們用 RM05-008 測試。")
    before = await _points(bench)
    await bench.index.delete_user(Collection.ENTITIES, user_id="ann")
    bench.start()
    assert (await _work_until_idle(bench)).requeued == 1
    assert await _points(bench) == before


@pytest.mark.parametrize("through", ["worker", "learn"])
async def test_something_new_does_not_hide_the_loss(bench: Bench, through: str) -> None:
    await bench.say("The spare key is in the blue drawer.", "我們用 RM05-008 測試。")
    before = await _points(bench)
    lose_index(bench)
    await bench.log("RM05-009 到了")
    if through == "learn":
        await bench.learner.learn(user_id="ann")
    await _work_until_idle(bench)
    after = await _points(bench)
    assert all(before[collection] <= after[collection] for collection in Collection)


async def test_the_index_need_not_answer_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await bench.say("我們用 RM05-008 測試。")
    before = await _points(bench)
    lose_index(bench)
    healthy = bench.index.users

    async def not_yet(_: Collection) -> list[str]:
        monkeypatch.setattr(bench.index, "users", healthy)
        raise StoreUnavailable("still starting", component="vectors")

    monkeypatch.setattr(bench.index, "users", not_yet)
    worker = await _work_until_idle(bench)
    assert worker.failures == 1
    assert await _points(bench) == before


async def test_an_index_that_comes_back_empty_after_an_outage_is_filled_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.say("我們用 RM05-008 測試。")
    before = await _points(bench)

    async def down(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("gone", component="vectors")

    with monkeypatch.context() as patch:
        patch.setattr(bench.index, "upsert", down)
        with pytest.raises(StoreUnavailable):
            await bench.say("RM05-009 到了")
    bench.index._points.clear()
    await bench.learner.learn(user_id="ann")
    after = await _points(bench)
    assert all(before[collection] < after[collection] for collection in (Collection.ENTITIES, Collection.MEMORIES))


@pytest.mark.slow
async def test_being_killed_while_queueing_loses_nobody(bench: Bench) -> None:
    users = ("ann", "bob", "eve")
    for user in users:
        await bench.say(*(f"RM05-{number:03} 到了" for number in range(300)), user=user)
    before = {user: await _points(bench, user) for user in users}
    real = bench.record.backlog.requeue
    calls = 0

    async def killed(collection: Collection, item_ids: Sequence[str], *, user_id: str) -> None:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise StoreUnavailable("killed", component="record")
        await real(collection, item_ids, user_id=user_id)

    lose_index(bench)
    bench.record.backlog.requeue = killed  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailable):
        await bench.learner.indexer.check_for_loss()
    bench.record.backlog.requeue = real  # type: ignore[method-assign]
    bench.start()
    await _work_until_idle(bench)
    for user in users:
        assert await _points(bench, user) == before[user]


@pytest.mark.slow
async def test_somebody_with_a_long_backlog_does_not_keep_the_others_waiting(bench: Bench) -> None:
    await bench.say(*(f"note number {number}" for number in range(600)))
    lose_index(bench)
    worker = LearningWorker(learner=bench.learner, record=bench.record, poll_s=0.01)
    running = asyncio.create_task(worker.run())
    while await bench.index.count(Collection.MEMORIES, user_id="ann") == 0:
        await asyncio.sleep(0)
    await bench.log("The spare key is in the blue drawer.", user="bob")
    while await bench.index.count(Collection.MEMORIES, user_id="bob") == 0:
        await asyncio.sleep(0)
    assert await bench.record.backlog.outbox(limit=1, user_id="ann")
    worker.close()
    await running
