"""Learns aliases that a user states: 「宏康 HCI 又叫 Hongkang HCI」, "we call it Boxy" (000 §4)."""

from collections.abc import Mapping, Sequence

import structlog

from ..entities.edits import ChangeContext, add_alias
from ..entities.lookup import find_by_name
from ..entities.merging import merge
from ..extraction.alias_patterns import AliasClaim
from ..ports.stores.record import UnitOfWork
from ..values.entities import Entity
from ..values.errors import BadRequest
from ..values.governance.changes import ChangeActor
from ..values.text import normalise
from ..values.understanding.mentions import EntitySubtype
from .learned_turns import LearnedTurn

_log = structlog.get_logger(__name__)


async def learn_aliases(
    unit: UnitOfWork, user_id: str, turns: Sequence[LearnedTurn], target_ids: Mapping[str, str]
) -> list[Entity]:
    """Adds the aliases that the turns state to their entities; returns the changed entities.

    An alias that is the name of another entity merges that entity, which can be undone. An alias that contradicts the
    record (it is an alias of a third entity, or the types differ, or both are codes) is logged and not learned.
    """
    changed: dict[str, Entity] = {}
    for turn in turns:
        for claim in turn.aliases():
            target_id = target_ids.get(claim.mention.entity_id or "")
            found = await unit.entities.get([target_id]) if target_id else []
            if not found:
                continue
            context = ChangeContext(
                user_id=user_id,
                at=turn.resource.created_at,
                actor=ChangeActor.SYSTEM,
                reason=f"said: {' '.join(turn.resource.content.split())[:120]}",
                about=(turn.resource.resource_id,),
            )
            entity = await _learn_alias(unit, found[0], claim, context)
            if entity is not None:
                changed[entity.entity_id] = entity
    return list(changed.values())


async def _learn_alias(unit: UnitOfWork, entity: Entity, claim: AliasClaim, context: ChangeContext) -> Entity | None:
    other = await find_by_name(unit, claim.alias)
    try:
        if other is None:
            named, change = await add_alias(unit, entity.entity_id, claim.alias, context)
            return named if change else None
        if other.entity_id == entity.entity_id:
            return None
        if other.normalised_value == normalise(claim.alias) and _may_be_one(entity, other):
            return (await merge(unit, entity.entity_id, other.entity_id, context))[0]
    except BadRequest as error:
        _log.warning("alias_not_learned", entity=entity.entity_value, alias=claim.alias, reason=error.message)
        return None
    _log.warning(
        "alias_not_learned", entity=entity.entity_value, alias=claim.alias, reason=f"means {other.entity_value}"
    )
    return None


def _may_be_one(entity: Entity, other: Entity) -> bool:
    kinds = {entity.subtype, other.subtype} - {None}
    return len(kinds) <= 1 and EntitySubtype.CODE not in kinds
