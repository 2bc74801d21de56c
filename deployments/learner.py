"""The Learner deployment: drains unlearned turns in the background (DESIGN §2, §3.6)."""

import asyncio
from collections.abc import Callable

from memory.learning.worker import LearningWorker
from memory.ports.learning import LearnReport


class LearnerDeployment:
    """The learning loop; its work list is in the system of record, so a crash loses nothing."""

    def __init__(self, *, worker: Callable[[], LearningWorker]) -> None:
        self._worker = worker()
        self._running = asyncio.get_running_loop().create_task(self._worker.run())

    async def notify(self, user_id: str) -> None:
        """See `LearningService.notify`."""
        self._worker.notify(user_id=user_id)

    async def learn(self, user_id: str) -> LearnReport:
        """See `LearningService.learn`."""
        return await self._worker.learn(user_id=user_id)

    async def stats(self) -> dict[str, float]:
        """Totals since this replica started."""
        learned = self._worker.learned
        return {
            "learned_resources": learned.resources,
            "learned_memories": learned.memories,
            "new_entities": learned.new_entities,
            "indexed": learned.indexed,
            "postponed": self._worker.failures,
        }

    def check_health(self) -> None:
        """Raises where the loop has ended on an error, so that Serve replaces the replica (Ray Serve's hook)."""
        if self._running.done():
            self._running.result()

    async def __del__(self) -> None:
        if hasattr(self, "_running"):  # the constructor may have failed
            self._worker.close()
            await self._running
