"""Ingests what waits in the record, in the background, each version of a source as a recorded run (004 §5.1, §11.4)."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from time import perf_counter

import structlog
from typing_extensions import override

from ..jobs.runs import Heartbeat, RunCancelled, RunTaken, RunWork, begun, cancelled, ended, failed, kept_alive
from ..jobs.tasks import cancel
from ..ports.jobs import PipelineRun, RunQuery, RunState
from ..ports.stores.corpora import IngestionService
from ..ports.stores.record import SystemOfRecord
from ..values.access.identity import app_owner
from ..values.base import utc_now
from ..values.documents.corpora import SourceState, SourceVersion
from ..values.errors import BadRequest, Conflict, EmbeddingFailed, JiyiError, Overloaded, StoreUnavailable, Unavailable
from .building import Built, SourceBuilder, SourceGone
from .deleting import DELETED
from .sources import PIPELINE, queued_again, run_of

_CRASHED = "an unexpected error; the stack of the run says which"
_MOST_WAITING = 1_000
_log = structlog.get_logger(__name__)


class Ingestion(IngestionService):
    """Builds the versions that wait, several at once, those of one source one after the other.

    What waits is in the record, so that a killed process goes on where it stopped. A file that cannot be read, or whose
    chunks were not embedded after retries, fails alone, with its reason in the version and in the run; a store that is
    away is waited for.

    Args:
        record: Stores what waits, and the runs.
        builder: Builds one version.
        at_once: Versions that are built at the same time.
        poll_s: Seconds between looks without a notification.
        retry_s: Seconds to wait after a store was away.
        wait_s: The longest that `finish` waits.
        heartbeat: How runs show that they are alive.
        now: The clock.

    Attributes:
        figures: Totals since this process began, for `/health/detailed` and the metrics (004 §9.3).
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        builder: SourceBuilder,
        at_once: int = 2,
        poll_s: float = 5.0,
        retry_s: float = 2.0,
        wait_s: float = 55.0,
        heartbeat: Heartbeat | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._record = record
        self._builder = builder
        self._at_once = at_once
        self._poll_s = poll_s
        self._retry_s = retry_s
        self._wait_s = wait_s
        self._heartbeat = heartbeat or Heartbeat()
        self._now = now
        self._wake = asyncio.Event()
        self._done = asyncio.Condition()
        self._building: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._loop: asyncio.Task[None] | None = None
        self._totals = dict.fromkeys(("sources", "failed", "chunks", "seconds"), 0.0)

    def begin(self) -> None:
        """Starts to build what waits, in the background."""
        self._loop = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Stops; what is not ready goes on with the next start."""
        await cancel(self._loop)
        for task in [*self._building.values()]:
            await cancel(task)

    def figures(self) -> dict[str, float]:
        """Totals since this process began; `chunks_per_s` is over the time of building."""
        totals, seconds = self._totals, self._totals["seconds"]
        return {
            "knowledge_sources_ingested": totals["sources"],
            "knowledge_ingestions_failed": totals["failed"],
            "knowledge_chunks_indexed": totals["chunks"],
            "knowledge_chunks_per_s": totals["chunks"] / seconds if seconds else 0.0,
        }

    @override
    def notify(self) -> None:
        self._wake.set()

    @override
    async def finish(self, source_id: str, version: int, *, app: str) -> SourceVersion | None:
        self.notify()
        deadline = asyncio.get_running_loop().time() + self._wait_s
        async with self._done:
            while True:
                found = await self._version(source_id, version, app=app)
                left_s = deadline - asyncio.get_running_loop().time()
                if found is None or found.state is not SourceState.PENDING or left_s <= 0:
                    return found
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left_s, self._poll_s)):
                        await self._done.wait()

    async def _version(self, source_id: str, version: int, *, app: str) -> SourceVersion | None:
        async with self._record.reading(user_id=app_owner(app)) as unit:
            versions = await unit.sources.versions(source_id)
        return next((each for each in versions if each.version == version), None)

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self._start_some()
            except StoreUnavailable as error:
                _log.warning("ingestion_postponed", error=error.message)
                await asyncio.sleep(self._retry_s)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._poll_s):
                    await self._wake.wait()

    async def retry(self, run: PipelineRun) -> PipelineRun:
        """Queues the version of a run again, under a new run that names this one.

        Raises:
            Conflict: The version is gone, ready, or waits already, or its source has a newer one.
        """
        async with self._record.writing(user_id=app_owner(str(run.app))) as unit:
            versions = await unit.sources.versions(str(run.input["source_id"]))
            if not versions or versions[0].version != run.input["version"]:
                raise Conflict("The source was deleted, or has a newer version.")
            if versions[0].state is not SourceState.FAILED:
                raise Conflict(f"The version is {versions[0].state.value} meanwhile.")
            again = queued_again(versions[0], at=self._now())
            await unit.sources.update_version(again)
            await unit.commit()
        queued = await self._queue(again, retry_of=run.run_id)
        self.notify()
        return queued

    async def _start_some(self) -> None:
        """Starts the oldest that wait, as many as there is room for; all others have a run that waits."""
        states = (RunState.QUEUED, RunState.RUNNING)
        query = RunQuery(pipelines=[PIPELINE], states=states, limit=_MOST_WAITING)
        left = {run.run_id: run for run in await self._record.runs.find(query, app=None)}
        for version in await self._record.backlog.pending_sources(limit=_MOST_WAITING):
            key = (version.app, version.source_id)
            known = left.pop(version.run_id, None)
            if known is None:
                await self._queue(version)
            if len(self._building) < self._at_once and key not in self._building:
                self._building[key] = asyncio.create_task(self._build_and_forget(version, key))
        for run in left.values():
            await self._settle(run)

    async def _queue(self, version: SourceVersion, *, retry_of: str | None = None) -> PipelineRun:
        """The run of a version that waits: recorded before, or now."""
        known = await self._record.runs.get(version.run_id)
        if known is not None:
            return known
        run = run_of(version, retry_of=retry_of)
        await self._record.runs.add([run])
        return run

    async def _settle(self, run: PipelineRun) -> None:
        """Ends a run whose version does not wait any more: its process died between the two, or it was deleted."""
        source_id, number = str(run.input["source_id"]), int(str(run.input["version"]))
        app = str(run.app)
        if (app, source_id) in self._building:
            return
        version = await self._version(source_id, number, app=app)
        if version is not None and version.state is SourceState.PENDING and version.run_id == run.run_id:
            return  # it came meanwhile, or there are more than are looked at
        known = await self._record.runs.get(run.run_id)
        if known is None or known.state.is_over:
            return  # it ended after the look
        now = self._now()
        if version is not None and version.state is SourceState.READY and version.run_id == run.run_id:
            await self._record.runs.save(ended(known, RunState.DONE, at=now, output={"chunks": version.chunk_count}))
        else:
            await self._record.runs.save(failed(known, (version and version.error) or DELETED, at=now))

    async def _build_and_forget(self, version: SourceVersion, key: tuple[str, str]) -> None:
        try:
            await self._build(version)
        except (Unavailable, Overloaded) as error:
            _log.warning("ingestion_postponed", corpus_id=version.corpus_id, error=error.message)
            await asyncio.sleep(self._retry_s)
        finally:
            del self._building[key]
            self._wake.set()
            async with self._done:
                self._done.notify_all()

    async def _build(self, version: SourceVersion) -> None:
        """Builds one version as a run.

        Raises:
            Unavailable: A store is away; the run goes on later.
        """
        run = await self._queue(version)
        if run.state.is_over:  # it was cancelled before its turn came
            await self._builder.give_up(version, run.error or "")
            return
        try:
            async with kept_alive(
                self._record.runs, run.run_id, release=True, heartbeat=self._heartbeat, now=self._now
            ) as live:
                run = begun(run, at=self._now())
                work = RunWork(self._record.runs, run, live, now=self._now)
                try:
                    live.check()
                    await self._record.runs.save(run)
                    await self._work_on(version, work)
                except RunCancelled:
                    over = cancelled(work.run, at=self._now())
                    await self._builder.give_up(version, over.error or "")
                    await work.finish(over)
        except RunTaken as error:
            _log.warning("ingestion_left", corpus_id=version.corpus_id, error=error.message)

    async def _work_on(self, version: SourceVersion, work: RunWork) -> None:
        since = perf_counter()

        async def progress(done: int, total: int) -> None:
            await work.advance(done=done, total=total)

        try:
            built = await self._builder.build(version, progress)
        except SourceGone:
            await work.finish(failed(work.run, DELETED, at=self._now()))
        except (RunCancelled, RunTaken):
            raise
        except (BadRequest, EmbeddingFailed) as error:
            if isinstance(error, Overloaded):
                raise
            await self._fail(version, work, error)
        except (JiyiError, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 - a defect fails this version alone, and is not repeated for ever
            _log.exception("ingestion_crashed", corpus_id=version.corpus_id, source_uri=version.source_uri)
            await self._fail(version, work, error)
        else:
            await self._finish(version, work, built, perf_counter() - since)

    async def _finish(self, version: SourceVersion, work: RunWork, built: Built, seconds: float) -> None:
        self._totals["sources"] += 1
        self._totals["chunks"] += built.chunks
        self._totals["seconds"] += seconds
        output = {"chunks": built.chunks, "stored": built.stored, "seconds": round(seconds, 3)}
        _log.info(
            "ingestion_timed",
            corpus_id=version.corpus_id,
            chunk_count=built.chunks,
            chunks_per_s=round(built.chunks / seconds, 2) if seconds else 0.0,
        )
        await work.finish(ended(work.run, RunState.DONE, at=self._now(), output=output))

    async def _fail(self, version: SourceVersion, work: RunWork, error: Exception) -> None:
        self._totals["failed"] += 1
        reason = f"{type(error).__name__}: {error.message}" if isinstance(error, JiyiError) else _CRASHED
        _log.warning("ingestion_failed", corpus_id=version.corpus_id, source_uri=version.source_uri, error=reason)
        await self._builder.give_up(version, reason)
        await work.finish(failed(work.run, error, at=self._now()).model_copy(update={"error": reason}))
