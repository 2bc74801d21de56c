"""Changes to what is remembered: who made them, why, and the state before and after, for undoing (DESIGN §4, §6)."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import JsonValue

from ..base import Timestamp, UserId, Value
from ..entities import Entity, EntityRelation
from ..ids import new_id
from ..records import Memory
from ..typed_memories import TypedMemory
from .decisions import DecisionRecord

JsonObject = dict[str, JsonValue]
"""A value as JSON has it: what `model_dump(mode="json")` gives and `model_validate` takes."""


class ChangeKind(StrEnum):
    """The kind of a change.

    OVERWRITE is a value that a more confident one, or what was said later, replaced (001 §3.3), ADD and EDIT are what a
    user stored or described by hand. FORGET says that the user asked in chat to forget something, without what;
    DECISION that somebody decided about memories (004 §7.3), also without what they held.
    """

    ADD = "add"
    EDIT = "edit"
    OVERWRITE = "overwrite"
    MERGE = "merge"
    SPLIT = "split"
    RENAME = "rename"
    ALIAS = "alias"
    ARCHIVE = "archive"
    REVIEW = "review"
    RESTORE = "restore"
    DELETE = "delete"
    FORGET = "forget"
    DECISION = "decision"
    UNDO = "undo"


NOT_UNDONE = frozenset({ChangeKind.FORGET, ChangeKind.DECISION})
"""Changes that keep no former state, so that nothing could be undone."""


class ChangeActor(StrEnum):
    """The actor of a change: a person through a call, Jiyi while it learned, or a scheduled job."""

    USER = "user"
    SYSTEM = "system"
    JOB = "job"


class ItemKind(StrEnum):
    """The kind of a changed item; each kind has one repository in a unit of work."""

    ENTITY = "entity"
    RELATION = "relation"
    MEMORY = "memory"
    TYPED_MEMORY = "aam_memory"


class Held(StrEnum):
    """What an answer or a prompt holds besides the items of `ItemKind`: facts by id, categories by name (002 §4.3)."""

    FACT = "fact"
    CATEGORY = "category"


KINDS: dict[type[Value], ItemKind] = {
    Entity: ItemKind.ENTITY,
    EntityRelation: ItemKind.RELATION,
    Memory: ItemKind.MEMORY,
    TypedMemory: ItemKind.TYPED_MEMORY,
}
"""The kind of each value that a change may touch."""


_ID_FIELDS: dict[type[Value], str] = {
    Entity: "entity_id",
    EntityRelation: "relation_id",
    Memory: "memory_id",
    TypedMemory: "memory_id",
}


class ChangedItem(Value):
    """An item before and after a change; None where it did not exist."""

    kind: ItemKind
    item_id: str
    before: JsonObject | None
    after: JsonObject | None

    @classmethod
    def of(cls, before: Value | None, after: Value | None) -> "ChangedItem":
        """The change of one value; at least one of the two is given.

        Raises:
            ValueError: Neither is given, or the two are different items.
        """
        values = [value for value in (before, after) if value is not None]
        identities = {(KINDS[type(value)], _id_of(value)) for value in values}
        if len(identities) != 1:
            raise ValueError("a changed item needs one thing, before or after or both")
        [(kind, item_id)] = identities
        return cls(kind=kind, item_id=item_id, before=_json(before), after=_json(after))


class Change(Value):
    """One change to a user's memory, of one or several items at once.

    Args:
        reason: The reason, as text for people.
        subjects: Ids by which the change is found: of the changed items and of the source of the change.
        items: The changed items, each once, in the order in which they are written.
        undone_at: When the change was undone.
        undoes: The change that this one undid.
        decision: What was decided, for kind DECISION alone.
        sequence: Position in the log, given by the store; 0 before it is stored.
    """

    change_id: str
    user_id: UserId
    at: Timestamp
    kind: ChangeKind
    actor: ChangeActor
    reason: str
    subjects: tuple[str, ...]
    items: tuple[ChangedItem, ...]
    undone_at: Timestamp | None = None
    undoes: str | None = None
    decision: DecisionRecord | None = None
    sequence: int = 0


def new_change(
    kind: ChangeKind,
    *,
    user_id: str,
    at: datetime,
    actor: ChangeActor,
    reason: str,
    items: Sequence[ChangedItem],
    about: Iterable[str] = (),
    undoes: str | None = None,
) -> Change:
    """A change with an id of its own, to be appended in the transaction that makes it.

    Args:
        kind: What was done.
        user_id: Whose memory it is.
        at: When.
        actor: Who did it.
        reason: Why, in words for people.
        items: What it touched; their ids become its subjects.
        about: Ids of other things that the change should be found by.
        undoes: The change that it undoes.
    """
    return Change(
        change_id=new_id(),
        user_id=user_id,
        at=at,
        kind=kind,
        actor=actor,
        reason=reason,
        subjects=tuple(dict.fromkeys([*(item.item_id for item in items), *about])),
        items=tuple(items),
        undoes=undoes,
    )


def _id_of(value: Value) -> str:
    return str(getattr(value, _ID_FIELDS[type(value)]))


def _json(value: Value | None) -> Any:
    return None if value is None else value.model_dump(mode="json")
