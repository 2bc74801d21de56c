"""Changing the model of all vectors: nothing lost, nothing doubled, and no search that mixes two models."""

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deployments.builders.models.live_model import LiveRetriever
from memory.extraction.extractor import ReadingExtractor
from memory.indexing.generations import PerSpace, Phase, RecordedSpaces, latest_run, phase_of, source_of
from memory.indexing.indexer import Indexer
from memory.indexing.reembedding import Reembedding
from memory.indexing.verification import IndexVerifier
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.ports.jobs import PipelineRun, RunState
from memory.ports.models.language import Encoder, FloatMatrix, Priority, TextKind
from memory.ports.services import Retriever
from memory.ports.stores.generations import BulkEmbedder, EmbeddedItem, Selection, VectorModel, VectorSpace
from memory.ports.stores.vectors import Collection
from memory.retrieval.retriever import HybridRetriever
from memory.values.base import utc_now
from memory.values.errors import Conflict, InvalidField, StoreUnavailable
from memory.values.hits import SearchRequest
from memory.values.records import Resource
from storage.inmemory.coordination import InMemoryLocks
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.vectors import InMemoryGenerations
from testing.fakes.encoder import FakeEncoder
from testing.fakes.reader import FakeReader
from tests.memory.indexing.bulk import WalkingEmbedder

OLD, NEW, THIRD = (VectorModel(model_id=name, dimension=size) for name, size in (("e5", 8), ("mpnet", 16), ("bge", 4)))
MODELS = {model.model_id: model for model in (OLD, NEW, THIRD)}


class Killed(asyncio.CancelledError):
    """Ends the process in a test; nothing is recorded of it."""


@dataclass
class World:
    """The stores, which outlive a process, and one process over them."""

    record: InMemoryRecord = field(default_factory=InMemoryRecord)
    store: InMemoryGenerations = field(default_factory=InMemoryGenerations)
    fuse: int | None = None
    steps: int = 0
    turn_count: int = 0
    searched: list[tuple[str, str]] = field(default_factory=list)
    embedder: BulkEmbedder = field(init=False)
    learner: Learner = field(init=False)
    job: Reembedding = field(init=False)
    spaces: RecordedSpaces = field(init=False)

    def __post_init__(self) -> None:
        self.embedder = WalkingEmbedder(self.record, lambda name: _encoder(MODELS[name]), batch=2)
        for name in ("save", "latest"):
            self._wire(self.record.runs, name)
        for name in ("make_live", "drop"):
            self._wire(self.store, name)
        for model in MODELS.values():
            for name in ("upsert", "get", "stored"):
                self._wire(self.store.index(model), name)
        self.start()

    def start(self) -> None:
        """What a process does when it starts; whatever another one held is free."""
        self.spaces = RecordedSpaces(
            runs=self.record.runs,
            configured=OLD,
            open_space=lambda model: VectorSpace(_encoder(model), self.store.index(model)),
            refresh_s=0,
        )
        self.learner = Learner(
            record=self.record,
            extractor=ReadingExtractor(FakeReader()),
            indexer=Indexer(record=self.record, spaces=self.spaces, analyzer=KeywordAnalyzer()),
        )
        self.job = Reembedding(
            record=self.record,
            locks=InMemoryLocks(),
            spaces=self.spaces,
            store=self.store,
            embedder=self.embedder,
            indexer=self.learner.indexer,
            prepare=_prepare,
            configured=OLD,
            notice_s=0,
            retry_s=0.001,
        )

    def _wire(self, target: Any, name: str) -> None:
        """Every call of this method is a step, before and after which the process may be killed."""
        method = getattr(target, name)

        async def call(*args: Any, **fields: Any) -> Any:
            self._step()
            result = await method(*args, **fields)
            self._step()
            return result

        setattr(target, name, call)

    def _step(self) -> None:
        self.steps += 1
        if self.fuse is not None and self.steps >= self.fuse:
            raise Killed

    async def say(self, *texts: str, user: str = "ann", learn: bool = True) -> None:
        resources = []
        for text in texts:
            self.turn_count += 1
            resources.append(
                Resource(
                    resource_id=f"{user}-{self.turn_count}",
                    user_id=user,
                    session_id="s",
                    content=text,
                    created_at=utc_now(),
                )
            )
        await self.record.append(resources, user_id=user)
        if learn:
            await self.learner.learn(user_id=user)

    async def fill(self) -> None:
        for user in ("ann", "bob", "zoë"):
            await self.say("我們用 RM05-008 測試。", "The spare key is in the blue drawer.", "車位是 B2-17", user=user)

    async def settle(self) -> PipelineRun:
        """Waits until the run has stopped or waits for a decision, and returns it."""
        while (run := await latest_run(self.record.runs)) is None or run.state is RunState.RUNNING:
            await asyncio.sleep(0.001)
        return run

    async def reembed(self, model: VectorModel = NEW) -> PipelineRun:
        await self.job.start(model.model_id)
        return await self.settle()

    async def count_wrong(self, model: VectorModel) -> int:
        """How many points of a generation differ from what the record says, those that are too many included."""
        verifier = IndexVerifier(record=self.record, space=self.spaces.of(model), indexer=self.learner.indexer)
        report = [report async for report in verifier.verify(mend=False)][-1]
        assert report.checked
        return report.wrong

    async def vectors_agree(self, model: VectorModel) -> bool:
        """Whether every vector of a generation is what the model makes of the text that the record has."""
        from memory.indexing.record_pages import walk

        async for page in walk(self.record):
            ids = [item.item_id for item in page.items]
            points = await self.store.index(model).get(page.collection, ids, user_id=page.user_id)
            texts = [item.dense_text for item in page.items]
            expected = await _encoder(model).encode(texts, kind=TextKind.PASSAGE)
            if not np.allclose([point.dense for point in points], expected, atol=1e-6):
                return False
        return True


