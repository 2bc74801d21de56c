"""Changes the model of all vectors while the service runs (DESIGN §8; docs/how-to/re-embedding.md has the picture).

Why nothing is lost: once a run is recorded, every change is written to both generations before it leaves the outbox.
So changes that the walk through the record misses arrive by the outbox, and the walk's vectors are written only for
items that have not changed since (`Indexer.write_embedded`). `Indexer` reads the spaces before it reads an item, so an
item that it wrote only to the old generation was read before the run was recorded, and the walk finds it later. At the
end the new generation is compared with the record.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from datetime import datetime, timedelta
from typing import Any

import structlog
from typing_extensions import override

from ..jobs.runs import LiveRun, RunCancelled, RunTaken, cancelled, failed, kept_alive
from ..jobs.tasks import cancel
from ..ports.jobs import PipelineRun, RunState
from ..ports.stores.coordination import Locks
from ..ports.stores.generations import BulkEmbedder, GenerationStore, ReembeddingService, Selection, VectorModel
from ..ports.stores.record import SystemOfRecord
from ..values.base import utc_now
from ..values.errors import Conflict, InvalidField, JiyiError, Overloaded, StoreUnavailable, Unavailable
from .bulk_passes import bulk_pass
from .generations import (
    BEFORE_SWITCH,
    Phase,
    RecordedSpaces,
    first_generation,
    generations_of,
    latest_run,
    new_run,
    phase_of,
    repeated,
    source_of,
    target_of,
)
from .indexer import Indexer
from .maintenance import LOCK
from .record_pages import count_items
from .verification import check_generation

_LOCK_TTL_S = 10.0
_log = structlog.get_logger(__name__)

Prepare = Callable[[str], Awaitable[VectorModel]]
"""Prepares a model's weights and describes its vectors; raises `InvalidField` for an unknown model."""


class GenerationUnsound(JiyiError):
    """The new vectors do not agree with the record or the model, so they do not become live."""


