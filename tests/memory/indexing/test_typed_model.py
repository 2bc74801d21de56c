"""Typed memories with a model of their own: their vectors are in a collection of theirs, and stay where they are."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from memory.extraction.extractor import ReadingExtractor
from memory.indexing.generations import RecordedSpaces, latest_run
from memory.indexing.indexer import Indexer
from memory.indexing.reembedding import Reembedding
from memory.indexing.verification import IndexVerifier
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.ports.jobs import PipelineRun, RunState
from memory.ports.stores.generations import VectorModel, VectorSpace
from memory.ports.stores.vectors import Collection
from memory.values.records import Resource
from memory.values.typed_memories import NewTypedMemory
from storage.inmemory.coordination import InMemoryLocks
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.vectors import InMemoryGenerations, InMemoryVectors
from testing.fakes.encoder import FakeEncoder
from testing.fakes.reader import FakeReader
from tests.memory.indexing.bulk import WalkingEmbedder

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
OLD, NEW = VectorModel(model_id="e5", dimension=8), VectorModel(model_id="mpnet", dimension=16)


def _encoder(model: VectorModel) -> FakeEncoder:
    return FakeEncoder(model_id=model.model_id, dimension=model.dimension)


@dataclass
class World:
    """All but typed memories by `OLD`, these by `NEW`, until a test moves the rest."""

    record: InMemoryRecord = field(default_factory=InMemoryRecord)
    store: InMemoryGenerations = field(default_factory=InMemoryGenerations)

    def __post_init__(self) -> None:
        self.start(NEW)

    def start(self, typed: VectorModel) -> None:
        """What a process does when it starts with this model for typed memories."""
        self.typed = VectorSpace(_encoder(typed), InMemoryVectors(dimension=typed.dimension))
        self.spaces = RecordedSpaces(
            runs=self.record.runs,
            configured=OLD,
            open_space=lambda model: VectorSpace(
                _encoder(model), self.store.index(model), {Collection.FACTS: self.typed}
            ),
            refresh_s=0,
        )
        self.learner = Learner(
            record=self.record,
            extractor=ReadingExtractor(FakeReader()),
            indexer=Indexer(record=self.record, spaces=self.spaces, analyzer=KeywordAnalyzer()),
        )

    async def fill(self, user: str = "ann") -> None:
        """A turn and a typed memory, learned and indexed."""
        turn = Resource(
            resource_id=f"{user}-1", user_id=user, session_id="s", content="我們買了 AI-Box。", created_at=AT
        )
        await self.record.append([turn], user_id=user)
        async with self.record.writing(user_id=user) as unit:
            new = NewTypedMemory(entity_type="preference", entity_value="green tea")
            await unit.typed_memories.save([new.memory(user_id=user, at=AT)])
            await unit.commit()
        await self.learner.learn(user_id=user)

    def reembedding(self) -> Reembedding:
        async def prepare(model_id: str) -> VectorModel:
            return {model.model_id: model for model in (OLD, NEW)}[model_id]

        return Reembedding(
            record=self.record,
            locks=InMemoryLocks(),
            spaces=self.spaces,
            store=self.store,
            embedder=WalkingEmbedder(self.record, lambda name: _encoder(NEW if name == NEW.model_id else OLD), batch=2),
            indexer=self.learner.indexer,
            prepare=prepare,
            configured=OLD,
            notice_s=0,
            retry_s=0.001,
        )

    async def settle(self) -> PipelineRun:
        """The run of re-embedding when it rests."""
        while (run := await latest_run(self.record.runs)) is None or run.state is RunState.RUNNING:
            await asyncio.sleep(0.001)
        return run

    async def counts(self, model: VectorModel, user: str = "ann") -> dict[Collection, int]:
        """Points of a generation."""
        index = self.store.index(model)
        return {collection: await index.count(collection, user_id=user) for collection in Collection}


@pytest.fixture
async def world() -> World:
    filled_world = World()
    await filled_world.fill()
    return filled_world


async def test_typed_memories_are_in_the_space_of_their_model_and_nowhere_else(world: World) -> None:
    assert (await world.counts(OLD))[Collection.FACTS] == 0
    assert (await world.counts(OLD))[Collection.MEMORIES] == 1
    [stored] = await world.typed.index.stored(Collection.FACTS, user_id="ann")
    [point] = await world.typed.index.get(Collection.FACTS, [stored.point_id], user_id="ann")
    assert point.dense.shape == (NEW.dimension,)
    assert await world.typed.index.count(Collection.MEMORIES, user_id="ann") == 0


async def test_both_generations_share_them_while_all_else_is_moved(world: World) -> None:
    job = world.reembedding()
    before = await world.typed.index.stored(Collection.FACTS, user_id="ann")
    await job.start(NEW.model_id)
    assert (await world.settle()).state is RunState.DONE
    assert (await world.spaces.live()).encoder.model_id == NEW.model_id
    await world.fill("bob")
    for model in (OLD, NEW):
        assert (await world.counts(model, "bob"))[Collection.MEMORIES] == 1
        assert (await world.counts(model, "bob"))[Collection.FACTS] == 0
    assert len(await world.typed.index.stored(Collection.FACTS, user_id="bob")) == 1
    await job.rollback()
    await world.settle()
    assert await world.typed.index.stored(Collection.FACTS, user_id="ann") == before


async def test_verification_compares_each_collection_with_its_own_model(world: World) -> None:
    verifier = IndexVerifier(record=world.record, space=await world.spaces.live(), indexer=world.learner.indexer)
    [*_, sound] = [report async for report in verifier.verify(mend=False)]
    assert (sound.wrong, sound.collections[Collection.FACTS].checked) == (0, 1)
    await world.typed.index.delete_user(Collection.FACTS, user_id="ann")
    [*_, mended] = [report async for report in verifier.verify(mend=True)]
    assert mended.wrong == 1
    assert await world.typed.index.count(Collection.FACTS, user_id="ann") == 1


async def test_a_new_model_for_them_is_filled_by_itself(world: World) -> None:
    world.start(OLD)
    await world.learner.learn(user_id="ann")
    assert await world.typed.index.count(Collection.FACTS, user_id="ann") == 1
