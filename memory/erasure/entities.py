"""What becomes of entities when some of the messages that mention them are erased."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..learning.learned_turns import LearnedTurn
from ..values.entities import Entity, EntitySource
from ..values.governance.changes import Change, ChangeActor, ChangeKind, ItemKind
from ..values.records import Resource
from ..values.text import normalise
from .effects import Effects
from .selection import Selection


@dataclass(frozen=True)
class Passage:
    """A memory that stays: its message, when that was said, and the entities that it mentions."""

    memory_id: str
    resource_id: str
    created_at: datetime
    entity_ids: tuple[str, ...]


@dataclass
class Evidence:
    """What is known of entities beyond the messages that go.

    Args:
        kept: The memories that mention an entity, by its id.
        mentions: How often the messages that go mention an entity, by its id.
        said: Normalised names that a message of the user says that stays.
        given: Normalised names that a person gave an entity by hand, by its id.
    """

    kept: Mapping[str, Sequence[Passage]]
    mentions: Mapping[str, int]
    said: set[str]
    given: Mapping[str, set[str]]


def count_mentions(resource: Resource, entities: Iterable[Entity]) -> Counter[str]:
    """How often a message mentions these entities, at least as often as was learned.

    What was understood of it says so; where that is not known, the names in its text do.
    """
    names = {normalise(name): entity.entity_id for entity in entities for name in entity.names}
    if resource.understanding is not None:
        turn = LearnedTurn(resource, resource.understanding, None)
        found = [names.get(normalise(mention.text), id_) for id_, mention in turn.mentions()]
        return Counter(found)
    text = normalise(resource.content)
    return Counter({id_: text.count(name) for name, id_ in names.items() if name})


def names_given(change: Change) -> dict[str, set[str]]:
    """The normalised names that a person added to an entity by a change, by its id."""
    is_naming = change.actor is ChangeActor.USER and change.kind in (ChangeKind.RENAME, ChangeKind.ALIAS)
    return {
        item.item_id: set(_names(item.after)) - set(_names(item.before))
        for item in (change.items if is_naming else ())
        if item.kind is ItemKind.ENTITY and item.after is not None and item.before is not None
    }


def settle_entity(entity: Entity, selection: Selection, evidence: Evidence, effects: Effects) -> set[str]:
    """Notes what becomes of an entity that the messages mention; returns the normalised names that it loses.

    It stays where a memory that stays mentions it, a person entered it by hand, or everybody's memory begins with it;
    without any of its names it goes.
    """
    kept = evidence.kept.get(entity.entity_id, ())
    removed = evidence.mentions.get(entity.entity_id, 0)
    is_of_scope = selection.holds(entity.first_mentioned, entity.last_mentioned)
    by_hand = entity.source is EntitySource.USER and entity.mention_count > removed and not is_of_scope
    by_hand = by_hand or entity.merged_into is not None or entity.source is EntitySource.SYSTEM
    supported = evidence.said | evidence.given.get(entity.entity_id, set())
    if by_hand and entity.merged_into is None:
        supported = supported | {entity.normalised_value}
    names = [name for name in entity.names if normalise(name) in supported]
    if not names or not (kept or by_hand):
        effects.entities.append(entity.entity_id)
        return set(map(normalise, entity.names))
    times = [passage.created_at for passage in kept]
    erased = {resource.created_at for resource in selection.messages.values()}
    update: dict[str, object] = {
        "entity_value": names[0],
        "normalised_value": normalise(names[0]),
        "aliases": tuple(names[1:]),
        "mention_count": max(entity.mention_count - removed, len(kept)),
    }
    if times and entity.first_mentioned in erased:
        update["first_mentioned"] = min(times)
    if times and entity.last_mentioned in erased:
        update["last_mentioned"] = max(times)
    after = entity.model_copy(update=update)
    if after != entity:
        effects.rewrite(entity, after.model_copy(update={"version": entity.version + 1}))
    return {normalise(name) for name in entity.names} - {normalise(name) for name in names}


def _names(body: Mapping[str, object]) -> list[str]:
    aliases = body.get("aliases")
    names = [body.get("entity_value"), *(aliases if isinstance(aliases, list) else ())]
    return [normalise(name) for name in names if isinstance(name, str)]
