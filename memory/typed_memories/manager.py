"""001's AAM manager: typed memories without duplicates, with conflict detection and retrieval (001 §1.3)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import partial
from weakref import WeakValueDictionary

import structlog

from ..entities.statuses import ReviewableKind, get_reviewable, set_status
from ..governance.accesses import AccessTally
from ..governance.review import ReviewRules
from ..language.keywords import KeywordAnalyzer
from ..language.wording import fact_sentence, language_of
from ..ports.models.language import Encoder
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..ports.stores.typed_memories import fact_of
from ..ports.stores.vectors import VectorIndex
from ..values.base import Value, utc_now
from ..values.errors import InvalidField, Unavailable
from ..values.governance.changes import ChangeActor, ChangeKind, ItemKind
from ..values.hits import CosineBounds
from ..values.ids import new_id, typed_memory_id
from ..values.predicates import PREDICATES, predicate_of, shown_type
from ..values.records import Resource, ResourceKind
from ..values.typed_memories import MemoryStatus, NewTypedMemory, TypedMemory
from .bands import Bands, FixedBand
from .conflicts import MemoryConflict, find_conflicts
from .retrieval import (
    EVIDENT,
    MAX_LIMIT,
    TYPED_MEMORY_HOTNESS,
    HotnessRecipe,
    HotnessRetriever,
    NeighbourSearch,
    RetrievedMemories,
)
from .storing import repeat, save_and_resolve

_PAGE = 256
_log = structlog.get_logger(__name__)


class StoreEvent(StrEnum):
    """Whether storing a value created a memory or updated one."""

    CREATED = "created"
    UPDATED = "updated"


class StoredMemory(Value):
    """The result of `store_entity`.

    Args:
        memory: The memory of this value, as it is stored now.
        conflicts: The memories that it contradicts, and how each conflict was resolved.
        degraded: `conflicts` where they could not be detected, as the encoder or the index is down.
    """

    memory: TypedMemory
    event: StoreEvent
    conflicts: tuple[MemoryConflict, ...] = ()
    degraded: tuple[str, ...] = ()


class TypedMemoryManager:
    """Typed memories of all users (001's AAMManager and QdrantAdapter); every method acts for one user.

    Args:
        record: Stores the memories.
        encoder: Encodes their contents; the encoder of the index's vectors.
        index: Holds `Collection.FACTS`.
        analyzer: Splits queries into terms.
        tally: Counts accesses.
        bands: Which cosines may mean a conflict, for this encoder.
        evidence: The cosines of this encoder from which a memory counts as evidence for a question.
        many_valued: Types whose values are never overwritten automatically.
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
        evidence: CosineBounds | None = None,
        many_valued: frozenset[str] = frozenset(),
        rules: ReviewRules | None = None,
        recipe: HotnessRecipe = TYPED_MEMORY_HOTNESS,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._record = record
        self._neighbours = NeighbourSearch(record=record, encoder=encoder, index=index)
        self._retriever = HotnessRetriever(
            record=record, encoder=encoder, index=index, analyzer=analyzer, evidence=evidence, recipe=recipe
        )
        self._tally = tally
        self._bands = bands or FixedBand()
        self._many_valued = many_valued
        self._rules = rules or ReviewRules()
        self._now = now
        self._user_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def store_entity(self, new: NewTypedMemory, *, user_id: str) -> StoredMemory:
        """Stores a value: updates the memory that has it, or adds one and resolves its conflicts (001 §3.2, §5.1).

        A more confident new value replaces what it contradicts; the old one is archived and linked, and the change can
        be undone. A new value that is not more confident is put in review.

        Raises:
            StoreUnavailable: The value was not stored.
        """
        memory = _said_at_length(new, new.memory(user_id=user_id, at=self._now()))
        async with self._user_locks.setdefault(user_id, asyncio.Lock()):
            known = await self.find_by_exact_match(new.entity_type, new.entity_value, user_id=user_id)
            if known is not None:
                memory = memory.model_copy(update={"memory_id": known.memory_id})
            rival_ids, cosines, degraded = await self._find_rivals(memory, known)
            async with self._record.writing(user_id=user_id) as unit:
                known = next(iter(await unit.typed_memories.get([memory.memory_id])), None)
                rivals = await unit.typed_memories.get(list(rival_ids))
                given = memory.model_copy(update={"unchecked": bool(degraded)})
                updated = given if known is None else repeat(known, given, at=given.created_at)
                if known is None or updated.content != known.content:
                    updated = await _logged(unit, updated, at=given.created_at)
                find = partial(self._find_conflicts, others=rivals, cosines=cosines)
                stored, conflicts = await save_and_resolve(unit, updated, known, find, at=given.created_at)
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
        """The best memories by relevance, use and age; counts a use of each that is relevant (001 §3.4, §5.2).

        Args:
            query: The question.
            user_id: The owner of the memories.
            min_confidence: Less confident memories are left out; default 0.7.
            limit: Number of results; default 5.
            entity_type: Restricts the results to this type.

        Raises:
            InvalidField: `limit` or `min_confidence` is out of bounds.
            StoreUnavailable: The record cannot be read.
        """
        recipe = self._retriever.recipe
        limit = recipe.limit if limit is None else limit
        min_confidence = recipe.min_confidence if min_confidence is None else min_confidence
        if not 1 <= limit <= MAX_LIMIT:
            raise InvalidField(f"limit {limit} is out of bounds", field="limit", allowed=f"1 to {MAX_LIMIT}")
        if not 0.0 <= min_confidence <= 1.0:
            raise InvalidField(
                f"min_confidence {min_confidence} is out of bounds", field="min_confidence", allowed="0 to 1"
            )
        entity_type = None if entity_type is None else shown_type(entity_type)
        now = self._now()
        retrieved = await self._retriever.retrieve(
            query, user_id=user_id, min_confidence=min_confidence, limit=limit, entity_type=entity_type, now=now
        )
        ids = [found.memory.memory_id for found in retrieved.results if found.parts["relevance"] >= EVIDENT]
        if ids:
            self._tally.add(ItemKind.TYPED_MEMORY, ids, user_id=user_id, at=now)
        return retrieved

    async def detect_conflicts(
        self, entity_type: str, new_value: str, new_confidence: float, *, user_id: str
    ) -> list[MemoryConflict]:
        """The conflicts that storing a value would find; changes nothing (001 §3.3).

        Raises:
            Unavailable: The encoder or a store is down.
        """
        new = NewTypedMemory(entity_type=entity_type, entity_value=new_value, confidence=new_confidence)
        memory = new.memory(user_id=user_id, at=self._now())
        others, cosines = await self._neighbours.find(memory)
        return self._find_conflicts(memory, others, cosines)

    async def find_by_exact_match(self, entity_type: str, entity_value: str, *, user_id: str) -> TypedMemory | None:
        """The memory of the user of this type and value, whoever told it and whatever its status (001 §3.2).

        Width, case and script are ignored.
        """
        async with self._record.reading(user_id=user_id) as unit:
            id_ = typed_memory_id(user_id, shown_type(entity_type), entity_value)
            given = await unit.typed_memories.get([id_])
            found = await unit.typed_memories.find(entity_type, entity_value)
        return next(iter((*found, *given)), None)

    async def get_user_entities(
        self,
        *,
        user_id: str,
        entity_type: str | None = None,
        status: MemoryStatus | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[TypedMemory]:
        """A page of memories in the order of their ids, optionally of one type and status (001 §1.3)."""
        async with self._record.reading(user_id=user_id) as unit:
            return await unit.typed_memories.page(after=after, limit=limit, entity_type=entity_type, status=status)

    async def archive_memory(
        self, memory_id: str, *, user_id: str, reason: str = "", actor: ChangeActor = ChangeActor.USER
    ) -> TypedMemory:
        """Archives a memory: only an exact match finds it afterwards (001 §4.2).

        Raises:
            NotFound: The user has no memory with this id.
        """
        return await self._set_status(memory_id, ChangeKind.ARCHIVE, user_id=user_id, reason=reason, actor=actor)

    async def mark_for_review(
        self, memory_id: str, *, user_id: str, reason: str, actor: ChangeActor = ChangeActor.USER
    ) -> TypedMemory:
        """Marks a memory for a person to look at; retrieval still finds it (001 §4.2).

        Raises:
            NotFound: The user has no memory with this id.
        """
        return await self._set_status(memory_id, ChangeKind.REVIEW, user_id=user_id, reason=reason, actor=actor)

    async def restore_memory(
        self, memory_id: str, *, user_id: str, reason: str = "", actor: ChangeActor = ChangeActor.USER
    ) -> TypedMemory:
        """Makes an archived memory, or one in review, active again.

        Raises:
            NotFound: The user has no memory with this id.
        """
        return await self._set_status(memory_id, ChangeKind.RESTORE, user_id=user_id, reason=reason, actor=actor)

    async def find_low_hotness(
        self, *, user_id: str, max_access: int | None = None, older_than_days: float | None = None
    ) -> list[TypedMemory]:
        """Active memories that are old and rarely accessed (001 §4.2); the settings give default thresholds."""
        rules = self._override_rules({"archive_max_access": max_access, "archive_after_days": older_than_days})
        now = self._now()
        return [
            memory
            for memory in await self._active_memories(user_id)
            if rules.is_low_hotness(memory, now) and not rules.is_kept(memory)
        ]

    async def find_potentially_stale(self, *, user_id: str, days: float | None = None) -> list[TypedMemory]:
        """Active memories that are still retrieved although nobody has given their value for long (001 §4.2)."""
        rules, now = self._override_rules({"stale_after_days": days}), self._now()
        return [memory for memory in await self._active_memories(user_id) if rules.is_potentially_stale(memory, now)]

    def _find_conflicts(
        self, memory: TypedMemory, others: Sequence[TypedMemory], cosines: Mapping[str, float]
    ) -> list[MemoryConflict]:
        return find_conflicts(memory, others, cosines, self._bands, many_valued=self._many_valued)

    async def _find_rivals(
        self, memory: TypedMemory, known: TypedMemory | None
    ) -> tuple[list[str], Mapping[str, float], tuple[str, ...]]:
        """Ids and cosines of the memories that a value may contradict; none where it is known and undisputed."""
        if known is not None and known.status is MemoryStatus.ACTIVE and not known.unchecked:
            return [], {}, ()
        try:
            others, cosines = await self._neighbours.find(memory)
        except Unavailable as error:
            _log.warning("conflict_detection_skipped", component=error.component, error=error.message)
            return [], {}, ("conflicts",)
        return [other.memory_id for other in others], cosines, ()

    async def _set_status(
        self, memory_id: str, kind: ChangeKind, *, user_id: str, reason: str, actor: ChangeActor
    ) -> TypedMemory:
        async with self._record.writing(user_id=user_id) as unit:
            memory = await get_reviewable(unit, ReviewableKind.TYPED_MEMORY, memory_id)
            changed, _ = await set_status(unit, memory, kind, at=self._now(), actor=actor, reason=reason)
            await unit.commit()
        assert isinstance(changed, TypedMemory)  # noqa: S101 - the kind that was asked for
        return changed

    async def _active_memories(self, user_id: str) -> list[TypedMemory]:
        memories: list[TypedMemory] = []
        after = None
        async with self._record.reading(user_id=user_id) as unit:
            while page := await unit.typed_memories.page(after=after, limit=_PAGE, status=MemoryStatus.ACTIVE):
                memories += page
                after = page[-1].memory_id
        return memories

    def _override_rules(self, thresholds: Mapping[str, float | None]) -> ReviewRules:
        given = {name: value for name, value in thresholds.items() if value is not None}
        return ReviewRules.model_validate(self._rules.model_dump() | given)


def _said_at_length(new: NewTypedMemory, memory: TypedMemory) -> TypedMemory:
    """The memory with a sentence as its content, where the caller gives none and its type has words."""
    if new.content is not None or predicate_of(new.entity_type) not in PREDICATES:
        return memory
    fact = fact_of(memory).model_copy(update={"details": None})
    return memory.model_copy(update={"content": fact_sentence(fact, language_of([fact]))})


async def _logged(unit: UnitOfWork, memory: TypedMemory, *, at: datetime) -> TypedMemory:
    """Appends what was given to the raw log, from which chat finds it; the memory with that entry as a source."""
    fact = fact_of(memory)
    entry_id = new_id()
    entry = Resource(
        resource_id=entry_id,
        user_id=memory.user_id,
        session_id=entry_id,
        kind=ResourceKind.FACT,
        content=fact_sentence(fact, language_of([fact])),
        created_at=at,
    )
    await unit.log.append([entry])
    return memory.model_copy(update={"sources": (*memory.sources, entry_id)})
