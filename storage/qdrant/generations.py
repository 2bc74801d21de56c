"""Generations of the vector index on a Qdrant server: one set of collections a model (DESIGN §8)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from more_itertools import chunked
from qdrant_client import AsyncQdrantClient, models
from typing_extensions import override

from memory.ports.stores.generations import GenerationStore, VectorModel
from memory.ports.stores.vectors import Collection

from ..resilience.circuit import Circuit
from ..shared.checks import check_user
from ..shared.index_points import POINTS_AT_ONCE, stored_ids
from .calls import QdrantCalls
from .requests import user_filter
from .vectors import QdrantSettings, QdrantVectors, new_client

_ERASE_DEADLINE_S = 60.0
_OURS = tuple(f"{collection.value}__" for collection in Collection)


class QdrantGenerations(GenerationStore):
    """One client a model, made at its first use; sends nothing before.

    Args:
        settings: Where the server is.
    """

    def __init__(self, settings: QdrantSettings) -> None:
        self._settings = settings
        self._indexes: dict[str, QdrantVectors] = {}

    @override
    def index(self, model: VectorModel) -> QdrantVectors:
        if model.model_id not in self._indexes:
            self._indexes[model.model_id] = QdrantVectors.connect(
                self._settings, model_id=model.model_id, dimension=model.dimension, live=False
            )
        return self._indexes[model.model_id]

    @override
    async def make_live(self, model: VectorModel) -> None:
        await self.index(model).make_live()

    @override
    async def drop(self, model: VectorModel) -> None:
        await self.index(model).drop()

    @override
    async def erase_user(self, user_id: str) -> int:
        owned = user_filter(check_user(user_id))
        return await self._with_patience(lambda client, calls: _delete_everywhere(client, calls, owned))

    @override
    async def erase_points(self, point_ids: Sequence[str], *, user_id: str) -> int:
        ids = stored_ids(check_user(user_id), point_ids)
        return await self._with_patience(lambda client, calls: _delete_points(client, calls, ids))

    async def _with_patience(self, work: Callable[[AsyncQdrantClient, QdrantCalls], Awaitable[int]]) -> int:
        client = new_client(replace(self._settings, deadline_s=_ERASE_DEADLINE_S))
        calls = QdrantCalls(Circuit("vectors", deadline_s=_ERASE_DEADLINE_S))
        try:
            return await work(client, calls)
        finally:
            await client.close()

    @override
    async def purge(self) -> bool:
        """Nothing: the server frees deleted points when it optimises their segments."""
        return False

    async def close(self) -> None:
        """Lets go of the connections."""
        for index in self._indexes.values():
            await index.close()


async def _delete_points(client: AsyncQdrantClient, calls: QdrantCalls, ids: Sequence[str]) -> int:
    """Deletes points by their ids from all collections of this program; how many there were."""
    deleted = 0
    for found in (await calls(client.get_collections)).collections:
        for batch in chunked(ids, POINTS_AT_ONCE) if found.name.startswith(_OURS) else ():
            known = await calls(partial(client.retrieve, found.name, ids=batch, with_payload=False, with_vectors=False))
            chosen = models.PointIdsList(points=[record.id for record in known])
            if known:
                await calls(partial(client.delete, found.name, points_selector=chosen, wait=True))
            deleted += len(known)
    return deleted


async def _delete_everywhere(client: AsyncQdrantClient, calls: QdrantCalls, owned: models.Filter) -> int:
    """Deletes points from all collections of this program; how many there were."""
    deleted = 0
    for found in (await calls(client.get_collections)).collections:
        if found.name.startswith(_OURS):
            count = await calls(partial(client.count, found.name, count_filter=owned, exact=True))
            chosen = models.FilterSelector(filter=owned)
            await calls(partial(client.delete, found.name, points_selector=chosen, wait=True))
            deleted += count.count
    return deleted
