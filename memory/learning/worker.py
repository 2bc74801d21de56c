"""The learner's background loop: wakes when notified, looks anyway now and then, backs off when a part is down."""

import asyncio
import contextlib

import structlog
from typing_extensions import override

from ..indexing.record_pages import WHOLE_OUTBOX
from ..ports.language import Priority
from ..ports.record import SystemOfRecord
from ..ports.services import BacklogWorker, LearningService, LearnReport
from ..values.errors import Unavailable
from .learner import Learner

_log = structlog.get_logger(__name__)
_USERS_A_ROUND = 256
_BATCHES_A_TURN = 4
"""So that a user with a long backlog (a lost index, say) does not keep the others waiting."""


class LearningWorker(LearningService, BacklogWorker):
    """Drains the backlog of all users, again and again, until it is closed.

    `failures` counts the rounds that a part which was down broke off; `waits_for` says what is wrong with it now.

    Args:
        poll_s: How long to sleep without a notification: what is found then was left by a crash or a restart.
        retry_s: How long to wait after a store or model was found down.
    """

    def __init__(self, *, learner: Learner, record: SystemOfRecord, poll_s: float = 2.0, retry_s: float = 1.0) -> None:
        self._learner = learner
        self._record = record
        self._poll_s = poll_s
        self._retry_s = retry_s
        self._wake = asyncio.Event()
        self._notified: dict[str, None] = {}
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

    async def run(self) -> None:
        """Works until `close`; never raises for a part that is down."""
        while not self._closing:
            self._wake.clear()
            try:
                await self._drain()
            except Unavailable as error:
                self.failures += 1
                self.waits_for = error.message
                _log.warning("learning_postponed", component=error.component, error=error.message)
                await asyncio.sleep(self._retry_s)
                continue
            self.waits_for = ""
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self._poll_s)

    @property
    def requeued(self) -> int:
        """Items that a lost index had to be given again."""
        return self._learner.indexer.requeued

    def close(self) -> None:
        """Ends `run` after the batch under way."""
        self._closing = True
        self._wake.set()

    async def _drain(self) -> None:
        await self._learner.indexer.check_for_loss()
        while not self._closing and (users := await self._users_waiting()):
            for user_id in users:
                index = user_id not in self.claimed
                self._count(await self._learner.learn(user_id=user_id, batches=_BATCHES_A_TURN, index=index))

    async def _users_waiting(self) -> list[str]:
        """Those who have just said something first: of a log that is long, only its beginning is looked at."""
        notified, self._notified = self._notified, {}
        backlog = self._record.backlog
        unlearned = await backlog.unlearned(limit=_USERS_A_ROUND)
        # What claimed users have there is older than most: the others' entries stand behind it.
        entries = await backlog.outbox(limit=WHOLE_OUTBOX if self.claimed else _USERS_A_ROUND)
        waiting = [entry.user_id for entry in entries if entry.user_id not in self.claimed]
        return list(dict.fromkeys([*notified, *(resource.user_id for resource in unlearned), *waiting]))

    def _count(self, report: LearnReport) -> None:
        self.learned = LearnReport(
            resources=self.learned.resources + report.resources,
            memories=self.learned.memories + report.memories,
            new_entities=self.learned.new_entities + report.new_entities,
            indexed=self.learned.indexed + report.indexed,
        )
