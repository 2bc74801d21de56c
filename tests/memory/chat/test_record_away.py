"""A turn while the record is away: `/chat` and `/chat/after` degrade alike, and the journal keeps both."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from datetime import timedelta

import pytest
from typing_extensions import override

from memory.chat.additions import MemoryAdditions
from memory.chat.entity_memory import EntityMemoryService
from memory.chat.messages import Acknowledged, ChatMessage
from memory.chat.reader import MessageReader
from memory.chat.turn import ChatTurn
from memory.coreference.resolver import ReadingResolver
from memory.extraction.extractor import ReadingExtractor
from memory.ports.stores.record import UnitOfWork
from storage.inmemory.record import InMemoryRecord
from storage.resilience.journaled_record import JournaledRecord
from testing.fakes.reader import FakeReader
from tests.memory.conftest import NOW, World
from tests.storage.resilience.breakable import Breakable


class UnreadableRecord(Breakable):
    """A record that can be neither read nor written while it is away."""

    @override
    def reading(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        self.check(self.away)
        return super().reading(user_id=user_id)


class AwayWorld:
    """The parts of a memory over a record that is away and has a journal."""

    def __init__(self, world: World) -> None:
        inner = UnreadableRecord(world.record)
        inner.away = True
        self.world = world
        self.journal = InMemoryRecord()
        self.record = JournaledRecord(inner, self.journal, probe_interval_s=60)
        extractor, resolver = ReadingExtractor(FakeReader()), ReadingResolver()
        self.additions = MemoryAdditions(record=self.record, sessions=world.sessions, learning=world.worker)
        self.reader = MessageReader(sessions=world.sessions, record=self.record, extractor=extractor, resolver=resolver)
        self.turn = ChatTurn(
            reader=self.reader,
            retriever=world.retriever,
            answerer=world.chat_turn._answerer,
            additions=self.additions,
            uses=world.tally,
        )
        self.service = EntityMemoryService(
            record=self.record,
            sessions=world.sessions,
            extractor=extractor,
            resolver=resolver,
            retriever=world.retriever,
            additions=self.additions,
            uses=world.tally,
            now=lambda: NOW,
        )

    async def chat(self, text: str, session: str) -> Acknowledged:
        message = ChatMessage(user_id="ann", session_id=session, message=text, wait=True, now=NOW)
        *_, last = [event async for event in self.turn.run(message)]
        assert isinstance(last, Acknowledged)
        return last

    async def count_journaled(self) -> int:
        return int((await self.journal.backlog.counts())["unlearned"])


@pytest.fixture
async def away(world: World) -> AsyncIterator[AwayWorld]:
    recording = AwayWorld(world)
    yield recording
    await recording.record.close()


async def test_both_degrade_alike_and_are_acknowledged_into_the_journal(away: AwayWorld) -> None:
    ours = await away.chat("我們公司買了 AI-Box。", "ours")
    assert await away.count_journaled() == 2
    theirs = await away.service.after_reply("我們公司買了 AI-Box。", "theirs", "ann", reply="好。")
    assert await away.count_journaled() == 4
    assert ours.degraded == theirs.degraded == ("record",)
    assert (ours.learned is None) == (theirs.learned is None)
    sessions = [await away.world.sessions.load(name, user_id="ann") for name in ("ours", "theirs")]
    first, second = ([turn.mentions for turn in session.turns if turn.role == "user"] for session in sessions)
    assert first == second
    assert first[0] is not None


async def test_a_message_in_a_backend_s_session_is_read_as_in_our_own(away: AwayWorld) -> None:
    for session in ("ours", "theirs"):
        await away.service.after_reply("我們公司買了 AI-Box。", session, "ann", reply="好。")
    understood = await away.reader.read("它多少錢？", session_id="ours", user_id="ann", now=NOW + timedelta(minutes=1))
    before = await away.service.before_reply("它多少錢？", "theirs", "ann")
    assert before.resolved_query == understood.resolution.resolved_query == "AI-Box 多少錢？"
    assert before.degraded == ("record",)