def _encoder(model: VectorModel) -> Encoder:
    return FakeEncoder(dimension=model.dimension, model_id=model.model_id)


async def _prepare(model_id: str) -> VectorModel:
    if model_id not in MODELS:
        raise InvalidField("There is no such model.", field="model")
    return MODELS[model_id]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    filled_world = World()
    await filled_world.fill()
    yield filled_world
    await filled_world.job.close()


async def test_a_switch_moves_everything_and_keeps_the_old_vectors_up_to_date(world: World) -> None:
    run = await world.reembed()
    assert (run.state, phase_of(run), run.error) == (RunState.DONE, Phase.SWITCHED, None)
    assert run.output["checked"] == run.total == run.done > 0
    sampled = run.output["sampled"]
    assert isinstance(sampled, int)
    assert run.output["found"] == sampled > 0
    assert (await world.spaces.live()).encoder.model_id == NEW.model_id
    assert world.store.live == NEW.model_id
    await world.say("The meeting is on Friday.", "RM05-008 壞了。", user="ann")
    for model in (OLD, NEW):
        assert await world.count_wrong(model) == 0
        assert await world.vectors_agree(model)


async def test_it_survives_a_restart_and_goes_before_the_settings(world: World) -> None:
    await world.reembed()
    await world.job.close()
    world.start()
    assert (await world.spaces.live()).encoder.model_id == NEW.model_id
    last = await world.job.last_run()
    assert last is not None
    assert phase_of(last) is Phase.SWITCHED


async def test_rolling_back_switches_at_once_and_drops_what_was_made(world: World) -> None:
    await world.reembed()
    await world.say("Learned after the switch.", user="ann")
    await world.job.rollback()
    assert (await world.spaces.live()).encoder.model_id == OLD.model_id
    assert phase_of(await world.settle()) is Phase.ROLLED_BACK
    assert await world.count_wrong(OLD) == 0
    assert await world.store.index(NEW).users(Collection.MEMORIES) == []
    assert world.store.live == OLD.model_id
    with pytest.raises(Conflict):
        await world.job.rollback()
    assert phase_of(await world.reembed()) is Phase.SWITCHED


