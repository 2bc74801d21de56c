"""The vector index as a projection of the system of record: embeds and indexes what the outbox names (DESIGN §7)."""

from collections.abc import Sequence
from itertools import groupby

from ..ports.language import Encoder, Priority, TextKind
from ..ports.record import OutboxEntry, SystemOfRecord
from ..ports.vectors import Collection, FloatVector, VectorIndex
from ..retrieval.analysis import KeywordAnalyzer
from .projection import Projection, has_same_vector
from .sources import project_items

INDEX_BATCH = 64


class Indexer:
    """Drains the outbox of one user at a time; every step can be repeated."""

    def __init__(
        self, *, record: SystemOfRecord, encoder: Encoder, index: VectorIndex, analyzer: KeywordAnalyzer
    ) -> None:
        self._record = record
        self._encoder = encoder
        self._index = index
        self._analyzer = analyzer

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
                await self._record.backlog.acknowledge(batch)
            indexed += len(entries)
            done += 1
        return indexed

    async def _index_batch(
        self, user_id: str, collection: Collection, entries: Sequence[OutboxEntry], priority: Priority, *, anew: bool
    ) -> None:
        ids = [entry.item_id for entry in entries]
        async with self._record.reading(user_id=user_id) as unit:
            found = await project_items(unit, collection, ids)
        wanted = [projection for projection in found.values() if projection is not None]
        vectors = {} if anew else await self._kept(user_id, collection, wanted)
        vectors |= await self._encoded([item for item in wanted if item.item_id not in vectors], priority)
        if wanted:
            points = [
                item.point(
                    model_id=self._encoder.model_id,
                    dense=vectors[item.item_id],
                    sparse=self._analyzer.document_vector(item.keyword_text),
                )
                for item in wanted
            ]
            await self._index.upsert(collection, points, user_id=user_id)
        if gone := set(ids) - {item.item_id for item in wanted}:
            await self._index.delete(collection, sorted(gone), user_id=user_id)

    async def _kept(self, user_id: str, collection: Collection, wanted: Sequence[Projection]) -> dict[str, FloatVector]:
        """The vectors that the index has already: an entity that is mentioned again changes its counts alone."""
        if not wanted:
            return {}
        points = await self._index.get(collection, [item.item_id for item in wanted], user_id=user_id)
        fingerprints = {item.item_id: item.fingerprint(self._encoder.model_id) for item in wanted}
        return {
            point.point_id: point.dense
            for point in points
            if has_same_vector(point.fingerprint, fingerprints[point.point_id])
        }

    async def _encoded(self, items: Sequence[Projection], priority: Priority) -> dict[str, FloatVector]:
        if not items:
            return {}
        texts = [item.dense_text for item in items]
        matrix = await self._encoder.encode(texts, kind=TextKind.PASSAGE, priority=priority)
        return {item.item_id: vector for item, vector in zip(items, matrix, strict=True)}


def _collection(entry: OutboxEntry) -> Collection:
    return entry.collection
