"""Making every point of the index again: by the pool, in place, whatever changes or dies meanwhile."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any

import numpy as np
import pytest

from memory.indexing.bulk_passes import ATTEMPTS
from memory.indexing.maintenance import BackgroundMaintenance
from memory.indexing.verification import IndexVerifier
from memory.ports.jobs import IndexOperation, IndexReport, RunState
from memory.ports.models.language import TextKind
from memory.ports.stores.generations import BulkEmbedder, EmbeddedItem, Selection, VectorModel, VectorSpace
from memory.ports.stores.vectors import Collection, IndexPoint
from memory.values.errors import StoreUnavailable, Unavailable
from models.encoder.batched_encoder import BatchedEncoder
from storage.inmemory.coordination import InMemoryLocks
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.vectors import InMemoryVectors
from testing.fakes.encoder import FakeEncoder, FakeEncoderEngine
from tests.memory.index_bench import DIMENSION, Bench, ListeningEncoder, counts_of, total
from tests.memory.indexing.bulk import WalkingEmbedder


class InterruptedEmbedder(BulkEmbedder):
    """Interrupts its passes after the given numbers of batches, one number a pass; later passes are complete."""

    def __init__(self, inner: BulkEmbedder, *lengths: int) -> None:
        self.inner = inner
        self.lengths = [*lengths]
        self.embedded_ids: list[str] = []

    async def embed(
        self, model: VectorModel, selection: Selection, *, after: str | None
    ) -> AsyncGenerator[Sequence[EmbeddedItem], None]:
        remaining = self.lengths.pop(0) if self.lengths else None
        async for batch in self.inner.embed(model, selection, after=after):
            if remaining == 0:
                break
            remaining = None if remaining is None else remaining - 1
            self.embedded_ids += [item.item_id for item in batch]
            yield batch
        if remaining == 0:
            raise Unavailable("the reader is gone", component="reembedding")


async def _fill(bench: Bench) -> None:
    for user in ("ann", "bob"):
        await bench.say("我們用 RM05-008 測試。", "The spare key is in the blue drawer.", "車位是 B2-17", user=user)


async def _last(reports: AsyncIterator[IndexReport]) -> IndexReport:
    return [report async for report in reports][-1]


async def _points(bench: Bench) -> int:
    contents = [await bench.contents(user) for user in ("ann", "bob")]
    return sum(len(points) for collections in contents for points in collections.values())


async def _vectors_agree(bench: Bench, user: str = "ann") -> bool:
    """Whether the vectors of memories are those of their texts as they are now."""
    async with bench.record.reading(user_id=user) as unit:
        texts = {memory.memory_id: memory for memory in await unit.memories.page(after=None, limit=100)}
    points = (await bench.contents(user))[Collection.MEMORIES]
    plain = [id_ for id_, memory in texts.items() if not memory.context and not memory.speaker]
    expected = await bench.encoder.encode([texts[id_].text for id_ in plain], kind=TextKind.PASSAGE)
    return bool(plain) and np.allclose([points[id_].dense for id_ in plain], expected, atol=1e-6)


async def test_the_pool_makes_all_of_it_and_the_embedder_nothing() -> None:
    pool = ListeningEncoder(BatchedEncoder(FakeEncoderEngine(dimension=DIMENSION)))
    encoder = BatchedEncoder(FakeEncoderEngine(dimension=DIMENSION))
    bench = Bench(InMemoryRecord(), InMemoryVectors(dimension=DIMENSION), ListeningEncoder(encoder))
    bench.embedder = WalkingEmbedder(bench.record, lambda _: pool)
    await _fill(bench)
    bench.encoder.texts_read.clear()
    report = await bench.rebuild()
    assert len(pool.texts_read) == report.mended == await _points(bench)
    assert bench.encoder.texts_read == []
    await encoder.close()


async def test_nothing_is_missing_at_any_time(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await _fill(bench)

    async def none(*_: Any, **__: Any) -> None:
        raise AssertionError("a point was taken out")

    monkeypatch.setattr(bench.index, "delete", none)
    monkeypatch.setattr(bench.index, "delete_user", none)
    assert (await bench.rebuild()).wrong == 0


async def test_progress_grows_to_the_total_and_no_further(bench: Bench) -> None:
    await _fill(bench)
    every = await bench.verifier.total()
    counted = [report.checked async for report in bench.verifier.rebuild(bench.embedder)]
    assert counted == sorted(counted)
    assert counted[-1] == every
    assert len(set(counted)) > 3


async def test_a_total_grows_with_what_is_said_meanwhile(bench: Bench) -> None:
    await _fill(bench)

    class SpeakingEmbedder(BulkEmbedder):
        async def embed(
            self, model: VectorModel, selection: Selection, *, after: str | None
        ) -> AsyncGenerator[Sequence[EmbeddedItem], None]:
            await bench.say("The meeting is on Friday.", user="zoë")
            async for batch in bench.embedder.embed(model, selection, after=after):
                yield batch

    maintenance = BackgroundMaintenance(
        verifiers=bench.verifiers, embedder=SpeakingEmbedder(), runs=bench.record.runs, locks=InMemoryLocks()
    )
    begun = await maintenance.start(IndexOperation.REBUILD)
    while (run := await maintenance.last_run()) is None or run.state is RunState.RUNNING:
        await asyncio.sleep(0)
    assert run.state is RunState.DONE
    assert run.report.checked == run.total > begun.total


async def test_orphans_are_taken_out_and_what_the_pass_did_not_meet_is_made(bench: Bench) -> None:
    await _fill(bench)
    vector = np.eye(1, DIMENSION, dtype=np.float32)[0]
    [point, *_] = (await bench.contents())[Collection.MEMORIES].values()
    orphan = IndexPoint(str(uuid.uuid4()), vector, point.sparse, 0.0, fingerprint="no.one's")
    for user in ("ann", "nobody"):
        await bench.index.upsert(Collection.MEMORIES, [orphan], user_id=user)
    await bench.index.delete_user(Collection.MEMORIES, user_id="bob")

    class IncompleteEmbedder(BulkEmbedder):
        async def embed(
            self, model: VectorModel, selection: Selection, *, after: str | None
        ) -> AsyncGenerator[Sequence[EmbeddedItem], None]:
            async for batch in bench.embedder.embed(model, selection, after=after):
                if visible := [item for item in batch if item.user_id != "bob"]:
                    yield visible

    every = await _points(bench) - 1  # the orphan of ann is no item
    report = await _last(bench.verifier.rebuild(IncompleteEmbedder()))
    assert (total(report, "orphaned"), counts_of(report, Collection.MEMORIES).missing) == (2, 3)
    entities_of_bob = len((await bench.contents("bob"))[Collection.ENTITIES])
    assert report.mended == every - entities_of_bob + 2 + 3
    assert (await bench.verify()).wrong == 0


async def test_what_changes_or_goes_while_it_is_embedded_ends_up_as_the_record_has_it(bench: Bench) -> None:
    await _fill(bench)

    class DelayedEmbedder(BulkEmbedder):
        async def embed(
            self, model: VectorModel, selection: Selection, *, after: str | None
        ) -> AsyncGenerator[Sequence[EmbeddedItem], None]:
            batches = [batch async for batch in bench.embedder.embed(model, selection, after=after)]
            async with bench.record.writing(user_id="ann") as unit:
                [first, second, *_] = await unit.memories.page(after=None, limit=2)
                await unit.memories.save([first.model_copy(update={"text": "It reads otherwise.", "context": ""})])
                await unit.memories.delete([second.memory_id])
                await unit.commit()
            await bench.learner.learn(user_id="ann")
            for batch in batches:
                yield batch

    await _last(bench.verifier.rebuild(DelayedEmbedder()))
    await bench.learner.learn(user_id="ann")
    assert (await bench.verify()).wrong == 0
    assert await _vectors_agree(bench)


async def test_a_pass_that_ends_early_goes_on_behind_what_is_written(bench: Bench) -> None:
    await _fill(bench)
    interrupted = InterruptedEmbedder(bench.embedder, 1, *[0] * (ATTEMPTS - 1), 2, 0, 1)
    report = await _last(bench.verifier.rebuild(interrupted))
    assert (len(interrupted.embedded_ids), interrupted.lengths) == (len(set(interrupted.embedded_ids)), [])
    assert (report.wrong, report.mended) == (0, await _points(bench))


async def test_passes_that_get_nowhere_end_the_rebuild_which_can_be_done_again(bench: Bench) -> None:
    await _fill(bench)
    interrupted = InterruptedEmbedder(bench.embedder, 1, *[0] * ATTEMPTS)
    with pytest.raises(Unavailable, match="reader"):
        await _last(bench.verifier.rebuild(interrupted))
    assert len(interrupted.embedded_ids) == 2
    assert (await bench.rebuild()).mended == await _points(bench)


async def test_an_index_that_is_away_for_a_moment_only_takes_time(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _fill(bench)
    upsert, outages = bench.index.upsert, [2]

    async def flaky(*args: Any, **fields: Any) -> None:
        outages[0] -= 1
        if outages[0] >= 0:
            raise StoreUnavailable("gone", component="vectors")
        await upsert(*args, **fields)

    monkeypatch.setattr(bench.index, "upsert", flaky)
    assert (await bench.rebuild()).wrong == 0


async def test_each_collection_is_made_with_its_own_model(bench: Bench) -> None:
    await bench.store_typed("preference", "green tea")
    await bench.say("我們用 RM05-008 測試。")
    typed = FakeEncoder(model_id="mpnet", dimension=8)
    own = VectorSpace(typed, InMemoryVectors(dimension=8))
    space = VectorSpace(bench.encoder, bench.index, {Collection.FACTS: own})
    embedded: list[tuple[str, Collection]] = []

    class RecordingEmbedder(BulkEmbedder):
        async def embed(
            self, model: VectorModel, selection: Selection, *, after: str | None
        ) -> AsyncGenerator[Sequence[EmbeddedItem], None]:
            encoder = typed if model == own.model else bench.encoder
            async for batch in WalkingEmbedder(bench.record, lambda _: encoder).embed(model, selection, after=after):
                embedded.extend((model.model_id, item.collection) for item in batch)
                yield batch

    verifier = IndexVerifier(record=bench.record, space=space, indexer=bench.learner.indexer)
    report = await _last(verifier.rebuild(RecordingEmbedder()))
    assert ("mpnet", Collection.FACTS) in embedded
    assert ("fake", Collection.MEMORIES) in embedded
    assert {model for model, collection in embedded if collection is Collection.FACTS} == {"mpnet"}
    assert (report.wrong, counts_of(report, Collection.FACTS).mended) == (0, 1)
    assert await own.index.count(Collection.FACTS, user_id="ann") == 1
