"""The vector index spoken through Ray Serve handles: one deployment, one index a model (DESIGN §8)."""

from collections.abc import Sequence
from typing import Any

from memory.ports.generations import GenerationStore, VectorModel
from memory.ports.vectors import Collection, IndexPoint, IndexQuery, ScoredPoint, StoredPoint, VectorIndex
from memory.values.errors import StoreUnavailable, Unavailable
from storage.resilience.circuit import Circuit

from .handles import Remote

_SCAN_DEADLINE_S = 60.0
"""For maintenance, which reads all that a user has."""


class RemoteVectorIndex(VectorIndex):
    """The VectorShard deployment as the index of one model; while it is known to be away, calls fail at once.

    Args:
        remote: The shard; its deadline is that of one call.
        model: Whose vectors.
        circuit: What a test wants; one that opens at the first failure where it is not given.
    """

    def __init__(self, remote: Remote, *, model: VectorModel, circuit: Circuit | None = None) -> None:
        self._remote = remote
        self._model = model
        self._circuit = circuit or Circuit(remote.component, deadline_s=remote.deadline_s, threshold=1)
        self._circuit.use_probe(lambda: remote.call("ping"))

    async def upsert(self, collection: Collection, points: Sequence[IndexPoint], *, user_id: str) -> None:
        """See `VectorIndex.upsert`."""
        await self._call("upsert", self._model, collection, list(points), user_id)

    async def delete(self, collection: Collection, point_ids: Sequence[str], *, user_id: str) -> None:
        """See `VectorIndex.delete`."""
        await self._call("delete", self._model, collection, list(point_ids), user_id)

    async def delete_user(self, collection: Collection, *, user_id: str) -> None:
        """See `VectorIndex.delete_user`."""
        await self._call("delete_user", self._model, collection, user_id, deadline_s=_SCAN_DEADLINE_S)

    async def get(self, collection: Collection, point_ids: Sequence[str], *, user_id: str) -> list[IndexPoint]:
        """See `VectorIndex.get`."""
        points: list[IndexPoint] = await self._call("get", self._model, collection, list(point_ids), user_id)
        return points

    async def search(self, queries: Sequence[IndexQuery], *, user_id: str) -> list[list[ScoredPoint]]:
        """See `VectorIndex.search`."""
        results: list[list[ScoredPoint]] = await self._call("search", self._model, list(queries), user_id)
        return results

    async def count(self, collection: Collection, *, user_id: str) -> int:
        """See `VectorIndex.count`."""
        return int(await self._call("count", self._model, collection, user_id))

    async def stored(self, collection: Collection, *, user_id: str) -> list[StoredPoint]:
        """See `VectorIndex.stored`."""
        points: list[StoredPoint] = await self._call(
            "stored", self._model, collection, user_id, deadline_s=_SCAN_DEADLINE_S
        )
        return points

    async def users(self, collection: Collection) -> list[str]:
        """See `VectorIndex.users`."""
        users: list[str] = await self._call("users", self._model, collection, deadline_s=_SCAN_DEADLINE_S)
        return users

    async def ping(self) -> None:
        """See `VectorIndex.ping`."""
        await self._call("ping")

    def figures(self) -> dict[str, float | str]:
        """How the way to the shard is, for `/health/detailed` and the metrics."""
        return self._circuit.figures()

    async def close(self) -> None:
        """Stops asking a shard that is away."""
        await self._circuit.close()

    async def _call(self, method: str, *args: Any, deadline_s: float | None = None) -> Any:
        return await self._circuit.call(
            lambda: _asked(self._remote, method, *args, deadline_s=deadline_s), deadline_s=deadline_s
        )


class RemoteGenerations(GenerationStore):
    """The VectorShard deployment as a `GenerationStore`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._indexes: dict[str, RemoteVectorIndex] = {}

    def index(self, model: VectorModel) -> RemoteVectorIndex:
        """See `GenerationStore.index`."""
        if model.model_id not in self._indexes:
            self._indexes[model.model_id] = RemoteVectorIndex(self._remote, model=model)
        return self._indexes[model.model_id]

    async def make_live(self, model: VectorModel) -> None:
        """See `GenerationStore.make_live`."""
        await _asked(self._remote, "make_live", model, deadline_s=_SCAN_DEADLINE_S)

    async def drop(self, model: VectorModel) -> None:
        """See `GenerationStore.drop`."""
        await _asked(self._remote, "drop", model, deadline_s=_SCAN_DEADLINE_S)

    async def close(self) -> None:
        """Stops asking a shard that is away."""
        for index in self._indexes.values():
            await index.close()


async def _asked(shard: Remote, method: str, *args: Any, deadline_s: float | None) -> Any:
    """What the shard answers; however it is away, the store is.

    Raises:
        StoreUnavailable: No replica answered, or its store is away.
    """
    try:
        return await shard.call(method, *args, deadline_s=deadline_s)
    except StoreUnavailable:
        raise
    except Unavailable as error:
        raise StoreUnavailable(error.message, component=error.component) from error
