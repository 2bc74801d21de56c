"""The VectorShard deployment: the one process that owns the local vector files (STORES, qdrant-edge)."""

from collections.abc import Callable

from memory.ports.generations import VectorModel
from memory.ports.vectors import Collection, IndexPoint, IndexQuery, ScoredPoint, StoredPoint
from storage.edge.generations import EdgeGenerations


class VectorShard:
    """The embedded vector indexes, one a model, behind a handle; never more than one replica."""

    def __init__(self, *, generations: Callable[[], EdgeGenerations]) -> None:
        self._generations = generations()

    async def upsert(self, model: VectorModel, collection: Collection, points: list[IndexPoint], user_id: str) -> None:
        """See `VectorIndex.upsert`."""
        await (await self._generations.opened(model)).upsert(collection, points, user_id=user_id)

    async def delete(self, model: VectorModel, collection: Collection, point_ids: list[str], user_id: str) -> None:
        """See `VectorIndex.delete`."""
        await (await self._generations.opened(model)).delete(collection, point_ids, user_id=user_id)

    async def delete_user(self, model: VectorModel, collection: Collection, user_id: str) -> None:
        """See `VectorIndex.delete_user`."""
        await (await self._generations.opened(model)).delete_user(collection, user_id=user_id)

    async def get(
        self, model: VectorModel, collection: Collection, point_ids: list[str], user_id: str
    ) -> list[IndexPoint]:
        """See `VectorIndex.get`."""
        return await (await self._generations.opened(model)).get(collection, point_ids, user_id=user_id)

    async def search(self, model: VectorModel, queries: list[IndexQuery], user_id: str) -> list[list[ScoredPoint]]:
        """See `VectorIndex.search`."""
        return await (await self._generations.opened(model)).search(queries, user_id=user_id)

    async def count(self, model: VectorModel, collection: Collection, user_id: str) -> int:
        """See `VectorIndex.count`."""
        return await (await self._generations.opened(model)).count(collection, user_id=user_id)

    async def stored(self, model: VectorModel, collection: Collection, user_id: str) -> list[StoredPoint]:
        """See `VectorIndex.stored`."""
        return await (await self._generations.opened(model)).stored(collection, user_id=user_id)

    async def users(self, model: VectorModel, collection: Collection) -> list[str]:
        """See `VectorIndex.users`."""
        return await (await self._generations.opened(model)).users(collection)

    async def make_live(self, model: VectorModel) -> None:
        """See `GenerationStore.make_live`."""
        await self._generations.make_live(model)

    async def drop(self, model: VectorModel) -> None:
        """See `GenerationStore.drop`."""
        await self._generations.drop(model)

    async def ping(self) -> None:
        """See `VectorIndex.ping`."""
        await self._generations.ping()

    async def __del__(self) -> None:
        if hasattr(self, "_generations"):  # the constructor may have failed
            await self._generations.close()
