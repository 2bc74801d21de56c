"""Ingests what waits in the record, in the background, each version of a source as a recorded run (004 §5.1, §11.4)."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from time import perf_counter

import structlog
from typing_extensions import override

from ..jobs.tasks import cancel
from ..ports.corpora import IngestionService
from ..ports.jobs import PipelineRun, RunState
from ..ports.record import SystemOfRecord
from ..values.base import utc_now
from ..values.corpora import SourceState, SourceVersion
from ..values.errors import BadRequest, EmbeddingFailed, JiyiError, Overloaded, StoreUnavailable, Unavailable
from ..values.identity import app_owner
from .building import Built, SourceBuilder, SourceGone

PIPELINE = "knowledge_ingestion"
_CRASHED = "an unexpected error; the log of the learner has it"
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
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._record = record
        self._builder = builder
        self._at_once = at_once
        self._poll_s = poll_s
        self._retry_s = retry_s
        self._wait_s = wait_s
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

    async def _start_some(self) -> None:
        """Starts the oldest that wait, as many as there is room for."""
        for version in await self._record.backlog.pending_sources(limit=1_000):
            if len(self._building) >= self._at_once:
                return
            key = (version.app, version.source_id)
            if key not in self._building:
                self._building[key] = asyncio.create_task(self._build_and_forget(version, key))

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
        run, begun = await self._run_of(version), perf_counter()

        async def progress(done: int, total: int) -> None:
            nonlocal run
            if (done, total) != (run.done, run.total):
                run = await self._save(run, done=done, total=total)

        try:
            built = await self._builder.build(version, progress)
        except SourceGone:
            await self._end(run, RunState.FAILED, error="the source was deleted")
        except (BadRequest, EmbeddingFailed) as error:
            if isinstance(error, Overloaded):
                raise
            await self._fail(version, run, error)
        except (JiyiError, asyncio.CancelledError):
            raise
        except Exception:  # noqa: BLE001 - a defect fails this version alone, and is not repeated for ever
            _log.exception("ingestion_crashed", corpus_id=version.corpus_id, source_uri=version.source_uri)
            await self._fail(version, run, JiyiError(_CRASHED))
        else:
            await self._finish(version, run, built, perf_counter() - begun)

    async def _run_of(self, version: SourceVersion) -> PipelineRun:
        """The run of a version: that of an earlier attempt, or a new one."""
        now = self._now()
        known = await self._record.runs.get(version.run_id)
        return known or await self._save(
            PipelineRun(
                run_id=version.run_id,
                pipeline=PIPELINE,
                input={
                    "app": version.app,
                    "corpus_id": version.corpus_id,
                    "source_id": version.source_id,
                    "source_uri": version.source_uri,
                    "version": version.version,
                    "config_version": version.config_version,
                },
                started_at=now,
                updated_at=now,
            )
        )

    async def _finish(self, version: SourceVersion, run: PipelineRun, built: Built, seconds: float) -> None:
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
        await self._end(run, RunState.DONE, output=output)

    async def _fail(self, version: SourceVersion, run: PipelineRun, error: JiyiError) -> None:
        self._totals["failed"] += 1
        reason = f"{type(error).__name__}: {error.message}"
        _log.warning("ingestion_failed", corpus_id=version.corpus_id, source_uri=version.source_uri, error=reason)
        await self._builder.give_up(version, reason)
        await self._end(run, RunState.FAILED, error=reason)

    async def _end(self, run: PipelineRun, state: RunState, **fields: object) -> None:
        await self._save(run, state=state, ended_at=self._now(), **fields)

    async def _save(self, run: PipelineRun, **fields: object) -> PipelineRun:
        saved = run.model_copy(update={**fields, "updated_at": self._now()})
        await self._record.runs.save(saved)
        return saved
