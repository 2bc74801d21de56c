"""The HTTP surface over fakes: the real app, the real domain, no network and no Ray."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from deployments.governance import Governance
from deployments.http.app import build_http
from deployments.http.services import Services
from deployments.metrics import MeteredExtractor, MeteredResolver, MeteredRetriever, ServiceMetrics
from memory.answering.extractive import ExtractiveAnswerer
from memory.chat.additions import MemoryAdditions
from memory.chat.turn import ChatTurn
from memory.coreference.long_term import LongTermResolver
from memory.coreference.resolver import RuleResolver
from memory.extraction.extractor import RuleExtractor
from memory.governance.accesses import AccessTally
from memory.governance.protection import MemoryProtection
from memory.governance.review_job import ReviewJob
from memory.governance.rules import ReviewRules
from memory.learning.index_keeper import IndexKeeper
from memory.learning.index_maintenance import BackgroundMaintenance
from memory.learning.learner import Learner
from memory.learning.worker import LearningWorker
from memory.ports.language import FloatMatrix, Priority, TextKind
from memory.retrieval.analysis import KeywordAnalyzer
from memory.retrieval.retriever import HybridRetriever
from models.batched_encoder import BatchedEncoder
from models.fake_encoder import FakeEncoderEngine
from storage.memory_coordination import InMemoryLocks
from storage.memory_record import InMemoryRecord
from storage.memory_sessions import InMemorySessions
from storage.memory_vectors import InMemoryVectors

DIMENSION = 32


@pytest.fixture
async def services() -> AsyncIterator[Services]:
    record, sessions, index = InMemoryRecord(), InMemorySessions(), InMemoryVectors(dimension=DIMENSION)
    analyzer, metrics = KeywordAnalyzer(), ServiceMetrics()
    encoder = BatchedEncoder(FakeEncoderEngine(dimension=DIMENSION))
    extractor = MeteredExtractor(RuleExtractor(), metrics)
    resolver = MeteredResolver(LongTermResolver(RuleResolver(extractor=RuleExtractor()), record=record), metrics)
    retriever = MeteredRetriever(
        HybridRetriever(encoder=encoder, index=index, record=record, analyzer=analyzer), metrics
    )
    learner = Learner(record=record, extractor=extractor, encoder=encoder, index=index, analyzer=analyzer)
    learning = LearningWorker(learner=learner, record=record)
    keeper = IndexKeeper(record=record, index=index, learner=learner, model_id=encoder.model_id)

    tally = AccessTally(record)

    async def embed(texts: list[str], kind: TextKind, priority: Priority) -> tuple[FloatMatrix, int]:
        return await encoder.encode_counted(texts, kind=kind, priority=priority)

    async def healthy() -> dict[str, float]:
        return {"figure": 1.0}

    yield Services(
        chat=ChatTurn(
            sessions=sessions,
            record=record,
            extractor=extractor,
            resolver=resolver,
            retriever=retriever,
            answerer=ExtractiveAnswerer(analyzer=analyzer, min_cosine=0.99),
            learning=learning,
        ),
        additions=MemoryAdditions(record=record, sessions=sessions, learning=learning),
        record=record,
        sessions=sessions,
        limiter=None,
        extractor=extractor,
        resolver=resolver,
        retriever=retriever,
        index=BackgroundMaintenance(keeper=keeper, locks=InMemoryLocks()),
        governance=Governance(
            protection=MemoryProtection(record=record, encoder=encoder, index=index, analyzer=analyzer, tally=tally),
            reviews=ReviewJob(record=record, locks=InMemoryLocks(), rules=ReviewRules(), schedule=None),
        ),
        embed=embed,
        metrics=metrics,
        model_ids=("fake", "org/fake"),
        dimension=DIMENSION,
        probes={"record": record.backlog.counts, "part": healthy},
        required=frozenset({"record"}),
    )
    await tally.close()
    await encoder.close()


@pytest.fixture
async def http(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Services]:
        yield services

    app = build_http(opened)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client,
    ):
        yield client
