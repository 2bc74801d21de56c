"""The background loop of learning: runs when notified and periodically, and waits while a component is down or busy."""

import asyncio
import contextlib

import structlog
from typing_extensions import override

from ..indexing.record_pages import WHOLE_OUTBOX
from ..ports.models.language import Priority
from ..ports.services import BacklogWorker, LearningService, LearnReport
from ..ports.stores.record import SystemOfRecord
from ..values.errors import Overloaded, Unavailable
from ..values.governance.forgetting import ForgetReport, ForgetRequest
from .learner import Learner

_log = structlog.get_logger(__name__)
_ENTRIES_READ = 256
_BATCHES_PER_TASK = 4
"""Bounds how long a user with a long backlog (a lost index, say) occupies one of the tasks."""


class LearningWorker(LearningService, BacklogWorker):
    """Learns the backlog of all users until it is closed: several users at once, each user's in order.

    Args:
        learner: Learns one user at a time.
        record: Stores the backlog.
        users_at_once: Users that are learned concurrently.
        poll_s: Seconds between looks without a notification, which find the rest of a crash or restart.
        retry_s: Seconds to wait after a store or model was down.

    Attributes:
        failures: How often the learning of a user failed because a component was down or its queue full.
        learned: What was learned so far.
    """

    def __init__(
        self,
        *,
        learner: Learner,
        record: SystemOfRecord,
        users_at_once: int = 4,
        poll_s: float = 2.0,
        retry_s: float = 1.0,
    ) -> None:
        self._learner = learner
        self._record = record
        self._users_at_once = users_at_once
        self._poll_s = poll_s
        self._retry_s = retry_s
        self._wake = asyncio.Event()
        self._notified: dict[str, None] = {}
        self._tasks: dict[str, asyncio.Task[LearnReport]] = {}
        self._failed: set[str] = set()
        self._closing = False
        self.failures = 0
        self.learned = LearnReport()

    @override
    def notify(self, *, user_id: str) -> None:
        self._notified[user_id] = None
        self.wake()

    @override
    def wake(self) -> None:
        self._wake.set()

    @override
    async def learn(self, *, user_id: str) -> LearnReport:
        report = await self._learner.learn(user_id=user_id, priority=Priority.INTERACTIVE)
        self._count(report)
        return report

    @override
    async def forget(self, request: ForgetRequest) -> ForgetReport | None:
        return await self._learner.forget(request)

    async def run(self) -> None:
        """Learns until `close`, then ends the current batches; never raises for a component that is down."""
        try:
            while not self._closing:
                try:
                    await self._drain()
                except (Unavailable, Overloaded) as error:
                    self.failures += 1
                    self.waits_for = error.message
                    _log.warning("learning_postponed", error=error.message)
                    await asyncio.sleep(self._retry_s)
                    continue
                self.waits_for = ""
                await self._until_woken(self._poll_s)
            while self._tasks:
                await asyncio.wait(self._tasks.values())
                with contextlib.suppress(Unavailable, Overloaded):
                    self._collect()
        finally:
            for task in self._tasks.values():
                task.cancel()

    @property
    def requeued(self) -> int:
        """Items requeued because the index had lost them."""
        return self._learner.indexer.requeued

    def close(self) -> None:
        """Ends `run` after the current batches."""
        self._closing = True
        self._wake.set()

    async def _drain(self) -> None:
        """Learns until the backlog is empty.

        Raises:
            Unavailable: Learning failed for a user; it continues for the others.
            Overloaded: Likewise, because a queue was full.
        """
        await self._learner.indexer.check_for_loss()
        waiting: list[str] = []
        while not self._closing:
            if not waiting or self._wake.is_set():
                self._wake.clear()
                waiting = await self._users_waiting()
            while waiting and len(self._tasks) < self._users_at_once:
                user_id = waiting.pop(0)
                self._tasks[user_id] = asyncio.create_task(self._learn_some(user_id))
            if not self._tasks:
                return
            await self._until_done_or_woken()
            self._collect()

    async def _learn_some(self, user_id: str) -> LearnReport:
        index = user_id not in self.claimed
        return await self._learner.learn(user_id=user_id, batches=_BATCHES_PER_TASK, index=index)

    def _collect(self) -> None:
        """Removes finished tasks and counts their reports.

        Raises:
            Unavailable: Learning failed for one of them.
            Overloaded: Likewise, because a queue was full.
        """
        failure: Unavailable | Overloaded | None = None
        for user_id in [user_id for user_id, task in self._tasks.items() if task.done()]:
            try:
                self._count(self._tasks.pop(user_id).result())
                self.waits_for = ""
                self._failed.discard(user_id)
            except (Unavailable, Overloaded) as error:
                failure = error
                self._failed.add(user_id)
        if failure is not None:
            raise failure

    async def _until_done_or_woken(self) -> None:
        """Waits for a task, a notification or `poll_s`."""
        woken = asyncio.create_task(self._wake.wait())
        try:
            await asyncio.wait(
                {woken, *self._tasks.values()}, timeout=self._poll_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            woken.cancel()

    async def _until_woken(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)

    async def _users_waiting(self) -> list[str]:
        """Who is not being learned yet: those who have just said something first, then in the order of the log, of
        which only the beginning is read; last those whose learning failed.
        """
        notified = [user_id for user_id in self._notified if user_id not in self._tasks]
        for user_id in notified:
            del self._notified[user_id]
        backlog = self._record.backlog
        unlearned = await backlog.unlearned(limit=_ENTRIES_READ)
        # The old entries of claimed users may fill the first page.
        entries = await backlog.outbox(limit=WHOLE_OUTBOX if self.claimed else _ENTRIES_READ)
        unindexed = [entry.user_id for entry in entries if entry.user_id not in self.claimed]
        users = dict.fromkeys([*notified, *(resource.user_id for resource in unlearned), *unindexed])
        users_left = [user_id for user_id in users if user_id not in self._tasks]
        return sorted(users_left, key=lambda user_id: user_id in self._failed)

    def _count(self, report: LearnReport) -> None:
        self.learned = LearnReport(
            resources=self.learned.resources + report.resources,
            memories=self.learned.memories + report.memories,
            new_entities=self.learned.new_entities + report.new_entities,
            indexed=self.learned.indexed + report.indexed,
        )
