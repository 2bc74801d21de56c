"""A diary: messages on dates, with what the reader finds in them, learned one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from typing_extensions import override

from memory.extraction.extractor import ReadingExtractor
from memory.extraction.recognition import recognise
from memory.facts.periods import facts_at
from memory.indexing.generations import OneSpace
from memory.indexing.indexer import Indexer
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.ports.erasures import ErasureRequests
from memory.ports.jobs import PipelineRun
from memory.ports.models.answer_reading import AnswerReader
from memory.ports.models.language import Extractor
from memory.values.facts import Fact, FactStatus
from memory.values.records import Memory, Resource
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.vectors import InMemoryVectors
from testing.fakes.encoder import FakeEncoder
from testing.fakes.reader import FakeReader, stated


def day(date: str) -> datetime:
    """Nine o'clock on a date."""
    return datetime.fromisoformat(date).replace(hour=9, tzinfo=UTC)


def memory_of(text: str) -> Memory:
    """What the user said on the first day."""
    at = day("2026-03-02")
    return Memory(
        memory_id=text, resource_id=text, user_id="ann", session_id="s", text=text, created_at=at, updated_at=at
    )


_BEGIN = day("2026-03-02")
_UNUSED = OneSpace(encoder=FakeEncoder(dimension=2), index=InMemoryVectors(dimension=2))


@dataclass
class Diary(ErasureRequests):
    """What one user says, and the facts that follow from it."""

    record: InMemoryRecord = field(default_factory=InMemoryRecord)
    said: int = 0
    now: datetime = _BEGIN
    to_erase: tuple[str, ...] = ()
    answers: AnswerReader | None = None

    async def tell(
        self,
        date: str,
        message: str,
        *facts: str,
        intents: str = "statement",
        surely: bool = True,
        changes: bool = False,
    ) -> None:
        """Says a message that states these facts, in the notation of the chat corpus."""
        self.said += 1
        self.now = day(date)
        reading = stated(message, *facts, intents=intents, surely=surely, changes=changes)
        extractor = ReadingExtractor(FakeReader(scripted={message: reading}))
        [extraction] = await recognise([message], user_id="ann", record=self.record, extractor=extractor)
        resource = Resource(
            resource_id=f"r{self.said}",
            user_id="ann",
            session_id="s",
            content=message,
            understanding=extraction,
            created_at=self.now,
        )
        await self.record.append([resource], user_id="ann")
        await self.learner(extractor).learn(user_id="ann", index=False)

    def learner(self, extractor: Extractor) -> Learner:
        """A learner of this diary; what is left to erasure is noted in `to_erase`."""
        indexer = Indexer(record=self.record, spaces=_UNUSED, analyzer=KeywordAnalyzer())
        return Learner(record=self.record, extractor=extractor, indexer=indexer, erasures=self, answers=self.answers)

    @override
    def prepare(self, messages: Sequence[str], *, user_id: str) -> Sequence[PipelineRun]:
        self.to_erase += tuple(messages)
        return ()

    @override
    def wake(self) -> None:
        """Nothing: a diary erases nothing."""

    async def facts(self, predicate: str | None = None, *, status: FactStatus | None = None) -> list[Fact]:
        """The facts of a predicate, or all; oldest first."""
        async with self.record.reading(user_id="ann") as unit:
            facts = await unit.facts.list(status=status, limit=1000)
        return [fact for fact in reversed(facts) if predicate in (None, fact.predicate)]

    async def now_true(self, predicate: str, date: str | None = None) -> list[str]:
        """The objects of a predicate that are true on a date; today, if none is given."""
        at = day(date) if date else self.now
        return [
            f"not {fact.object}" if fact.is_negated else fact.object
            for fact in facts_at(await self.facts(predicate), at)
        ]

    async def memories(self) -> list[str]:
        """What is remembered as it was said, oldest first."""
        async with self.record.reading(user_id="ann") as unit:
            return [memory.text for memory in reversed(await unit.memories.recent(limit=100))]

    async def doubtful(self) -> set[str]:
        """What is in doubt."""
        return {fact.object for fact in await self.facts() if fact.doubtful_since}
