"""Facts as document 001 shows them: typed memories, read from and written to the repository of facts."""

from collections.abc import AsyncIterator, Sequence

from ...language.wording import fact_sentence, language_of
from ...values.facts import SPEAKER, Ending, Fact, FactStatus, MemoryDetails
from ...values.ids import typed_memory_id
from ...values.predicates import category_of, predicate_of, type_of
from ...values.typed_memories import MemoryStatus, TypedMemory
from .facts import FactRepository
from .repositories import Access

_NO_DETAILS = MemoryDetails()
_PAGE = 256
_IN_DOUBT = "情況有變，尚待確認 / in doubt since something changed"
_DISPUTED = "與其他說法衝突 / contradicts something else that was said"


class TypedMemories:
    """The typed memories of one user: the facts that say what is so; lists are in the order of their ids.

    What is not so or only planned is no value of a type: such facts are none.

    Args:
        facts: The facts.
    """

    def __init__(self, facts: FactRepository) -> None:
        self._facts = facts

    async def get(self, memory_ids: Sequence[str]) -> list[TypedMemory]:
        """The memories that exist, in the order of the ids."""
        return [typed_memory_of(fact) for fact in await self._facts.get_many(memory_ids) if is_typed_memory(fact)]

    async def find(self, entity_type: str, entity_value: str, *, subject: str = SPEAKER) -> list[TypedMemory]:
        """The memories of this type and value, of any status, the active before the archived, latest recorded first.

        Width, case and script of values are ignored. What conversation has ended is not found: it was so once.
        """
        predicate = predicate_of(entity_type)
        found = [
            typed_memory_of(fact)
            for fact in await self._facts.stating(subject, predicate, [entity_value])
            if fact.predicate == predicate and is_typed_memory(fact) and fact.ended_by is None
        ]
        return sorted(found, key=lambda memory: memory.status is MemoryStatus.ARCHIVED)

    async def of_type(self, entity_type: str, *, subject: str = SPEAKER) -> list[TypedMemory]:
        """The memories of this type that are not archived, latest recorded first."""
        facts = await self._facts.find_potential_conflicts(subject, predicate_of(entity_type))
        return [typed_memory_of(fact) for fact in facts if is_typed_memory(fact)]

    async def page(
        self,
        *,
        after: str | None = None,
        limit: int,
        entity_type: str | None = None,
        status: MemoryStatus | None = None,
    ) -> list[TypedMemory]:
        """Memories of a type and status, or of any, from the first id after `after`."""
        found: list[TypedMemory] = []
        predicate = None if entity_type is None else predicate_of(entity_type)
        if limit <= 0:
            return found
        async for fact in self._walk(after):
            if predicate in (None, fact.predicate) and is_typed_memory(fact) and status in (None, _status_of(fact)):
                found.append(typed_memory_of(fact))
            if len(found) == limit:
                break
        return found

    async def save(self, memories: Sequence[TypedMemory]) -> None:
        """Inserts or replaces, and queues them for the vector index."""
        known = {fact.fact_id: fact for fact in await self._facts.get_many([memory.memory_id for memory in memories])}
        latest = {memory.memory_id: fact_of(memory, known.get(memory.memory_id)) for memory in memories}
        await self._facts.create_many([fact for id_, fact in latest.items() if id_ not in known])
        for id_ in [id_ for id_ in latest if id_ in known]:
            await self._facts.update(latest[id_])

    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        """Adds to `access_count` and moves `accessed_at`; see `Access`."""
        await self._facts.count_accesses(accesses)

    async def _walk(self, after: str | None) -> AsyncIterator[Fact]:
        while page := await self._facts.page(after=after, limit=_PAGE):
            for fact in page:
                yield fact
            after = page[-1].fact_id


def is_typed_memory(fact: Fact) -> bool:
    """Whether a fact is a value of a type: not deleted, not negated and not only planned."""
    return fact.status is not FactStatus.DELETED and not fact.is_negated and not fact.is_planned


def is_given(fact: Fact) -> bool:
    """Whether the API was given a fact as a typed memory: 001 reviews it by its use, and 002 does not decay it."""
    return fact.fact_id == typed_memory_id(fact.user_id, type_of(fact.predicate), fact.object)