class Reembedding(ReembeddingService):
    """Fills and verifies a new generation, switches to it and drops the old one; every step can be repeated.

    Each step is recorded when it is done. A run that was interrupted, for example because its process was killed, is
    continued by the next process that gets the lock; while a component is unavailable, the run waits and tries again.

    Args:
        record: Stores the items and the run.
        locks: Locks over all processes.
        spaces: The current generations, refreshed after each step.
        store: Stores the generations.
        embedder: Embeds in bulk.
        indexer: Writes to the generations; must follow the same `spaces`.
        prepare: Makes a model ready.
        configured: The model that is live where nothing is recorded yet.
        notice_s: How long until every process has noticed a change, and a search that began before it has ended.
        retry_s: Seconds between attempts while a component is unavailable, and between checks for interrupted runs.
        now: The clock.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        locks: Locks,
        spaces: RecordedSpaces,
        store: GenerationStore,
        embedder: BulkEmbedder,
        indexer: Indexer,
        prepare: Prepare,
        configured: VectorModel,
        notice_s: float = 10.0,
        retry_s: float = 2.0,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._record = record
        self._locks = locks
        self._spaces = spaces
        self._store = store
        self._embedder = embedder
        self._indexer = indexer
        self._prepare = prepare
        self._configured = configured
        self._notice_s = notice_s
        self._retry_s = retry_s
        self._now = now
        self._run: PipelineRun | None = None
        self._live = LiveRun()
        self._task: asyncio.Task[None] | None = None
        self._watcher: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Starts checking for interrupted runs, in the background."""
        self._watcher = asyncio.get_running_loop().create_task(self._watch())

    @override
    async def start(self, model_id: str) -> PipelineRun:
        target = await self._prepare(model_id)
        return await self._begin(lambda last: self._started(last, target))

    @override
    async def rollback(self) -> PipelineRun:
        await self._stop()
        return await self._begin(self._rolling_back)

    @override
    async def finish(self) -> PipelineRun:
        return await self._begin(self._finishing)

    async def retry(self, run: PipelineRun) -> PipelineRun:
        """Goes on where a run that failed or was cancelled stopped, as another run.

        Raises:
            Conflict: It is not the last one, or another is in progress.
            Unavailable: It is unknown whether a run is in progress.
        """

        async def decide(last: PipelineRun | None) -> PipelineRun:
            if last is None or last.run_id != run.run_id:
                raise Conflict("Another change of the model has begun since: see jiyi reembed --status")
            return repeated(last, at=max(self._now(), last.started_at + timedelta(microseconds=1)))

        return await self._begin(decide)

    @override
    async def last_run(self) -> PipelineRun | None:
        run = self._run if self._is_working else await latest_run(self._record.runs)
        return None if run is None or source_of(run) is None else run

    async def resume(self) -> None:
        """Continues an interrupted run to its end, if there is one and no other process runs it.

        Raises:
            Unavailable: A store is down; the next call continues.
        """
        async with self._locks.held(LOCK, ttl_s=_LOCK_TTL_S) as ours:
            run = await latest_run(self._record.runs) if ours else None
            if run is not None and run.state is RunState.RUNNING:
                _log.info("reembedding_resumed", phase=phase_of(run).value, done=run.done)
                await self._work(run)

    def figures(self) -> dict[str, float | str]:
        """Figures of the run that this process knows, for `/health/detailed` and the metrics."""
        run = self._run
        if run is None or source_of(run) is None:
            return {}
        return {
            "reembedding_to": target_of(run).model_id,
            "reembedding_phase": phase_of(run).value,
            "reembedding_run": run.state.value,
            "reembedding_done": run.done,
            "reembedding_total": run.total,
        }

    async def close(self) -> None:
        """Stops the run in progress; the next process continues it."""
        await cancel(self._watcher)
        await self._stop()

    @property
    def _is_working(self) -> bool:
        return self._task is not None and not self._task.done()

    async def _stop(self) -> None:
        await cancel(self._task)

    async def _begin(self, decide: Callable[[PipelineRun | None], Awaitable[PipelineRun]]) -> PipelineRun:
        """Takes the lock, records the run that `decide` returns, and works on it in the background."""
        if self._task is not None and self._run is not None and self._run.state.is_over:
            await asyncio.wait([self._task])  # it lets go of the lock
        if self._is_working:
            raise Conflict("the index is being moved to another model already: see jiyi reembed --status")
        started: asyncio.Future[PipelineRun] = asyncio.get_running_loop().create_future()
        task = self._task = asyncio.create_task(self._hold_and_work(decide, started))
        either: list[asyncio.Future[Any]] = [task, started]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not started.done():
            await task  # raises what kept it from starting
        task.add_done_callback(_log_defect)
        return started.result()

    async def _hold_and_work(
        self, decide: Callable[[PipelineRun | None], Awaitable[PipelineRun]], started: "asyncio.Future[PipelineRun]"
    ) -> None:
        async with self._locks.held(LOCK, ttl_s=_LOCK_TTL_S) as ours:
            if not ours:
                raise Conflict("the index is being verified, rebuilt, filled or moved to another model by others")
            run = await decide(await latest_run(self._record.runs))
            await self._save(run)
            started.set_result(run)
            await self._work(run)

    async def _started(self, last: PipelineRun | None, target: VectorModel) -> PipelineRun:
        if last is None:
            last = first_generation(self._configured, at=self._now())
            await self._record.runs.save(last)
        now = max(self._now(), last.started_at + timedelta(microseconds=1))  # the last run is the one that counts
        known = generations_of(last)
        if target.model_id == known.live.model_id:
            raise InvalidField(f"{target.model_id} is the model that is live.", field="model", allowed="another model")
        if phase_of(last) in BEFORE_SWITCH:
            if target != known.other:
                raise Conflict(f"a move to {target_of(last).model_id} is not at its end: roll it back first")
            if last.cancel_requested:
                return repeated(last, at=now)
            return last.model_copy(update={"state": RunState.RUNNING, "error": None, "updated_at": now})
        if last.state is not RunState.DONE:
            raise Conflict("the run before is being ended: try again in a moment")
        if known.other is not None:
            raise Conflict(f"the vectors of {known.other.model_id} are still kept: finish that move or roll it back")
        return new_run(known.live, target, total=await count_items(self._record), at=now)

    async def _rolling_back(self, last: PipelineRun | None) -> PipelineRun:
        if last is None or phase_of(last) not in BEFORE_SWITCH | {Phase.SWITCHED}:
            raise Conflict("there is no model before this one to go back to")
        return self._changed(last, phase=Phase.ROLLING_BACK, state=RunState.RUNNING, error=None, ended_at=None)

    async def _finishing(self, last: PipelineRun | None) -> PipelineRun:
        if last is None or phase_of(last) is not Phase.SWITCHED:
            raise Conflict("there is no switch to another model that could be finished")
        return self._changed(last, phase=Phase.FINISHING, state=RunState.RUNNING, error=None, ended_at=None)

    async def _work(self, run: PipelineRun) -> None:
        """Takes the run through its phases until the operator must decide."""
        self._run = run
        await self._spaces.refresh()
        try:
            async with kept_alive(self._record.runs, run.run_id) as self._live:
                await self._take_steps()
        except RunCancelled:
            await self._save(cancelled(self._run, at=self._now()))
            _log.info("reembedding_cancelled", done=self._run.done, total=self._run.total)
        except RunTaken:
            raise
        except JiyiError as error:
            _log.error("reembedding_failed", error=error.message)
            await self._save(failed(self._run, error, at=self._now()))
        except Exception as error:
            with suppress(StoreUnavailable):
                await self._save(failed(self._run, error, at=self._now()))
            raise

    async def _take_steps(self) -> None:
        assert self._run is not None  # noqa: S101 - a run is in progress
        while self._run.state is RunState.RUNNING:
            try:
                if phase_of(self._run) in BEFORE_SWITCH:
                    self._live.check()
                await self._take_step(self._run)
            except (Unavailable, Overloaded) as error:
                _log.warning("reembedding_waits", error=error.message)
                self._run = self._run.model_copy(update={"error": error.message})
                await asyncio.sleep(self._retry_s)

    async def _take_step(self, run: PipelineRun) -> None:
        source, target = source_of(run), target_of(run)
        assert self._run is not None  # noqa: S101 - it is `run`
        assert source is not None  # noqa: S101 - the first generation is never in progress
        match phase_of(run):
            case Phase.FILLING:
                await self._fill(target)
                # The rest of the total are items that are not indexed.
                await self._change(phase=Phase.VERIFYING, done=max(run.total, self._run.done), error=None)
            case Phase.VERIFYING:
                found = await self._verify(target)
                _log.info("reembedding_switches", **{"from": source.model_id}, to=target.model_id, **found)
                await self._change(phase=Phase.SWITCHED, error=None, **found)
            case Phase.SWITCHED:
                await self._store.make_live(target)
                await self._end_with(Phase.SWITCHED)
            case Phase.FINISHING:
                await self._retire(source)
                await self._end_with(Phase.FINISHED)
            case Phase.ROLLING_BACK:
                await self._store.make_live(source)
                await self._retire(target)
                await self._end_with(Phase.ROLLED_BACK)
            case Phase.FINISHED | Phase.ROLLED_BACK:
                await self._end_with(phase_of(run))

    async def _fill(self, target: VectorModel) -> None:
        """Embeds everything after the cursor; records each written batch."""
        assert self._run is not None  # noqa: S101 - a run is in progress
        space = self._spaces.of(target)
        batches = bulk_pass(
            self._embedder,
            self._indexer,
            space,
            Selection(collections=space.shared),
            after=self._run.cursor,
            retry_s=self._retry_s,
        )
        async with aclosing(batches):
            async for batch in batches:
                await self._change(cursor=batch.cursor, done=self._run.done + batch.embedded.total(), error=None)
                self._live.check()

    async def _verify(self, target: VectorModel) -> Mapping[str, int | float]:
        found = await check_generation(self._record, self._spaces.of(target), self._indexer)
        if not found.is_sound:
            raise GenerationUnsound(f"{found.complaint} Nothing was switched: start it again, or roll it back.")
        return found.figures()

    async def _retire(self, model: VectorModel) -> None:
        """Drops a generation once no search uses it any more."""
        await asyncio.sleep(self._notice_s)
        await self._store.drop(model)

    async def _end_with(self, phase: Phase) -> None:
        await self._change(phase=phase, state=RunState.DONE, error=None, ended_at=self._now())
        _log.info("reembedding_at_rest", phase=phase.value)

    async def _change(self, **fields: object) -> None:
        assert self._run is not None  # noqa: S101 - a run is in progress
        await self._save(self._changed(self._run, **fields))

    async def _save(self, run: PipelineRun) -> None:
        """Records a run and, if its output has changed, refreshes the spaces."""
        has_new_output = self._run is None or self._run.output != run.output
        await self._record.runs.save(run)
        self._run = run
        if has_new_output:
            await self._spaces.refresh()

    def _changed(self, run: PipelineRun, **fields: object) -> PipelineRun:
        """The run with changed fields; fields that a run does not have are put into its output."""
        own = {name: value for name, value in fields.items() if name in PipelineRun.model_fields}
        output = {
            name: str(value) if isinstance(value, Phase) else value for name, value in fields.items() if name not in own
        }
        return run.model_copy(update=own | {"output": run.output | output, "updated_at": self._now()})

    async def _watch(self) -> None:
        while True:
            try:
                await self._make_recorded_model_live()
                if not self._is_working and await self._broken_off():
                    self._task = asyncio.create_task(self.resume())
                    self._task.add_done_callback(_log_defect)
            except StoreUnavailable as error:
                _log.warning("reembedding_postponed", error=error.message)
            await asyncio.sleep(self._retry_s)

    async def _broken_off(self) -> bool:
        run = await latest_run(self._record.runs)
        return run is not None and run.state is RunState.RUNNING

    async def _make_recorded_model_live(self) -> None:
        """Reads or records the last run and makes its model live: a process may have been killed before it did so,
        and index files may have been replaced.
        """
        if self._run is not None:
            return
        run = await latest_run(self._record.runs)
        if run is None:
            run = first_generation(self._configured, at=self._now())
            await self._record.runs.save(run)
        await self._store.make_live(generations_of(run).live)
        self._run = run


def _log_defect(task: "asyncio.Task[None]") -> None:
    """Logs the error of a background task: outages are retried, anything else is a defect."""
    if task.cancelled() or (error := task.exception()) is None:
        return
    if isinstance(error, Conflict | Unavailable):
        _log.warning("reembedding_postponed", error=error.message)
    else:
        _log.error("reembedding_broke", exc_info=error)
