"""Runs that wait for a worker: progress, failure, cancel, retry, and what becomes of them when a process is killed."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue

from memory.jobs.desk import RunDesk, RunKind
from memory.jobs.queue import PipelineHandler, RunQueue
from memory.jobs.runs import Heartbeat, RunWork, recorded_run
from memory.ports.jobs import PipelineRun, RunLog, RunQuery, RunState
from memory.values.base import utc_now
from memory.values.errors import Conflict, InvalidField, NotFound, Unavailable
from storage.inmemory.runs import InMemoryRuns
from storage.sqlite.record import SqliteRecord

BEAT = Heartbeat(beat_s=0.02, lease_s=0.3)


class Counting(PipelineHandler):
    """Counts up to `input["to"]`, and fails or waits where it is told to."""

    def __init__(self, pipeline: str = "counting", *, resumes: bool = False) -> None:
        super().__init__(pipeline, resumes=resumes)
        self.go_on = asyncio.Event()
        self.seen: list[int] = []

    async def work(self, work: RunWork) -> Mapping[str, JsonValue]:
        to = int(str(work.run.input["to"]))
        for number in range(int(work.run.cursor or 0) + 1, to + 1):
            if number == work.run.input.get("fail_at"):
                raise Unavailable("the embedder at https://ann:hunter2@host is away", component="embedder")
            if number == work.run.input.get("wait_at"):
                await work.advance(output={"waits": True})
                await self.go_on.wait()
            self.seen.append(number)
            await work.advance(done=number, total=to, cursor=str(number))
        return {"counted": to, "api_key": "sk-0123456789abcdef0123"}


@pytest.fixture
def runs() -> RunLog:
    return InMemoryRuns()


@pytest.fixture
def counting() -> Counting:
    return Counting()


@pytest.fixture
async def queue(runs: RunLog, counting: Counting) -> AsyncIterator[RunQueue]:
    queue = RunQueue(runs=runs, handlers=[counting], poll_s=0.02, heartbeat=BEAT)
    queue.begin()
    yield queue
    await queue.close()


@pytest.fixture
def desk(runs: RunLog, queue: RunQueue) -> RunDesk:
    kinds = {"counting": RunKind(retry=queue.retry, recovers=True), "fixed": RunKind(retry="It begins by itself.")}
    return RunDesk(runs=runs, kinds=kinds)


async def until(runs: RunLog, run: PipelineRun, *states: RunState) -> PipelineRun:
    async with asyncio.timeout(60):
        while True:
            known = await runs.get(run.run_id)
            assert known is not None
            if known.state in states:
                return known
            await asyncio.sleep(0.01)


async def test_a_run_waits_is_worked_on_and_says_what_came_of_it(queue: RunQueue, runs: RunLog) -> None:
    run = await queue.submit("counting", {"to": 3, "password": "hunter2"}, app="shop")
    assert (run.state, run.app, run.input) == (RunState.QUEUED, "shop", {"to": 3, "password": "***"})
    over = await until(runs, run, RunState.DONE)
    assert (over.done, over.total, over.cursor, over.attempts) == (3, 3, "3", 1)
    assert over.output == {"counted": 3, "api_key": "***"}
    assert over.queued_at == run.queued_at
    assert over.duration is not None


async def test_an_unknown_kind_is_refused(queue: RunQueue) -> None:
    with pytest.raises(InvalidField, match="no kind"):
        await queue.submit("guessing", {}, app=None)


async def test_a_failure_keeps_its_whole_stack_without_secrets_and_can_be_retried(
    queue: RunQueue, runs: RunLog, desk: RunDesk
) -> None:
    run = await until(runs, await queue.submit("counting", {"to": 5, "fail_at": 3}, app="shop"), RunState.FAILED)
    assert (run.done, run.error) == (2, "the embedder at https://***@host is away")
    assert run.stack is not None
    assert "in work" in run.stack
    assert "Unavailable" in run.stack
    assert "hunter2" not in run.stack
    again = await desk.retry(run.run_id, app="shop")
    assert (again.retry_of, again.input, again.app) == (run.run_id, run.input, "shop")
    assert again.run_id != run.run_id
    assert (await until(runs, again, RunState.FAILED)).done == 2
    with pytest.raises(NotFound):
        await desk.retry(run.run_id, app="other")


async def test_a_cancelled_run_stops_where_it_can_and_says_where(
    queue: RunQueue, runs: RunLog, desk: RunDesk, counting: Counting
) -> None:
    run = await queue.submit("counting", {"to": 5, "wait_at": 3}, app=None)
    await until(runs, run, RunState.RUNNING)
    while len(counting.seen) < 2:
        await asyncio.sleep(0.01)
    with pytest.raises(Conflict, match="Only a run"):
        await desk.retry(run.run_id, app=None)
    assert (await desk.cancel(run.run_id, app=None)).cancel_requested
    await asyncio.sleep(3 * BEAT.beat_s)
    counting.go_on.set()
    over = await until(runs, run, RunState.CANCELLED)
    assert (over.done, over.cursor, over.error) == (3, "3", "It was cancelled after 3 of 5.")
    with pytest.raises(Conflict, match="over"):
        await desk.cancel(run.run_id, app=None)
    again = await desk.retry(run.run_id, app=None)
    assert (await until(runs, again, RunState.DONE)).done == 5


async def test_a_run_that_waits_is_cancelled_at_once(runs: RunLog) -> None:
    waiting = RunQueue(runs=runs, handlers=[Counting()])  # never begins
    desk = RunDesk(runs=runs, kinds={"counting": RunKind(retry=waiting.retry)})
    run = await waiting.submit("counting", {"to": 1}, app=None)
    assert (await desk.cancel(run.run_id, app=None)).state is RunState.CANCELLED


async def test_what_cannot_be_retried_or_cancelled_says_why(runs: RunLog) -> None:
    kinds = {"fixed": RunKind(retry="It begins by itself.", refuse_cancel=lambda _: "It is past that.")}
    desk = RunDesk(runs=runs, kinds=kinds)
    at = utc_now()
    running = PipelineRun(run_id="1", pipeline="fixed", started_at=at, updated_at=at)
    await runs.save(running)
    with pytest.raises(Conflict, match="past that"):
        await desk.cancel("1", app=None)
    await runs.save(running.model_copy(update={"state": RunState.FAILED}))
    with pytest.raises(Conflict, match="by itself"):
        await desk.retry("1", app=None)
    erased = {"state": RunState.FAILED, "input": {"user_id": None, "erased_user": True}}
    await runs.save(running.model_copy(update=erased))
    with pytest.raises(Conflict, match="erased"):
        await desk.retry("1", app=None)


async def test_one_process_works_on_a_run(runs: RunLog) -> None:
    handlers = [Counting() for _ in range(3)]
    queues = [RunQueue(runs=runs, handlers=[handler], poll_s=0.01, heartbeat=BEAT) for handler in handlers]
    submitted = [await queues[0].submit("counting", {"to": 4}, app=None) for _ in range(6)]
    for queue in queues:
        queue.begin()
    for run in submitted:
        assert (await until(runs, run, RunState.DONE)).attempts == 1
    assert sum(len(handler.seen) for handler in handlers) == 4 * 6
    for queue in queues:
        await queue.close()


async def test_a_stopped_service_lets_a_run_that_resumes_go_on_in_the_next(runs: RunLog) -> None:
    first, second = Counting(resumes=True), Counting(resumes=True)
    queue = RunQueue(runs=runs, handlers=[first], poll_s=0.01, heartbeat=BEAT)
    queue.begin()
    run = await queue.submit("counting", {"to": 5, "wait_at": 3}, app=None)
    while len(first.seen) < 2:
        await asyncio.sleep(0.01)
    await queue.close()
    assert (await until(runs, run, RunState.QUEUED)).cursor == "2"
    second.go_on.set()
    queue = RunQueue(runs=runs, handlers=[second], poll_s=0.01, heartbeat=BEAT)
    queue.begin()
    assert (await until(runs, run, RunState.DONE)).attempts == 1
    assert second.seen == [3, 4, 5]
    await queue.close()


async def test_work_that_cannot_wait_is_recorded_too(runs: RunLog) -> None:
    async def export() -> None:
        async with recorded_run(runs, "export", {"user_id": "ann"}, app="shop") as work:
            await work.advance(done=3)
            raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        await export()
    [run] = await runs.find(RunQuery(), app="shop")
    assert (run.state, run.done, run.error) == (RunState.FAILED, 3, "ValueError: bad")


_KILLED = """
import asyncio, sys
from pathlib import Path
from memory.jobs.queue import RunQueue
from storage.sqlite.record import SqliteRecord
from tests.memory.jobs.test_run_queue import BEAT, Counting

