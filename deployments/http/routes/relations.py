"""`/relations`: how entities belong together, stated and read (000 §4.2, §5.4)."""

from typing import Annotated

from fastapi import APIRouter, Query

from ..schemas.entities import ChangedReply, RelationBody, RelationReply, RelationsReply
from ..schemas.fields import Identifier
from ..support.services import ServicesDep
from .entities import entity_identity

router = APIRouter(tags=["entities"])


@router.post("/relations")
async def relate(body: RelationBody, services: ServicesDep) -> RelationReply:
    """States a relation from one entity to another (000 `store_relation`)."""
    await services.admit(body.user_id)
    relation, change = await entity_identity(services).relate(
        body.source,
        body.relation_type,
        body.target,
        user_id=body.user_id,
        description=body.description,
        confidence=body.confidence,
    )
    return RelationReply(relation=relation, change_id=change.change_id)


@router.get("/relations")
async def relations(
    user_id: Identifier, entity: str, services: ServicesDep, limit: Annotated[int, Query(ge=1, le=100)] = 20
) -> RelationsReply:
    """The relations of an entity, with their evidence: the log entry and the offsets of the words that say so."""
    await services.admit(user_id)
    found = await entity_identity(services).relations(entity, user_id=user_id, limit=limit)
    return RelationsReply(results=tuple(found))


@router.delete("/relations/{relation_id}")
async def unrelate(relation_id: str, user_id: Identifier, services: ServicesDep) -> ChangedReply:
    """Deletes a relation. Can be undone."""
    await services.admit(user_id)
    change = await entity_identity(services).unrelate(relation_id, user_id=user_id)
    return ChangedReply(change_id=change.change_id)
