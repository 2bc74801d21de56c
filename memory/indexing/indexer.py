"""The vector index as a projection of the system of record: embeds and indexes what the outbox names (DESIGN §7)."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from more_itertools import chunked

from ..language.keywords import KeywordAnalyzer
from ..ports.generations import VectorSpace, VectorSpaces, each_once
from ..ports.language import Priority, TextKind
from ..ports.record import OutboxEntry, SystemOfRecord
from ..ports.vectors import Collection, FloatVector
from ..typed_memories.rechecking import ConflictRecheck
from .projection import Projection, has_same_vector
from .sources import WHOLE_OUTBOX, project_items
from .spaces import PerSpace

INDEX_BATCH = 64


class Indexer:
    """Drains the outbox of one user at a time; every step can be repeated.

    An entry is taken off the outbox when every space that is to be kept up to date has it, and when the conflicts of a
    typed memory that was stored while they could not be looked for have been.

    Args:
        record: Holds the outbox and what it names.
        spaces: Where it goes.
        analyzer: Makes terms of texts.
        rechecks: Look for those conflicts, one a space; without them such memories stay as they are.
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

    async def drain(self, user_id: str, priority: Priority, *, batches: int | None = None, anew: bool = False) -> int:
        """Indexes what waits for this user; returns how many items that was.

        Args:
            user_id: Whose items.
            priority: How the encoder should take them.
            batches: How many batches of `INDEX_BATCH` at most; all that waits where it is not given.
            anew: Encode every text, also one whose vector the index has already.

        Raises:
            Unavailable: The encoder or the index is down; what was not done stays in the outbox.
        """
        indexed = done = 0
        while batches is None or done < batches:
            entries = await self._record.backlog.outbox(limit=INDEX_BATCH, user_id=user_id)
            if not entries:
                break
            for collection, group in groupby(sorted(entries, key=_collection), key=_collection):
                batch = list(group)
                await self._index_batch(user_id, collection, batch, priority, anew=anew)
                await self._end(user_id, collection, batch)
            indexed += len(entries)
            done += 1
        return indexed

    async def settle(self, user_id: str) -> int:
        """Indexes what waits for this user and needs no encoding; returns how many items that was.

        That is what has its vector in every space already, and what is gone; the rest stays in the outbox.

        Raises:
            Unavailable: A store is down; what was not done stays in the outbox.
        """
        entries = await self._record.backlog.outbox(limit=WHOLE_OUTBOX, user_id=user_id)
        settled = 0
        for collection, group in groupby(sorted(entries, key=_collection), key=_collection):
            for batch in chunked(group, INDEX_BATCH):
                done = await self._settle_batch(user_id, collection, batch)
                await self._end(user_id, collection, done)
                settled += len(done)
        return settled

    async def _end(self, user_id: str, collection: Collection, entries: Sequence[OutboxEntry]) -> None:
        """Takes entries off the outbox, once conflicts are looked for that could not be before."""
        if not entries:
            return
        if self._rechecks and collection is Collection.TYPED_MEMORIES:
            recheck = await self._rechecks.current()
            await recheck.check([entry.item_id for entry in entries], user_id=user_id)
        await self._record.backlog.acknowledge(entries)

    async def _index_batch(
        self, user_id: str, collection: Collection, entries: Sequence[OutboxEntry], priority: Priority, *, anew: bool
    ) -> None:
        spaces, wanted, gone = await self._look_up(user_id, collection, entries)
        for space in spaces:
            vectors = {} if anew else await _kept(space, user_id, collection, wanted)
            vectors |= await _encoded(space, [item for item in wanted if item.item_id not in vectors], priority)
            await self._write_and_delete(space, collection, wanted, vectors, gone, user_id)

    async def _settle_batch(
        self, user_id: str, collection: Collection, entries: Sequence[OutboxEntry]
    ) -> list[OutboxEntry]:
        """Returns the entries that needed no encoding."""
        spaces, wanted, gone = await self._look_up(user_id, collection, entries)
        kept = [await _kept(space, user_id, collection, wanted) for space in spaces]
        ready = [item for item in wanted if all(item.item_id in vectors for vectors in kept)]
        for space, vectors in zip(spaces, kept, strict=True):
            await self._write_and_delete(space, collection, ready, vectors, gone, user_id)
        done = {item.item_id for item in ready}.union(gone)
        return [entry for entry in entries if entry.item_id in done]

    async def _look_up(
        self, user_id: str, collection: Collection, entries: Sequence[OutboxEntry]
    ) -> tuple[list[VectorSpace], list[Projection], list[str]]:
        """Where a collection is kept, which items of the entries belong there, and the ids of those that do not."""
        spaces = await self._spaces.written()  # before the record is read: see memory.indexing.reembedding
        parts = [space.part(collection) for space in spaces]
        ids = [entry.item_id for entry in entries]
        async with self._record.reading(user_id=user_id) as unit:
            found = await project_items(unit, collection, ids)
        wanted = [projection for projection in found.values() if projection is not None]
        gone = sorted(set(ids) - {item.item_id for item in wanted})
        return each_once(parts), wanted, gone

    async def _write_and_delete(
        self,
        space: VectorSpace,
        collection: Collection,
        items: Sequence[Projection],
        vectors: Mapping[str, FloatVector],
        gone: Sequence[str],
        user_id: str,
    ) -> None:
        await self.write(space, collection, items, vectors, user_id=user_id)
        if gone:
            await space.index.delete(collection, gone, user_id=user_id)

    async def write(
        self,
        space: VectorSpace,
        collection: Collection,
        items: Sequence[Projection],
        vectors: Mapping[str, FloatVector],
        *,
        user_id: str,
    ) -> None:
        """Writes the points of items whose vectors are there, by item id, to one space.

        Raises:
            StoreUnavailable: The index is down; it can be repeated.
        """
        if not items:
            return
        points = [
            item.point(
                model_id=space.encoder.model_id,
                dense=vectors[item.item_id],
                sparse=self._analyzer.document_vector(item.keyword_text),
            )
            for item in items
        ]
        await space.index.upsert(collection, points, user_id=user_id)


async def _kept(
    space: VectorSpace, user_id: str, collection: Collection, wanted: Sequence[Projection]
) -> dict[str, FloatVector]:
    """The vectors that the index has already: an entity that is mentioned again changes its counts alone."""
    if not wanted:
        return {}
    points = await space.index.get(collection, [item.item_id for item in wanted], user_id=user_id)
    fingerprints = {item.item_id: item.fingerprint(space.encoder.model_id) for item in wanted}
    return {
        point.point_id: point.dense
        for point in points
        if has_same_vector(point.fingerprint, fingerprints[point.point_id])
    }


async def _encoded(space: VectorSpace, items: Sequence[Projection], priority: Priority) -> dict[str, FloatVector]:
    if not items:
        return {}
    texts = [item.dense_text for item in items]
    matrix = await space.encoder.encode(texts, kind=TextKind.PASSAGE, priority=priority)
    return {item.item_id: vector for item, vector in zip(items, matrix, strict=True)}


def _collection(entry: OutboxEntry) -> Collection:
    return entry.collection
