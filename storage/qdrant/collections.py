"""Collections of a Qdrant server: made on first use, and which model's are live (DESIGN §7, §8)."""

import asyncio
import re
from collections.abc import Sequence
from functools import partial

import structlog
from qdrant_client import AsyncQdrantClient, models

from memory.ports.stores.vectors import Collection
from memory.values.errors import InvalidField

from ..shared.index_checks import unavailable
from ..shared.index_points import DENSE, SPARSE, indexed_fields, scanned_points, stored_name
from .calls import QdrantCalls, RefusedRequest
from .requests import index_schema, vectors_config

OLDEST = (1, 19)
"""The first version that computes IDF over one user's points; before, users would see each other in the scores."""

# No graph over everybody's points, one for each tenant: all searches are of one user (Qdrant, "Multitenancy").
_HNSW = models.HnswConfigDiff(m=0, payload_m=16)
_VERSION = re.compile(r"(\d+)\.(\d+)\.")
_log = structlog.get_logger(__name__)


class QdrantCollections:
    """The collections of one model, each behind the alias that its base name is.

    Requests go to the model's own collection and not to the alias, so that a process whose model was replaced meanwhile
    never compares its vectors with another model's. The alias says which model is live.

    Args:
        client: A client of the server.
        calls: Sends requests.
        model_id: Catalogue id of the model.
        dimension: Length of its vectors.
        quantised: Whether new collections hold their dense vectors in 8 bits as well.
        live: Whether the aliases must point to this model; false for a model that is being moved to (DESIGN §8).
    """

    def __init__(
        self,
        client: AsyncQdrantClient,
        *,
        calls: QdrantCalls,
        model_id: str,
        dimension: int,
        quantised: bool,
        live: bool,
    ) -> None:
        self._client = client
        self._calls = calls
        self._model_id = model_id
        self._dimension = dimension
        self._quantised = quantised
        self._live = live
        self._ready: set[Collection] = set()
        self._preparing = asyncio.Lock()

    async def ready(self, collection: Collection) -> str:
        """The name of the model's collection on the server, which exists, indexed and live, when this returns.

        Raises:
            StoreUnavailable: The server cannot answer or is too old, or the collection is another model's.
        """
        name = stored_name(collection, self._model_id)
        if collection not in self._ready:
            async with self._preparing:
                if collection not in self._ready:
                    await self._prepare(collection, name)
                    self._ready.add(collection)
        return name

    def forget(self, collection: Collection) -> None:
        """Looks again, at the next use, whether the collection is there."""
        self._ready.discard(collection)

    async def check(self) -> None:
        """Returns when the server answers, is new enough, and this model is live in it.

        Raises:
            StoreUnavailable: One of these is not so.
        """
        await self._check_version()
        live = await self._aliases()  # also where none is expected: unlike the version, nobody reads them without a key
        if self._live:
            for collection in Collection:
                self._check_live(collection, live)

    async def point_alias(self, collection: Collection, model_id: str) -> None:
        """Makes the collection of a model the live one, in one step, so that there is always one.

        Raises:
            InvalidField: There is no such collection.
            StoreUnavailable: The server cannot answer.
        """
        await self._point([collection], model_id)

    async def make_live(self) -> None:
        """Makes this model's collections the live ones, all in one step, and creates missing ones.

        Raises:
            StoreUnavailable: The server cannot answer or is too old.
        """
        for collection in Collection:
            await self.ready(collection)
        await self._point([*Collection], self._model_id)

    async def drop(self) -> None:
        """Deletes this model's collections; missing ones are skipped.

        Raises:
            StoreUnavailable: The server cannot answer; some of them may be gone.
        """
        for collection in Collection:
            name = stored_name(collection, self._model_id)
            if await self._exists(name):
                await self._calls(partial(self._client.delete_collection, name))
                _log.info("qdrant_collection_dropped", collection=name)
            self.forget(collection)

    async def _point(self, collections: Sequence[Collection], model_id: str) -> None:
        names = {collection: stored_name(collection, model_id) for collection in collections}
        for name in names.values():
            if not await self._exists(name):
                raise InvalidField(f"There is no collection {name} to make live.", field="model_id")
        live = await self._aliases()
        operations: list[models.AliasOperations] = []
        for collection, name in names.items():
            if live.get(collection.value) == name:
                continue
            if collection.value in live:
                old = models.DeleteAlias(alias_name=collection.value)
                operations.append(models.DeleteAliasOperation(delete_alias=old))
            alias = models.CreateAlias(collection_name=name, alias_name=collection.value)
            operations.append(models.CreateAliasOperation(create_alias=alias))
        if operations:
            await self._calls(lambda: self._client.update_collection_aliases(operations))
            _log.info("qdrant_aliases_moved", collections=sorted(names.values()))
        for collection in collections:
            self.forget(collection)

    async def _prepare(self, collection: Collection, name: str) -> None:
        await self._check_version()
        live = await self._aliases() if self._live else {}
        self._check_live(collection, live)
        if not await self._exists(name):
            await self._create(name, collection)
        await self._complete(collection, name)
        if self._live and collection.value not in live:
            await self.point_alias(collection, self._model_id)

    async def _create(self, name: str, collection: Collection) -> None:
        try:
            await self._calls(
                lambda: self._client.create_collection(
                    name,
                    vectors_config=vectors_config(self._dimension, quantised=self._quantised),
                    sparse_vectors_config={
                        SPARSE: models.SparseVectorParams(
                            modifier=models.Modifier.IDF,
                            index=models.SparseIndexParams(full_scan_threshold=scanned_points(collection)),
                        )
                    },
                    hnsw_config=_HNSW,
                )
            )
            _log.info("qdrant_collection_created", collection=name, quantised=self._quantised)
        except RefusedRequest:
            if not await self._exists(name):  # another process may have created it meanwhile
                raise

    async def _complete(self, collection: Collection, name: str) -> None:
        """Adds the indexes that the collection lacks; a crash or another process may have created some of them."""
        info = await self._calls(lambda: self._client.get_collection(name))
        vectors = info.config.params.vectors
        dense = vectors.get(DENSE) if isinstance(vectors, dict) else None
        if dense is None:
            raise unavailable(f"{name} was not made by Jiyi: it has no vectors named {DENSE}")
        if dense.size != self._dimension:
            raise unavailable(f"{name} holds vectors of length {dense.size}, not {self._dimension}")
        for field, kind in indexed_fields(collection).items():
            if field not in info.payload_schema:
                schema = index_schema(field, kind)
                await self._calls(partial(self._client.create_payload_index, name, field, schema))

    async def _check_version(self) -> None:
        version = (await self._calls(self._client.info)).version
        numbers = _VERSION.match(version)
        if numbers is None:
            raise unavailable(f"Qdrant calls its version {version!r}, which is no number")
        if (int(numbers[1]), int(numbers[2])) < OLDEST:
            needed = ".".join(str(number) for number in OLDEST)
            raise unavailable(f"Qdrant {version} is too old: {needed} is the first that keeps users' statistics apart")

    async def _aliases(self) -> dict[str, str]:
        aliases = (await self._calls(self._client.get_aliases)).aliases
        return {alias.alias_name: alias.collection_name for alias in aliases}

    async def _exists(self, name: str) -> bool:
        return await self._calls(lambda: self._client.collection_exists(name))

    def _check_live(self, collection: Collection, live: dict[str, str]) -> None:
        expected = stored_name(collection, self._model_id)
        found = live.get(collection.value, expected)
        if found != expected:
            raise unavailable(f"{found} is live, but the model is {self._model_id}: embed again, or change the model")
