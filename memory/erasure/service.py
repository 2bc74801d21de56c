"""The erasures of the service: recorded, done in the background until every store has erased, and answered for."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import structlog
from typing_extensions import override

from ..jobs.tasks import cancel, log_defect
from ..ports.erasures import ErasureRequests, Erasures, ErasureService
from ..ports.jobs import PipelineRun
from ..ports.stores.record import SystemOfRecord
from ..ports.stores.vectors import Collection
from ..values.base import utc_now
from ..values.errors import Conflict, Unavailable
from ..values.governance.erasures import Erasure, ErasureKind, ErasureScope, Tombstone
from .eraser import Eraser, Found
from .requests import MOST_PENDING, Digests, Request, RequestLog, Target, new_request, run_of
from .tombstones import TombstoneFile, brought_back

_MOST_TOMBSTONES = 100_000
_log = structlog.get_logger(__name__)


class Erasing(ErasureService, ErasureRequests):
    """Works on the pending requests, oldest first, in one process.

    A whole user's requests are refused by the service from the moment that theirs is recorded. The work begins
    `settle_s` later, when every process knows that and what was under way has ended.

    Args:
        record: Where the requests are recorded.
        eraser: Erases from the stores.
        digests: Digests of ids.
        file: Keeps what is done beside the record, too.
        settle_s: See above.
        retry_s: Seconds until a request is tried again after a part was away; doubled each time, up to a minute.
        poll_s: Seconds between looks for requests that another process has left.
        now: The clock.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        eraser: Eraser,
        digests: Digests,
        file: TombstoneFile | None = None,
        settle_s: float = 3.0,
        retry_s: float = 2.0,
        poll_s: float = 30.0,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._record = record
        self._log = RequestLog(record.runs)
        self._eraser = eraser
        self._digests = digests
        self._file = file
        self._settle = timedelta(seconds=settle_s)
        self._retry_s = retry_s
        self._poll_s = poll_s
        self._now = now
        self._recording = asyncio.Lock()
        self._wake = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None
        self._pending = 0
        self._waits_for = ""
        self._done = 0

    def begin(self) -> None:
        """Starts working in the background."""
        self._loop = asyncio.get_running_loop().create_task(self._work_forever())
        self._loop.add_done_callback(log_defect("erasing_crashed"))

    @override
    async def request(self, scope: ErasureScope, *, user_id: str) -> Erasure:
        target = Target(user_id=user_id, scope=scope)
        async with self._recording:
            pending = await self._log.pending()
            for known in pending:
                if known.target == target:
                    return known.shown()
            if len(pending) >= MOST_PENDING:
                raise Conflict(f"{MOST_PENDING} erasures wait already.")
            request = new_request(scope, user_id=user_id, digests=self._digests, now=self._now())
            await self._log.save(request, now=self._now())
        _log.info("erasure_requested", erasure_id=request.erasure_id, kind=scope.kind.value)
        self._wake.set()
        return request.shown()

    @override
    def prepare(self, messages: Sequence[str], *, user_id: str) -> Sequence[PipelineRun]:
        if not messages:
            return []
        now = self._now()
        scope = ErasureScope(kind=ErasureKind.ITEM, item_id=messages[0], more=tuple(messages[1:]))
        return [run_of(new_request(scope, user_id=user_id, digests=self._digests, now=now), now=now)]

    @override
    def wake(self) -> None:
        self._wake.set()

    @override
    async def get(self, erasure_id: str) -> Erasure:
        return (await self._log.get(erasure_id)).shown()

    @override
    async def list(self, *, limit: int = 100) -> Erasures:
        pending = (await self._log.pending())[::-1][:limit]
        done = await self._log.done(limit=limit - len(pending))
        return [request.shown() for request in (*pending, *done)]

    @override
    async def tombstones(self) -> Sequence[Tombstone]:
        recorded = [request.tombstone for request in await self._log.done(limit=_MOST_TOMBSTONES)]
        kept = await asyncio.to_thread(self._file.read) if self._file else []
        return [*{mark.erasure_id: mark for mark in (*kept, *recorded)}.values()]

    @override
    async def replay(self, tombstones: Sequence[Tombstone] = ()) -> Erasures:
        marks = [*await self.tombstones(), *tombstones]
        back = [found async for found in brought_back(self._record, marks, self._digests)]
        return [await self.request(scope, user_id=user_id) for user_id, scope in back]

    async def work(self) -> bool:
        """Works once on everything that is pending; whether all of it is done."""
        pending = await self._log.pending()
        self._pending = len(pending)
        erased: list[Request] = []
        for request in pending:
            result = await self._attempt(request)
            if result.target is None:
                erased.append(result)
        for request in await self._purge(erased):
            if self._file is not None:
                await asyncio.to_thread(self._file.add, [request.tombstone])
            await self._log.save(request, now=self._now())
            self._pending -= 1
            self._done += 1
            _log.info("erasure_done", erasure_id=request.erasure_id, removed=sum(request.removed.values()))
        if not self._pending:
            self._waits_for = ""
        return not self._pending

    def figures(self) -> dict[str, float | str]:
        """For `/health/detailed` and the metrics."""
        figures: dict[str, float | str] = {"erasures_pending": self._pending, "erasures_done": self._done}
        return figures | ({"erasures_wait_for": self._waits_for} if self._waits_for else {})

    async def close(self) -> None:
        """Stops; what is pending is continued at the next start."""
        await cancel(self._loop)

    async def _work_forever(self) -> None:
        pause_s = self._retry_s
        while True:
            self._wake.clear()
            try:
                is_done = await self.work()
            except Unavailable as error:  # the record: nothing can be noted
                self._waits_for = error.component
                _log.warning("erasing_postponed", waits_for=error.component)
                is_done = False
            pause_s = self._retry_s if is_done else min(2 * pause_s, 60.0)
            try:
                async with asyncio.timeout(self._poll_s if is_done else pause_s):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def _attempt(self, request: Request) -> Request:
        """Erases from the stores; the request afterwards, without its target where all of them have erased."""
        if request.target is None:
            return request
        removed: dict[str, int] = {}
        try:
            await self._erase(request, request.target, removed)
        except Unavailable as error:
            latest = await self._log.get(request.erasure_id)  # with what was found meanwhile
            request = self._failed(latest.plus(removed), error)
        else:
            # From here on only files are left, which nobody needs the user's id for.
            request = request.plus(removed).model_copy(update={"target": None, "points": {}, "sessions": {}})
        await self._log.save(request, now=self._now())
        return request

    async def _erase(self, request: Request, target: Target, removed: dict[str, int]) -> None:
        early = request.requested_at + self._settle - self._now()
        await asyncio.sleep(max(0.0, early.total_seconds()))
        if target.scope.kind is ErasureKind.USER:
            await self._eraser.erase_user(target.user_id, removed)
            return

        async def save(found: Found) -> None:
            points = {collection.value: ids for collection, ids in found.points.items()}
            update = {"points": points, "sessions": found.sessions}
            await self._log.save(request.model_copy(update=update), now=self._now())

        points = {Collection(name): ids for name, ids in request.points.items()}
        found = Found(points=points, sessions=request.sessions, save=save)
        scope = target.scope
        if scope.kind is ErasureKind.PERIOD and scope.until is None:
            scope = scope.model_copy(update={"until": request.requested_at})
        await self._eraser.erase_scope(scope, user_id=target.user_id, found=found, removed=removed)

    async def _purge(self, erased: Sequence[Request]) -> Sequence[Request]:
        """Purges the files of all stores for these requests at once; the requests that are done now."""
        if not erased:
            return []
        try:
            purged = await self._eraser.purge()
        except Unavailable as error:
            for request in erased:
                await self._log.save(self._failed(request, error), now=self._now())
            return []
        finished = {"purged": purged, "finished_at": self._now(), "waits_for": None}
        return [request.model_copy(update={**finished, "attempts": request.attempts + 1}) for request in erased]

    def _failed(self, request: Request, error: Unavailable) -> Request:
        self._waits_for = error.component
        _log.warning("erasure_postponed", erasure_id=request.erasure_id, waits_for=error.component)
        return request.model_copy(update={"attempts": request.attempts + 1, "waits_for": error.component})
