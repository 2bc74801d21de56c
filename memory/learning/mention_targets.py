"""Which entity a mention counts for, as things are when it is learned: names may have moved since it was found."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..entities.lookup import follow_merges, is_named
from ..ports.record import UnitOfWork
from ..values.entities import Entity
from ..values.ids import derive_id
from ..values.mentions import Mention
from ..values.text import normalise


@dataclass
class MentionTargets:
    """The entity that each mention counts for, by the id that the mention carries.

    Args:
        ids: Ids of the entities, by the ids of the mentions; there for entities that do not exist yet, too.
        known: The entities that exist, by their own ids.
    """

    ids: dict[str, str] = field(default_factory=dict)
    known: dict[str, Entity] = field(default_factory=dict)

    def entity_of(self, mention_id: str) -> Entity | None:
        """The entity that a mention with this id counts for, where it exists."""
        return self.known.get(self.ids[mention_id])

    def set_entity(self, entity: Entity) -> None:
        """Takes note of an entity as it is now."""
        self.known[entity.entity_id] = entity


async def find_mention_targets(unit: UnitOfWork, user_id: str, mentions: Mapping[str, Mention]) -> MentionTargets:
    """Finds the entities that mentions count for, given by the ids that extraction gave them.

    A name leads to the living entity that has it, whatever was merged, renamed or aliased since it was found. One that
    an entity has lost gets an id of its own, as that entity keeps the id that was made from it.
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
    """The entity that has this name now, an archived one too: it is there again once somebody speaks of it."""
    named = await unit.entities.get_by_value(mention.text)
    if named is None:
        return None
    entity = await follow_merges(unit, named)
    return entity if is_named(entity, mention.text) else None
