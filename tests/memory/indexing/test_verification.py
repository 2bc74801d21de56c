"""The index compared with the record: what is wrong is found, mended, and nothing else is touched."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.ports.stores.vectors import Collection, IndexPoint
from memory.values.facts import FactStatus
from memory.values.vectors import SparseVector
from storage.inmemory.vectors import InMemoryVectors
from tests.memory.index_bench import DIMENSION, Bench, counts_of, total


def _point(point_id: str) -> IndexPoint:
    vector = np.zeros(DIMENSION, np.float32)
    vector[0] = 1.0
    return IndexPoint(point_id, vector, SparseVector((), ()), 0.0, fingerprint="of something else")


def _after_others(method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def call(*args: Any, **fields: Any) -> Any:
        await asyncio.sleep(0)
        result = await method(*args, **fields)
        await asyncio.sleep(0)
        return result

    return call


async def _fill(bench: Bench) -> None:
    for user in ("ann", "bob"):
        await bench.say("我們用 RM05-008 測試。", "The spare key is in the blue drawer.", user=user)
        await bench.state_fact(str(uuid.uuid4()), "tea", user=user)
        await bench.learner.learn(user_id=user)


async def test_an_index_that_agrees_has_nothing_wrong(bench: Bench) -> None:
    await _fill(bench)
    report = await bench.verify()
    assert report.wrong == 0
    assert report.users == 2
    assert report.checked == await bench.verifier.total()
    assert report.mended == 0


async def test_what_is_missing_stale_or_orphaned_is_told_apart_and_mended(bench: Bench) -> None:
    await _fill(bench)
    right = await bench.contents()
    memories = right[Collection.MEMORIES]
    lost, old = sorted(memories)
    await bench.index.delete(Collection.MEMORIES, [lost], user_id="ann")
    await bench.index.upsert(Collection.MEMORIES, [replace(memories[old], fingerprint="old")], user_id="ann")
    await bench.index.upsert(Collection.FACTS, [_point(str(uuid.uuid4()))], user_id="bob")
    report = await bench.verify()
    memory_part = counts_of(report, Collection.MEMORIES)
    assert (memory_part.missing, memory_part.stale, memory_part.orphaned) == (1, 1, 0)
    assert counts_of(report, Collection.FACTS).orphaned == 1
    assert report.mended == 0
    mended = await bench.verify(mend=True)
    assert (mended.wrong, mended.mended) == (3, 3)
    assert (await bench.verify()).wrong == 0
    assert {c: set(points) for c, points in (await bench.contents()).items()} == {c: set(p) for c, p in right.items()}


async def test_mending_encodes_again_what_it_does_not_trust(bench: Bench) -> None:
    await bench.say("The spare key is in the blue drawer.")
    [point] = (await bench.contents())[Collection.MEMORIES].values()
    spoiled = replace(point, dense=np.roll(point.dense, 1), fingerprint=point.fingerprint.replace(".", ".0"))
    await bench.index.upsert(Collection.MEMORIES, [spoiled], user_id="ann")
    await bench.verify(mend=True)
    [again] = (await bench.contents())[Collection.MEMORIES].values()
    assert again.dense == pytest.approx(point.dense)


async def test_what_waits_in_the_outbox_is_pending_not_wrong(bench: Bench) -> None:
    await bench.say("我們用 RM05-008 測試。")
    await bench.state_fact(str(uuid.uuid4()), "tea")
    report = await bench.verify()
    assert (report.wrong, total(report, "pending")) == (0, 1)
    assert counts_of(report, Collection.FACTS).pending == 1


async def test_a_deleted_fact_that_is_still_indexed_is_orphaned(bench: Bench) -> None:
    fact_id = str(uuid.uuid4())
    await bench.state_fact(fact_id, "tea", status=FactStatus.DELETED)
    await bench.learner.learn(user_id="ann")
    await bench.index.upsert(Collection.FACTS, [_point(fact_id)], user_id="ann")
    assert counts_of(await bench.verify(mend=True), Collection.FACTS).orphaned == 1
    assert await bench.index.count(Collection.FACTS, user_id="ann") == 0


async def test_points_of_somebody_whom_the_record_does_not_know_are_orphaned(bench: Bench) -> None:
    await _fill(bench)
    await bench.index.upsert(Collection.ENTITIES, [_point(str(uuid.uuid4()))], user_id="gone")
    report = await bench.verify()
    assert (counts_of(report, Collection.ENTITIES).orphaned, report.mended) == (1, 0)
    assert (await bench.verify(mend=True)).mended == 1
    assert await bench.index.users(Collection.ENTITIES) == ["ann", "bob"]


async def test_what_is_learned_while_it_is_verified_is_not_taken_for_wrong(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _fill(bench)
    for name in ("stored", "get", "users", "upsert"):  # so that the two really take turns
        monkeypatch.setattr(bench.index, name, _after_others(getattr(bench.index, name)))
    talking = asyncio.create_task(bench.say(*(f"RM05-{number:03} 到了" for number in range(40))))
    reports = []
    while not talking.done():
        reports.append(await bench.verify())
    await talking
    assert {report.wrong for report in reports} == {0}


async def test_a_rebuild_makes_a_lost_index_again_from_nothing(bench: Bench) -> None:
    await _fill(bench)
    right = {user: await bench.contents(user) for user in ("ann", "bob")}
    for collection in Collection:
        for user in ("ann", "bob"):
            await bench.index.delete_user(collection, user_id=user)
    report = await bench.rebuild()
    assert report.checked == await bench.verifier.total()
    for user, collections in right.items():
        contents = await bench.contents(user)
        for collection, points in collections.items():
            assert set(contents[collection]) == set(points)
            for point_id, point in points.items():
                assert contents[collection][point_id].dense == pytest.approx(point.dense)
                assert contents[collection][point_id].sparse == point.sparse
                assert contents[collection][point_id].payload == point.payload
    assert await bench.record.backlog.outbox(limit=1) == []


async def test_a_rebuild_encodes_everything_again_and_takes_out_orphans(bench: Bench) -> None:
    await _fill(bench)
    contents = [await bench.contents(user) for user in ("ann", "bob")]
    points = sum(len(points) for collections in contents for points in collections.values())
    for user in ("ann", "nobody"):
        await bench.index.upsert(Collection.MEMORIES, [_point(str(uuid.uuid4()))], user_id=user)
    bench.encoder.texts_read.clear()
    report = await bench.rebuild()
    assert len(bench.encoder.texts_read) == points
    assert total(report, "orphaned") == 2
    assert (await bench.verify()).wrong == 0


async def test_an_item_that_is_learned_while_it_is_judged_is_not_taken_for_stale(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.say("我們用 RM05-008 測試。")
    await bench.index.delete_user(Collection.ENTITIES, user_id="ann")
    real = bench.index.get
    learning: list[asyncio.Task[None]] = []

    async def get_late(collection: Collection, ids: list[str], *, user_id: str) -> list[IndexPoint]:
        monkeypatch.setattr(bench.index, "get", real)
        learning.append(asyncio.create_task(bench.say("RM05-008 到了")))
        await asyncio.sleep(0.05)
        return await real(collection, ids, user_id=user_id)

    monkeypatch.setattr(bench.index, "get", get_late)
    counts = counts_of(await bench.verify(), Collection.ENTITIES)
    assert (counts.missing, counts.stale) == (1, 0)
    await learning[0]


@pytest.mark.slow
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(drop=st.sets(st.integers(0, 9)), spoil=st.sets(st.integers(0, 9)), strangers=st.integers(0, 3))
async def test_whatever_was_damaged_mending_finds_all_of_it_once(
    bench: Bench, drop: set[int], spoil: set[int], strangers: int
) -> None:
    bench.index = InMemoryVectors(dimension=DIMENSION)
    bench.start()
    await bench.rebuild()
    await bench.say(*(f"RM05-{number:03} is here" for number in range(10)), user="eve")
    points = [*(await bench.contents("eve"))[Collection.MEMORIES].values()]
    spoiled = [replace(points[place], fingerprint="old") for place in spoil]
    await bench.index.upsert(Collection.MEMORIES, spoiled, user_id="eve")
    await bench.index.delete(Collection.MEMORIES, [points[place].point_id for place in drop], user_id="eve")
    others = [_point(str(uuid.uuid4())) for _ in range(strangers)]
    await bench.index.upsert(Collection.MEMORIES, others, user_id="eve")
    counts = counts_of(await bench.verify(mend=True), Collection.MEMORIES)
    assert (counts.missing, counts.stale, counts.orphaned) == (len(drop), len(spoil - drop), strangers)
    assert (await bench.verify()).wrong == 0