async def main() -> None:
    record = SqliteRecord.open(Path(sys.argv[1]))
    queue = RunQueue(runs=record.runs, handlers=[Counting("goes_on", resumes=True), Counting("gives_up")],
                     poll_s=0.02, heartbeat=BEAT)
    queue.begin()
    for pipeline in ("goes_on", "gives_up"):
        await queue.submit(pipeline, {"to": 5, "wait_at": 3}, app="shop")
    await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_after_a_kill_a_run_goes_on_behind_its_cursor_or_fails_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "record.db"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _KILLED, str(path))
    try:
        async with asyncio.timeout(60):
            while not path.exists():
                await asyncio.sleep(0.05)
            record = SqliteRecord.open(path)
            while True:
                found = await record.runs.find(RunQuery(states=[RunState.RUNNING]), app="shop")
                if len([run for run in found if run.output.get("waits")]) == 2:
                    break
                await asyncio.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()
    by_name = {run.pipeline: run for run in found}
    handlers = [Counting("goes_on", resumes=True), Counting("gives_up")]
    for handler in handlers:
        handler.go_on.set()
    queue = RunQueue(runs=record.runs, handlers=handlers, poll_s=0.02, heartbeat=BEAT)
    queue.begin()
    done = await until(record.runs, by_name["goes_on"], RunState.DONE)
    assert (done.attempts, done.done, handlers[0].seen) == (2, 5, [3, 4, 5])
    lost = await until(record.runs, by_name["gives_up"], RunState.FAILED)
    assert lost.error is not None
    assert lost.error.startswith("Its process has ended: no sign of life since ")
    assert handlers[1].seen == []
    await queue.close()
    await record.close()