async def test_finishing_drops_the_old_vectors_and_frees_the_way_to_another_model(world: World) -> None:
    await world.reembed()
    with pytest.raises(Conflict, match="still kept"):
        await world.job.start(THIRD.model_id)
    await world.job.finish()
    assert phase_of(await world.settle()) is Phase.FINISHED
    assert await world.store.index(OLD).users(Collection.MEMORIES) == []
    with pytest.raises(Conflict):
        await world.job.rollback()
    assert phase_of(await world.reembed(THIRD)) is Phase.SWITCHED
    assert await world.count_wrong(THIRD) == 0


async def test_the_live_model_and_an_unknown_one_are_refused(world: World) -> None:
    for name in (OLD.model_id, "no-such-model"):
        with pytest.raises(InvalidField):
            await world.job.start(name)
    assert await world.job.last_run() is None


async def test_one_change_at_a_time(world: World) -> None:
    async with world.job._locks.held("index-maintenance"):
        with pytest.raises(Conflict):
            await world.job.start(NEW.model_id)


class BlockedEmbedder(BulkEmbedder):
    """Embeds nothing until a test releases it; tells when it was called."""

    def __init__(self, inner: BulkEmbedder) -> None:
        self.inner = inner
        self.was_asked = asyncio.Event()
        self.go = asyncio.Event()
        self.behind: list[str | None] = []

    async def embed(
        self, model: VectorModel, selection: Selection, *, after: str | None
    ) -> AsyncGenerator[Sequence[EmbeddedItem], None]:
        self.behind.append(after)
        async for batch in self.inner.embed(model, selection, after=after):
            self.was_asked.set()
            await self.go.wait()
            yield batch


async def test_what_is_said_forgotten_and_changed_meanwhile_is_in_both_generations(world: World) -> None:
    blocked = world.embedder = BlockedEmbedder(world.embedder)
    world.start()
    await world.job.start(NEW.model_id)
    await blocked.was_asked.wait()  # the first batch is embedded and not yet written
    await world.say("Said while vectors are made.", "RM05-008 也叫第一台。", user="ann")
    async with world.record.writing(user_id="ann") as unit:
        [first, second, *_] = await unit.memories.page(after=None, limit=2)
        await unit.memories.save([first.model_copy(update={"text": "It reads otherwise now."})])
        await unit.memories.delete([second.memory_id])
        await unit.commit()
    await world.learner.learn(user_id="ann")
    assert (await world.spaces.live()).encoder.model_id == OLD.model_id
    blocked.go.set()
    assert phase_of(await world.settle()) is Phase.SWITCHED
    for model in (OLD, NEW):
        assert await world.count_wrong(model) == 0
        assert await world.vectors_agree(model)


async def test_a_run_given_up_before_the_switch_leaves_nothing_behind(world: World) -> None:
    blocked = world.embedder = BlockedEmbedder(world.embedder)
    world.start()
    await world.job.start(NEW.model_id)
    await blocked.was_asked.wait()
    with pytest.raises(Conflict):
        await world.job.start(THIRD.model_id)
    await world.job.rollback()
    assert phase_of(await world.settle()) is Phase.ROLLED_BACK
    assert await world.store.index(NEW).users(Collection.MEMORIES) == []
    assert await world.count_wrong(OLD) == 0


async def test_a_store_that_is_away_for_a_while_only_takes_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    index, outages = world.store.index(NEW), [3]
    upsert = index.upsert

    async def flaky(*args: Any, **fields: Any) -> None:
        outages[0] -= 1
        if outages[0] >= 0:
            raise StoreUnavailable("gone", component="vectors")
        await upsert(*args, **fields)

    monkeypatch.setattr(index, "upsert", flaky)
    assert phase_of(await world.reembed()) is Phase.SWITCHED
    assert await world.count_wrong(NEW) == 0


