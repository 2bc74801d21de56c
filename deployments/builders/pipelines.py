"""What can be done about the runs of each kind of background work (004 §11.4)."""

from collections.abc import Mapping
from datetime import timedelta

from memory.erasure import requests as erasures
from memory.governance import review_job
from memory.governance.review_job import ReviewJob
from memory.indexing import bulk, generations, maintenance
from memory.indexing.maintenance import BackgroundMaintenance
from memory.indexing.reembedding import Reembedding
from memory.jobs.desk import RunDesk, RunKind
from memory.jobs.queue import RunQueue
from memory.knowledge import sources as knowledge
from memory.knowledge.graph import versions as graphs
from memory.knowledge.ingestion import Ingestion
from memory.maintenance import fact_jobs
from memory.maintenance.fact_jobs import FactJobs
from memory.ports.jobs import RunLog

EXPORT, IMPORT = "export", "import"
_BY_ITSELF = "It begins again by itself as long as turns wait."
_ERASURE = "An erasure is tried again by itself until every store has erased; it cannot be cancelled."
_TRANSFER = "The file is not kept: send the request again."
_WRITE_BACK = "The corrections are not kept: send the request again."


def make_run_desk(
    runs: RunLog,
    *,
    maintenance_jobs: BackgroundMaintenance,
    reembedding: Reembedding,
    reviews: ReviewJob,
    facts: FactJobs,
    ingestion: Ingestion,
    queue: RunQueue,
    kept_for: timedelta | None = None,
) -> RunDesk:
    """The desk for the runs of these jobs; `kept_for` as `RunDesk` has it."""
    queued = RunKind(retry=queue.retry, recovers=True)
    erasure = RunKind(retry=_ERASURE, refuse_cancel=lambda _: _ERASURE, recovers=True, expires=False)
    kinds: Mapping[str, RunKind] = {
        **{name: RunKind(retry=maintenance_jobs.retry) for name in maintenance.PIPELINES.values()},
        **{fact_jobs.PIPELINES[kind]: RunKind(retry=job.retry) for kind, job in facts.jobs.items()},
        **dict.fromkeys(queue.pipelines, queued),
        **dict.fromkeys((erasures.PENDING, erasures.DONE), erasure),
        **dict.fromkeys((EXPORT, IMPORT), RunKind(retry=_TRANSFER)),
        graphs.WRITE_BACK: RunKind(retry=_WRITE_BACK),
        review_job.PIPELINE: RunKind(retry=reviews.retry),
        knowledge.PIPELINE: RunKind(retry=ingestion.retry, recovers=True),
        bulk.PIPELINE: RunKind(retry=_BY_ITSELF),
        generations.PIPELINE: RunKind(
            retry=reembedding.retry, refuse_cancel=generations.why_not_cancelled, recovers=True, expires=False
        ),
    }
    return RunDesk(runs=runs, kinds=kinds, kept_for=kept_for)
