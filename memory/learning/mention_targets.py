"""Finds the current entity of each mention: names may have been merged or renamed since extraction."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..entities.lookup import follow_merges, is_named
from ..ports.stores.record import UnitOfWork
from ..values.entities import Entity
from ..values.ids import derive_id
from ..values.text import normalise
from ..values.understanding.mentions import Mention


@dataclass
class MentionTargets:
    """The current entity of each mention.

    Args:
        ids: Entity ids, also of new entities, by the entity id in the mention.
        known: Existing entities by id.
    """

    ids: dict[str, str] = field(default_factory=dict)
    known: dict[str, Entity] = field(default_factory=dict)

    def entity_of(self, mention_id: str) -> Entity | None:
        """The entity of a mention with this entity id; None for a new entity."""
        return self.known.get(self.ids[mention_id])

    def set_entity(self, entity: Entity) -> None:
        """Adds or replaces an existing entity."""
        self.known[entity.entity_id] = entity


async def find_mention_targets(unit: UnitOfWork, user_id: str, mentions: Mapping[str, Mention]) -> MentionTargets:
    """Finds the current entities of mentions, which are given by the entity ids of their extraction.

    Merges, renamings and aliases are followed. A name that its entity has lost gets a new id, since that entity keeps
    the id derived from the name.
    """
    targets = MentionTargets()
    found = {entity.entity_id: entity for entity in await unit.entities.get(sorted(mentions))}
    for id_, mention in mentions.items():
        entity = found.get(id_)
        if entity is None or not entity.is_current or not is_named(entity, mention.text):
            entity = await _by_name(unit, mention)
        if entity is not None:
            targets.ids[id_] = entity.entity_id
            targets.set_entity(entity)
        else:
            taken = id_ in found
            targets.ids[id_] = derive_id("entity", user_id, normalise(mention.text), id_) if taken else id_
    return targets


async def _by_name(unit: UnitOfWork, mention: Mention) -> Entity | None:
    """The entity with this name now, also an archived one, which a mention restores."""
    named = await unit.entities.get_by_value(mention.text)
    if named is None:
        return None
    entity = await follow_merges(unit, named)
    return entity if is_named(entity, mention.text) else None
