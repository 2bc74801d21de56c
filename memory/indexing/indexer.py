"""Embeds and indexes the items of the outbox, which keeps the index a projection of the record (DESIGN §7)."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from weakref import WeakValueDictionary

import structlog
from more_itertools import chunked

from ..language.keywords import KeywordAnalyzer
from ..ports.models.language import Encoder, Priority, TextKind
from ..ports.stores.generations import EmbeddedItem, VectorSpace, VectorSpaces, each_once
from ..ports.stores.record import OutboxEntry, SystemOfRecord
from ..ports.stores.vectors import Collection, FloatVector
from ..typed_memories.rechecking import ConflictRecheck
from ..values.errors import StoreUnavailable
from .generations import PerSpace
from .projection import Projection, has_same_vector
from .record_pages import COUNTED_AS, WHOLE_OUTBOX, Projections, all_users, project_items, projected_pages, waiting_ids
from .retrying import RetriedEncoder

INDEX_BATCH = 64
_log = structlog.get_logger(__name__)


class Indexer:
    """Indexes the outbox, one task for each user at a time; every step can be repeated.

    An entry leaves the outbox when every written space has it, and when a typed memory that was stored without the
    check for conflicts has been checked. Before anything is indexed, items that the live index has lost are requeued.

    Args:
        record: Stores the outbox and its items.
        spaces: The spaces to write.
        analyzer: Computes the keyword terms.
        rechecks: Check typed memories for conflicts, one for each space; None skips the check.

    Attributes:
        requeued: Items requeued because the index had lost them.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        spaces: VectorSpaces,
        analyzer: KeywordAnalyzer,
        rechecks: PerSpace[ConflictRecheck] | None = None,
    ) -> None:
        self._record = record
        self._spaces = spaces
        self._analyzer = analyzer
        self._rechecks = rechecks
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._loss_lock = asyncio.Lock()
        self._checked_for_loss: VectorSpace | None = None
        self.requeued = 0

    def lock(self, user_id: str) -> asyncio.Lock:
        """The lock of a user's learning and indexing, under which the user's part of the index does not change."""
        return self._locks.setdefault(user_id, asyncio.Lock())

    async def index(self, *, user_id: str, priority: Priority = Priority.BATCH, batches: int | None = None) -> int:
        """Indexes a user's outbox; returns the number of items.

        Args:
            user_id: The user.
            priority: Priority of the encoder's work.
            batches: At most so many batches of `INDEX_BATCH`; None for all.

        Raises:
            Unavailable: The encoder or a store is down; the rest stays in the outbox.
        """
        async with self.lock(user_id):
            return await self._index_outbox(user_id, priority, batches=batches)

    async def index_without_encoding(self, *, user_id: str) -> int:
        """Indexes the items of a user's outbox that are deleted or have vectors in every space; returns their number.

        Raises:
            Unavailable: A store is down; the rest stays in the outbox.
        """
        async with self.lock(user_id):
            await self.check_for_loss()
            indexed = 0
            with self._loss_possible():
                entries = await self._record.backlog.outbox(limit=WHOLE_OUTBOX, user_id=user_id)
                for collection, group in groupby(sorted(entries, key=_collection), key=_collection):
                    for batch in chunked(group, INDEX_BATCH):
                        done = await self._index_embedded_batch(user_id, collection, batch)
                        await self._acknowledge(user_id, collection, done)
                        indexed += len(done)
            return indexed

    async def reindex(self, collection: Collection, item_ids: Sequence[str], *, user_id: str) -> None:
        """Writes the points of these items again, vectors included, or deletes them.

        They go through the outbox, so that an interruption loses none.

        Raises:
            Unavailable: See `index`.
        """
        async with self.lock(user_id):
            await self._record.backlog.requeue(collection, item_ids, user_id=user_id)
            await self._index_outbox(user_id, Priority.BATCH, encode_all=True)

    async def write_embedded(
        self, space: VectorSpace, collection: Collection, items: Sequence[EmbeddedItem], *, user_id: str
    ) -> int:
        """Writes vectors that were computed earlier to one space, for the items that have not changed since.

        It does not wait for the user's lock, which may be held as long as the encoder is unavailable. The items are
        therefore read again after the write: an item that was changed or deleted meanwhile is queued in the outbox
        again, because it may have been indexed in between; an item that changes later is queued by its change.

        Returns:
            The number of items written.

        Raises:
            StoreUnavailable: A store is down; the call can be repeated.
        """
        await self.check_for_loss()
        embedded = {item.item_id: item for item in items}
        unchanged = {
            item_id: item
            for item_id, item in (await self._read(collection, [*embedded], user_id)).items()
            if item and has_same_vector(item.fingerprint(space.encoder.model_id), embedded[item_id].fingerprint)
        }
        vectors = {item_id: embedded[item_id].vector for item_id in unchanged}
        with self._loss_possible():
            await self._write(space, collection, [*unchanged.values()], vectors, user_id=user_id)
        now = await self._read(collection, [*unchanged], user_id)
        if changed := [item_id for item_id, item in unchanged.items() if now.get(item_id) != item]:
            await self._record.backlog.requeue(collection, changed, user_id=user_id)
        return len(unchanged)

    async def check_for_loss(self) -> None:
        """Requeues the items that the live index has lost; once, and again after an outage or a switch of the model.

        Raises:
            Unavailable: A store is down.
        """
        async with self._loss_lock:
            space = await self._spaces.live()
            if self._checked_for_loss is not space:
                self.requeued += await requeue_lost(self._record, space)
                self._checked_for_loss = space

    @contextmanager
    def _loss_possible(self) -> Iterator[None]:
        """Repeats `check_for_loss` after an outage, since the index may come back empty."""
        try:
            yield
        except StoreUnavailable:
            self._checked_for_loss = None
            raise

    async def _read(self, collection: Collection, item_ids: Sequence[str], user_id: str) -> Projections:
        async with self._record.reading(user_id=user_id) as unit:
            return await project_items(unit, collection, item_ids)

    async def _index_outbox(
        self, user_id: str, priority: Priority, *, batches: int | None = None, encode_all: bool = False
    ) -> int:
        """Indexes the outbox in batches; the caller holds the user's lock.

        Args:
            user_id: The user.
            priority: Priority of the encoder's work.
            batches: See `index`.
            encode_all: Also encode texts whose vectors are in the index.
        """
        await self.check_for_loss()
        indexed = done = 0
        with self._loss_possible():
            while batches is None or done < batches:
                entries = await self._record.backlog.outbox(limit=INDEX_BATCH, user_id=user_id)
                if not entries:
                    break
                for collection, group in groupby(sorted(entries, key=_collection), key=_collection):
                    batch = list(group)
                    await self._index_batch(user_id, collection, batch, priority, encode_all=encode_all)
                    await self._acknowledge(user_id, collection, batch)
                indexed += len(entries)
                done += 1
        return indexed

    async def _acknowledge(self, user_id: str, collection: Collection, entries: Sequence[OutboxEntry]) -> None:
        """Removes entries from the outbox, after the pending conflict checks of typed memories."""
        if not entries:
            return
        if self._rechecks and collection is Collection.FACTS:
            recheck = await self._rechecks.current()
            await recheck.check([entry.item_id for entry in entries], user_id=user_id)
        await self._record.backlog.acknowledge(entries)

    async def _index_batch(
        self,
        user_id: str,
        collection: Collection,
        entries: Sequence[OutboxEntry],
        priority: Priority,
        *,
        encode_all: bool,
    ) -> None:
        spaces, items, gone = await self._look_up(user_id, collection, entries)
        for space in spaces:
            vectors = {} if encode_all else await _stored_vectors(space, user_id, collection, items)
            encoder = RetriedEncoder(space.encoder) if collection is Collection.KNOWLEDGE else space.encoder
            vectors |= await _encoded(encoder, [item for item in items if item.item_id not in vectors], priority)
            await self._write(space, collection, items, vectors, user_id=user_id, gone=gone)

    async def _index_embedded_batch(
        self, user_id: str, collection: Collection, entries: Sequence[OutboxEntry]
    ) -> list[OutboxEntry]:
        """Indexes the entries that need no encoding, and returns them."""
        spaces, items, gone = await self._look_up(user_id, collection, entries)
        stored = [await _stored_vectors(space, user_id, collection, items) for space in spaces]
        ready = [item for item in items if all(item.item_id in vectors for vectors in stored)]
        for space, vectors in zip(spaces, stored, strict=True):
            await self._write(space, collection, ready, vectors, user_id=user_id, gone=gone)
        done = {item.item_id for item in ready}.union(gone)
        return [entry for entry in entries if entry.item_id in done]

    async def _look_up(
        self, user_id: str, collection: Collection, entries: Sequence[OutboxEntry]
    ) -> tuple[list[VectorSpace], list[Projection], list[str]]:
        """The spaces of a collection, the items of the entries to index, and the ids to delete."""
        spaces = await self._spaces.written()  # before the record is read: see memory.indexing.reembedding
        item_ids = [entry.item_id for entry in entries]
        found = await self._read(collection, item_ids, user_id)
        items = [item for item in found.values() if item is not None]
        gone = sorted(set(item_ids) - {item.item_id for item in items})
        return each_once(space.part(collection) for space in spaces), items, gone

    async def _write(
        self,
        space: VectorSpace,
        collection: Collection,
        items: Sequence[Projection],
        vectors: Mapping[str, FloatVector],
        *,
        user_id: str,
        gone: Sequence[str] = (),
    ) -> None:
        """Writes the points of items, with vectors by item id, to one space; deletes the points of `gone`."""
        points = [
            item.point(
                model_id=space.encoder.model_id,
                dense=vectors[item.item_id],
                sparse=self._analyzer.document_vector(item.keyword_text),
            )
            for item in items
        ]
        if points:
            await space.index.upsert(collection, points, user_id=user_id)
        if gone:
            await space.index.delete(collection, gone, user_id=user_id)


