"""Editing a memory by hand: what it says from now on, with the version that the editor has seen (004 §7.4)."""

from collections.abc import Mapping
from datetime import datetime

from ..entities.statuses import set_status
from ..ports.stores.record import UnitOfWork
from ..ports.stores.typed_memories import is_typed_memory, typed_memory_of
from ..values.base import Scalar, Timestamp, Value
from ..values.errors import Conflict, NotFound, VersionConflict
from ..values.facts import Fact, FactStatus
from ..values.governance.changes import Change, ChangeActor, ChangedItem, ChangeKind, new_change
from ..values.records import Memory
from ..values.text import normalise


class MemoryEdit(Value):
    """What a memory says from now on; None leaves it as it is.

    Args:
        created_at: When it was said.
        expected_version: The version that it must have; None for any.
        reason: Why, in the words of whoever edits.
    """

    text: str | None = None
    metadata: Mapping[str, Scalar] | None = None
    created_at: Timestamp | None = None
    expected_version: int | None = None
    reason: str = ""


async def edit_memory(
    unit: UnitOfWork, memory_id: str, edit: MemoryEdit, *, at: datetime
) -> tuple[Memory, Change | None]:
    """Changes what a memory says; the caller commits. The change can be undone, and is None where nothing differs.

    The log entry keeps what was said. Facts that the old text stated, and whose object the new one does not name any
    more, are archived, each by a change of its own; new facts are learned from what is said, not from an edit.

    Raises:
        NotFound: The user has no such memory.
        VersionConflict: It has another version.
        Conflict: It was anonymised.
    """
    memory = next(iter(await unit.memories.get([memory_id])), None)
    if memory is None:
        raise NotFound(f"memory_id: there is no memory {memory_id!r}.")
    if edit.expected_version not in (None, memory.version):
        message = f"the memory {memory_id} has version {memory.version}, not {edit.expected_version}"
        raise VersionConflict(message, versions={memory_id: memory.version})
    if memory.is_anonymised:
        raise Conflict(f"The memory {memory_id} was anonymised: it holds nothing that could be edited.")
    update: dict[str, object] = {}
    if edit.text is not None and edit.text != memory.text:
        named = await unit.entities.found_in(edit.text)
        update |= {"text": edit.text, "resolved": None, "entity_ids": tuple(entity.entity_id for entity in named)}
    if edit.metadata is not None and edit.metadata != memory.metadata:
        update["metadata"] = dict(edit.metadata)
    if edit.created_at is not None and edit.created_at != memory.created_at:
        update["created_at"] = edit.created_at
    if not update:
        return memory, None
    edited = memory.model_copy(update=update | {"version": memory.version + 1, "updated_at": at})
    await unit.memories.save([edited])
    if edited.text != memory.text:
        await _archive_unsaid(unit, memory, edited, at=at)
    change = new_change(
        ChangeKind.EDIT,
        user_id=memory.user_id,
        at=at,
        actor=ChangeActor.USER,
        reason=edit.reason,
        items=[ChangedItem.of(memory, edited)],
    )
    await unit.changes.append([change])
    return edited, change


async def _archive_unsaid(unit: UnitOfWork, before: Memory, after: Memory, *, at: datetime) -> None:
    said_before, said_now = normalise(f"{before.text}\n{before.resolved or ''}"), normalise(after.text)

    def is_unsaid(fact: Fact) -> bool:
        object_ = normalise(fact.object)
        return fact.status is FactStatus.ACTIVE and object_ in said_before and object_ not in said_now

    for fact in filter(is_unsaid, await unit.facts.stated_in([before.resource_id])):
        reason = f"the memory {before.memory_id} was edited and does not say it any more"
        if is_typed_memory(fact):
            shown = typed_memory_of(fact)
            await set_status(unit, shown, ChangeKind.ARCHIVE, at=at, actor=ChangeActor.USER, reason=reason)
        else:
            await unit.facts.update_status(fact.fact_id, FactStatus.ARCHIVED, now=at)
