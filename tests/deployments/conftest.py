"""The HTTP surface over fakes: the real app, the real domain, no network and no Ray."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import httpx
import pytest

from deployments.builders.facts import make_fact_search
from deployments.builders.knowledge import make_graph_builder, make_graphs, make_ingestion, make_knowledge_base
from deployments.builders.models.live_model import LiveRetriever
from deployments.builders.pipelines import make_run_desk
from deployments.builders.storage.store_probes import facts_probe
from deployments.config.settings import AppArgs
from deployments.http.identity.authentication import Authenticator
from deployments.http.support.services import Embedding, Services
from deployments.telemetry.metrics import MeteredExtractor, MeteredResolver, MeteredRetriever, ServiceMetrics
from deployments.telemetry.replicas import ReplicaReport
from memory.answering.extractive import ExtractiveAnswerer
from memory.chat.additions import MemoryAdditions
from memory.chat.reader import MessageReader
from memory.chat.turn import ChatTurn
from memory.coreference.resolver import ReadingResolver
from memory.erasure.decisions import Deciding
from memory.erasure.eraser import Eraser
from memory.erasure.guard import ErasureGuard
from memory.erasure.requests import Digests
from memory.erasure.service import Erasing
from memory.extraction.extractor import ReadingExtractor
from memory.governance.accesses import AccessTally
from memory.governance.review import ReviewRules
from memory.governance.review_job import ReviewJob
from memory.identity.api_keys import ApiKeys
from memory.indexing.generations import PerSpace, RecordedSpaces
from memory.indexing.indexer import Indexer
from memory.indexing.maintenance import BackgroundMaintenance
from memory.indexing.reembedding import Reembedding
from memory.indexing.verification import IndexVerifier
from memory.items.store import ItemStore
from memory.jobs.queue import RunQueue
from memory.knowledge.beside_memory import CorpusRetriever
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.learning.worker import LearningWorker
from memory.maintenance.fact_jobs import FactJobs, FactMaintenance
from memory.ports.erasures import ReplicaMemory
from memory.ports.stores.generations import VectorModel, VectorSpace
from memory.retrieval.retriever import HybridRetriever
from memory.retrieval.validity import ValidityRetriever
from memory.tiers.summaries import ExtractiveWriter
from memory.typed_memories.manager import TypedMemoryManager
from memory.values.errors import InvalidField
from memory.values.hits import CosineBounds
from memory.values.text_caches import forget_texts
from models.encoder.batched_encoder import BatchedEncoder
from storage.inmemory.coordination import InMemoryLocks
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.sessions import InMemorySessions
from storage.inmemory.vectors import InMemoryGenerations
from testing.fakes.document_parser import FakeParser
from testing.fakes.encoder import FakeEncoder, FakeEncoderEngine
from testing.fakes.reader import FakeReader, stated
from tests.deployments.serving import serving
from tests.memory.indexing.bulk import WalkingEmbedder

DIMENSION = 32
MOVED = "I moved to Boston in March 2025."
"""A message that the reader of the fakes has facts of."""
SCRIPTED = {MOVED: stated(MOVED, "user | lives_in | Boston | time=March 2025")}


class NoReplicas(ReplicaMemory):
    async def forget(self, user_id: str) -> None:
        forget_texts()


async def prepare(model_id: str) -> VectorModel:
    if model_id == "unknown":
        raise InvalidField("There is no such model.", field="model")
    return VectorModel(model_id=model_id, dimension=DIMENSION)


@pytest.fixture(autouse=True)
def ignore_environment_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JIYI_HOME", "JIYI_CACHE", "JIYI_MODEL"):
        monkeypatch.delenv(name, raising=False)


@asynccontextmanager
async def open_fakes() -> AsyncIterator[Services]:
    """The real domain over fakes, on the running event loop."""
    record, sessions, store = InMemoryRecord(), InMemorySessions(), InMemoryGenerations()
    analyzer, metrics = KeywordAnalyzer(), ServiceMetrics()
    encoder = BatchedEncoder(FakeEncoderEngine(dimension=DIMENSION))
    extractor = MeteredExtractor(ReadingExtractor(FakeReader(scripted=SCRIPTED)), metrics)
    resolver = MeteredResolver(ReadingResolver(), metrics)
    model = VectorModel(model_id=encoder.model_id, dimension=DIMENSION)

    def space(of: VectorModel) -> VectorSpace:
        other_encoder = FakeEncoder(dimension=of.dimension, model_id=of.model_id)
        return VectorSpace(encoder if of == model else other_encoder, store.index(of))

    spaces = RecordedSpaces(runs=record.runs, configured=model, open_space=space, refresh_s=0)

    def retriever_in(space: VectorSpace) -> HybridRetriever:
        return HybridRetriever(encoder=space.encoder, index=space.index, record=record, analyzer=analyzer)

    def typed_memories_in(space: VectorSpace) -> TypedMemoryManager:
        return TypedMemoryManager(
            record=record, encoder=space.encoder, index=space.index, analyzer=analyzer, tally=tally
        )

    searching = ValidityRetriever(LiveRetriever(PerSpace(spaces, retriever_in)), record=record, analyzer=analyzer)
    indexer = Indexer(record=record, spaces=spaces, analyzer=analyzer)
    eraser = Eraser(record=record, sessions=sessions, vectors=store, replicas=NoReplicas(), lock=indexer.lock)
    erasing = Erasing(record=record, eraser=eraser, digests=Digests(b"a key of the tests"), settle_s=0)
    erasing.begin()
    deciding = Deciding(record=record, digests=Digests(b"a key of the tests"), lock=indexer.lock, wake=erasing.wake)
    learner = Learner(record=record, extractor=extractor, indexer=indexer, erasures=erasing)
    learning = LearningWorker(learner=learner, record=record)
    tally = AccessTally(record)
    verifiers = PerSpace(spaces, lambda space: IndexVerifier(record=record, space=space, indexer=learner.indexer))

    def embedding_in(space: VectorSpace) -> Embedding:
        name = space.encoder.model_id
        return Embedding((name, f"org/{name}"), space.encoder.dimension, encoder.encode_counted)

    async def healthy() -> list[ReplicaReport]:
        return [ReplicaReport("local", {"figure": 1.0})]

    bulk = WalkingEmbedder(record, lambda name: FakeEncoder(dimension=DIMENSION, model_id=name))
    reembedding = Reembedding(
        record=record,
        locks=InMemoryLocks(),
        spaces=spaces,
        store=store,
        embedder=bulk,
        indexer=learner.indexer,
        prepare=prepare,
        configured=model,
        notice_s=0,
    )
    keys = ApiKeys(record.keys)

    async def forget(user_id: str) -> None:
        tally.forget(user_id)

    ingestion = make_ingestion(
        AppArgs(), record=record, indexer=indexer, spaces=spaces, parser=FakeParser(), worker=learning
    )
    ingestion.begin()
    knowledge = make_knowledge_base(record=record, spaces=spaces, ingestion=ingestion, learning=learning, rerankers={})
    with_corpora = CorpusRetriever(searching, knowledge=knowledge, analyzer=analyzer)
    additions = MemoryAdditions(record=record, sessions=sessions, learning=learning)
    maintenance = BackgroundMaintenance(verifiers=verifiers, embedder=bulk, runs=record.runs, locks=InMemoryLocks())
    reviews = ReviewJob(record=record, locks=InMemoryLocks(), rules=ReviewRules(), schedule=None)
    fact_jobs = FactJobs(
        facts=FactMaintenance(record=record, writer=ExtractiveWriter()), locks=InMemoryLocks(), schedules={}
    )
    graphs = make_graph_builder(AppArgs(), record=record, extractor=extractor, language_model=None)
    queue = RunQueue(runs=record.runs, handlers=[graphs], poll_s=0.05)
    queue.begin()
    runs = make_run_desk(
        record.runs,
        maintenance_jobs=maintenance,
        reembedding=reembedding,
        reviews=reviews,
        facts=fact_jobs,
        ingestion=ingestion,
        queue=queue,
    )
    yield Services(
        chat=ChatTurn(
            reader=MessageReader(sessions=sessions, record=record, extractor=extractor, resolver=resolver),
            retriever=MeteredRetriever(searching, metrics, counts_recall=False),
            with_corpora=MeteredRetriever(with_corpora, metrics, counts_recall=False),
            answerer=ExtractiveAnswerer(analyzer=analyzer, min_cosine=CosineBounds(chinese=0.99, other=0.99)),
            additions=additions,
            uses=tally,
        ),
        additions=additions,
        record=record,
        sessions=sessions,
        limiter=None,
        key_limiter=None,
        extractor=extractor,
        resolver=resolver,
        retriever=MeteredRetriever(with_corpora, metrics),
        index=maintenance,
        typed_memories=PerSpace(spaces, typed_memories_in),
        reviews=reviews,
        fact_jobs=fact_jobs,
        runs=runs,
        fact_search=PerSpace(spaces, partial(make_fact_search, record=record)),
        tally=tally,
        knowledge=knowledge,
        items=ItemStore(record, encoder=PerSpace(spaces, lambda space: space.encoder).current),
        graphs=make_graphs(AppArgs(), record=record),
        reembedding=reembedding,
        erasures=erasing,
        decisions=deciding,
        guard=ErasureGuard(record.runs, refresh_s=0),
        forget=forget,
        embeddings=PerSpace(spaces, embedding_in),
        cosine_bounds=PerSpace(spaces, lambda _: CosineBounds(chinese=0.99, other=0.99)),
        metrics=metrics,
        authenticator=Authenticator(keys=keys),
        probes={"record": record.backlog.counts, "facts": facts_probe(record)},
        parts={"part": healthy},
        required=frozenset({"record"}),
    )
    await queue.close()
    await ingestion.close()
    await keys.close()
    await erasing.close()
    await reembedding.close()
    await tally.close()
    await encoder.close()


@pytest.fixture
async def services() -> AsyncIterator[Services]:
    async with open_fakes() as opened:
        yield opened


@pytest.fixture
async def http(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(services) as client:
        yield client
