"""A whole memory on fakes: every store in memory, an encoder that answers at once."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from memory.answering.extractive import ExtractiveAnswerer
from memory.answering.several import SeveralAnswerer
from memory.chat.additions import MemoryAdditions
from memory.chat.entity_memory import EntityMemoryService
from memory.chat.messages import Acknowledged, ChatMessage, NewMemory, Replied, Understood
from memory.chat.reader import MessageReader
from memory.chat.turn import ChatTurn
from memory.coreference.resolver import ReadingResolver
from memory.erasure.eraser import Eraser
from memory.erasure.requests import Digests
from memory.erasure.service import Erasing
from memory.extraction.extractor import ReadingExtractor
from memory.governance.accesses import AccessTally
from memory.indexing.generations import OneSpace
from memory.indexing.indexer import Indexer
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.learning.worker import LearningWorker
from memory.ports.erasures import ReplicaMemory
from memory.ports.models.answer_reading import AnswerReader
from memory.ports.services import LearnReport
from memory.ports.stores.generations import VectorModel
from memory.retrieval.answers import AnswerRetriever
from memory.retrieval.overviews import OverviewRetriever
from memory.retrieval.retriever import HybridRetriever
from memory.retrieval.validity import ValidityRetriever
from memory.values.hits import CosineBounds, SearchRequest, SearchResult
from memory.values.records import ResourceKind
from models.encoder.batched_encoder import BatchedEncoder
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.sessions import InMemorySessions
from storage.inmemory.vectors import InMemoryGenerations, InMemoryVectors
from testing.fakes.encoder import FakeEncoderEngine
from testing.fakes.reader import FakeReader
from tests.memory.diary import Diary
from tests.memory.index_bench import DIMENSION, Bench, ListeningEncoder
from tests.memory.typed_memories.harness import TypedMemories

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_DIMENSION = 64


class NoReplicas(ReplicaMemory):
    """No process holds anything."""

    async def forget(self, user_id: str) -> None:
        """Nothing to forget."""


@dataclass
class World:
    """All parts of one memory, and the calls that tests make most."""

    record: InMemoryRecord
    index: InMemoryVectors
    sessions: InMemorySessions
    encoder: BatchedEncoder
    learner: Learner
    worker: LearningWorker
    retriever: HybridRetriever
    reader: MessageReader
    chat_turn: ChatTurn
    additions: MemoryAdditions
    language: FakeReader
    tally: AccessTally
    vectors: InMemoryGenerations
    erasing: Erasing
    now: datetime = NOW

    @property
    def entity_memory(self) -> EntityMemoryService:
        """The service of entities and hooks over these parts, at the time of the last message."""
        return EntityMemoryService(
            record=self.record,
            sessions=self.sessions,
            extractor=self.reader._extractor,
            resolver=self.reader._resolver,
            retriever=self.retriever,
            additions=self.additions,
            uses=self.tally,
            now=lambda: self.now,
        )

    async def say(
        self, message: str, *, user: str = "ann", session: str = "s", turn_id: str | None = None
    ) -> tuple[Understood, Replied, Acknowledged]:
        """One chat turn, learned before it returns; each turn is a minute later than the one before."""
        self.now += timedelta(minutes=1)
        chat_message = ChatMessage(
            user_id=user, session_id=session, message=message, turn_id=turn_id, wait=True, now=self.now
        )
        events = [event async for event in self.chat_turn.run(chat_message)]
        understood, _, replied, acknowledged = events
        assert isinstance(understood, Understood)
        assert isinstance(replied, Replied)
        assert isinstance(acknowledged, Acknowledged)
        return understood, replied, acknowledged

    async def note(self, *texts: str, user: str = "ann", session: str = "s", **fields: object) -> list[str]:
        """Adds notes, learned and indexed; returns their ids."""
        notes = [
            NewMemory.model_validate({"content": text, "kind": ResourceKind.NOTE, "created_at": self.now} | fields)
            for text in texts
        ]
        added, _ = await self.additions.add(notes, user_id=user, session_id=session, wait=True)
        return [item.id for item in added]

    async def find(self, query: str, *, user: str = "ann", **fields: object) -> SearchResult:
        """A search."""
        request = {"query": query, "user_id": user, "now": self.now} | fields
        return await self.retriever.search(SearchRequest.model_validate(request))

    def read_by(self, reader: AnswerReader) -> None:
        """From now on memories are read together with what is asked in chat."""
        analyzer = KeywordAnalyzer()
        searching = ValidityRetriever(self.retriever, record=self.record, analyzer=analyzer)
        reading = AnswerRetriever(searching, reader=reader)
        self.chat_turn = ChatTurn(
            reader=self.reader,
            retriever=OverviewRetriever(reading, record=self.record, analyzer=analyzer),
            answerer=SeveralAnswerer(
                ExtractiveAnswerer(analyzer=analyzer, min_cosine=CosineBounds(chinese=0.99, other=0.99))
            ),
            additions=self.additions,
            uses=self.tally,
        )

    async def learn(self, user: str = "ann") -> LearnReport:
        """Learns what waits."""
        return await self.learner.learn(user_id=user)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    record, vectors, sessions = InMemoryRecord(), InMemoryGenerations(), InMemorySessions()
    encoder, analyzer = BatchedEncoder(FakeEncoderEngine(dimension=_DIMENSION)), KeywordAnalyzer()
    index = vectors.index(VectorModel(model_id=encoder.model_id, dimension=_DIMENSION))
    language = FakeReader()
    extractor = ReadingExtractor(language, version="fake")
    indexer = Indexer(record=record, spaces=OneSpace(encoder=encoder, index=index), analyzer=analyzer)
    eraser = Eraser(record=record, sessions=sessions, vectors=vectors, replicas=NoReplicas(), lock=indexer.lock)
    erasing = Erasing(record=record, eraser=eraser, digests=Digests(b"k" * 32), settle_s=0)
    learner = Learner(record=record, extractor=extractor, indexer=indexer, erasures=erasing)
    worker = LearningWorker(learner=learner, record=record)
    retriever = HybridRetriever(encoder=encoder, index=index, record=record, analyzer=analyzer)
    reader = MessageReader(sessions=sessions, record=record, extractor=extractor, resolver=ReadingResolver())
    additions = MemoryAdditions(record=record, sessions=sessions, learning=worker)
    tally = AccessTally(record, interval_s=3600)
    chat_turn = ChatTurn(
        reader=reader,
        retriever=ValidityRetriever(retriever, record=record, analyzer=analyzer),
        answerer=ExtractiveAnswerer(analyzer=analyzer, min_cosine=CosineBounds(chinese=0.99, other=0.99)),
        additions=additions,
        uses=tally,
    )
    yield World(
        record,
        index,
        sessions,
        encoder,
        learner,
        worker,
        retriever,
        reader,
        chat_turn,
        additions,
        language,
        tally,
        vectors,
        erasing,
    )
    await tally.close()
    await encoder.close()


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    encoder = BatchedEncoder(FakeEncoderEngine(dimension=DIMENSION))
    yield Bench(InMemoryRecord(), InMemoryVectors(dimension=DIMENSION), ListeningEncoder(encoder))
    await encoder.close()


@pytest.fixture
async def typed_memories() -> AsyncIterator[TypedMemories]:
    memories = TypedMemories()
    yield memories
    await memories.tally.close()


@pytest.fixture
def diary() -> Diary:
    return Diary()
