"""Late conflict detection for typed memories that were stored while the index or the encoder was down."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

import structlog

from ..ports.models.language import Encoder
from ..ports.stores.record import SystemOfRecord
from ..ports.stores.vectors import VectorIndex
from ..values.base import utc_now
from ..values.typed_memories import MemoryStatus, TypedMemory
from .bands import Bands
from .conflicts import MemoryConflict, find_conflicts
from .retrieval import NeighbourSearch
from .storing import save_and_resolve

_log = structlog.get_logger(__name__)


class ConflictRecheck:
    """Detects and resolves the conflicts of `unchecked` memories (001 §3.2, DESIGN §7).

    Each memory is compared with those that were stored before it; an unchecked memory that was stored later is skipped
    until its own check. The result is therefore the one that an uninterrupted service would have reached.

    Args:
        record: Stores the memories.
        encoder: The encoder of the index's vectors.
        index: Holds `Collection.FACTS`.
        bands: Which cosines may mean a conflict, for this encoder.
        many_valued: Types whose values are never overwritten automatically.
        now: The clock.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        encoder: Encoder,
        index: VectorIndex,
        bands: Bands,
        many_valued: frozenset[str] = frozenset(),
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._record = record
        self._neighbours = NeighbourSearch(record=record, encoder=encoder, index=index)
        self._bands = bands
        self._many_valued = many_valued
        self._now = now

    async def check(self, memory_ids: Sequence[str], *, user_id: str) -> int:
        """Checks those of the memories that are unchecked; returns their number.

        An archived memory, or one in review, stays unchecked until it is restored or stored again.

        Raises:
            Unavailable: The encoder or a store is down; calling again does the rest.
        """
        async with self._record.reading(user_id=user_id) as unit:
            memories = await unit.typed_memories.get(memory_ids)
        unchecked = [memory for memory in memories if _is_pending(memory)]
        for memory in sorted(unchecked, key=_storing_order):
            conflicts = await self._check(memory)
            _log.info("conflicts_rechecked", memory_id=memory.memory_id, conflicts=len(conflicts))
        return len(unchecked)

    async def _check(self, memory: TypedMemory) -> Sequence[MemoryConflict]:
        others, cosines = await self._neighbours.find(memory)
        async with self._record.writing(user_id=memory.user_id) as unit:
            known = next(iter(await unit.typed_memories.get([memory.memory_id])), None)
            if known is None or not _is_pending(known):
                return ()
            current = await unit.typed_memories.get([other.memory_id for other in others])
            checked = known.model_copy(update={"unchecked": False, "version": known.version + 1})
            find = partial(self._find_conflicts, others=current, cosines=cosines)
            _, conflicts = await save_and_resolve(unit, checked, known, find, at=self._now())
            await unit.commit()
        return conflicts

    def _find_conflicts(
        self, memory: TypedMemory, others: Sequence[TypedMemory], cosines: Mapping[str, float]
    ) -> list[MemoryConflict]:
        earlier = [
            other
            for other in others
            if not _is_decided(memory, other)
            and not (_is_pending(other) and _storing_order(other) > _storing_order(memory))
        ]
        return find_conflicts(memory, earlier, cosines, self._bands, many_valued=self._many_valued)


def _is_pending(memory: TypedMemory) -> bool:
    return memory.unchecked and memory.status is MemoryStatus.ACTIVE


def _storing_order(memory: TypedMemory) -> tuple[datetime, str]:
    """A sort key by the time when the value was last given, without ties."""
    return memory.updated_at, memory.memory_id


def _is_decided(memory: TypedMemory, other: TypedMemory) -> bool:
    """Whether the two were compared before: one replaced the other, or a person has to decide or has decided."""
    return other.memory_id in (*memory.conflicts_with, *memory.supersedes) or memory.memory_id in (
        *other.conflicts_with,
        *other.supersedes,
    )