async def requeue_lost(record: SystemOfRecord, space: VectorSpace) -> int:
    """Requeues all items of the users who have no point in a collection of the space but items in the record.

    Must come before anything is indexed: one point of a user hides the loss of her others. All that a user has in a
    collection is queued in one step, so that after a crash the next call finds the remaining users.

    Returns:
        The number of requeued items.

    Raises:
        Unavailable: A store is down.
    """
    counts = await record.backlog.counts()
    indexed = {
        collection: set(await space.part(collection).index.users(collection))
        for collection, name in COUNTED_AS.items()
        if counts[name]
    }
    queued = 0
    async for user_id in all_users(record):
        for collection, users in indexed.items():
            if user_id not in users:
                queued += await _requeue_collection(record, user_id, collection)
    if queued:
        _log.warning("index_lost", requeued=queued)
    return queued


async def _requeue_collection(record: SystemOfRecord, user_id: str, collection: Collection) -> int:
    item_ids = [
        item_id
        async for page in projected_pages(record, user_id, collection)
        for item_id, item in page.items()
        if item is not None
    ]
    if item_ids:
        waiting = await waiting_ids(record, user_id, collection)
        item_ids = [item_id for item_id in item_ids if item_id not in waiting]
    if item_ids:
        await record.backlog.requeue(collection, item_ids, user_id=user_id)
    return len(item_ids)


async def _stored_vectors(
    space: VectorSpace, user_id: str, collection: Collection, items: Sequence[Projection]
) -> dict[str, FloatVector]:
    """The current vectors in the index: a repeated mention of an entity, for one, only changes its counts."""
    if not items:
        return {}
    points = await space.index.get(collection, [item.item_id for item in items], user_id=user_id)
    fingerprints = {item.item_id: item.fingerprint(space.encoder.model_id) for item in items}
    return {
        point.point_id: point.dense
        for point in points
        if has_same_vector(point.fingerprint, fingerprints[point.point_id])
    }


async def _encoded(encoder: Encoder, items: Sequence[Projection], priority: Priority) -> dict[str, FloatVector]:
    if not items:
        return {}
    texts = [item.dense_text for item in items]
    matrix = await encoder.encode(texts, kind=TextKind.PASSAGE, priority=priority)
    return {item.item_id: vector for item, vector in zip(items, matrix, strict=True)}


def _collection(entry: OutboxEntry) -> Collection:
    return entry.collection
