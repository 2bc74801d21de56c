"""001's AAM manager, method by method: typed memories without duplicates, whose conflicts are dealt with (001 §1.3)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import partial
from weakref import WeakValueDictionary

import structlog

from ..entities.statuses import KeepableKind, keepable, set_status
from ..governance.accesses import AccessTally
from ..governance.rules import ReviewRules
from ..language.keywords import KeywordAnalyzer
from ..ports.language import Encoder
from ..ports.record import SystemOfRecord, UnitOfWork
from ..ports.vectors import VectorIndex
from ..retrieval.fusion import TYPED_MEMORY_HOTNESS, HotnessRecipe
from ..values.base import Value, utc_now
from ..values.changes import ChangeActor, ChangeKind, ItemKind
from ..values.errors import InvalidField, Unavailable
from ..values.ids import typed_memory_id
from ..values.typed_memories import MemoryStatus, NewTypedMemory, TypedMemory
from .conflicts import Bands, FixedBand, MemoryConflict, conflicts_among
from .hot_retrieval import MAX_LIMIT, HotRetrieval, RetrievedMemories
from .similar import SimilarMemories
from .storing import store

_PAGE = 256
_log = structlog.get_logger(__name__)


class StoreEvent(StrEnum):
    """What storing a value came to."""

    CREATED = "created"
    UPDATED = "updated"


class StoredMemory(Value):
    """What `store_entity` did.

    Args:
        memory: The memory of this value, as it is now.
        conflicts: What it contradicts, and what came of it.
        degraded: `conflicts` where they could not be looked for, as the encoder or the index is away.
    """

    memory: TypedMemory
    event: StoreEvent
    conflicts: tuple[MemoryConflict, ...] = ()
    degraded: tuple[str, ...] = ()


class TypedMemoryManager:
    """Typed memories of all users (001's AAMManager and QdrantAdapter); every method is bound to one user.

    Args:
        record: Keeps them.
        encoder: Embeds their contents; the one whose vectors the index holds.
        index: Holds `Collection.TYPED_MEMORIES`.
        analyzer: Makes terms of queries.
        tally: Counts what is retrieved.
        bands: Which cosines mean a conflict, for this encoder.
        many_valued: Types whose values are never overwritten by themselves.
        rules: Thresholds of the review.
        recipe: Weights of the ranking.
        now: The clock.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        encoder: Encoder,
        index: VectorIndex,
        analyzer: KeywordAnalyzer,
        tally: AccessTally,
        bands: Bands | None = None,
        many_valued: frozenset[str] = frozenset(),
        rules: ReviewRules | None = None,
        recipe: HotnessRecipe = TYPED_MEMORY_HOTNESS,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._record = record
        self._similar = SimilarMemories(record=record, encoder=encoder, index=index)
        self._retrieval = HotRetrieval(record=record, encoder=encoder, index=index, analyzer=analyzer, recipe=recipe)
        self._tally = tally
        self._bands = bands or FixedBand()
        self._many_valued = many_valued
        self._rules = rules or ReviewRules()
        self._now = now
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def store_entity(self, new: NewTypedMemory, *, user_id: str) -> StoredMemory:
        """Keeps a value: updates the memory that has it, else adds one and deals with conflicts (001 §3.2, §5.1).

        A surer new value takes the place of what it contradicts; the old one is kept, archived and linked, and the
        change can be undone. A new value that is not surer is kept in review beside it.

        Raises:
            StoreUnavailable: It is not kept.
        """
        memory = new.memory(user_id=user_id, at=self._now())
        async with self._turns.setdefault(user_id, asyncio.Lock()):
            known = await self.find_by_exact_match(new.entity_type, new.entity_value, user_id=user_id)
            candidates, cosines, degraded = await self._rivals(memory, known)
            async with self._record.writing(user_id=user_id) as unit:
                known = next(iter(await unit.typed_memories.get([memory.memory_id])), None)
                fresh = await unit.typed_memories.get(list(candidates))
                said = memory.model_copy(update={"unchecked": bool(degraded)})
                find = partial(self._conflicts, others=fresh, cosines=cosines)
                stored, conflicts = await store(unit, said, known, find, at=memory.created_at)
                await unit.commit()
        event = StoreEvent.CREATED if known is None else StoreEvent.UPDATED
        return StoredMemory(memory=stored, event=event, conflicts=tuple(conflicts), degraded=degraded)

    async def retrieve_entities(
        self,
        query: str,
        *,
        user_id: str,
        min_confidence: float | None = None,
        limit: int | None = None,
        entity_type: str | None = None,
    ) -> RetrievedMemories:
        """The best memories by relevance, use and age, and counts the access (001 §3.4, §5.2).

        Args:
            query: What is asked.
            user_id: Whose memories.
            min_confidence: Less sure ones are left out; 0.7 where not given.
            limit: How many; 5 where not given.
            entity_type: Only of this type.

        Raises:
            InvalidField: `limit` or `min_confidence` is out of bounds.
            StoreUnavailable: The record cannot be read.
        """
        recipe = self._retrieval.recipe
        limit = recipe.limit if limit is None else limit
        least = recipe.min_confidence if min_confidence is None else min_confidence
        if not 1 <= limit <= MAX_LIMIT:
            raise InvalidField(f"limit {limit} is out of bounds", field="limit", allowed=f"1 to {MAX_LIMIT}")
        if not 0.0 <= least <= 1.0:
            raise InvalidField("min_confidence is out of bounds", field="min_confidence", allowed="0 to 1")
        now = self._now()
        found = await self._retrieval.retrieve(
            query, user_id=user_id, min_confidence=least, limit=limit, entity_type=entity_type, now=now
        )
        ids = [one.memory.memory_id for one in found.results]
        if ids:
            self._tally.add(ItemKind.TYPED_MEMORY, ids, user_id=user_id, at=now)
        return found

    async def detect_conflicts(
        self, entity_type: str, new_value: str, new_confidence: float, *, user_id: str
    ) -> list[MemoryConflict]:
        """What a new value would contradict, and what would come of it; changes nothing (001 §3.3).

        Raises:
            Unavailable: The encoder or a store is down.
        """
        new = NewTypedMemory(entity_type=entity_type, entity_value=new_value, confidence=new_confidence)
        memory = new.memory(user_id=user_id, at=self._now())
        others, cosines = await self._similar.near(memory)
        return self._conflicts(memory, others, cosines)

    async def find_by_exact_match(self, entity_type: str, entity_value: str, *, user_id: str) -> TypedMemory | None:
        """The memory of this type and value, whatever its status, width, case or script (001 §3.2)."""
        async with self._record.reading(user_id=user_id) as unit:
            found = await unit.typed_memories.get([typed_memory_id(user_id, entity_type, entity_value)])
        return next(iter(found), None)

    async def get_user_entities(
        self,
        *,
        user_id: str,
        entity_type: str | None = None,
        status: MemoryStatus | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[TypedMemory]:
        """Memories of a type and status, or of any, in the order of their ids, after the id `after` (001 §1.3)."""
        async with self._record.reading(user_id=user_id) as unit:
            return await unit.typed_memories.page(after=after, limit=limit, entity_type=entity_type, status=status)

    async def archive_memory(
        self, memory_id: str, *, user_id: str, reason: str = "", actor: ChangeActor = ChangeActor.USER
    ) -> TypedMemory:
        """Archives a memory: only an exact match finds it then (001 §4.2).

        Raises:
            NotFound: There is none of this id.
        """
        return await self._set(memory_id, ChangeKind.ARCHIVE, user_id=user_id, reason=reason, actor=actor)

    async def mark_for_review(
        self, memory_id: str, *, user_id: str, reason: str, actor: ChangeActor = ChangeActor.USER
    ) -> TypedMemory:
        """Marks a memory for a person to look at; it is found as before (001 §4.2).

        Raises:
            NotFound: There is none of this id.
        """
        return await self._set(memory_id, ChangeKind.REVIEW, user_id=user_id, reason=reason, actor=actor)

    async def restore_memory(
        self, memory_id: str, *, user_id: str, reason: str = "", actor: ChangeActor = ChangeActor.USER
    ) -> TypedMemory:
        """Makes an archived memory, or one in review, active again.

        Raises:
            NotFound: There is none of this id.
        """
        return await self._set(memory_id, ChangeKind.RESTORE, user_id=user_id, reason=reason, actor=actor)

    async def find_low_hotness(
        self, *, user_id: str, max_access: int | None = None, older_than_days: float | None = None
    ) -> list[TypedMemory]:
        """Active memories that are rarely used and old (001 §4.2); thresholds of the settings where not given."""
        given = {"archive_max_access": max_access, "archive_after_days": older_than_days}
        rules, now = self._adjusted(given), self._now()
        return [one for one in await self._active(user_id) if rules.is_low_hotness(one, now) and not rules.is_kept(one)]

    async def find_potentially_stale(self, *, user_id: str, days: float | None = None) -> list[TypedMemory]:
        """Active memories that were not said for so long and are still retrieved (001 §4.2)."""
        rules, now = self._adjusted({"stale_after_days": days}), self._now()
        return [one for one in await self._active(user_id) if rules.is_potentially_stale(one, now)]

    def _conflicts(
        self, memory: TypedMemory, others: Sequence[TypedMemory], cosines: Mapping[str, float]
    ) -> list[MemoryConflict]:
        return conflicts_among(memory, others, cosines, self._bands, many_valued=self._many_valued)

    async def _rivals(
        self, memory: TypedMemory, known: TypedMemory | None
    ) -> tuple[list[str], Mapping[str, float], tuple[str, ...]]:
        """Ids and cosines of what a value may contradict: nothing, where it is known and undisputed."""
        if known is not None and known.status is MemoryStatus.ACTIVE and not known.unchecked:
            return [], {}, ()
        try:
            others, cosines = await self._similar.near(memory)
        except Unavailable as error:
            _log.warning("conflicts_not_looked_for", component=error.component, error=error.message)
            return [], {}, ("conflicts",)
        return [one.memory_id for one in others], cosines, ()

    async def _set(
        self, memory_id: str, kind: ChangeKind, *, user_id: str, reason: str, actor: ChangeActor
    ) -> TypedMemory:
        async with self._record.writing(user_id=user_id) as unit:
            memory = await keepable(unit, KeepableKind.TYPED_MEMORY, memory_id)
            changed, _ = await set_status(unit, memory, kind, at=self._now(), actor=actor, reason=reason)
            await unit.commit()
        assert isinstance(changed, TypedMemory)  # noqa: S101 - its kind says so
        return changed

    async def _active(self, user_id: str) -> list[TypedMemory]:
        found: list[TypedMemory] = []
        async with self._record.reading(user_id=user_id) as unit:
            while page := await self._next(unit, found):
                found += page
        return found

    async def _next(self, unit: UnitOfWork, found: list[TypedMemory]) -> list[TypedMemory]:
        after = found[-1].memory_id if found else None
        return await unit.typed_memories.page(after=after, limit=_PAGE, status=MemoryStatus.ACTIVE)

    def _adjusted(self, given: Mapping[str, float | None]) -> ReviewRules:
        changed = {name: value for name, value in given.items() if value is not None}
        return ReviewRules.model_validate(self._rules.model_dump() | changed)
