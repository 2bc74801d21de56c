"""The VectorShard deployment: the one process that owns the local vector files (STORES, qdrant-edge)."""

from collections.abc import Callable

from memory.ports.vectors import Collection, IndexPoint, IndexQuery, ScoredPoint, StoredPoint
from storage.edge_vectors import EdgeVectors


class VectorShard:
    """The embedded vector index behind a handle; never more than one replica."""

    def __init__(self, *, index: Callable[[], EdgeVectors]) -> None:
        self._index = index()

    async def upsert(self, collection: Collection, points: list[IndexPoint], user_id: str) -> None:
        """See `VectorIndex.upsert`."""
        await self._index.upsert(collection, points, user_id=user_id)

    async def delete(self, collection: Collection, point_ids: list[str], user_id: str) -> None:
        """See `VectorIndex.delete`."""
        await self._index.delete(collection, point_ids, user_id=user_id)

    async def delete_user(self, collection: Collection, user_id: str) -> None:
        """See `VectorIndex.delete_user`."""
        await self._index.delete_user(collection, user_id=user_id)

    async def get(self, collection: Collection, point_ids: list[str], user_id: str) -> list[IndexPoint]:
        """See `VectorIndex.get`."""
        return await self._index.get(collection, point_ids, user_id=user_id)

    async def search(self, queries: list[IndexQuery], user_id: str) -> list[list[ScoredPoint]]:
        """See `VectorIndex.search`."""
        return await self._index.search(queries, user_id=user_id)

    async def count(self, collection: Collection, user_id: str) -> int:
        """See `VectorIndex.count`."""
        return await self._index.count(collection, user_id=user_id)

    async def stored(self, collection: Collection, user_id: str) -> list[StoredPoint]:
        """See `VectorIndex.stored`."""
        return await self._index.stored(collection, user_id=user_id)

    async def users(self, collection: Collection) -> list[str]:
        """See `VectorIndex.users`."""
        return await self._index.users(collection)

    async def ping(self) -> None:
        """See `VectorIndex.ping`."""
        await self._index.ping()

    async def __del__(self) -> None:
        if hasattr(self, "_index"):  # the constructor may have failed
            await self._index.close()
