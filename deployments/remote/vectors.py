"""The vector index behind a Ray Serve handle: one deployment, one index per model (DESIGN §8)."""

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from memory.ports.stores.generations import GenerationStore, VectorModel
from memory.ports.stores.vectors import Collection, IndexPoint, IndexQuery, ScoredPoint, StoredPoint, VectorIndex
from memory.values.errors import StoreUnavailable, Unavailable
from storage.resilience.circuit import Circuit

from .handles import Remote

_SCAN_DEADLINE_S = 60.0
"""Deadline of maintenance calls, which read all points of a user."""
_PURGE_DEADLINE_S = 3600.0
"""Deadline of writing all files anew, which takes as long as the index is large."""


class RemoteVectorIndex(VectorIndex):
    """The VectorShard deployment as the index of one model; while its circuit is open, calls fail at once.

    Args:
        remote: The shard; its deadline is that of one call.
        model: The model of the vectors.
        circuit: By default one that opens at the first failure.
    """

    def __init__(self, remote: Remote, *, model: VectorModel, circuit: Circuit | None = None) -> None:
        self._remote = remote
        self._model = model
        self._circuit = circuit or Circuit(remote.component, deadline_s=remote.deadline_s, threshold=1)
        self._circuit.use_probe(lambda: remote.call("ping"))

    @override
    async def upsert(self, collection: Collection, points: Sequence[IndexPoint], *, user_id: str) -> None:
        await self._call("upsert", self._model, collection, list(points), user_id)

    @override
    async def delete(self, collection: Collection, point_ids: Sequence[str], *, user_id: str) -> None:
        await self._call("delete", self._model, collection, list(point_ids), user_id)

    @override
    async def delete_user(self, collection: Collection, *, user_id: str) -> None:
        await self._call("delete_user", self._model, collection, user_id, deadline_s=_SCAN_DEADLINE_S)

    @override
    async def get(self, collection: Collection, point_ids: Sequence[str], *, user_id: str) -> list[IndexPoint]:
        points: list[IndexPoint] = await self._call("get", self._model, collection, list(point_ids), user_id)
        return points

    @override
    async def search(self, queries: Sequence[IndexQuery], *, user_id: str) -> list[list[ScoredPoint]]:
        results: list[list[ScoredPoint]] = await self._call("search", self._model, list(queries), user_id)
        return results

    @override
    async def count(self, collection: Collection, *, user_id: str) -> int:
        return int(await self._call("count", self._model, collection, user_id))

    @override
    async def stored(self, collection: Collection, *, user_id: str) -> list[StoredPoint]:
        points: list[StoredPoint] = await self._call(
            "stored", self._model, collection, user_id, deadline_s=_SCAN_DEADLINE_S
        )
        return points

    @override
    async def users(self, collection: Collection) -> list[str]:
        users: list[str] = await self._call("users", self._model, collection, deadline_s=_SCAN_DEADLINE_S)
        return users

    @override
    async def ping(self) -> None:
        await self._call("ping")

    def figures(self) -> dict[str, float | str]:
        """The state of the circuit, for `/health/detailed` and `/metrics`."""
        return self._circuit.figures()

    async def close(self) -> None:
        """Stops probing a shard that is unavailable."""
        await self._circuit.close()

    async def _call(self, method: str, *args: Any, deadline_s: float | None = None) -> Any:
        return await self._circuit.call(
            lambda: _call_shard(self._remote, method, *args, deadline_s=deadline_s), deadline_s=deadline_s
        )


class RemoteGenerations(GenerationStore):
    """The VectorShard deployment as a `GenerationStore`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._indexes: dict[str, RemoteVectorIndex] = {}

    @override
    def index(self, model: VectorModel) -> RemoteVectorIndex:
        if model.model_id not in self._indexes:
            self._indexes[model.model_id] = RemoteVectorIndex(self._remote, model=model)
        return self._indexes[model.model_id]

    @override
    async def make_live(self, model: VectorModel) -> None:
        await _call_shard(self._remote, "make_live", model, deadline_s=_SCAN_DEADLINE_S)

    @override
    async def drop(self, model: VectorModel) -> None:
        await _call_shard(self._remote, "drop", model, deadline_s=_SCAN_DEADLINE_S)

    @override
    async def erase_user(self, user_id: str) -> int:
        return int(await _call_shard(self._remote, "erase_user", user_id, deadline_s=_SCAN_DEADLINE_S))

    @override
    async def erase_points(self, point_ids: Sequence[str], *, user_id: str) -> int:
        arguments = (list(point_ids), user_id)
        return int(await _call_shard(self._remote, "erase_points", *arguments, deadline_s=_SCAN_DEADLINE_S))

    @override
    async def purge(self) -> bool:
        return bool(await _call_shard(self._remote, "purge", deadline_s=_PURGE_DEADLINE_S))

    async def close(self) -> None:
        """Stops probing a shard that is unavailable."""
        for index in self._indexes.values():
            await index.close()


async def _call_shard(shard: Remote, method: str, *args: Any, deadline_s: float | None) -> Any:
    """Calls the shard; where it does not answer, its store is unavailable.

    Raises:
        StoreUnavailable: No replica answered, or its store is unavailable.
    """
    try:
        return await shard.call(method, *args, deadline_s=deadline_s)
    except StoreUnavailable:
        raise
    except Unavailable as error:
        raise StoreUnavailable(error.message, component=error.component) from error
