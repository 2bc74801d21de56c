"""Generations side by side, on every store: what one holds another never shows, and dropping one leaves the others."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import numpy as np
import pytest

from memory.ports.stores.generations import GenerationStore, VectorModel
from memory.ports.stores.vectors import Collection, IndexPoint, IndexQuery
from memory.values.errors import InvalidField, StoreUnavailable
from storage.edge.generations import EdgeGenerations
from storage.edge.shards import Aliases, drop_shards
from storage.inmemory.vectors import InMemoryGenerations
from storage.qdrant.generations import QdrantGenerations
from storage.qdrant.vectors import QdrantSettings
from storage.shared.encryption import NO_CIPHER, KeyCipher
from storage.shared.index_points import stored_name
from testing.qdrant_standin import QdrantStandIn
from tests.storage.conftest import point, point_id

OLD, NEW = VectorModel(model_id="e5", dimension=4), VectorModel(model_id="org/mpnet", dimension=6)
MEMORIES, FACTS = Collection.MEMORIES, Collection.FACTS


@pytest.fixture(scope="module")
def standin() -> Iterator[QdrantStandIn]:
    server = QdrantStandIn()
    server.start()
    yield server
    server.stop()


@pytest.fixture(params=["memory", "edge", "edge-encrypted", "qdrant-http"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[GenerationStore]:
    if request.param == "memory":
        yield InMemoryGenerations()
    elif request.param.startswith("edge"):
        edge = EdgeGenerations(tmp_path, cipher=KeyCipher(bytes(32)) if "encrypted" in request.param else NO_CIPHER)
        yield edge
        await edge.close()
    else:
        server: QdrantStandIn = request.getfixturevalue("standin")
        server.reset()
        qdrant = QdrantGenerations(QdrantSettings(server.url, deadline_s=20))
        yield qdrant
        await qdrant.close()


def _point(name: str, model: VectorModel) -> IndexPoint:
    dense = np.zeros(model.dimension, np.float32)
    dense[0] = 1
    return point(name, dense=dense)


def _shards(folder: Path, model: str) -> list[str]:
    return [path.name for path in folder.iterdir() if f"__{model}" in path.name]


async def _fill(store: GenerationStore) -> None:
    for model, names in ((OLD, ["a", "b"]), (NEW, ["b", "c", "d"])):
        await store.index(model).upsert(MEMORIES, [_point(name, model) for name in names], user_id="ann")


async def test_each_holds_its_own_points_and_refuses_another_models_vectors(store: GenerationStore) -> None:
    await _fill(store)
    found = {}
    for model in (OLD, NEW):
        query = IndexQuery(MEMORIES, 10, dense=_point("x", model).dense)
        [hits] = await store.index(model).search([query], user_id="ann")
        found[model.model_id] = {hit.point_id for hit in hits}
    assert found == {"e5": {point_id("a"), point_id("b")}, "org/mpnet": {point_id(name) for name in "bcd"}}
    with pytest.raises(InvalidField, match="another model"):
        await store.index(NEW).search([IndexQuery(MEMORIES, 1, dense=_point("x", OLD).dense)], user_id="ann")


async def test_making_one_live_and_back_changes_no_points(store: GenerationStore) -> None:
    await _fill(store)
    for model in (OLD, NEW, NEW, OLD):
        await store.make_live(model)
        assert [await store.index(model).count(MEMORIES, user_id="ann") for model in (OLD, NEW)] == [2, 3]


async def test_one_is_dropped_whole_as_often_as_one_likes_and_can_be_made_again(store: GenerationStore) -> None:
    await _fill(store)
    await store.make_live(NEW)
    for _ in range(2):
        await store.drop(OLD)
    assert await store.index(NEW).count(MEMORIES, user_id="ann") == 3
    again = store.index(OLD)
    assert [await again.count(collection, user_id="ann") for collection in Collection] == [0] * len(Collection)
    await again.upsert(FACTS, [_point("a", OLD)], user_id="ann")
    assert await again.users(FACTS) == ["ann"]


async def test_one_that_never_was_is_dropped_without_a_word(store: GenerationStore) -> None:
    await store.drop(NEW)


async def test_shards_that_a_crash_left_half_deleted_are_no_generation(tmp_path: Path) -> None:
    edge = EdgeGenerations(tmp_path)
    await _fill(edge)
    await edge.close()
    name = stored_name(MEMORIES, OLD.model_id)
    (tmp_path / name).rename(tmp_path / f"{name}.dropped")
    (tmp_path / f"{name}.dropped" / "edge_config.json").unlink()
    again = EdgeGenerations(tmp_path)
    await again.drop(OLD)
    assert not _shards(tmp_path, "e5")
    assert await again.index(NEW).count(MEMORIES, user_id="ann") == 3
    await again.close()


async def test_shards_of_another_process_are_not_deleted(tmp_path: Path) -> None:
    edge = EdgeGenerations(tmp_path)
    await _fill(edge)
    with pytest.raises(StoreUnavailable, match="another process"):
        await asyncio.to_thread(drop_shards, tmp_path, [stored_name(MEMORIES, OLD.model_id)])
    assert await edge.index(OLD).count(MEMORIES, user_id="ann") == 2
    await edge.close()


async def test_the_aliases_of_the_embedded_store_move_together(tmp_path: Path) -> None:
    edge = EdgeGenerations(tmp_path)
    await edge.make_live(NEW)
    assert Aliases(tmp_path).read() == {
        collection.value: stored_name(collection, NEW.model_id) for collection in Collection
    }
    edge.open_live(OLD)
    assert not _shards(tmp_path, "e5"), "what was dropped is not made again"
    edge.open_live(NEW)
    assert await edge.index(NEW).users(MEMORIES) == []
    await edge.close()


async def test_a_user_is_erased_from_every_generation_also_from_one_that_is_not_in_use_any_more(
    store: GenerationStore,
) -> None:
    for model in (OLD, NEW):
        for user_id in ("ann", "bob"):
            await store.index(model).upsert(FACTS, [_point("a", model), _point("b", model)], user_id=user_id)
    assert await store.erase_user("ann") == 4
    assert await store.erase_user("ann") == 0
    for model in (OLD, NEW):
        assert await store.index(model).users(FACTS) == ["bob"]
        assert len(await store.index(model).stored(FACTS, user_id="bob")) == 2


async def test_points_are_erased_by_their_ids_from_every_generation_and_others_stay(store: GenerationStore) -> None:
    for model in (OLD, NEW):
        for user_id in ("ann", "bob"):
            await store.index(model).upsert(FACTS, [_point("a", model), _point("b", model)], user_id=user_id)
    ids = [point_id("a"), point_id("unknown")]
    assert await store.erase_points(ids, user_id="ann") == 2
    assert await store.erase_points(ids, user_id="ann") == 0
    assert await store.erase_points([], user_id="ann") == 0
    for model in (OLD, NEW):
        left = {user_id: await store.index(model).stored(FACTS, user_id=user_id) for user_id in ("ann", "bob")}
        found = {user_id: sorted(point.point_id for point in points) for user_id, points in left.items()}
        assert found == {"ann": [point_id("b")], "bob": sorted([point_id("a"), point_id("b")])}


async def test_a_purge_keeps_all_points_and_searches_go_on(store: GenerationStore) -> None:
    await store.index(OLD).upsert(FACTS, [_point(f"p{number}", OLD) for number in range(600)], user_id="bob")
    query = IndexQuery(FACTS, 3, dense=_point("p1", OLD).dense)
    before = await store.index(OLD).search([query], user_id="bob")
    purge = asyncio.create_task(store.purge())
    await asyncio.sleep(0)
    await store.index(OLD).upsert(FACTS, [_point("late", OLD)], user_id="bob")
    await store.index(OLD).delete(FACTS, [point_id("p7")], user_id="bob")
    assert await purge in (True, False)
    ids = {stored.point_id for stored in await store.index(OLD).stored(FACTS, user_id="bob")}
    assert ids == {point_id(name) for name in ["late", *(f"p{number}" for number in range(600) if number != 7)]}
    assert len((await store.index(OLD).search([query], user_id="bob"))[0]) == len(before[0])
