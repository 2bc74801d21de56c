"""The Learner deployment: drains unlearned turns in the background and looks after the index (DESIGN §2, §3.6, §7)."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from typing_extensions import override

from memory.erasure.decisions import Deciding
from memory.erasure.service import Erasing
from memory.governance.review_job import ReviewJob
from memory.indexing.bulk import BulkIndexing
from memory.indexing.maintenance import BackgroundMaintenance
from memory.indexing.reembedding import Reembedding
from memory.jobs.desk import RunDesk
from memory.jobs.queue import RunQueue
from memory.knowledge.graph.building import GraphFigures
from memory.knowledge.ingestion import Ingestion
from memory.learning.worker import LearningWorker
from memory.maintenance.fact_jobs import FactJobs
from memory.ports.jobs import IndexOperation, IndexRun, MaintenanceKind, PipelineRun
from memory.ports.models.chat_models import LANGUAGE_MODEL
from memory.ports.services import LearnReport
from memory.prompting.checked_model import CheckedModel
from memory.values.documents.corpora import SourceVersion
from memory.values.governance.decisions import DecisionRecord, DecisionRequest
from memory.values.governance.erasures import Erasure, ErasureScope, Tombstone
from memory.values.governance.forgetting import ForgetReport, ForgetRequest

from ..telemetry.replicas import Figures, Reporting


@dataclass(frozen=True)
class LearnerParts:
    """The services of the deployment; they share one learner, so that maintenance can lock the index of a user."""

    worker: LearningWorker
    maintenance: BackgroundMaintenance
    reembedding: Reembedding
    bulk_indexing: BulkIndexing
    reviews: ReviewJob
    fact_jobs: FactJobs
    erasing: Erasing
    deciding: Deciding
    queue: RunQueue
    runs: RunDesk
    ingestion: Ingestion
    language_model: CheckedModel | None = None
    graph_figures: GraphFigures = field(default_factory=GraphFigures)


class LearnerDeployment(Reporting):
    """The learning loop; its work list is in the system of record, so a crash loses nothing."""

    def __init__(self, *, parts: Callable[[], LearnerParts]) -> None:
        learner_parts = parts()
        self._worker = learner_parts.worker
        self._maintenance = learner_parts.maintenance
        self._reembedding = learner_parts.reembedding
        self._reembedding.begin()
        self._bulk_indexing = learner_parts.bulk_indexing
        self._bulk_indexing.begin()
        self._reviews = learner_parts.reviews
        self._reviews.begin()
        self._fact_jobs = learner_parts.fact_jobs
        self._fact_jobs.begin()
        self._erasing = learner_parts.erasing
        self._erasing.begin()
        self._deciding = learner_parts.deciding
        self._queue = learner_parts.queue
        self._queue.begin()
        self._runs = learner_parts.runs
        self._runs.begin()
        self._ingestion = learner_parts.ingestion
        self._ingestion.begin()
        self._graph_figures = learner_parts.graph_figures
        self._language_model = learner_parts.language_model
        self._running = asyncio.get_running_loop().create_task(self._worker.run())

    async def notify(self, user_id: str) -> None:
        """See `LearningService.notify`."""
        self._worker.notify(user_id=user_id)

    async def learn(self, user_id: str) -> LearnReport:
        """See `LearningService.learn`."""
        return await self._worker.learn(user_id=user_id)

    async def forget(self, request: ForgetRequest) -> ForgetReport | None:
        """See `LearningService.forget`."""
        return await self._worker.forget(request)

    async def maintain_index(self, operation: IndexOperation) -> IndexRun:
        """See `IndexMaintenance.start`."""
        await self._bulk_indexing.give_way()
        return await self._maintenance.start(operation)

    async def index_run(self) -> IndexRun | None:
        """See `IndexMaintenance.last_run`."""
        return await self._maintenance.last_run()

    async def reembed(self, model_id: str) -> PipelineRun:
        """See `ReembeddingService.start`."""
        await self._bulk_indexing.give_way()
        return await self._reembedding.start(model_id)

    async def roll_reembedding_back(self) -> PipelineRun:
        """See `ReembeddingService.rollback`."""
        await self._bulk_indexing.give_way()
        return await self._reembedding.rollback()

    async def finish_reembedding(self) -> PipelineRun:
        """See `ReembeddingService.finish`."""
        await self._bulk_indexing.give_way()
        return await self._reembedding.finish()

    async def reembedding_run(self) -> PipelineRun | None:
        """See `ReembeddingService.last_run`."""
        return await self._reembedding.last_run()

    async def start_review(self, user_id: str | None, dry_run: bool) -> PipelineRun:
        """See `ReviewService.start`."""
        return await self._reviews.start(user_id=user_id, dry_run=dry_run)

    async def review_run(self) -> PipelineRun | None:
        """See `ReviewService.last_run`."""
        return await self._reviews.last_run()

    async def start_fact_job(self, kind: MaintenanceKind, user_id: str | None) -> PipelineRun:
        """See `MaintenanceService.start`."""
        return await self._fact_jobs.start(kind, user_id=user_id)

    async def fact_job_run(self, kind: MaintenanceKind) -> PipelineRun | None:
        """See `MaintenanceService.last_run`."""
        return await self._fact_jobs.last_run(kind)

    async def retry_run(self, run_id: str, app: str | None) -> PipelineRun:
        """See `RunControl.retry`."""
        await self._bulk_indexing.give_way()
        return await self._runs.retry(run_id, app=app)

    async def cancel_run(self, run_id: str, app: str | None) -> PipelineRun:
        """See `RunControl.cancel`."""
        return await self._runs.cancel(run_id, app=app)

    async def wake_queue(self) -> None:
        """Looks for queued runs now."""
        self._queue.wake()

    async def erase(self, scope: ErasureScope, user_id: str) -> Erasure:
        """See `ErasureService.request`."""
        return await self._erasing.request(scope, user_id=user_id)

    async def erasure(self, erasure_id: str) -> Erasure:
        """See `ErasureService.get`."""
        return await self._erasing.get(erasure_id)

    async def erasures(self, limit: int) -> list[Erasure]:
        """See `ErasureService.list`."""
        return await self._erasing.list(limit=limit)

    async def tombstones(self) -> Sequence[Tombstone]:
        """See `ErasureService.tombstones`."""
        return await self._erasing.tombstones()

    async def decide(self, request: DecisionRequest) -> DecisionRecord:
        """See `DecisionService.decide`."""
        return await self._deciding.decide(request)

    async def replay_erasures(self, tombstones: Sequence[Tombstone]) -> list[Erasure]:
        """See `ErasureService.replay`."""
        return await self._erasing.replay(tombstones)

    async def notify_ingestion(self) -> None:
        """See `IngestionService.notify`."""
        self._ingestion.notify()

    async def finish_ingestion(self, source_id: str, version: int, app: str) -> SourceVersion | None:
        """See `IngestionService.finish`."""
        return await self._ingestion.finish(source_id, version, app=app)

    @override
    async def stats(self) -> Figures:
        """Totals since this replica started, and how the last run over the index is."""
        learned, error = self._worker.learned, self._worker.waits_for
        language_model = self._language_model.figures() if self._language_model else {}
        error = error or str(language_model.get("error", ""))
        return {
            **({"status": "degraded", "error": error} if error else {}),
            "learned_resources": learned.resources,
            "learned_memories": learned.memories,
            "new_entities": learned.new_entities,
            "indexed": learned.indexed,
            "postponed": self._worker.failures,
            "requeued": self._worker.requeued,
            **self._maintenance.figures(),
            **self._reembedding.figures(),
            **self._bulk_indexing.figures(),
            **self._reviews.figures(),
            **self._fact_jobs.figures(),
            **self._erasing.figures(),
            **self._ingestion.figures(),
            **self._graph_figures(),
            **{
                f"{LANGUAGE_MODEL}_{name}": value
                for name, value in language_model.items()
                if not isinstance(value, str)
            },
        }

    def check_health(self) -> None:
        """Raises where the loop has ended on an error, so that Serve replaces the replica (Ray Serve's hook)."""
        if self._running.done():
            self._running.result()

    async def __del__(self) -> None:
        if hasattr(self, "_running"):  # the constructor may have failed
            self._worker.close()
            await self._runs.close()
            await self._queue.close()
            await self._bulk_indexing.close()
            await self._reembedding.close()
            await self._maintenance.close()
            await self._reviews.close()
            await self._fact_jobs.close()
            await self._erasing.close()
            await self._ingestion.close()
            await self._running
            if self._language_model is not None:
                await self._language_model.close()
