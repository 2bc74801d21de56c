"""The worker: several users at once, each in order, through outages, until it is closed."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from typing_extensions import override

from memory.extraction.extractor import ReadingExtractor
from memory.learning.learner import LEARN_BATCH
from memory.learning.worker import LearningWorker
from memory.ports.stores.vectors import Collection
from memory.values.errors import JiyiError, Overloaded, StoreUnavailable, Unavailable
from memory.values.records import Resource
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.readings import Context
from testing.fakes.reader import FakeReader
from tests.memory.conftest import NOW, World


class GatedExtractor(ReadingExtractor):
    """Blocks the texts of chosen users until a test releases them; records whose texts are being extracted."""

    def __init__(self) -> None:
        super().__init__(FakeReader())
        self.gates: dict[str, asyncio.Event] = {}
        self.failing: dict[str, JiyiError] = {}
        self.running: Counter[str] = Counter()
        self.most_at_once = 0

    def hold(self, *users: str) -> None:
        self.gates |= {user: asyncio.Event() for user in users}

    def let_go(self) -> None:
        for gate in self.gates.values():
            gate.set()

    @override
    async def extract(
        self,
        texts: Sequence[str],
        *,
        known: Sequence[Sequence[str]] | None = None,
        contexts: Sequence[Context] | None = None,
    ) -> list[Extraction]:
        user = texts[0].partition(":")[0]
        if user in self.failing:
            raise self.failing[user]
        self.running[user] += 1
        assert self.running[user] == 1
        self.most_at_once = max(self.most_at_once, self.running.total())
        try:
            if user in self.gates:
                await self.gates[user].wait()
            await asyncio.sleep(0)
            return await super().extract(texts, known=known, contexts=contexts)
        finally:
            self.running[user] -= 1


@pytest.fixture
def extractor(world: World) -> GatedExtractor:
    gated = GatedExtractor()
    world.learner._extractor = gated
    return gated


@asynccontextmanager
async def working(world: World, **fields: Any) -> AsyncIterator[LearningWorker]:
    worker = LearningWorker(learner=world.learner, record=world.record, poll_s=0.01, retry_s=0.01, **fields)
    running = asyncio.create_task(worker.run())
    yield worker
    worker.close()
    await running


async def _log(world: World, user: str, *, turns: int = 1, first: int = 0) -> None:
    resources = [
        Resource(
            resource_id=f"{user}-{number}",
            user_id=user,
            session_id="s",
            content=f"{user}: RM05-{number:03} 到了",
            created_at=NOW,
        )
        for number in range(first, first + turns)
    ]
    await world.record.append(resources, user_id=user)


async def _until_learned(world: World, *users: str) -> None:
    async with asyncio.timeout(30):
        for user in users:
            while await world.record.backlog.unlearned(limit=1, user_id=user):
                await asyncio.sleep(0.001)


async def test_a_slow_user_does_not_hold_up_the_others(world: World, extractor: GatedExtractor) -> None:
    extractor.hold("slow")
    await _log(world, "slow")
    async with working(world) as worker:
        while not extractor.running["slow"]:
            await asyncio.sleep(0.001)
        others = [f"user {number}" for number in range(12)]
        for user in others:
            await _log(world, user)
            worker.notify(user_id=user)
        await _until_learned(world, *others)
        assert await world.record.backlog.unlearned(limit=1, user_id="slow")
        extractor.let_go()
        await _until_learned(world, "slow")
    assert worker.learned.resources == 13


async def test_no_more_users_are_learned_at_once_than_it_is_told(world: World, extractor: GatedExtractor) -> None:
    users = [f"user {number}" for number in range(8)]
    extractor.hold(*users)
    for user in users:
        await _log(world, user)
    async with working(world, users_at_once=3):
        while extractor.running.total() < 3:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.05)
        assert extractor.running.total() == 3
        extractor.let_go()
        await _until_learned(world, *users)
    assert extractor.most_at_once == 3


async def test_a_user_s_turns_are_learned_in_order_and_once(world: World, extractor: GatedExtractor) -> None:
    """`extract` asserts that nobody is learned twice at the same time."""
    users = ("ann", "bob")
    async with working(world) as worker:
        for first in range(0, 3 * LEARN_BATCH, LEARN_BATCH // 2):
            for user in users:
                await _log(world, user, turns=LEARN_BATCH // 2, first=first)
                worker.notify(user_id=user)
            await asyncio.sleep(0)
        await _until_learned(world, *users)
    for user in users:
        async with world.record.reading(user_id=user) as unit:
            memories = {memory.resource_id for memory in await unit.memories.recent(limit=999)}
            entity = await unit.entities.get_by_value("RM05-000")
        assert len(memories) == 3 * LEARN_BATCH
        assert entity
        assert entity.mention_count == 1
    assert worker.learned.resources == 6 * LEARN_BATCH


@pytest.mark.parametrize("error", [Unavailable("gone", component="extractor"), Overloaded("gone")], ids=repr)
async def test_a_user_who_cannot_be_learned_now_does_not_keep_the_others_from_it(
    world: World, extractor: GatedExtractor, error: JiyiError
) -> None:
    extractor.failing["ill"] = error
    for user in ("ill", "ann", "bob"):
        await _log(world, user)
    async with working(world, users_at_once=1) as worker:
        while not worker.failures:
            await asyncio.sleep(0.001)
        assert worker.waits_for == "gone"
        await _until_learned(world, "ann", "bob")
        extractor.failing.clear()
        await _until_learned(world, "ill")
        while worker.waits_for:
            await asyncio.sleep(0.001)


async def test_closing_ends_what_is_under_way(world: World, extractor: GatedExtractor) -> None:
    extractor.hold("ann", "bob")
    for user in ("ann", "bob"):
        await _log(world, user)
    async with working(world) as worker:
        while extractor.running.total() < 2:
            await asyncio.sleep(0.001)
        worker.close()
        await asyncio.sleep(0.01)
        extractor.let_go()
    assert worker.learned.resources == 2
    assert await world.record.backlog.outbox(limit=1) == []


async def test_the_worker_finds_work_that_nobody_told_it_of_and_survives_an_outage(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = LearningWorker(learner=world.learner, record=world.record, poll_s=0.01, retry_s=0.01)
    running = asyncio.create_task(worker.run())
    healthy = world.index.upsert

    async def down(*_: object, **__: object) -> None:
        raise StoreUnavailable("gone", component="vectors")

    monkeypatch.setattr(world.index, "upsert", down)
    await _log(world, "ann")
    while worker.failures == 0:
        await asyncio.sleep(0.005)
    monkeypatch.setattr(world.index, "upsert", healthy)
    while await world.record.backlog.outbox(limit=1):
        await asyncio.sleep(0.005)
    worker.close()
    await running
    assert await world.index.count(Collection.MEMORIES, user_id="ann") == 1
