"""Conflicts that could not be looked for when a typed memory was stored, looked for when index and encoder are back."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

import structlog

from ..ports.language import Encoder
from ..ports.record import SystemOfRecord
from ..ports.vectors import VectorIndex
from ..values.base import utc_now
from ..values.typed_memories import MemoryStatus, TypedMemory
from .conflicts import Bands, MemoryConflict, conflicts_among
from .similar import SimilarMemories
from .storing import settle

_log = structlog.get_logger(__name__)


class ConflictRecheck:
    """Does for memories that are `unchecked` what storing them would have done (001 §3.2, DESIGN §7).

    Each is the new value beside those that had been said before it. What was said later and is unchecked, too, is left
    to its own turn; so the outcome is the one that would have come about without the outage.

    Args:
        record: Keeps the memories.
        encoder: The one whose vectors the index holds.
        index: Holds `Collection.TYPED_MEMORIES`.
        bands: Which cosines mean a conflict, for this encoder.
        many_valued: Types whose values are never overwritten by themselves.
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
        self._similar = SimilarMemories(record=record, encoder=encoder, index=index)
        self._bands = bands
        self._many_valued = many_valued
        self._now = now

    async def check(self, memory_ids: Sequence[str], *, user_id: str) -> int:
        """Checks those of these memories that wait for it; returns how many that were.

        One that is archived or in review waits until it is restored or said again.

        Raises:
            Unavailable: The encoder or a store is down; what was not done can be repeated.
        """
        async with self._record.reading(user_id=user_id) as unit:
            found = [one for one in await unit.typed_memories.get(memory_ids) if _waits(one)]
        for memory in sorted(found, key=_said):
            conflicts = await self._check(memory)
            _log.info("conflicts_looked_for_late", memory_id=memory.memory_id, conflicts=len(conflicts))
        return len(found)

    async def _check(self, memory: TypedMemory) -> Sequence[MemoryConflict]:
        others, cosines = await self._similar.near(memory)
        async with self._record.writing(user_id=memory.user_id) as unit:
            known = next(iter(await unit.typed_memories.get([memory.memory_id])), None)
            if known is None or not _waits(known):
                return ()
            fresh = await unit.typed_memories.get([one.memory_id for one in others])
            checked = known.model_copy(update={"unchecked": False, "version": known.version + 1})
            find = partial(self._conflicts, others=fresh, cosines=cosines)
            _, conflicts = await settle(unit, checked, known, find, at=self._now())
            await unit.commit()
        return conflicts

    def _conflicts(
        self, memory: TypedMemory, others: Sequence[TypedMemory], cosines: Mapping[str, float]
    ) -> list[MemoryConflict]:
        rivals = [
            one for one in others if not _has_met(memory, one) and not (_waits(one) and _said(one) > _said(memory))
        ]
        return conflicts_among(memory, rivals, cosines, self._bands, many_valued=self._many_valued)


def _waits(memory: TypedMemory) -> bool:
    return memory.unchecked and memory.status is MemoryStatus.ACTIVE


def _said(memory: TypedMemory) -> tuple[datetime, str]:
    """When it was last said, for an order that has no ties."""
    return memory.updated_at, memory.memory_id


def _has_met(memory: TypedMemory, other: TypedMemory) -> bool:
    """Whether it is known already how the two stand: a conflict that waits for a person, or one that was undone."""
    return other.memory_id in (*memory.conflicts_with, *memory.supersedes) or memory.memory_id in (
        *other.conflicts_with,
        *other.supersedes,
    )