def typed_memory_of(fact: Fact) -> TypedMemory:
    """A fact as a typed memory; one that is in doubt or disputed is in review."""
    details = fact.details or _NO_DETAILS
    status, reason = _status_of(fact), details.review_reason
    if status is MemoryStatus.REVIEW and not details.in_review:
        reason = _IN_DOUBT if fact.doubtful_since is not None else _DISPUTED
    supersedes = () if fact.supersedes is None else (fact.supersedes,)
    return TypedMemory(
        memory_id=fact.fact_id,
        user_id=fact.user_id,
        content=details.content if details.content is not None else fact_sentence(fact, language_of([fact])),
        memory_type=details.memory_type,
        priority=details.priority,
        metadata=details.metadata,
        created_at=fact.recorded_at,
        updated_at=fact.updated_at,
        accessed_at=fact.accessed_at,
        access_count=fact.access_count,
        entity_type=type_of(fact.predicate),
        entity_value=fact.object,
        subject=fact.subject,
        sources=tuple(id_ for id_ in (fact.resource_id, *fact.evidence) if id_),
        confidence=fact.confidence,
        status=status,
        review_reason=reason,
        conflicts_with=fact.conflicts_with,
        supersedes=(*supersedes, *details.also_supersedes),
        superseded_by=details.superseded_by,
        unchecked=details.unchecked,
        version=details.version,
    )


def _status_of(fact: Fact) -> MemoryStatus:
    if fact.status is not FactStatus.ACTIVE:
        return MemoryStatus.ARCHIVED
    is_open = (fact.details or _NO_DETAILS).in_review or fact.doubtful_since is not None or bool(fact.conflicts_with)
    return MemoryStatus.REVIEW if is_open else MemoryStatus.ACTIVE


def fact_of(memory: TypedMemory, known: Fact | None = None) -> Fact:
    """The fact that a typed memory shows.

    Args:
        memory: The memory.
        known: The fact as it is stored; what 001 does not know of it stays.
    """
    predicate = predicate_of(memory.entity_type)
    fact = known or Fact(
        fact_id=memory.memory_id,
        user_id=memory.user_id,
        resource_id="",
        subject=memory.subject,
        predicate=predicate,
        object=memory.entity_value,
        category=category_of(predicate).value,
        recorded_at=memory.created_at,
        updated_at=memory.updated_at,
    )
    shown = typed_memory_of(fact)
    details = fact.details or _NO_DETAILS
    is_shown = (memory.status, memory.review_reason) == (shown.status, shown.review_reason)
    details = MemoryDetails(
        content=details.content if memory.content == shown.content else memory.content,
        memory_type=memory.memory_type,
        priority=memory.priority,
        metadata=memory.metadata,
        in_review=details.in_review if is_shown else memory.status is MemoryStatus.REVIEW,
        review_reason=details.review_reason if is_shown else memory.review_reason,
        also_supersedes=memory.supersedes[1:],
        superseded_by=memory.superseded_by,
        unchecked=memory.unchecked,
        version=memory.version,
    )
    return fact.model_copy(
        update={
            "predicate": fact.predicate if memory.entity_type == shown.entity_type else predicate,
            "object": memory.entity_value,
            "resource_id": next(iter(memory.sources), ""),
            "evidence": memory.sources[1:],
            "confidence": memory.confidence,
            "conflicts_with": memory.conflicts_with,
            "supersedes": next(iter(memory.supersedes), None),
            "recorded_at": memory.created_at,
            "updated_at": memory.updated_at,
            "access_count": memory.access_count,
            "accessed_at": memory.accessed_at,
            "details": None if details == _NO_DETAILS else details,
            **_validity(memory, fact),
        }
    )


def _validity(memory: TypedMemory, fact: Fact) -> dict[str, object]:
    """Status and interval of a fact after its memory has got another status, or has taken the place of others."""
    update: dict[str, object] = {}
    if memory.supersedes and fact.supersedes is None and fact.valid_from is None:
        update["valid_from"] = memory.updated_at
    elif fact.supersedes is not None and not memory.supersedes:
        update["valid_from"] = None
    if memory.status is MemoryStatus.ARCHIVED:
        if fact.status is FactStatus.ACTIVE:
            is_replaced = memory.superseded_by is not None
            update |= {"status": FactStatus.ARCHIVED, "ending": Ending.REPLACED if is_replaced else None}
            if is_replaced:
                update["valid_to"] = memory.updated_at
        return update
    if fact.status is FactStatus.ARCHIVED:
        update |= {"status": FactStatus.ACTIVE, "valid_to": None, "ending": None, "ended_by": None}
    if memory.status is MemoryStatus.ACTIVE:
        update |= {"doubtful_since": None, "doubted_by": None}
    return update
