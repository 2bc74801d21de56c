"""Embeds a long backlog with a pool of workers, after an import or the loss of an index (DESIGN §8).

An entry leaves the outbox only when the ordinary indexer finds its vector in every space, so no crash loses one.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from datetime import datetime
from itertools import accumulate

import structlog

from ..jobs.runs import RunCancelled, cancelled, ended, failed, kept_alive, new_run
from ..jobs.tasks import cancel, log_defect
from ..ports.jobs import PipelineRun, RunState
from ..ports.services import BacklogWorker
from ..ports.stores.coordination import Locks
from ..ports.stores.generations import BulkEmbedder, Selection, VectorSpace, VectorSpaces, each_once
from ..ports.stores.record import OutboxEntry, SystemOfRecord
from ..ports.stores.vectors import Collection
from ..values.base import utc_now
from ..values.errors import JiyiError, StoreUnavailable
from .bulk_passes import retried_pass
from .indexer import Indexer
from .maintenance import LOCK

PIPELINE = "bulk_indexing"
_AT_ONCE = 20_000
"""Outbox entries of one pass, at whose end they become searchable."""
_NEXT_TURNS = 2_048
"""More turns than the worker learns between two checks."""
_LOCK_TTL_S = 10.0
_BROKEN_OFF = "it was broken off (what is not done waits in the outbox)"
_log = structlog.get_logger(__name__)


class BulkIndexing:
    """Checks the backlog periodically and embeds a long one in bulk, so that interactive work is not held up.

    Users with a long backlog are claimed: the worker learns their turns, and this class indexes them; other users are
    served as usual. It holds the lock of index maintenance, so it never runs in two processes, nor beside a rebuild or
    a change of the model. An operator's request goes first (`give_way`).

    Args:
        record: Stores the backlog and the runs.
        locks: Locks over all processes.
        spaces: The spaces to write; the same as the indexer's.
        embedder: Embeds in bulk.
        indexer: Writes what it makes.
        worker: Learns in the background; indexes nothing of users who are claimed.
        backlog: From how many turns and items that wait on this is done; 0 for never.
        look_s: How long between looks.
        pause_s: How long what waits is left to the worker after a pass has failed.
        retry_s: Seconds until an interrupted pass continues.
        now: The clock.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        locks: Locks,
        spaces: VectorSpaces,
        embedder: BulkEmbedder,
        indexer: Indexer,
        worker: BacklogWorker,
        backlog: int,
        look_s: float = 5.0,
        pause_s: float = 300.0,
        retry_s: float = 2.0,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._record = record
        self._locks = locks
        self._spaces = spaces
        self._embedder = embedder
        self._indexer = indexer
        self._worker = worker
        self._backlog = backlog
        self._look_s = look_s
        self._pause_s = pause_s
        self._retry_s = retry_s
        self._now = now
        self._run: PipelineRun | None = None
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Starts the periodic checks in the background."""
        if self._backlog:
            self._task = asyncio.get_running_loop().create_task(self._look_forever())
            self._task.add_done_callback(log_defect("bulk_indexing_broke"))

    async def give_way(self) -> None:
        """Stops the pass in progress, so that the index is free; checks again after `look_s`."""
        await self.close()
        self.begin()

    async def close(self) -> None:
        """Stops the pass in progress; the remaining items stay in the outbox."""
        await cancel(self._task)

    async def run_if_due(self) -> None:
        """Runs passes until the backlog is short, if it is long and the lock is free.

        Raises:
            Unavailable: A store, a model or a worker of the pool is down; the next call starts again.
        """
        if not await self._is_due():
            return
        async with self._locks.held(LOCK, ttl_s=_LOCK_TTL_S) as ours:
            if ours:
                await self._note_broken_off()
                try:
                    await self._work()
                finally:
                    self._worker.claimed = frozenset()
                    self._worker.wake()

    def figures(self) -> dict[str, float | str]:
        """Figures of this process's last pass, for `/health/detailed` and the metrics."""
        if self._run is None:
            return {}
        return {
            "bulk_indexing_run": self._run.state.value,
            "bulk_indexing_done": self._run.done,
            "bulk_indexing_total": self._run.total,
            "bulk_indexing_claimed": len(self._worker.claimed),
        }

    async def _look_forever(self) -> None:
        while True:
            await asyncio.sleep(self._look_s)
            try:
                await self.run_if_due()
            except JiyiError as error:
                _log.warning("bulk_indexing_postponed", error=error.message)
                await asyncio.sleep(self._pause_s)

    async def _is_due(self) -> bool:
        """Whether the backlog is long; reads entries because `Backlog.counts` scans the whole record."""
        entries = len(await self._record.backlog.outbox(limit=self._backlog))
        turns_left = self._backlog - entries
        return turns_left == 0 or len(await self._record.backlog.unlearned(limit=turns_left)) == turns_left

    async def _work(self) -> None:
        """Runs passes while the backlog is long; returns early where neither learning nor a pass progresses."""
        while await self._is_due():
            await self._claim()
            if await self._is_long():
                await self._index_embedded()
            if await self._is_long():
                await self._pass()
                if not await self._index_embedded():
                    return
            elif self._worker.waits_for:
                return
            else:
                await asyncio.sleep(self._look_s)

    async def _is_long(self) -> bool:
        """Whether the outbox alone is long enough for a pass."""
        return len(await self._record.backlog.outbox(limit=self._backlog)) == self._backlog

    async def _claim(self) -> None:
        """Claims all users but those with the least work, up to half a backlog together, who may be chatting."""
        unlearned = await self._record.backlog.unlearned(limit=_NEXT_TURNS)
        entries = await self._record.backlog.outbox(limit=_AT_ONCE)
        waiting = Counter([*(turn.user_id for turn in unlearned), *(entry.user_id for entry in entries)])
        least_first = sorted(waiting, key=lambda user_id: (waiting[user_id], user_id))
        together = accumulate(waiting[user_id] for user_id in least_first)
        self._worker.claimed = {
            user_id for user_id, so_far in zip(least_first, together, strict=True) if so_far > self._backlog // 2
        }

    async def _index_embedded(self) -> int:
        """Indexes the items whose vectors exist (embedded by a pass, or unchanged); returns their number."""
        return sum(
            [await self._indexer.index_without_encoding(user_id=user_id) for user_id in sorted(self._worker.claimed)]
        )

    async def _pass(self) -> None:
        """Embeds the outbox with each model that is written, and records the progress."""
        entries = await self._record.backlog.outbox(limit=_AT_ONCE)
        parts = _models_written(await self._spaces.written())
        self._run = new_run(
            PIPELINE,
            {"users": len(self._worker.claimed), "models": [space.encoder.model_id for space, _ in parts]},
            total=sum(_count(entries, collections) for _, collections in parts),
            at=self._now(),
        )
        await self._record.runs.save(self._run)
        _log.info("bulk_indexing_begins", items=self._run.total, users=len(self._worker.claimed))
        try:
            async with kept_alive(self._record.runs, self._run.run_id) as live:
                for space, collections in parts:
                    selection = Selection(collections=collections, waiting=_AT_ONCE)
                    batches = retried_pass(self._embedder, self._indexer, space, selection, retry_s=self._retry_s)
                    async with aclosing(batches):
                        async for batch in batches:
                            done = self._run.done + batch.embedded.total()
                            await self._change(done=done, total=max(self._run.total, done))
                            live.check()
        except RunCancelled:
            await self._save(cancelled(self._run, at=self._now()))
            raise
        except JiyiError as error:
            await self._save(failed(self._run, error, at=self._now()))
            raise
        except asyncio.CancelledError:
            with suppress(StoreUnavailable):
                await self._save(failed(self._run, _BROKEN_OFF, at=self._now()))
            raise
        await self._save(ended(self._run, RunState.DONE, at=self._now()))
        _log.info("bulk_indexing_ends", items=self._run.done)

    async def _note_broken_off(self) -> None:
        """Records the last pass as interrupted if it is recorded as running: its process has ended."""
        for run in await self._record.runs.latest(PIPELINE):
            if run.state is RunState.RUNNING:
                await self._record.runs.save(failed(run, _BROKEN_OFF, at=self._now()))

    async def _change(self, **fields: object) -> None:
        assert self._run is not None  # noqa: S101 - a pass is in progress
        await self._save(self._run.model_copy(update=fields | {"updated_at": self._now()}))

    async def _save(self, run: PipelineRun) -> None:
        self._run = run
        await self._record.runs.save(run)


def _models_written(spaces: Sequence[VectorSpace]) -> list[tuple[VectorSpace, tuple[Collection, ...]]]:
    """The spaces that are written with their collections; shared parts once."""
    return each_once(part for space in spaces for part in space.parts())


def _count(entries: Sequence[OutboxEntry], collections: Sequence[Collection]) -> int:
    counted = Counter(entry.collection for entry in entries)
    return sum(counted[collection] for collection in collections)
