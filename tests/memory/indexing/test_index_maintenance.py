"""Runs over the index: in the background, one at a time, with a state that can be asked for."""

import asyncio
from typing import Any

import pytest

from memory.indexing.maintenance import LOCK, BackgroundMaintenance
from memory.ports.jobs import IndexOperation, IndexRun, RunState
from memory.ports.stores.coordination import Locks
from memory.ports.stores.vectors import Collection
from memory.values.errors import Conflict, StoreUnavailable
from storage.inmemory.coordination import InMemoryLocks
from tests.memory.index_bench import Bench


def _maintenance(bench: Bench, locks: Locks | None = None) -> BackgroundMaintenance:
    return BackgroundMaintenance(
        verifiers=bench.verifiers, embedder=bench.embedder, runs=bench.record.runs, locks=locks or InMemoryLocks()
    )


async def wait_for_end(maintenance: BackgroundMaintenance) -> IndexRun:
    while True:
        run = await maintenance.last_run()
        assert run is not None
        if run.state is not RunState.RUNNING:
            return run
        await asyncio.sleep(0.002)


async def test_a_run_goes_on_by_itself_and_tells_how_it_ended(bench: Bench) -> None:
    await bench.say("我們用 RM05-008 測試。")
    await bench.index.delete_user(Collection.MEMORIES, user_id="ann")
    maintenance = _maintenance(bench)
    assert await maintenance.last_run() is None
    begun = await maintenance.start(IndexOperation.MEND)
    assert (begun.state, begun.total) == (RunState.RUNNING, await bench.verifier.total())
    run = await wait_for_end(maintenance)
    assert (run.state, run.report.wrong, run.report.mended) == (RunState.DONE, 1, 1)
    assert run.run_id == begun.run_id
    assert run.ended_at is not None
    assert maintenance.figures()["index_mended"] == 1


async def test_a_second_run_is_refused_whichever_process_has_the_first(bench: Bench) -> None:
    await bench.say("我們用 RM05-008 測試。")
    locks = InMemoryLocks()
    here, elsewhere = _maintenance(bench, locks), _maintenance(bench, locks)
    await here.start(IndexOperation.REBUILD)
    for refused in (here, elsewhere):
        with pytest.raises(Conflict):
            await refused.start(IndexOperation.VERIFY)
    await wait_for_end(here)
    await asyncio.sleep(0)
    await elsewhere.start(IndexOperation.VERIFY)
    assert (await wait_for_end(elsewhere)).state is RunState.DONE


async def test_a_run_during_which_a_store_goes_away_says_so_and_can_be_started_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.say("我們用 RM05-008 測試。")
    maintenance = _maintenance(bench)

    async def down(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("The index is away", component="vectors")

    with monkeypatch.context() as patch:
        patch.setattr(bench.index, "upsert", down)
        await maintenance.start(IndexOperation.REBUILD)
        failed = await wait_for_end(maintenance)
    assert failed.state is RunState.FAILED
    assert "The index is away" in (failed.error or "")
    async with asyncio.timeout(60):
        while not await _started(maintenance):  # the run that failed still gives back its claim
            await asyncio.sleep(0.01)
    assert (await wait_for_end(maintenance)).state is RunState.DONE


async def _started(maintenance: BackgroundMaintenance) -> bool:
    try:
        await maintenance.start(IndexOperation.REBUILD)
    except Conflict:
        return False
    return True


async def test_a_run_cannot_begin_while_the_record_is_down(bench: Bench) -> None:
    maintenance = _maintenance(bench)
    await bench.record.close()

    async def down() -> dict[str, int]:
        raise StoreUnavailable("gone", component="record")

    bench.record.backlog.counts = down  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailable):
        await maintenance.start(IndexOperation.VERIFY)
    assert await maintenance.last_run() is None


async def test_closing_breaks_a_run_off_and_frees_the_lock(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await bench.say("我們用 RM05-008 測試。")
    locks = InMemoryLocks()
    maintenance = _maintenance(bench, locks)

    async def hang(*_: Any, **__: Any) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(bench.index, "upsert", hang)
    await maintenance.start(IndexOperation.REBUILD)
    await asyncio.sleep(0.01)
    await maintenance.close()
    assert (await wait_for_end(maintenance)).state is RunState.FAILED
    async with locks.held(LOCK) as ours:
        assert ours
