"""The embedded vector index: Qdrant's engine in this process, which owns the files alone (STORES, qdrant-edge-py)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import qdrant_edge as edge
import structlog
from more_itertools import chunked
from typing_extensions import override

from memory.ports.stores.vectors import Collection, IndexPoint, IndexQuery, ScoredPoint, StoredPoint, VectorIndex
from memory.values.errors import StoreUnavailable

from ..shared.checks import check_user
from ..shared.encryption import NO_CIPHER, Cipher, Undecipherable, claim_folder
from ..shared.index_checks import check_points, check_query, unavailable
from ..shared.index_points import (
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
    stored_name,
)
from .errors import REBUILD, translate_errors
from .requests import EngineId, Requests, with_keywords
from .shards import Aliases, OutdatedShard, create_copy, may_hold_points, open_shard, replace_by_copy, set_aside

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class EdgeVectors(VectorIndex):
    """Dense and sparse search over one shard a collection.

    Every call of the engine holds the interpreter's lock, so calls run in one thread of their own, at most 256 points
    each; give this class a process of its own.

    Durability: the engine's write-ahead log is on, so what was acknowledged survives a killed process. Against a power
    cut the shards are flushed on `close`, on `flush`, and at the latest `flush_interval_s` after a write. Flushing each
    write would cost 24 ms (STORES) and buy little: this is a projection that can be rebuilt. A caller that takes
    something off the outbox for good may `flush` first.

    Args:
        shards: An open shard for each collection.
        folders: Where each of them is.
        dimension: Length of the dense vectors.
        flush_interval_s: See above.
        cipher: Encrypts the keyword fields of payloads. Vectors, times and numbers stay in clear: the engine computes
            with them.
    """

    def __init__(
        self,
        shards: dict[Collection, edge.EdgeShard],
        *,
        folders: Mapping[Collection, Path],
        dimension: int,
        flush_interval_s: float,
        cipher: Cipher = NO_CIPHER,
    ) -> None:
        self._shards = shards
        self._folders = folders
        self._copies: dict[Collection, edge.EdgeShard] = {}
        self._rewriting = asyncio.Lock()
        self._cipher = cipher
        self._requests = Requests(cipher)
        self._dimension = dimension
        self._flush_interval_s = flush_interval_s
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="edge-vectors")
        self._unflushed: set[Collection] = set()
        self._flush_timer: asyncio.TimerHandle | None = None
        self._closed = False

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        model_id: str,
        dimension: int,
        flush_interval_s: float = 5.0,
        live: bool = True,
        cipher: Cipher = NO_CIPHER,
    ) -> "EdgeVectors":
        """Opens a model's shards, creating them on first use; blocks, so call it while starting.

        Args:
            folder: Where the shards are; no other process may have it open.
            model_id: Catalogue id of the model whose vectors these are.
            dimension: Length of its vectors.
            flush_interval_s: How long a write may wait until it is safe from a power cut.
            live: Whether the aliases must point to this model, and do where there are none yet; false for one of
                several generations, of which the record says which is live (DESIGN §8).
            cipher: Encrypts payloads; the same for all shards of the folder.

        Raises:
            StoreUnavailable: Another process owns the files, the live ones hold vectors of another model, they have
                another key, or they are damaged.
        """
        claim_folder(folder, cipher, component="vectors")
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise unavailable(f"{folder} cannot be created ({error})") from error
        aliases = Aliases(folder) if live else None
        shards: dict[Collection, edge.EdgeShard] = {}
        try:
            for collection in Collection:
                shards[collection] = _open(folder, aliases, collection, model_id, dimension)
        except StoreUnavailable:
            for shard in shards.values():
                shard.close()
            raise
        folders = {collection: folder / stored_name(collection, model_id) for collection in Collection}
        return cls(shards, folders=folders, dimension=dimension, flush_interval_s=flush_interval_s, cipher=cipher)

    @override
    async def upsert(self, collection: Collection, points: Sequence[IndexPoint], *, user_id: str) -> None:
        """Adds points or replaces those with the same id; batches of 256, each whole or not at all."""
        check_user(user_id)
        check_points(points, collection, self._dimension)
        for batch in chunked(points, POINTS_AT_ONCE):
            await self._write(collection, partial(self._requests.upsert, batch, collection, user_id))

    @override
    async def delete(self, collection: Collection, point_ids: Sequence[str], *, user_id: str) -> None:
        for batch in chunked(stored_ids(check_user(user_id), point_ids), POINTS_AT_ONCE):
            await self._write(collection, partial(edge.UpdateOperation.delete_points, list(batch)))

    @override
    async def delete_user(self, collection: Collection, *, user_id: str) -> None:
        chosen = self._requests.user_filter(check_user(user_id))
        await self._write(collection, partial(edge.UpdateOperation.delete_points_by_filter, chosen))

    @override
    async def get(self, collection: Collection, point_ids: Sequence[str], *, user_id: str) -> list[IndexPoint]:
        found: dict[str, IndexPoint] = {}
        for batch in chunked(stored_ids(check_user(user_id), point_ids), POINTS_AT_ONCE):
            records = await self._ask(collection, partial(_retrieve, list(batch)))
            points = (
                read_point(self._opened(record.payload, collection), record.vector, collection) for record in records
            )
            found |= {point.point_id: point for point in points}
        return [found[point_id] for point_id in point_ids if point_id in found]

    @override
    async def search(self, queries: Sequence[IndexQuery], *, user_id: str) -> list[list[ScoredPoint]]:
        check_user(user_id)
        for query in queries:
            check_query(query, self._dimension)
        return await self._run(lambda: self._search(queries, user_id))

    @override
    async def count(self, collection: Collection, *, user_id: str) -> int:
        request = edge.CountRequest(exact=True, filter=self._requests.user_filter(check_user(user_id)))
        return await self._ask(collection, lambda shard: shard.count(request))

    @override
    async def stored(self, collection: Collection, *, user_id: str) -> list[StoredPoint]:
        """All points of this user, read 256 at a time: other calls run between the pages."""
        check_user(user_id)
        found: list[StoredPoint] = []
        after: EngineId | None = None
        while True:
            page = self._requests.scroll(user_id, after=after, limit=POINTS_AT_ONCE)
            records, after = await self._ask(collection, partial(_scroll, page))
            found.extend(read_stored(record.payload or {}) for record in records)
            if after is None:
                return found

    @override
    async def users(self, collection: Collection) -> list[str]:
        async def facet(limit: int) -> Sequence[FacetHit]:
            request = edge.FacetRequest(USER_ID, limit=limit, exact=True)
            return (await self._ask(collection, lambda shard: shard.facet(request))).hits

        return await list_owners(facet, self._requests.owner)

    @override
    async def ping(self) -> None:
        """Returns when all earlier work is done and the shards answer."""
        await self._run(lambda: [shard.info() for shard in self._shards.values()])

    async def flush(self) -> None:
        """Returns when everything written is safe from a power cut."""
        await self._run(self._flush)

    async def vacuum(self) -> None:
        """Frees the space of replaced and deleted points; blocks the interpreter, so run it at night."""
        await self._run(lambda: [shard.optimize() for shard in self._shards.values()])

    async def rewrite(self) -> None:
        """Copies the points to new shards and deletes the old ones, with all that replaced and deleted points left.

        The engine keeps deleted points in its write-ahead log and its pages, also when it optimises. Other calls run
        between the pages of the copy; writes go to both shards meanwhile.

        Raises:
            StoreUnavailable: A shard could not be rewritten; it is as before.
        """
        async with self._rewriting:
            for collection, folder in self._folders.items():
                if await self._run(partial(may_hold_points, folder)):
                    await self._rewrite(collection)

    async def close(self) -> None:
        """Flushes and closes the files; another process may then open them."""
        if self._closed:
            return
        if self._flush_timer is not None:
            self._flush_timer.cancel()
        try:
            await self._run(self._close_shards)
        finally:
            self._closed = True
            self._thread.shutdown(wait=False)

    async def _rewrite(self, collection: Collection) -> None:
        folder = self._folders[collection]
        try:
            self._copies[collection] = await self._run(partial(create_copy, folder, self._dimension, collection))
            after: EngineId | None = None
            while True:
                after = await self._run(partial(self._copy_page, collection, after))
                if after is None:
                    break
            await self._run(partial(self._use_copy, collection))
        finally:
            if copy := self._copies.pop(collection, None):
                await self._run(copy.close)

    def _copy_page(self, collection: Collection, after: EngineId | None) -> EngineId | None:
        """Copies the points from the id `after` on; returns the id of the next page. Nothing is written meanwhile."""
        request = edge.ScrollRequest(offset=after, limit=POINTS_AT_ONCE, with_payload=True, with_vector=True)
        records, following = self._shards[collection].scroll(request)
        points = [edge.Point(record.id, record.vector or {}, record.payload) for record in records]
        if points:
            self._copies[collection].update(edge.UpdateOperation.upsert_points(points))
        return following

    def _use_copy(self, collection: Collection) -> None:
        self._copies.pop(collection).close()
        self._shards[collection].close()
        folder = self._folders[collection]
        try:
            replace_by_copy(folder)
        finally:
            self._shards[collection] = open_shard(folder, collection=collection, dimension=self._dimension)

    async def _write(self, collection: Collection, operation: Callable[[], edge.UpdateOperation]) -> None:
        def work() -> None:
            self._shards[collection].update(operation())
            if copy := self._copies.get(collection):
                copy.update(operation())
            self._unflushed.add(collection)

        await self._run(work)
        if self._flush_timer is None:
            loop = asyncio.get_running_loop()
            self._flush_timer = loop.call_later(self._flush_interval_s, self._flush_later)

    async def _ask(self, collection: Collection, read: Callable[[edge.EdgeShard], T]) -> T:
        """Reads the shard that is in its place when its turn comes: `rewrite` may put another there meanwhile."""
        return await self._run(lambda: read(self._shards[collection]))

    async def _run(self, work: Callable[[], T]) -> T:
        if self._closed:
            raise unavailable("it is closed")
        return await asyncio.get_running_loop().run_in_executor(self._thread, translate_errors, work)

    def _search(self, queries: Sequence[IndexQuery], user_id: str) -> list[list[ScoredPoint]]:
        results: list[list[ScoredPoint]] = [[] for _ in queries]
        for collection, shard in self._shards.items():
            positions = [
                position
                for position, query in enumerate(queries)
                if query.collection is collection and can_match(query)
            ]
            if positions:
                batch = edge.QueryBatchRequest(
                    [self._requests.search(queries[position], user_id) for position in positions]
                )
                for position, hits in zip(positions, shard.query_batch(batch), strict=True):
                    results[position] = rank(ScoredPoint((hit.payload or {})[POINT_ID], hit.score) for hit in hits)
        return results

    def _opened(self, payload: Mapping[str, Any] | None, collection: Collection) -> dict[str, Any]:
        try:
            return with_keywords(payload or {}, collection, self._cipher.open)
        except Undecipherable as error:
            raise unavailable(f"{error}; {REBUILD}") from error

    def _close_shards(self) -> None:
        for shard in self._shards.values():
            shard.close()

    def _flush(self) -> None:
        while self._unflushed:
            collection = next(iter(self._unflushed))
            self._shards[collection].flush()
            self._unflushed.discard(collection)

    def _flush_later(self) -> None:
        self._flush_timer = None
        self._thread.submit(self._flush_and_log)

    def _flush_and_log(self) -> None:
        try:
            translate_errors(self._flush)
        except StoreUnavailable as error:
            _log.warning("vectors_flush_failed", error=error.message)


def _retrieve(point_ids: list[EngineId], shard: edge.EdgeShard) -> list[edge.Record]:
    return shard.retrieve(point_ids, True, True)


def _scroll(page: edge.ScrollRequest, shard: edge.EdgeShard) -> tuple[list[edge.Record], EngineId | None]:
    return shard.scroll(page)


def _open(
    folder: Path, aliases: Aliases | None, collection: Collection, model_id: str, dimension: int
) -> edge.EdgeShard:
    name = stored_name(collection, model_id)
    known = aliases.read() if aliases else {}
    live = known.get(collection.value, name)
    if live != name:
        raise unavailable(f"{live} is live, but the model is {model_id}: embed again, or change the model")
    try:
        shard = open_shard(folder / name, collection=collection, dimension=dimension)
    except OutdatedShard as error:
        # An empty index is rebuilt from a record that is not empty (memory.indexing.indexer).
        aside = set_aside(folder, [name])
        _log.warning("index_outdated", error=error.message, set_aside=[str(path) for path in aside])
        shard = open_shard(folder / name, collection=collection, dimension=dimension)
    if aliases and collection.value not in known:
        aliases.point(collection, name)
    return shard
