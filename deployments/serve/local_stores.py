"""The deployments that own a local store where no server is configured: VectorShard and SessionServer (STORES)."""

from collections.abc import Callable

from typing_extensions import override

from memory.ports.stores.generations import VectorModel
from memory.ports.stores.vectors import Collection, IndexPoint, IndexQuery, ScoredPoint, StoredPoint
from storage.edge.generations import EdgeGenerations
from storage.redis.server import LocalRedisServer

from ..telemetry.replicas import Figures, Reporting


class VectorShard:
    """The embedded vector indexes, one per model; one replica, since one process may have their files open."""

    def __init__(self, *, generations: Callable[[], EdgeGenerations]) -> None:
        self._generations = generations()

    async def upsert(self, model: VectorModel, collection: Collection, points: list[IndexPoint], user_id: str) -> None:
        """`VectorIndex.upsert`."""
        await (await self._generations.opened(model)).upsert(collection, points, user_id=user_id)

    async def delete(self, model: VectorModel, collection: Collection, point_ids: list[str], user_id: str) -> None:
        """`VectorIndex.delete`."""
        await (await self._generations.opened(model)).delete(collection, point_ids, user_id=user_id)

    async def delete_user(self, model: VectorModel, collection: Collection, user_id: str) -> None:
        """`VectorIndex.delete_user`."""
        await (await self._generations.opened(model)).delete_user(collection, user_id=user_id)

    async def get(
        self, model: VectorModel, collection: Collection, point_ids: list[str], user_id: str
    ) -> list[IndexPoint]:
        """`VectorIndex.get`."""
        return await (await self._generations.opened(model)).get(collection, point_ids, user_id=user_id)

    async def search(self, model: VectorModel, queries: list[IndexQuery], user_id: str) -> list[list[ScoredPoint]]:
        """`VectorIndex.search`."""
        return await (await self._generations.opened(model)).search(queries, user_id=user_id)

    async def count(self, model: VectorModel, collection: Collection, user_id: str) -> int:
        """`VectorIndex.count`."""
        return await (await self._generations.opened(model)).count(collection, user_id=user_id)

    async def stored(self, model: VectorModel, collection: Collection, user_id: str) -> list[StoredPoint]:
        """`VectorIndex.stored`."""
        return await (await self._generations.opened(model)).stored(collection, user_id=user_id)

    async def users(self, model: VectorModel, collection: Collection) -> list[str]:
        """`VectorIndex.users`."""
        return await (await self._generations.opened(model)).users(collection)

    async def erase_user(self, user_id: str) -> int:
        """`GenerationStore.erase_user`."""
        return await self._generations.erase_user(user_id)

    async def erase_points(self, point_ids: list[str], user_id: str) -> int:
        """`GenerationStore.erase_points`."""
        return await self._generations.erase_points(point_ids, user_id=user_id)

    async def purge(self) -> bool:
        """`GenerationStore.purge`."""
        return await self._generations.purge()

    async def make_live(self, model: VectorModel) -> None:
        """`GenerationStore.make_live`."""
        await self._generations.make_live(model)

    async def drop(self, model: VectorModel) -> None:
        """`GenerationStore.drop`."""
        await self._generations.drop(model)

    async def ping(self) -> None:
        """`VectorIndex.ping`."""
        await self._generations.ping()

    async def __del__(self) -> None:
        if hasattr(self, "_generations"):  # the constructor may have failed
            await self._generations.close()


class SessionServer(Reporting):
    """Starts the local Redis-protocol server, restarts it when it dies, stops it with the service; one replica."""

    def __init__(self, *, server: Callable[[], LocalRedisServer]) -> None:
        self._server = server()
        self._server.start()

    @override
    async def stats(self) -> Figures:
        return {"restarts": self._server.restarts}

    def check_health(self) -> None:
        """Raises where the server cannot be kept running (Ray Serve's hook)."""
        self._server.ensure_running()

    def __del__(self) -> None:
        if hasattr(self, "_server"):  # the constructor may have failed
            self._server.stop()