async def test_runs_of_other_jobs_whose_process_died_are_swept(runs: RunLog) -> None:
    now = utc_now()
    for run_id, pipeline in (("dead", "job"), ("alive", "job"), ("recovers", "own"), ("no lease", "job")):
        await runs.save(PipelineRun(run_id=run_id, pipeline=pipeline, started_at=now, updated_at=now))

    async def lease(run_id: str, until: datetime) -> None:
        assert await runs.lease(run_id, holder="x", now=now, until=until) is False

    for run_id in ("dead", "recovers"):
        await lease(run_id, now - timedelta(seconds=1))
    await lease("alive", now + timedelta(hours=1))
    own = RunKind(retry="-", recovers=True)
    await RunDesk(runs=runs, kinds={"own": own}).sweep()
    found = {run.run_id: run.state for run in await runs.find(RunQuery(), app=None)}
    expected = {"dead": RunState.FAILED, "alive": RunState.RUNNING, "recovers": RunState.RUNNING}
    assert found == expected | {"no lease": RunState.RUNNING}


def _old_run(run_id: str, pipeline: str, days: int, state: RunState = RunState.DONE) -> PipelineRun:
    started = _NOW - timedelta(days=days)
    ended = started if state.is_over else None
    return PipelineRun(
        run_id=run_id, pipeline=pipeline, state=state, started_at=started, updated_at=started, ended_at=ended
    )


_NOW = datetime(2026, 3, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kept_for", "left"),
    [
        (None, ["a", "b", "c", "d", "e", "f"]),
        (timedelta(days=7), ["b", "c", "d", "e", "f"]),
        (timedelta(days=1), ["c", "d", "e", "f"]),
    ],
)
async def test_runs_that_are_over_expire_but_for_the_latest_and_for_what_is_in_force(
    runs: RunLog, kept_for: timedelta | None, left: list[str]
) -> None:
    kinds = {"ingestion": RunKind(retry="no"), "erasure": RunKind(retry="no", expires=False)}
    for saved in (
        _old_run("a", "ingestion", 30),
        _old_run("b", "ingestion", 3, RunState.FAILED),
        _old_run("c", "ingestion", 2),
        _old_run("d", "erasure", 90),
        _old_run("e", "erasure", 80),
        _old_run("f", "ingestion", 60, RunState.RUNNING),
    ):
        await runs.save(saved)
    desk = RunDesk(runs=runs, kinds=kinds, kept_for=kept_for, now=lambda: _NOW)
    assert await desk.prune() == 6 - len(left)
    assert sorted(run.run_id for run in await runs.find(RunQuery(limit=100), app=None)) == left
