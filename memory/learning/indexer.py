"""The vector index as a projection of the system of record: embeds and indexes what the outbox names (DESIGN §7)."""

from collections.abc import Sequence
from itertools import groupby

from ..ports.language import Encoder, Priority, TextKind
from ..ports.record import OutboxEntry, SystemOfRecord
from ..ports.vectors import Collection, IndexPoint, VectorIndex
from ..retrieval.analysis import KeywordAnalyzer
from .projection import dense_text, entity_text, keyword_text

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

    async def drain(self, user_id: str, priority: Priority) -> int:
        """Indexes all that waits for this user; returns how many items that was.

        Raises:
            Unavailable: The encoder or the index is down; what was not done stays in the outbox.
        """
        indexed = 0
        while entries := await self._record.backlog.outbox(limit=INDEX_BATCH, user_id=user_id):
            for collection, group in groupby(sorted(entries, key=_collection), key=_collection):
                batch = list(group)
                await self._index_batch(user_id, collection, batch, priority)
                await self._record.backlog.acknowledge(batch)
            indexed += len(entries)
        return indexed

    async def _index_batch(
        self, user_id: str, collection: Collection, entries: Sequence[OutboxEntry], priority: Priority
    ) -> None:
        ids = [entry.item_id for entry in entries]
        if collection is Collection.ENTITIES:
            points = await self._entity_points(user_id, ids, priority)
        else:
            points = await self._memory_points(user_id, ids, priority)
        if points:
            await self._index.upsert(collection, points, user_id=user_id)
        if gone := set(ids) - {point.point_id for point in points}:
            await self._index.delete(collection, sorted(gone), user_id=user_id)

    async def _entity_points(self, user_id: str, ids: Sequence[str], priority: Priority) -> list[IndexPoint]:
        async with self._record.reading(user_id=user_id) as unit:
            entities = [entity for entity in await unit.entities.get(ids) if entity.mention_count > 0]
        texts = [entity_text(entity) for entity in entities]
        vectors = await self._encoder.encode(texts, kind=TextKind.PASSAGE, priority=priority) if texts else ()
        return [
            IndexPoint(
                point_id=entity.entity_id,
                dense=vector,
                sparse=self._analyzer.document_vector(text),
                created_at_s=entity.first_mentioned.timestamp(),
            )
            for entity, text, vector in zip(entities, texts, vectors, strict=True)
        ]

    async def _memory_points(self, user_id: str, ids: Sequence[str], priority: Priority) -> list[IndexPoint]:
        async with self._record.reading(user_id=user_id) as unit:
            memories = await unit.memories.get(ids)
            resources = await unit.log.get([memory.resource_id for memory in memories])
        sources = {resource.resource_id: resource for resource in resources}
        texts = [dense_text(memory, sources.get(memory.resource_id)) for memory in memories]
        vectors = await self._encoder.encode(texts, kind=TextKind.PASSAGE, priority=priority) if texts else ()
        return [
            IndexPoint(
                point_id=memory.memory_id,
                dense=vector,
                sparse=self._analyzer.document_vector(keyword_text(memory, sources.get(memory.resource_id))),
                created_at_s=memory.created_at.timestamp(),
                session_id=memory.session_id,
                role=memory.role,
                metadata=memory.metadata,
            )
            for memory, vector in zip(memories, vectors, strict=True)
        ]


def _collection(entry: OutboxEntry) -> Collection:
    return entry.collection
