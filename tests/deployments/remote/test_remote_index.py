"""The vector index behind a handle: a shard that hangs costs one deadline, not one per request."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deployments.remote.handles import Remote
from deployments.remote.vectors import RemoteGenerations, RemoteVectorIndex
from deployments.serve.local_stores import VectorShard
from memory.ports.stores.generations import VectorModel
from memory.ports.stores.vectors import Collection, IndexPoint, IndexQuery, VectorIndex
from memory.values.errors import InvalidField, StoreUnavailable
from memory.values.vectors import SparseVector
from storage.edge.generations import EdgeGenerations
from storage.resilience.circuit import Circuit
from tests.deployments.remote.handles import Response

MODEL = VectorModel(model_id="e5", dimension=4)
OTHER = VectorModel(model_id="mpnet", dimension=2)
POINT = "6a697969-0000-4000-8000-000000000001"


class Shard(VectorShard):
    """Without Serve's hook for the end, which nobody awaits here."""

    def __del__(self) -> None:  # type: ignore[override]
        pass


class Handle:
    """A deployment handle over an object in this process."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self.calls: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._target, name)

        async def call(*args: Any) -> Any:
            self.calls.append(name)
            await self.gate.wait()
            return await method(*args)

        return SimpleNamespace(remote=lambda *args: Response(call(*args)))


def _point() -> IndexPoint:
    dense = np.zeros(4, np.float32)
    dense[0] = 1
    return IndexPoint(POINT, dense, SparseVector((3,), (1.0,)), 1.0, fingerprint="a.b")


def _shards(folder: Path, model: str) -> list[str]:
    return [path.name for path in folder.iterdir() if f"__{model}" in path.name]


@pytest.fixture
async def handle(tmp_path: Path) -> AsyncIterator[Handle]:
    generations = EdgeGenerations(tmp_path)
    for model in (MODEL, OTHER):  # here, and not within a call's deadline
        generations.index(model)
    yield Handle(Shard(generations=lambda: generations))
    await generations.close()


def _index(handle: Any, *, deadline_s: float = 5.0) -> RemoteVectorIndex:
    remote = Remote(handle, component="vectors", deadline_s=deadline_s)
    circuit = Circuit("vectors", deadline_s=deadline_s, threshold=1, retry_after_s=0.02)
    return RemoteVectorIndex(remote, model=MODEL, circuit=circuit)


async def test_every_method_of_the_port_reaches_the_shard(handle: Handle) -> None:
    index = _index(handle)
    await index.ping()
    await index.upsert(Collection.FACTS, [_point()], user_id="ann")
    assert await index.users(Collection.FACTS) == ["ann"]
    assert await index.count(Collection.FACTS, user_id="ann") == 1
    [stored] = await index.stored(Collection.FACTS, user_id="ann")
    assert (stored.point_id, stored.fingerprint) == (POINT, "a.b")
    [got] = await index.get(Collection.FACTS, [POINT], user_id="ann")
    assert got.fingerprint == "a.b"
    [[hit]] = await index.search([IndexQuery(Collection.FACTS, 1, dense=_point().dense)], user_id="ann")
    assert hit.point_id == POINT
    assert await index.delete_stale(Collection.FACTS, {POINT}, user_id="ann") == 0
    await index.delete(Collection.FACTS, [POINT], user_id="bob")
    await index.delete(Collection.FACTS, [POINT], user_id="ann")
    await index.upsert(Collection.FACTS, [_point()], user_id="ann")
    await index.delete_user(Collection.FACTS, user_id="ann")
    assert await index.users(Collection.FACTS) == []
    port = {name for name in vars(VectorIndex) if not name.startswith("_")} - {"delete_stale"}
    assert port <= set(handle.calls)


async def test_a_shard_that_hangs_costs_one_deadline_and_is_used_again_when_it_answers(handle: Handle) -> None:
    index = _index(handle, deadline_s=0.05)
    handle.gate.clear()
    for _ in range(10):
        with pytest.raises(StoreUnavailable):
            await index.count(Collection.FACTS, user_id="ann")
    assert handle.calls.count("count") == 1
    assert (index.figures()["status"], index.figures()["rejected"]) == ("degraded", 9)
    handle.gate.set()
    while "status" in index.figures():
        await asyncio.sleep(0.005)
    assert await index.count(Collection.FACTS, user_id="ann") == 0


async def test_a_request_that_the_shard_refuses_says_nothing_against_the_shard(handle: Handle) -> None:
    index = _index(handle)
    with pytest.raises(InvalidField):
        await index.upsert(
            Collection.FACTS, [IndexPoint(POINT, np.ones(3, np.float32), SparseVector((), ()), 1.0)], user_id="ann"
        )
    assert index.figures()["failures"] == 0


async def test_two_models_live_side_by_side_and_one_can_be_dropped(handle: Handle, tmp_path: Path) -> None:
    old, new = MODEL, OTHER
    generations = RemoteGenerations(Remote(handle, component="vectors", deadline_s=5.0))  # type: ignore[arg-type]
    await generations.index(old).upsert(Collection.FACTS, [_point()], user_id="ann")
    short = IndexPoint(POINT, np.array([1, 0], np.float32), SparseVector((), ()), 1.0)
    await generations.index(new).upsert(Collection.FACTS, [short], user_id="ann")
    with pytest.raises(InvalidField, match="another model"):
        await generations.index(new).search([IndexQuery(Collection.FACTS, 1, dense=_point().dense)], user_id="ann")
    await generations.make_live(new)
    await generations.drop(old)
    assert not _shards(tmp_path, "e5")
    assert await generations.index(new).users(Collection.FACTS) == ["ann"]
    await generations.close()
