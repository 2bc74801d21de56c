"""Gives the items of one user to another: the user's id in all of them, and the ids that were derived from it.

Ids tell the same thing said twice (`memory.values.ids`), so an id that was derived for one user would not be found for
another: the same value would be stored a second time. An id that is not what its item derives to stays as it is.
"""

from typing import Any

from pydantic import ValidationError

from ..values import ids
from ..values.base import Value
from ..values.entities import Entity, EntityRelation
from ..values.facts import Category, Fact, GraphEdge
from ..values.governance.changes import KINDS, Change, ChangedItem, ItemKind
from ..values.predicates import type_of
from ..values.records import Memory, Resource
from ..values.typed_memories import TypedMemory
from ..values.understanding.dialogue import Session, Turn
from ..values.understanding.mentions import Mention
from .lines import Item, ItemType

_CHANGED_TYPES = {kind: type_ for type_, kind in KINDS.items()}


class Renaming:
    """Items of `source` as items of `target`; it keeps a table of the ids that items refer to, of nothing else.

    Args:
        source: The user whose items are given.
        target: The user whose they become.
    """

    def __init__(self, source: str, target: str) -> None:
        self._source = source
        self._target = target
        self._ids: dict[str, str] = {}

    def learn(self, item: Item) -> None:
        """Notes the new id of an item that others refer to; to be called with all items before the first `renamed`."""
        if item.type in (ItemType.ENTITY, ItemType.TYPED_MEMORY, ItemType.FACT):
            self._note(item.item_id, item.value)
        elif item.type is ItemType.CHANGE:
            for changed in item.value.items:
                if changed.kind in (ItemKind.ENTITY, ItemKind.TYPED_MEMORY):
                    for body in (changed.before, changed.after):
                        if (value := _value_of(changed.kind, body)) is not None:
                            self._note(changed.item_id, value)

    def renamed(self, item: Item) -> Item:
        """The item as one of the target."""
        return Item(item.type, self._renamed(item.value), item.learned)

    def _note(self, old: str, value: Any) -> None:
        new = self._derived(value)
        if new != old:
            self._ids.setdefault(old, new)

    def _derived(self, value: Value) -> str:
        """The new id of a value: derived anew where the old one was derived from what it is, else the old one."""
        source, target = self._source, self._target
        match value:
            case Entity():
                for name in value.names:
                    if value.entity_id == ids.entity_id(source, name):
                        return ids.entity_id(target, name)
                return value.entity_id
            case TypedMemory():
                type_and_value = (value.entity_type, value.entity_value)
                is_derived = value.memory_id == ids.typed_memory_id(source, *type_and_value)
                return ids.typed_memory_id(target, *type_and_value) if is_derived else value.memory_id
            case Memory():
                is_derived = value.memory_id == ids.memory_id(source, value.resource_id)
                return ids.memory_id(target, value.resource_id) if is_derived else value.memory_id
            case Fact():
                stated = (value.resource_id, value.subject, value.predicate, value.object)
                if value.fact_id == ids.fact_id(source, *stated):
                    return ids.fact_id(target, *stated)
                type_and_value = (type_of(value.predicate), value.object)
                is_typed = value.fact_id == ids.typed_memory_id(source, *type_and_value)
                return ids.typed_memory_id(target, *type_and_value) if is_typed else value.fact_id
            case EntityRelation():
                old = (value.source_entity_id, value.relation_type, value.target_entity_id)
                if value.relation_id != ids.relation_id(source, *old):
                    return value.relation_id
                return ids.relation_id(target, self._id(old[0]), old[1], self._id(old[2]))
            case Category():
                is_derived = value.category_id == ids.category_id(source, value.name)
                return ids.category_id(target, value.name) if is_derived else value.category_id
            case GraphEdge():
                names = (value.subject, value.predicate, value.object)
                return ids.edge_id(target, *names) if value.edge_id == ids.edge_id(source, *names) else value.edge_id
        raise TypeError(f"{type(value).__name__} has no id that could be derived")

    def _renamed(self, value: Any) -> Any:
        update: dict[str, Any] = {"user_id": self._target}
        match value:
            case Session():
                return self._session(value)
            case Change():
                return self._change(value)
            case Resource():
                if value.understanding is not None:
                    mentions = self._mentions(value.understanding.mentions)
                    update["understanding"] = value.understanding.model_copy(update={"mentions": mentions})
            case Entity():
                update["entity_id"] = self._id(value.entity_id)
                update["related_entities"] = self._all(value.related_entities)
                update["merged_into"] = self._maybe(value.merged_into)
            case EntityRelation():
                update["relation_id"] = self._derived(value)
                update["source_entity_id"] = self._id(value.source_entity_id)
                update["target_entity_id"] = self._id(value.target_entity_id)
            case Memory():
                update["memory_id"] = self._derived(value)
                update["entity_ids"] = self._all(value.entity_ids)
            case Fact():
                update["fact_id"] = self._id(value.fact_id)
                update["supersedes"] = self._maybe(value.supersedes)
                update["doubted_by"] = self._maybe(value.doubted_by)
                update["conflicts_with"] = self._all(value.conflicts_with)
                update["subject_id"] = self._maybe(value.subject_id)
                update["object_id"] = self._maybe(value.object_id)
                if value.details is not None:
                    links = {
                        "also_supersedes": self._all(value.details.also_supersedes),
                        "superseded_by": self._maybe(value.details.superseded_by),
                    }
                    update["details"] = value.details.model_copy(update=links)
            case TypedMemory():
                update["memory_id"] = self._id(value.memory_id)
                update["conflicts_with"] = self._all(value.conflicts_with)
                update["supersedes"] = self._all(value.supersedes)
                update["superseded_by"] = self._maybe(value.superseded_by)
            case Category():
                update["category_id"] = self._derived(value)
            case GraphEdge():
                update["edge_id"] = self._derived(value)
        return value.model_copy(update=update)

    def _change(self, change: Change) -> Change:
        items = tuple(self._changed(item) for item in change.items)
        own = {old.item_id: new.item_id for old, new in zip(change.items, items, strict=True)}
        subjects = tuple(own.get(subject) or self._id(subject) for subject in change.subjects)
        return change.model_copy(update={"user_id": self._target, "items": items, "subjects": subjects})

    def _changed(self, item: ChangedItem) -> ChangedItem:
        values = [_value_of(item.kind, body) for body in (item.before, item.after)]
        if any(value is None and body for value, body in zip(values, (item.before, item.after), strict=True)):
            # A body of an earlier version, which cannot be undone either.
            bodies = (body and body | {"user_id": self._target} for body in (item.before, item.after))
            before, after = bodies
            return item.model_copy(update={"item_id": self._id(item.item_id), "before": before, "after": after})
        return ChangedItem.of(*(value and self._renamed(value) for value in values))

    def _session(self, session: Session) -> Session:
        context = session.context.model_copy(
            update={
                "user_id": self._target,
                "mentioned_entities": self._all(session.context.mentioned_entities),
                "last_referred_entity": self._maybe(session.context.last_referred_entity),
                "coreference_history": tuple(
                    {**entry, "entity_id": self._id(known)}
                    if isinstance(known := entry.get("entity_id"), str)
                    else entry
                    for entry in session.context.coreference_history
                ),
                "to_forget": tuple(map(self._all, session.context.to_forget)),
            }
        )
        return Session(context=context, turns=tuple(map(self._turn, session.turns)))

    def _turn(self, turn: Turn) -> Turn:
        return turn if turn.mentions is None else turn.model_copy(update={"mentions": self._mentions(turn.mentions)})

    def _mentions(self, mentions: tuple[Mention, ...]) -> tuple[Mention, ...]:
        return tuple(mention.model_copy(update={"entity_id": self._mentioned(mention)}) for mention in mentions)

    def _mentioned(self, mention: Mention) -> str | None:
        """The new id of the entity; one that was never learned has the id of its name."""
        if mention.entity_id is not None and mention.entity_id == ids.entity_id(self._source, mention.text):
            return ids.entity_id(self._target, mention.text)
        return self._maybe(mention.entity_id)

    def _id(self, old: str) -> str:
        return self._ids.get(old, old)

    def _maybe(self, old: str | None) -> str | None:
        return None if old is None else self._id(old)

    def _all(self, old: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(self._id, old))


def _value_of(kind: ItemKind, body: Any) -> Any:
    """The value of a changed item; None where there is none, or none that this version can read."""
    if body is None:
        return None
    try:
        return _CHANGED_TYPES[kind].model_validate(body)
    except ValidationError:
        return None
