"""A long backlog is embedded by the pool: nothing lost, nothing embedded twice, and everybody else served meanwhile."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field

import pytest

from memory.extraction.extractor import ReadingExtractor
from memory.indexing.bulk import PIPELINE, BulkIndexing
from memory.indexing.bulk_passes import ATTEMPTS
from memory.indexing.indexer import Indexer
from memory.indexing.maintenance import LOCK
from memory.indexing.verification import IndexVerifier
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.learning.worker import LearningWorker
from memory.ports.jobs import PipelineRun, RunState
from memory.ports.stores.generations import (
    BulkEmbedder,
    EmbeddedItem,
    Selection,
    VectorModel,
    VectorSpace,
    VectorSpaces,
)
from memory.ports.stores.vectors import Collection
from memory.values.errors import Unavailable
from models.encoder.batched_encoder import BatchedEncoder
from storage.inmemory.coordination import InMemoryLocks
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.vectors import InMemoryVectors
from testing.fakes.encoder import FakeEncoder, FakeEncoderEngine
from testing.fakes.reader import FakeReader
from tests.memory.index_bench import AT, DIMENSION, Bench, ListeningEncoder
from tests.memory.indexing.bulk import WalkingEmbedder

BACKLOG = 20


class Pool(BulkEmbedder):
    """Records what it embeds, and fails after a number of items that a test may set."""

    def __init__(self, inner: BulkEmbedder) -> None:
        self.inner = inner
        self.embedded_ids: list[str] = []
        self.passes = 0
        self.ends_after: int | None = None

    async def embed(
        self, model: VectorModel, selection: Selection, *, after: str | None
    ) -> AsyncGenerator[Sequence[EmbeddedItem], None]:
        self.passes += 1
        async for batch in self.inner.embed(model, selection, after=after):
            if self.ends_after is not None and len(self.embedded_ids) >= self.ends_after:
                raise Unavailable("a worker is gone", component="reembedding")
            await asyncio.sleep(0)
            self.embedded_ids += [item.item_id for item in batch]
            yield batch


@dataclass
class World:
    """A bench whose Embedder and pool can be told apart, with a worker and a look at the backlog."""

    bench: Bench
    locks: InMemoryLocks = field(default_factory=InMemoryLocks)

    def __post_init__(self) -> None:
        inner = FakeEncoder(dimension=DIMENSION, model_id=self.bench.encoder.model_id)
        self.pool = Pool(WalkingEmbedder(self.bench.record, lambda _: inner, batch=4))
        self.start()

    def start(self) -> None:
        """Restarts the process over the same stores."""
        self.bench.start()
        self.worker = LearningWorker(learner=self.bench.learner, record=self.bench.record, poll_s=0.005)
        self.job = self.job_of(self.worker)

    def job_of(self, worker: LearningWorker) -> BulkIndexing:
        return BulkIndexing(
            record=self.bench.record,
            locks=self.locks,
            spaces=self.bench.spaces,
            embedder=self.pool,
            indexer=self.bench.learner.indexer,
            worker=worker,
            backlog=BACKLOG,
            look_s=0.002,
            pause_s=0.002,
            retry_s=0,
        )

    async def import_corpus(self, *users: str, turns: int = BACKLOG) -> None:
        """Turns that are in the log and not learned."""
        for user in users:
            await self.bench.log(*(f"Note number {number} is here." for number in range(turns)), user=user)

    async def learn_only(self, user: str) -> None:
        await self.bench.learner.learn(user_id=user, index=False)

    async def waiting(self) -> int:
        return int((await self.bench.record.backlog.counts())["outbox"])

    async def points(self, user: str = "ann") -> set[str]:
        return {point for points in (await self.bench.contents(user)).values() for point in points}

    async def run(self) -> PipelineRun | None:
        return next(iter(await self.bench.record.runs.latest(PIPELINE)), None)


@pytest.fixture
async def world(bench: Bench) -> AsyncIterator[World]:
    bulk_world = World(bench)
    yield bulk_world
    await bulk_world.job.close()


async def test_a_short_backlog_is_left_to_the_worker(world: World) -> None:
    await world.import_corpus("ann", turns=BACKLOG - 1)
    await world.job.run_if_due()
    assert (world.pool.passes, await world.run()) == (0, None)


async def test_what_waits_is_embedded_by_the_pool_and_the_embedder_encodes_nothing(world: World) -> None:
    await world.import_corpus("ann", "bob")
    for user in ("ann", "bob"):
        await world.learn_only(user)
    await world.job.run_if_due()
    assert await world.waiting() == 0
    points = await world.points("ann") | await world.points("bob")
    assert (sorted(world.pool.embedded_ids), world.bench.encoder.texts_read) == (sorted(points), [])
    assert (await world.bench.verify()).wrong == 0
    run = await world.run()
    assert run is not None
    assert (run.state, run.done, run.total, run.input["users"]) == (RunState.DONE, len(points), len(points), 2)
    assert world.job.figures() == {
        "bulk_indexing_run": "done",
        "bulk_indexing_done": len(points),
        "bulk_indexing_total": len(points),
        "bulk_indexing_claimed": 0,
    }


async def test_an_item_that_has_its_vector_is_not_embedded_again(world: World) -> None:
    """An entity that was only mentioned once more: its counts change and its text does not."""
    await world.bench.say("我們用 RM05-008 測試。")
    earlier_points = await world.points()
    for number in range(BACKLOG):
        await world.bench.log(f"RM05-008 到了第 {number} 次")
    await world.learn_only("ann")
    world.bench.encoder.texts_read.clear()
    await world.job.run_if_due()
    assert not earlier_points & set(world.pool.embedded_ids)
    assert (await world.waiting(), world.bench.encoder.texts_read) == (0, [])
    assert (await world.bench.verify()).wrong == 0


async def test_turns_of_a_corpus_are_learned_by_the_worker_and_embedded_by_the_pool(world: World) -> None:
    await world.import_corpus("ann", "bob", turns=3 * BACKLOG)
    job = asyncio.create_task(world.job.run_if_due())
    while not world.worker.claimed:
        await asyncio.sleep(0)
    running = asyncio.create_task(world.worker.run())
    await job
    while await world.bench.record.backlog.unlearned(limit=1) or await world.waiting():
        await asyncio.sleep(0.001)
    world.worker.close()
    await running
    assert len(world.pool.embedded_ids) == len(set(world.pool.embedded_ids)) >= 6 * BACKLOG - BACKLOG
    assert len(world.bench.encoder.texts_read) < BACKLOG
    assert (await world.bench.verify()).wrong == 0
    assert world.worker.learned.resources == 6 * BACKLOG


class PausedPool(Pool):
    """Pauses in the middle of a pass until a test releases it."""

    def __init__(self, inner: BulkEmbedder) -> None:
        super().__init__(inner)
        self.reached, self.go = asyncio.Event(), asyncio.Event()

    async def embed(
        self, model: VectorModel, selection: Selection, *, after: str | None
    ) -> AsyncGenerator[Sequence[EmbeddedItem], None]:
        async for batch in super().embed(model, selection, after=after):
            yield batch
            self.reached.set()
            await self.go.wait()


@pytest.fixture
async def paused_pool(world: World) -> AsyncIterator[PausedPool]:
    """The pass over ann's corpus has written one batch and waits."""
    world.pool = pool = PausedPool(world.pool.inner)
    world.start()
    await world.import_corpus("ann")
    await world.learn_only("ann")
    job = asyncio.create_task(world.job.run_if_due())
    await pool.reached.wait()
    yield pool
    pool.go.set()
    job.cancel()
    await asyncio.wait([job])