class SwappingEmbedder(BulkEmbedder):
    """Gives every item the vector of another one."""

    def __init__(self, inner: BulkEmbedder) -> None:
        self.inner = inner

    async def embed(
        self, model: VectorModel, selection: Selection, *, after: str | None
    ) -> AsyncGenerator[Sequence[EmbeddedItem], None]:
        async for batch in self.inner.embed(model, selection, after=after):
            turned = np.roll(np.stack([item.vector for item in batch]), 1, axis=1)
            yield [
                EmbeddedItem(item.user_id, item.collection, item.item_id, item.fingerprint, vector)
                for item, vector in zip(batch, turned, strict=True)
            ]


async def test_vectors_that_are_not_the_models_are_never_switched_to(world: World) -> None:
    world.embedder = SwappingEmbedder(world.embedder)
    world.start()
    run = await world.reembed()
    assert (run.state, phase_of(run)) == (RunState.FAILED, Phase.VERIFYING)
    assert "found again" in str(run.error)
    assert (await world.spaces.live()).encoder.model_id == OLD.model_id


async def test_points_that_were_lost_meanwhile_are_made_before_the_switch(world: World) -> None:
    blocked = world.embedder = BlockedEmbedder(world.embedder)
    world.start()
    await world.job.start(NEW.model_id)
    await blocked.was_asked.wait()
    stray = str(uuid.uuid4())
    [stored] = (await world.store.index(OLD).stored(Collection.MEMORIES, user_id="ann"))[:1]
    [point] = await world.store.index(OLD).get(Collection.MEMORIES, [stored.point_id], user_id="ann")
    wide = np.zeros(NEW.dimension, np.float32)
    wide[0] = 1
    await world.store.index(NEW).upsert(
        Collection.MEMORIES, [type(point)(stray, wide, point.sparse, 0.0, fingerprint="no.one's")], user_id="ann"
    )
    blocked.go.set()
    assert phase_of(await world.settle()) is Phase.SWITCHED
    assert await world.count_wrong(NEW) == 0
    assert stray not in [
        item.point_id for item in await world.store.index(NEW).stored(Collection.MEMORIES, user_id="ann")
    ]


async def _in_a_process(world: World, work: Callable[[], Awaitable[Any]]) -> bool:
    """Runs until the fuse burns or the run rests; whether it was killed."""

    try:
        await work()
        if world.job._task:
            await world.job._task
    except asyncio.CancelledError:
        return True
    return False


async def _kill_and_resume(fuses: Sequence[int], *, then: str) -> None:
    world = World()
    await world.fill()
    words = iter(range(100))

    async def go_on() -> None:
        """What a person wants next, or what a process finds to go on with."""
        last = await latest_run(world.record.runs)
        if last is None or source_of(last) is None:
            await world.job.start(NEW.model_id)
        elif last.state is RunState.RUNNING:
            await world.job.resume()
        elif phase_of(last) is Phase.SWITCHED and then:
            await getattr(world.job, then)()

    for fuse in (*fuses, None, None, None):
        world.steps, world.fuse = 0, fuse
        killed = await _in_a_process(world, go_on)
        world.fuse = None
        if killed:
            world.start()
        await world.say(f"Word {next(words)} said in between.", user="bob")
    run = await world.settle()
    assert run.state is RunState.DONE
    live, *_ = [model for model in (OLD, NEW) if model.model_id == (await world.spaces.live()).encoder.model_id]
    assert live == (OLD if then == "rollback" else NEW)
    generations = await world.spaces.generations()
    for model in generations.written:
        assert await world.count_wrong(model) == 0
        assert await world.vectors_agree(model)
    for model_id in {OLD.model_id, NEW.model_id} - {model.model_id for model in generations.written}:
        assert await world.store.index(MODELS[model_id]).users(Collection.MEMORIES) == []
    assert world.store.live == live.model_id
    await world.job.close()


