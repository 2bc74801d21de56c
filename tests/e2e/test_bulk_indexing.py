"""A corpus embedded by the pool on real Ray: a reader in a process of its own, an actor with real weights."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import ray

from deployments.builders.models.bulk_embedding import RayEmbedder
from deployments.builders.storage.stores import open_record
from deployments.config.model_settings import EmbedderArgs, ReembeddingArgs
from deployments.config.settings import AppArgs
from memory.extraction.extractor import ReadingExtractor
from memory.indexing.bulk import BulkIndexing
from memory.indexing.generations import OneSpace
from memory.indexing.indexer import Indexer
from memory.indexing.verification import IndexVerifier
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.learning.worker import LearningWorker
from memory.ports.models.language import Encoder, FloatMatrix, Priority, TextKind
from memory.ports.stores.vectors import Collection
from memory.values.base import utc_now
from memory.values.records import Resource
from storage.inmemory.coordination import InMemoryLocks
from storage.inmemory.vectors import InMemoryVectors
from testing.fakes.reader import FakeReader

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.data"),  # of its own defaults
    pytest.mark.filterwarnings("ignore:`ray_remote_args`:DeprecationWarning"),  # max_retries has no other name yet
]

MODEL, DIMENSION, BACKLOG = "multilingual-e5-small", 384, 60


class Unused(Encoder):
    """The Embedder's place: whoever asks it has not left the work to the pool."""

    @property
    def model_id(self) -> str:
        return MODEL

    @property
    def dimension(self) -> int:
        return DIMENSION

    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        raise AssertionError(f"encoded apart from the pool: {texts}")


@pytest.fixture
def cluster() -> Iterator[None]:
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.usefixtures("cluster")
async def test_a_corpus_is_embedded_by_a_pool_of_actors_with_the_models_weights(tmp_path: Path) -> None:
    embedder = EmbedderArgs(device="cuda")  # as on a machine whose GPU the pool has no share of
    pool = ReembeddingArgs(backlog=BACKLOG, threads=1)
    args = AppArgs(home=tmp_path, model=MODEL, embedder=embedder, reembedding=pool)
    record = open_record(args, durable=False)
    index = InMemoryVectors(dimension=DIMENSION)
    spaces = OneSpace(encoder=Unused(), index=index)
    learner = Learner(
        record=record,
        extractor=ReadingExtractor(FakeReader()),
        indexer=Indexer(record=record, spaces=spaces, analyzer=KeywordAnalyzer()),
    )
    for user in ("ann", "zoë"):
        resources = [
            Resource(
                resource_id=f"{user}-{number}",
                user_id=user,
                session_id="s",
                content=f"Part ZX{number:04d}-77 放在 {number} 號機房。",
                created_at=utc_now(),
            )
            for number in range(BACKLOG)
        ]
        await record.append(resources, user_id=user)
        await learner.learn(user_id=user, index=False)
    job = BulkIndexing(
        record=record,
        locks=InMemoryLocks(),
        spaces=spaces,
        embedder=RayEmbedder(args),
        indexer=learner.indexer,
        worker=LearningWorker(learner=learner, record=record),
        backlog=BACKLOG,
    )
    await job.run_if_due()
    figures = job.figures()
    assert (figures["bulk_indexing_run"], figures["bulk_indexing_done"]) == ("done", figures["bulk_indexing_total"])
    assert await record.backlog.outbox(limit=1) == []
    verifier = IndexVerifier(record=record, space=await spaces.live(), indexer=learner.indexer)
    report = [report async for report in verifier.verify(mend=False)][-1]
    assert (report.wrong, report.users) == (0, 2)
    assert await index.count(Collection.MEMORIES, user_id="zoë") == BACKLOG
    await record.close()