async def test_meanwhile_others_are_indexed_and_a_claimed_users_turns_are_learned(
    world: World, paused_pool: PausedPool
) -> None:
    running = asyncio.create_task(world.worker.run())
    await world.bench.log("The spare key is in the blue drawer.", user="bob")
    await world.bench.log("The meeting is on Friday.", user="ann")
    before = await world.bench.index.count(Collection.MEMORIES, user_id="ann")
    while not await world.bench.index.count(Collection.MEMORIES, user_id="bob"):
        await asyncio.sleep(0.001)
    while await world.bench.record.backlog.unlearned(limit=1):
        await asyncio.sleep(0.001)
    assert await world.bench.index.count(Collection.MEMORIES, user_id="ann") == before
    assert world.bench.encoder.texts_read == ["The spare key is in the blue drawer."]
    world.worker.close()
    await running


async def test_whoever_says_something_does_not_wait_until_a_corpus_is_learned(world: World) -> None:
    await world.import_corpus("ann", turns=600)
    await world.bench.log("The spare key is in the blue drawer.", user="bob")
    running = asyncio.create_task(world.worker.run())
    world.worker.notify(user_id="bob")
    while not await world.bench.index.count(Collection.MEMORIES, user_id="bob"):
        await asyncio.sleep(0)
    assert await world.bench.record.backlog.unlearned(limit=1, user_id="ann")
    world.worker.close()
    await running