@pytest.mark.slow
@settings(max_examples=30)
@given(
    fuses=st.lists(st.integers(1, 160), min_size=1, max_size=4),
    then=st.sampled_from(["", "finish", "rollback"]),
)
def test_killed_at_any_step_and_resumed_every_item_is_there_once(fuses: list[int], then: str) -> None:
    asyncio.run(_kill_and_resume(fuses, then=then))


class RecordingEncoder(Encoder):
    """Records which model encodes which query."""

    def __init__(self, inner: Encoder, seen: list[tuple[str, str]]) -> None:
        self._inner, self._seen = inner, seen

    @property
    def model_id(self) -> str:
        return self._inner.model_id

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        self._seen.append((self.model_id, "encoded"))
        await asyncio.sleep(0.002)  # long enough for a switch
        return await self._inner.encode(texts, kind=kind, priority=priority)


async def test_searches_during_a_switch_and_back_find_what_they_should_with_one_model_each(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vector of another length would be refused by the index, and named in `degraded`."""

    def retriever_in(space: VectorSpace) -> Retriever:
        return HybridRetriever(
            encoder=RecordingEncoder(space.encoder, world.searched),
            index=space.index,
            record=world.record,
            analyzer=KeywordAnalyzer(),
        )

    retriever = LiveRetriever(PerSpace(world.spaces, retriever_in))
    ended = Counter[int]()
    finished = asyncio.Event()

    async def search(searcher: int) -> None:
        while not finished.is_set():
            result = await retriever.search(SearchRequest(user_id="ann", query="spare key", top_k=3, now=utc_now()))
            assert not result.degraded
            assert "spare key" in result.hits[0].text
            ended[searcher] += 1

    searching = [asyncio.create_task(search(searcher)) for searcher in range(3)]

    async def searches_under_way() -> None:
        before = Counter(ended)
        while any(ended[searcher] == before[searcher] and not task.done() for searcher, task in enumerate(searching)):
            await asyncio.sleep(0)

    drop = world.store.drop

    async def drop_after_them(model: VectorModel) -> None:
        """What `notice_s` is long enough for: on a busy machine no time of the test's own would be."""
        await searches_under_way()
        await drop(model)

    monkeypatch.setattr(world.store, "drop", drop_after_them)
    await world.reembed()
    await searches_under_way()
    await world.job.rollback()
    await world.settle()
    await searches_under_way()
    finished.set()
    await asyncio.gather(*searching)
    assert {model for model, _ in world.searched} == {OLD.model_id, NEW.model_id}


async def test_an_item_that_changes_while_its_old_vector_is_written_ends_up_as_it_reads(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The news is indexed between the look at the record and the write of the older vector, which then hides it."""
    index = world.store.index(NEW)
    upsert = index.upsert
    changed: list[str] = []

    async def late(collection: Collection, points: Sequence[Any], *, user_id: str) -> None:
        if collection is Collection.MEMORIES and user_id == "ann" and not changed:
            changed.append(points[0].point_id)
            async with world.record.writing(user_id="ann") as unit:
                [memory] = await unit.memories.get(changed)
                await unit.memories.save([memory.model_copy(update={"text": "It reads otherwise now."})])
                await unit.commit()
            await world.learner.learn(user_id="ann")
        await upsert(collection, points, user_id=user_id)

    monkeypatch.setattr(index, "upsert", late)
    assert phase_of(await world.reembed()) is Phase.SWITCHED
    await world.learner.learn(user_id="ann")
    assert changed
    for model in (OLD, NEW):
        assert await world.count_wrong(model) == 0
        assert await world.vectors_agree(model)
