"""The vector index on a Qdrant server (DESIGN §7; 000 §5.1, 001 §2.2, 002 §6.2)."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeVar
from urllib.parse import urlsplit

import structlog
from more_itertools import chunked
from qdrant_client import AsyncQdrantClient, models
from typing_extensions import override

from memory.ports.stores.vectors import Collection, IndexPoint, IndexQuery, ScoredPoint, StoredPoint, VectorIndex

from ..resilience.circuit import Circuit
from ..shared.checks import check_user
from ..shared.index_checks import check_points, check_query
from ..shared.index_points import (
    FINGERPRINT,
    POINT_ID,
    POINTS_AT_ONCE,
    USER_ID,
    FacetHit,
    can_match,
    list_owners,
    rank,
    read_point,
    read_stored,
    stored_ids,
)
from .calls import MissingCollection, QdrantCalls
from .collections import QdrantCollections
from .requests import search_request, stored_point, user_filter

T = TypeVar("T")
Quantisation = Literal["int8"]

_LOCAL = ("localhost", "127.0.0.1", "::1")
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class QdrantSettings:
    """Where a Qdrant server is and how it is used.

    Args:
        url: With its scheme, `http://qdrant:6333`.
        api_key: One that may read and write.
        deadline_s: How long a request may take.
        quantisation: Whether new collections hold their dense vectors in 8 bits as well, a quarter of the memory.
        prefer_grpc: Whether points travel over gRPC.
        grpc_port: Where, then.
    """

    url: str
    api_key: str | None = field(default=None, repr=False)
    deadline_s: float = 2.0
    quantisation: Quantisation | None = None
    prefer_grpc: bool = False
    grpc_port: int = 6334


def new_client(settings: QdrantSettings) -> AsyncQdrantClient:
    """A client of the server of these settings; sends nothing yet."""
    key = settings.api_key
    return AsyncQdrantClient(
        url=settings.url,
        headers=None if key is None else {"api-key": key},  # the parameter `api_key` warns even about localhost
        timeout=math.ceil(settings.deadline_s),
        prefer_grpc=settings.prefer_grpc,
        grpc_port=settings.grpc_port,
        check_compatibility=False,  # the check runs in a thread and only warns
    )


class QdrantVectors(VectorIndex):
    """Dense and sparse search over one collection per model and kind of point.

    Nothing is sent before the first use, and a server that is unavailable then is asked again at the next: it may start
    after this process. Writes return when they are on the server's disk log and searchable (`wait`).

    Args:
        client: A client of the server; it is closed with this.
        model_id: Catalogue id of the model whose vectors these are.
        dimension: Length of its vectors.
        circuit: Stands before the server.
        quantisation: See `QdrantSettings`.
        live: Whether the aliases must point to this model; false for a model that is being moved to (DESIGN §8).
    """

    def __init__(
        self,
        client: AsyncQdrantClient,
        *,
        model_id: str,
        dimension: int,
        circuit: Circuit,
        quantisation: Quantisation | None = None,
        live: bool = True,
    ) -> None:
        self._client = client
        self._dimension = dimension
        self._circuit = circuit
        self._quantised = quantisation is not None
        self._calls = QdrantCalls(circuit, probe=client.get_aliases)
        self._collections = QdrantCollections(
            client,
            calls=self._calls,
            model_id=model_id,
            dimension=dimension,
            quantised=self._quantised,
            live=live,
        )

    @classmethod
    def connect(cls, settings: QdrantSettings, *, model_id: str, dimension: int, live: bool = True) -> "QdrantVectors":
        """An index on the server of these settings; sends nothing yet."""
        key = settings.api_key
        address = urlsplit(settings.url)
        if key is not None and address.scheme == "http" and address.hostname not in _LOCAL:
            _log.warning("qdrant_key_unencrypted", host=address.hostname)
        return cls(
            new_client(settings),
            model_id=model_id,
            dimension=dimension,
            circuit=Circuit("vectors", deadline_s=settings.deadline_s),
            quantisation=settings.quantisation,
            live=live,
        )

    @override
    async def upsert(self, collection: Collection, points: Sequence[IndexPoint], *, user_id: str) -> None:
        check_user(user_id)
        check_points(points, collection, self._dimension)
        for batch in chunked(points, POINTS_AT_ONCE):
            structs = [stored_point(point, collection, user_id) for point in batch]
            await self._call(collection, partial(self._client.upsert, points=structs, wait=True))

    @override
    async def delete(self, collection: Collection, point_ids: Sequence[str], *, user_id: str) -> None:
        for batch in chunked(stored_ids(check_user(user_id), point_ids), POINTS_AT_ONCE):
            chosen = models.PointIdsList(points=list(batch))
            await self._call(collection, partial(self._client.delete, points_selector=chosen, wait=True))

    @override
    async def delete_user(self, collection: Collection, *, user_id: str) -> None:
        chosen = models.FilterSelector(filter=user_filter(check_user(user_id)))
        await self._call(collection, partial(self._client.delete, points_selector=chosen, wait=True))

    @override
    async def get(self, collection: Collection, point_ids: Sequence[str], *, user_id: str) -> list[IndexPoint]:
        found: dict[str, IndexPoint] = {}
        for batch in chunked(stored_ids(check_user(user_id), point_ids), POINTS_AT_ONCE):
            records = await self._call(
                collection,
                partial(self._client.retrieve, ids=batch, with_payload=True, with_vectors=True),
            )
            points = (read_point(record.payload or {}, record.vector, collection) for record in records)
            found |= {point.point_id: point for point in points}
        return [found[point_id] for point_id in point_ids if point_id in found]

    @override
    async def search(self, queries: Sequence[IndexQuery], *, user_id: str) -> list[list[ScoredPoint]]:
        check_user(user_id)
        for query in queries:
            check_query(query, self._dimension)
        positions: dict[Collection, list[int]] = {}
        for position, query in enumerate(queries):
            if can_match(query):
                positions.setdefault(query.collection, []).append(position)
        found = await asyncio.gather(
            *(
                self._search(collection, [queries[position] for position in chosen], user_id)
                for collection, chosen in positions.items()
            )
        )
        results: list[list[ScoredPoint]] = [[] for _ in queries]
        for chosen, batch in zip(positions.values(), found, strict=True):
            for position, hits in zip(chosen, batch, strict=True):
                results[position] = hits
        return results

    @override
    async def count(self, collection: Collection, *, user_id: str) -> int:
        chosen = user_filter(check_user(user_id))
        return (await self._call(collection, partial(self._client.count, count_filter=chosen, exact=True))).count

    @override
    async def stored(self, collection: Collection, *, user_id: str) -> list[StoredPoint]:
        chosen = user_filter(check_user(user_id))
        found: list[StoredPoint] = []
        after: models.ExtendedPointId | None = None
        while True:
            records, after = await self._call(
                collection,
                partial(
                    self._client.scroll,
                    scroll_filter=chosen,
                    limit=POINTS_AT_ONCE,
                    offset=after,
                    with_payload=[POINT_ID, FINGERPRINT],
                ),
            )
            found.extend(read_stored(record.payload or {}) for record in records)
            if after is None:
                return found

    @override
    async def users(self, collection: Collection) -> list[str]:
        async def facet(limit: int) -> Sequence[FacetHit]:
            request = partial(self._client.facet, key=USER_ID, limit=limit, exact=True)
            return (await self._call(collection, request)).hits

        return await list_owners(facet)

    @override
    async def ping(self) -> None:
        """Returns when the server answers, is new enough, and this model is live in it."""
        await self._collections.check()

    async def point_alias(self, collection: Collection, model_id: str) -> None:
        """Makes the collection of a model the live one, in one step (DESIGN §8).

        Raises:
            InvalidField: There is no such collection.
            StoreUnavailable: The server cannot answer.
        """
        await self._collections.point_alias(collection, model_id)

    async def make_live(self) -> None:
        """Makes this model's collections the live ones, all in one step (DESIGN §8).

        Raises:
            StoreUnavailable: The server cannot answer.
        """
        await self._collections.make_live()

    async def drop(self) -> None:
        """Deletes this model's collections; they are created again at the next use.

        Raises:
            StoreUnavailable: The server cannot answer; some of them may be gone.
        """
        await self._collections.drop()

    def figures(self) -> Mapping[str, float | str]:
        """State and totals for `/health/detailed`, without asking the server."""
        return self._circuit.figures()

    async def close(self) -> None:
        """Lets go of the connections."""
        await self._circuit.close()
        await self._client.close()

    async def _search(
        self, collection: Collection, queries: Sequence[IndexQuery], user_id: str
    ) -> list[list[ScoredPoint]]:
        requests = [search_request(query, user_id, quantised=self._quantised) for query in queries]
        replies = await self._call(collection, partial(self._client.query_batch_points, requests=requests))
        return [
            rank(ScoredPoint((hit.payload or {})[POINT_ID], hit.score) for hit in reply.points) for reply in replies
        ]

    async def _call(self, collection: Collection, request: Callable[[str], Awaitable[T]]) -> T:
        name = await self._collections.ready(collection)
        try:
            return await self._calls(lambda: request(name))
        except MissingCollection:
            self._collections.forget(collection)  # it is created again at the next use, and filled by `index rebuild`
            raise