async def test_others_whose_items_wait_behind_a_long_outbox_are_found(world: World, paused_pool: PausedPool) -> None:
    await world.bench.state_fact(str(uuid.uuid4()), "tea", user="bob")
    await world.worker._drain()
    assert await world.bench.index.count(Collection.FACTS, user_id="bob") == 1
    assert await world.waiting() >= BACKLOG


async def test_whoever_waits_for_what_they_said_has_it_indexed_at_once(world: World, paused_pool: PausedPool) -> None:
    await world.bench.log("The meeting is on Friday.", user="ann")
    assert (await world.worker.learn(user_id="ann")).memories == 1
    assert await world.waiting() == 0
    assert (await world.bench.verify()).wrong == 0


async def test_a_pass_that_dies_in_the_middle_loses_nothing_and_the_next_does_not_begin_anew(world: World) -> None:
    await world.import_corpus("ann", turns=3 * BACKLOG)
    await world.learn_only("ann")
    world.pool.ends_after = 24
    with pytest.raises(Unavailable):
        await world.job.run_if_due()
    run = await world.run()
    assert run is not None
    assert (run.state, run.done, run.error) == (RunState.FAILED, 24, "a worker is gone")
    assert (world.pool.passes, world.worker.claimed) == (1 + ATTEMPTS, frozenset())
    assert await world.waiting() >= 3 * BACKLOG
    world.pool.ends_after = None
    world.start()
    await world.job.run_if_due()
    assert sorted(world.pool.embedded_ids) == sorted(await world.points())
    assert (await world.waiting(), world.bench.encoder.texts_read) == (0, [])
    assert (await world.bench.verify()).wrong == 0


async def test_without_a_pool_the_worker_indexes_what_waits(world: World) -> None:
    await world.import_corpus("ann")
    world.pool.ends_after = 0
    world.job.begin()
    running = asyncio.create_task(world.worker.run())
    while await world.bench.record.backlog.unlearned(limit=1) or await world.waiting():
        await asyncio.sleep(0.001)
    world.worker.close()
    await running
    assert (await world.bench.verify()).wrong == 0


async def test_somebody_of_whom_little_waits_is_not_claimed(world: World) -> None:
    world.pool = pool = PausedPool(world.pool.inner)
    world.start()
    await world.bench.say("Hello.", user="bob")
    await world.import_corpus("ann")
    await world.bench.log("The spare key is in the blue drawer.", user="bob")
    for user in ("ann", "bob"):
        await world.learn_only(user)
    job = asyncio.create_task(world.job.run_if_due())
    await pool.reached.wait()
    assert world.worker.claimed == {"ann"}
    pool.go.set()
    await job


async def test_of_many_who_have_little_each_most_are_claimed(world: World) -> None:
    users = [f"user {number:02}" for number in range(2 * BACKLOG)]
    for user in users:
        await world.bench.say("Hello.", user=user)
        await world.bench.log("The spare key is in the blue drawer.", user=user)
        await world.learn_only(user)
    await world.job.run_if_due()
    run = await world.run()
    assert run is not None
    assert run.input["users"] == 2 * BACKLOG - BACKLOG // 2


async def test_nobody_stays_claimed_while_turns_cannot_be_learned(world: World) -> None:
    await world.import_corpus("ann")
    world.worker.waits_for = "the extractor is away"
    await world.job.run_if_due()
    assert (world.pool.passes, world.worker.claimed) == (0, frozenset())


async def test_what_a_process_left_under_way_is_said_to_have_broken_off(world: World) -> None:
    old = PipelineRun(run_id="r", pipeline=PIPELINE, started_at=AT, updated_at=AT)
    await world.bench.record.runs.save(old)
    await world.import_corpus("ann")
    await world.learn_only("ann")
    await world.job.run_if_due()
    states = {run.run_id: run.state for run in await world.bench.record.runs.latest(PIPELINE, limit=9)}
    assert states.pop("r") is RunState.FAILED
    assert [*states.values()] == [RunState.DONE]


