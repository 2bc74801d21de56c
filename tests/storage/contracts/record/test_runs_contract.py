"""Runs of jobs in every system of record: found, counted, leased and cancelled (004 §11.4)."""

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.ports.jobs import PipelineRun, RunPosition, RunQuery, RunState
from memory.ports.stores.record import SystemOfRecord
from storage.inmemory.runs import InMemoryRuns
from storage.sqlite.engine.migrations import migrate
from storage.sqlite.engine.schema import MIGRATIONS
from storage.sqlite.record import SqliteRecord
from tests.storage.conftest import at


def run(run_id: str, seconds: float = 0, **fields: Any) -> PipelineRun:
    moment = at(seconds)
    given: dict[str, Any] = {"run_id": run_id, "pipeline": "p", "started_at": moment, "updated_at": moment}
    return PipelineRun(**given | fields)


def ids(runs: Sequence[PipelineRun]) -> list[str]:
    return [one.run_id for one in runs]


async def test_runs_come_back_latest_first_and_are_replaced_by_id(record: SystemOfRecord) -> None:
    assert await record.runs.latest("p") == []
    old, new = run("1", 0), run("0", 5, output={"archived": 3, "list": ["臺灣", None]}, cursor="ann")
    for saved in (old, new, run("2", 9, pipeline="other")):
        await record.runs.save(saved)
    assert await record.runs.latest("p") == [new]
    assert await record.runs.latest("p", limit=9) == [new, old]
    done = new.model_copy(update={"state": RunState.DONE, "done": 2, "total": 2, "ended_at": at(6)})
    await record.runs.save(done)
    assert await record.runs.latest("p", limit=9) == [done, old]


async def test_a_run_is_added_once(record: SystemOfRecord) -> None:
    queued = run("r", 0, state=RunState.QUEUED, queued_at=at(0))
    await record.runs.add([queued])
    assert await record.runs.get("r") == queued
    begun = queued.model_copy(update={"state": RunState.RUNNING, "started_at": at(1)})
    await record.runs.save(begun)
    await record.runs.add([queued])
    assert await record.runs.get("r") == begun


async def test_a_run_is_nobodys(record: SystemOfRecord) -> None:
    await record.runs.save(run("r", cursor="ann"))
    assert await record.backlog.users(limit=9) == []


async def test_a_run_that_waited_keeps_its_place_when_it_begins(record: SystemOfRecord) -> None:
    waiting = run("waits", 1, state=RunState.QUEUED, queued_at=at(1))
    for saved in (waiting, run("other", 2)):
        await record.runs.save(saved)
    begun = waiting.model_copy(update={"state": RunState.RUNNING, "started_at": at(3)})
    await record.runs.save(begun)
    assert await record.runs.find(RunQuery(), app=None) == [await record.runs.get("other"), begun]


async def test_runs_are_found_by_job_state_time_and_app(record: SystemOfRecord) -> None:
    for saved in (
        run("a", 0, app="shop"),
        run("b", 1, pipeline="圖", app="shop", state=RunState.FAILED),
        run("c", 2, pipeline="圖", app="other"),
        run("d", 3, state=RunState.QUEUED),
    ):
        await record.runs.save(saved)

    async def found(app: str | None = None, **query: Any) -> list[str]:
        return ids(await record.runs.find(RunQuery(**query), app=app))

    assert await found() == ["d", "c", "b", "a"]
    assert await found("shop") == ["b", "a"]
    assert await found("Shop") == []
    assert await found(pipelines=["圖"]) == ["c", "b"]
    assert await found(pipelines=["圖", "p"], states=[RunState.RUNNING, RunState.QUEUED]) == ["d", "c", "a"]
    assert await found(pipelines=[]) == []
    assert await found(since=at(1), until=at(3)) == ["c", "b"]
    assert await found("shop", states=[RunState.FAILED], limit=0) == []


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moments=st.lists(st.integers(0, 3), max_size=12), limit=st.integers(1, 5))
async def test_pages_hold_each_run_once_in_order(moments: list[int], limit: int) -> None:
    runs = InMemoryRuns()
    for number, moment in enumerate(moments):
        await runs.save(run(f"{number:02}", moment))
    paged: list[PipelineRun] = []
    after = None
    while page := await runs.find(RunQuery(after=after, limit=limit), app=None):
        paged += page
        after = RunPosition.of(page[-1])
    assert paged == sorted(paged, key=RunPosition.of, reverse=True)
    assert sorted(ids(paged)) == [f"{number:02}" for number in range(len(moments))]


