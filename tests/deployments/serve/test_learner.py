"""The Learner deployment without Ray: what it starts, tells and ends."""

import asyncio

import pytest

from deployments.builders.knowledge import make_ingestion
from deployments.builders.pipelines import make_run_desk
from deployments.config.settings import AppArgs
from deployments.serve.learner import LearnerDeployment, LearnerParts
from memory.erasure.decisions import Deciding
from memory.erasure.eraser import Eraser
from memory.erasure.requests import Digests
from memory.erasure.service import Erasing
from memory.extraction.extractor import ReadingExtractor
from memory.governance.review import ReviewRules
from memory.governance.review_job import ReviewJob
from memory.indexing.bulk import BulkIndexing
from memory.indexing.generations import PerSpace, RecordedSpaces
from memory.indexing.indexer import Indexer
from memory.indexing.maintenance import BackgroundMaintenance
from memory.indexing.reembedding import Reembedding
from memory.indexing.verification import IndexVerifier
from memory.jobs.queue import RunQueue
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.learning.worker import LearningWorker
from memory.maintenance.fact_jobs import FactJobs, FactMaintenance
from memory.ports.jobs import IndexOperation, RunState
from memory.ports.stores.generations import VectorModel, VectorSpace
from memory.prompting.checked_model import CheckedModel
from memory.tiers.summaries import ExtractiveWriter
from memory.values.base import utc_now
from memory.values.errors import Conflict, InvalidField
from memory.values.records import Resource
from models.encoder.batched_encoder import BatchedEncoder
from storage.inmemory.coordination import InMemoryLocks
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.sessions import InMemorySessions
from storage.inmemory.vectors import InMemoryGenerations
from testing.fakes.chat_model import FakeChatModel
from testing.fakes.document_parser import FakeParser
from testing.fakes.encoder import FakeEncoderEngine
from testing.fakes.reader import FakeReader
from tests.deployments.conftest import NoReplicas
from tests.memory.indexing.bulk import WalkingEmbedder


class Deployment(LearnerDeployment):
    """Ends when a test says so: an object that goes away awaits nothing."""

    def __del__(self) -> None:  # type: ignore[override]
        pass

    async def end(self) -> None:
        await LearnerDeployment.__del__(self)


class AwayModel(FakeChatModel):
    """A language model that does not answer and says so."""

    def figures(self) -> dict[str, float | str]:
        return {"failures": 3, "status": "degraded", "error": "It is away."}


async def prepare(model_id: str) -> VectorModel:
    return VectorModel(model_id=model_id, dimension=8)


async def test_it_learns_verifies_tells_how_it_is_and_ends() -> None:
    record = InMemoryRecord()
    encoder = BatchedEncoder(FakeEncoderEngine(dimension=8))

    model = VectorModel(model_id=encoder.model_id, dimension=8)
    language_model = AwayModel()

    def parts() -> LearnerParts:
        store = InMemoryGenerations()
        spaces = RecordedSpaces(
            runs=record.runs, configured=model, open_space=lambda of: VectorSpace(encoder, store.index(of))
        )
        learner = Learner(
            record=record,
            extractor=ReadingExtractor(FakeReader()),
            indexer=Indexer(record=record, spaces=spaces, analyzer=KeywordAnalyzer()),
        )
        verifiers = PerSpace(spaces, lambda space: IndexVerifier(record=record, space=space, indexer=learner.indexer))
        bulk = WalkingEmbedder(record, lambda _: encoder)
        locks = InMemoryLocks()
        worker = LearningWorker(learner=learner, record=record)
        eraser = Eraser(
            record=record,
            sessions=InMemorySessions(),
            vectors=store,
            replicas=NoReplicas(),
            lock=learner.indexer.lock,
        )
        erasing = Erasing(record=record, eraser=eraser, digests=Digests(b"a key"), settle_s=0)
        maintenance = BackgroundMaintenance(verifiers=verifiers, embedder=bulk, runs=record.runs, locks=locks)
        reembedding = Reembedding(
            record=record,
            locks=locks,
            spaces=spaces,
            store=store,
            embedder=bulk,
            indexer=learner.indexer,
            prepare=prepare,
            configured=model,
        )
        reviews = ReviewJob(record=record, locks=InMemoryLocks(), rules=ReviewRules(), schedule=None)
        fact_jobs = FactJobs(facts=FactMaintenance(record=record, writer=ExtractiveWriter()), locks=locks, schedules={})
        queue = RunQueue(runs=record.runs)
        ingestion = make_ingestion(
            AppArgs(), record=record, indexer=learner.indexer, spaces=spaces, parser=FakeParser(), worker=worker
        )
        return LearnerParts(
            worker=worker,
            maintenance=maintenance,
            reembedding=reembedding,
            ingestion=ingestion,
            bulk_indexing=BulkIndexing(
                record=record,
                locks=locks,
                spaces=spaces,
                embedder=bulk,
                indexer=learner.indexer,
                worker=worker,
                backlog=10_000,
            ),
            reviews=reviews,
            fact_jobs=fact_jobs,
            queue=queue,
            runs=make_run_desk(
                record.runs,
                maintenance_jobs=maintenance,
                reembedding=reembedding,
                reviews=reviews,
                facts=fact_jobs,
                ingestion=ingestion,
                queue=queue,
            ),
            erasing=erasing,
            deciding=Deciding(record=record, digests=Digests(b"a key"), lock=learner.indexer.lock, wake=erasing.wake),
            language_model=CheckedModel(language_model),
        )

    deployment = Deployment(parts=parts)
    resource = Resource(
        resource_id="r", user_id="ann", session_id="s", content="我們用 RM05-008 測試。", created_at=utc_now()
    )
    await record.append([resource], user_id="ann")
    assert (await deployment.learn("ann")).memories == 1
    begun = await deployment.maintain_index(IndexOperation.VERIFY)
    while (run := await deployment.index_run()) is None or run.state is RunState.RUNNING:
        await asyncio.sleep(0.002)
    assert run.run_id == begun.run_id
    assert run.report.wrong == 0
    stats = await deployment.stats()
    assert (stats["status"], stats["error"], stats["language_model_failures"]) == ("degraded", "It is away.", 3)
    assert (stats["learned_resources"], stats["index_run"], stats["index_wrong"]) == (1, "done", 0)
    reviewed = await deployment.start_review("ann", True)
    while (review_run := await deployment.review_run()) is None or review_run.state is RunState.RUNNING:
        await asyncio.sleep(0.002)
    assert (review_run.run_id, review_run.done, (await deployment.stats())["review_run"]) == (
        reviewed.run_id,
        1,
        "done",
    )
    with pytest.raises(InvalidField, match="live"):
        await deployment.reembed("fake")
    with pytest.raises(Conflict):
        await deployment.finish_reembedding()
    with pytest.raises(Conflict):
        await deployment.roll_reembedding_back()
    assert await deployment.reembedding_run() is None
    deployment.check_health()
    await deployment.end()
    assert language_model.closed
    await encoder.close()
