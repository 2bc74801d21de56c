"""Typed memories that are close to a new value, whether or not the index has seen them yet (001 §3.3)."""

from collections.abc import Sequence

import numpy as np

from ..ports.language import Encoder, Priority, TextKind
from ..ports.record import SystemOfRecord
from ..ports.vectors import Collection, IndexQuery, VectorIndex
from ..values.typed_memories import MemoryStatus, TypedMemory

NEIGHBOURS = 64
"""So many indexed memories of the type are looked at, nearest first."""
WAITING = 256
"""So many that wait for the index are compared one by one."""


class SimilarMemories:
    """Compares contents as passages, as the similarity bands were calibrated.

    Args:
        record: Keeps the memories.
        encoder: The one whose vectors the index holds.
        index: Holds `Collection.TYPED_MEMORIES`.
    """

    def __init__(self, *, record: SystemOfRecord, encoder: Encoder, index: VectorIndex) -> None:
        self._record = record
        self._encoder = encoder
        self._index = index

    async def near(self, new: TypedMemory) -> tuple[list[TypedMemory], dict[str, float]]:
        """Other memories of the user that are of the same type and not archived, and their cosines by id.

        Raises:
            Unavailable: The encoder or a store is down.
        """
        waiting = await waiting_memories(self._record, new.user_id)
        unindexed = [one for one in waiting if one.entity_type == new.entity_type and one.memory_id != new.memory_id]
        texts = [new.content, *(one.content for one in unindexed)]
        vectors = await self._encoder.encode(texts, kind=TextKind.PASSAGE, priority=Priority.INTERACTIVE)
        cosines = await self._indexed(new, vectors[0])
        cosines |= {
            one.memory_id: float(cosine) for one, cosine in zip(unindexed, vectors[1:] @ vectors[0], strict=True)
        }
        async with self._record.reading(user_id=new.user_id) as unit:
            return await unit.typed_memories.get(list(cosines)), cosines

    async def _indexed(
        self, new: TypedMemory, vector: np.ndarray[tuple[int], np.dtype[np.float32]]
    ) -> dict[str, float]:
        query = IndexQuery(Collection.TYPED_MEMORIES, NEIGHBOURS, dense=vector, where={"entity_type": new.entity_type})
        [points] = await self._index.search([query], user_id=new.user_id)
        return {point.point_id: point.score for point in points if point.point_id != new.memory_id}


async def waiting_memories(record: SystemOfRecord, user_id: str) -> Sequence[TypedMemory]:
    """Memories that are kept but not in the index yet, without archived ones."""
    entries = await record.backlog.outbox(limit=WAITING, user_id=user_id)
    ids = [entry.item_id for entry in entries if entry.collection is Collection.TYPED_MEMORIES]
    if not ids:
        return []
    async with record.reading(user_id=user_id) as unit:
        return [one for one in await unit.typed_memories.get(ids) if one.status is not MemoryStatus.ARCHIVED]