async def test_a_page_begins_behind_the_last_one(record: SystemOfRecord) -> None:
    for number in range(6):
        await record.runs.save(run(str(number), number // 3))
    first = await record.runs.find(RunQuery(limit=4), app=None)
    rest = await record.runs.find(RunQuery(limit=4, after=RunPosition.of(first[-1])), app=None)
    assert [*ids(first), *ids(rest)] == ["5", "4", "3", "2", "1", "0"]


async def test_deleted_runs_are_gone_with_their_leases_and_the_others_stay(record: SystemOfRecord) -> None:
    for saved in (run("a", 0), run("圖", 1), run("c", 2)):
        await record.runs.save(saved)
    await record.runs.lease("a", holder="one", now=at(3), until=at(9))
    await record.runs.delete(["a", "圖", "unknown"])
    await record.runs.delete([])
    assert ids(await record.runs.find(RunQuery(), app=None)) == ["c"]
    await record.runs.save(run("a", 4))
    assert await record.runs.lease("a", holder="two", now=at(5), until=at(9)) is False


async def test_runs_are_counted_with_the_time_they_took(record: SystemOfRecord) -> None:
    assert await record.runs.totals(app=None) == []
    for saved in (
        run("a", 0, state=RunState.DONE, ended_at=at(1.5)),
        run("b", 5, state=RunState.DONE, queued_at=at(1), ended_at=at(7), app="shop"),
        run("c", 2, state=RunState.FAILED, pipeline="圖", ended_at=at(3)),
        run("d", 3),
    ):
        await record.runs.save(saved)

    async def totals(app: str | None) -> list[tuple[str, str, int, float]]:
        return [
            (total.pipeline, total.state, total.count, total.seconds) for total in await record.runs.totals(app=app)
        ]

    assert sorted(await totals(None)) == [("p", "done", 2, 3.5), ("p", "running", 1, 0.0), ("圖", "failed", 1, 1.0)]
    assert await totals("shop") == [("p", "done", 1, 2.0)]


class TestLeases:
    async def test_one_holder_at_a_time_until_its_lease_ends(self, record: SystemOfRecord) -> None:
        runs = record.runs
        await runs.save(run("r"))

        async def lease(holder: str, seconds: float, *, take_over: bool = False) -> bool | None:
            until = at(seconds + 10)
            return await runs.lease("r", holder=holder, now=at(seconds), until=until, take_over=take_over)

        assert await lease("甲", 0) is False
        assert await lease("乙", 9) is None
        assert await lease("甲", 9) is False  # renewed: until 19
        assert await lease("乙", 18) is None
        assert await lease("乙", 19) is False
        assert await lease("甲", 20) is None
        assert await lease("甲", 20, take_over=True) is False
        known = await runs.get("r")
        assert known is not None
        assert known.alive_until == at(30)

    async def test_nobody_has_the_lease_on_a_run_that_is_not_there(self, record: SystemOfRecord) -> None:
        assert await record.runs.lease("none", holder="a", now=at(0), until=at(1)) is None
        assert await record.runs.get("none") is None

    async def test_saving_keeps_the_lease_and_the_wish_to_cancel(self, record: SystemOfRecord) -> None:
        runs, one = record.runs, run("r")
        await runs.save(one)
        await runs.lease("r", holder="a", now=at(0), until=at(10))
        await runs.request_cancel("r")
        await runs.save(one.model_copy(update={"done": 3}))
        expected = one.model_copy(update={"done": 3, "cancel_requested": True, "alive_until": at(10)})
        assert await runs.get("r") == expected
        assert await runs.find(RunQuery(), app=None) == [expected]
        assert await runs.lease("r", holder="a", now=at(5), until=at(15)) is True

    async def test_cancelling_a_run_that_is_not_there_does_nothing(self, record: SystemOfRecord) -> None:
        await record.runs.request_cancel("none")
        assert await record.runs.find(RunQuery(), app=None) == []


async def test_what_a_library_wrote_into_an_error_is_stored_without_secrets(record: SystemOfRecord) -> None:
    text = "GET https://ann:hunter2@host/x failed: Authorization: Bearer abcdefghijkl, api_key=12345 (run_id=7)"
    await record.runs.save(run("r", error=text, stack=f"Traceback\n  {text}\n"))
    saved = await record.runs.get("r")
    assert saved is not None
    for kept in (saved.error, saved.stack):
        assert kept is not None
        assert not any(secret in kept for secret in ("hunter2", "abcdefghijkl", "12345"))
        assert "run_id=7" in kept


def test_runs_of_an_earlier_version_are_found_by_what_they_have(tmp_path: Path) -> None:
    before = [migration.name for migration in MIGRATIONS].index("states, apps and leases of runs")
    path = tmp_path / "record.db"
    migrate(path, deadline_s=1, migrations=MIGRATIONS[:before])
    old = run("old", state=RunState.DONE, ended_at=at(3))
    with sqlite3.connect(path) as connection:
        row = (old.run_id, old.pipeline, int(at(0).timestamp() * 1e6), old.model_dump_json())
        connection.execute("INSERT INTO runs (run_id, pipeline, started_us, body) VALUES (?, ?, ?, ?)", row)
    connection.close()

    async def check() -> None:
        record = SqliteRecord.open(path)
        assert await record.runs.find(RunQuery(states=[RunState.DONE]), app=None) == [old]
        assert [(total.count, total.seconds) for total in await record.runs.totals(app=None)] == [(1, 3.0)]
        await record.close()

    asyncio.run(check())