async def test_one_process_does_it_and_none_beside_other_work_on_the_index(
    world: World, paused_pool: PausedPool
) -> None:
    second_job = world.job_of(LearningWorker(learner=world.bench.learner, record=world.bench.record))
    await second_job.run_if_due()
    assert world.pool.passes == 1
    async with world.locks.held(LOCK) as ours:
        assert not ours


async def test_it_gives_way_to_what_a_person_wants_and_looks_again_afterwards(world: World) -> None:
    world.pool = pool = PausedPool(world.pool.inner)
    world.start()
    await world.import_corpus("ann", turns=3 * BACKLOG)
    await world.learn_only("ann")
    world.job.begin()
    await pool.reached.wait()
    await world.job.give_way()
    async with world.locks.held(LOCK) as ours:
        assert ours
        run = await world.run()
        assert run is not None
        assert (run.state, world.worker.claimed) == (RunState.FAILED, frozenset())
        await asyncio.sleep(0.01)
        assert pool.passes == 1
    pool.go.set()
    while await world.waiting():
        await asyncio.sleep(0.001)
    assert (await world.bench.verify()).wrong == 0


class TwoSpaces(VectorSpaces):
    """Two generations that are both written, as while the model is changed."""

    def __init__(self, *spaces: VectorSpace) -> None:
        self.spaces = spaces

    async def live(self) -> VectorSpace:
        return self.spaces[0]

    async def written(self) -> Sequence[VectorSpace]:
        return self.spaces


async def test_while_the_model_is_changed_both_generations_get_it_and_typed_memories_once() -> None:
    record = InMemoryRecord()
    models = {name: FakeEncoder(dimension=size, model_id=name) for name, size in (("e5", 8), ("mpnet", 16), ("own", 4))}
    typed = VectorSpace(models["own"], InMemoryVectors(dimension=4))
    old, new = (
        VectorSpace(models[name], InMemoryVectors(dimension=models[name].dimension), {Collection.FACTS: typed})
        for name in ("e5", "mpnet")
    )
    spaces = TwoSpaces(old, new)
    learner = Learner(
        record=record,
        extractor=ReadingExtractor(FakeReader()),
        indexer=Indexer(record=record, spaces=spaces, analyzer=KeywordAnalyzer()),
    )
    pool = Pool(WalkingEmbedder(record, models.__getitem__, batch=4))
    bench = Bench(
        record, InMemoryVectors(dimension=DIMENSION), ListeningEncoder(BatchedEncoder(FakeEncoderEngine(dimension=8)))
    )
    await bench.log(*(f"Note number {number} is here." for number in range(BACKLOG)))
    await bench.store_typed("preference", "green tea")
    await learner.learn(user_id="ann", index=False)
    job = BulkIndexing(
        record=record,
        locks=InMemoryLocks(),
        spaces=spaces,
        embedder=pool,
        indexer=learner.indexer,
        worker=LearningWorker(learner=learner, record=record),
        backlog=BACKLOG,
    )
    await job.run_if_due()
    assert await record.backlog.outbox(limit=1) == []
    for space in (old, new):
        verifier = IndexVerifier(record=record, space=space, indexer=learner.indexer)
        report = [report async for report in verifier.verify(mend=False)][-1]
        assert report.wrong == 0
    memories = await old.index.count(Collection.MEMORIES, user_id="ann")
    entities = await old.index.count(Collection.ENTITIES, user_id="ann")
    assert memories == BACKLOG
    assert len(pool.embedded_ids) == 2 * (memories + entities) + 1
    assert await typed.index.count(Collection.FACTS, user_id="ann") == 1


async def test_it_can_be_switched_off(world: World) -> None:
    await world.import_corpus("ann")
    off = BulkIndexing(
        record=world.bench.record,
        locks=world.locks,
        spaces=world.bench.spaces,
        embedder=world.pool,
        indexer=world.bench.learner.indexer,
        worker=world.worker,
        backlog=0,
        look_s=0,
    )
    off.begin()
    await asyncio.sleep(0.005)
    await off.close()
    assert (world.pool.passes, off.figures()) == (0, {})
