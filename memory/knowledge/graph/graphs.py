"""The knowledge graphs of all apps as callers use them (004 §6.2, §11.2)."""

from collections.abc import Callable, Sequence
from datetime import datetime

from ...jobs.queue import queue_run
from ...ports.jobs import PipelineRun, RunQuery, RunState
from ...ports.stores.record import SystemOfRecord
from ...values.base import utc_now
from ...values.errors import Conflict, InvalidField
from ...values.ids import new_id
from .building import PIPELINE, BuildRequest
from .queries import GraphQueries
from .strategies import StrategyName
from .versions import GraphVersions

_MOST_WAITING = 1_000


class KnowledgeGraphs:
    """Versions, queries, and builds; every call is for one app.

    Args:
        record: Stores graphs, chunks and runs.
        strategies: Those that this service has; the last is the one of a first build that names none.
        now: The clock.

    Attributes:
        versions: Lists, activates, rolls back and corrects versions.
        queries: Answers what is asked of a version.
    """

    def __init__(
        self, record: SystemOfRecord, *, strategies: Sequence[StrategyName], now: Callable[[], datetime] = utc_now
    ) -> None:
        self.versions = GraphVersions(record, now=now)
        self.queries = GraphQueries(record)
        self._record = record
        self._strategies = strategies
        self._now = now

    async def build(
        self,
        corpus_id: str,
        *,
        app: str,
        full: bool = False,
        strategy: StrategyName | None = None,
        activate: bool = True,
    ) -> PipelineRun:
        """Queues a build and returns at once.

        Args:
            corpus_id: The corpus.
            app: The app.
            full: Extract everything again, and not only what changed.
            strategy: That of the version that is shown where not given.
            activate: Show the version when it is ready.

        Raises:
            CorpusNotFound: The app has no such corpus.
            InvalidField: This service has no such strategy.
            Conflict: A build of this graph waits or is in progress.
        """
        known = await self.versions.list(corpus_id, app=app)
        chosen = strategy or next((StrategyName(each.strategy) for each in known if each.active), self._strategies[-1])
        if chosen not in self._strategies:
            raise InvalidField(
                f"strategy: this service has no {chosen.value!r}",
                field="strategy",
                allowed=", ".join(self._strategies),
            )
        query = RunQuery(pipelines=[PIPELINE], states=(RunState.QUEUED, RunState.RUNNING), limit=_MOST_WAITING)
        for run in await self._record.runs.find(query, app=app):
            if run.input["corpus_id"] == corpus_id:
                raise Conflict(f"The run {run.run_id} builds this graph already.")
        request = BuildRequest(corpus_id, chosen, salt=new_id() if full else "", activate=activate)
        return await queue_run(self._record.runs, PIPELINE, request.as_input(), app=app, at=self._now())
