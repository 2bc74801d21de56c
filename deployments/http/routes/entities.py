"""`/entities…`: remember, find, name, merge, split and forget entities (000 §7.1, DESIGN §9)."""

from typing import Annotated

from fastapi import APIRouter, Query

from memory.entities.identity_service import EntityIdentityService
from memory.entities.names import referred
from memory.entities.service import EntityMemoryService, context_lines
from memory.values.changes import Change
from memory.values.errors import NotFound

from ..schemas.entities import (
    AliasBody,
    ChangedReply,
    ContextBody,
    ContextReply,
    EditBody,
    EntitiesReply,
    EntityReply,
    EntitySearchBody,
    LongTermReply,
    MergeBody,
    ReferenceSearchBody,
    RelatedReply,
    RememberBody,
    SplitBody,
)
from ..schemas.fields import Identifier
from ..support.services import Services, ServicesDep

router = APIRouter(tags=["entities"])


def entity_memory(services: Services) -> EntityMemoryService:
    """000 §7.1's service over this replica's parts."""
    return EntityMemoryService(
        record=services.record,
        sessions=services.sessions,
        extractor=services.extractor,
        resolver=services.resolver,
        retriever=services.retriever,
        additions=services.additions,
    )


def entity_identity(services: Services) -> EntityIdentityService:
    """The service that names, merges and splits, over this replica's parts."""
    return EntityIdentityService(
        record=services.record, changed=lambda user_id: services.additions.notify(user_id=user_id)
    )


@router.post("/entities")
async def remember(body: RememberBody, services: ServicesDep) -> EntityReply:
    """Keeps a name for good (000 `remember_entity`); what names nothing (a number, a greeting, a date) is refused."""
    await services.admit(body.user_id)
    entity = await entity_memory(services).remember_entity(
        body.entity_value, body.user_id, body.attributes, subtype=body.subtype
    )
    return EntityReply(entity=entity)


@router.post("/entities/search")
async def search(body: EntitySearchBody, services: ServicesDep) -> EntitiesReply:
    """Entities by vector, keyword and exact name (000 `search_entities`); all of them for an empty query."""
    await services.admit(body.user_id)
    found = await entity_memory(services).search_entities(body.query, body.user_id, body.limit)
    return EntitiesReply(results=tuple(found))


@router.post("/entities/by-reference")
async def by_reference(body: ReferenceSearchBody, services: ServicesDep) -> EntitiesReply:
    """Entities that a referring expression may stand for in its session (000 `search_by_coreference`), best first."""
    await services.admit(body.user_id)
    found = await entity_memory(services).search_by_coreference(body.word, body.session_id, body.user_id, body.limit)
    return EntitiesReply(results=tuple(found))


@router.get("/entities/by-name")
async def by_name(user_id: Identifier, name: str, services: ServicesDep) -> EntityReply:
    """The entity with this name or alias, whatever its width, case or script (000 `get_entity`)."""
    await services.admit(user_id)
    entity = await entity_memory(services).get_entity(name, user_id)
    if entity is None:
        raise NotFound(f"name: there is no entity {name!r}.")
    return EntityReply(entity=entity)


@router.get("/entities/long-term")
async def long_term(
    user_id: Identifier, services: ServicesDep, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> LongTermReply:
    """All entities by name, for an agent's own conversation context (000 §8.2 `load_long_term_entities`)."""
    await services.admit(user_id)
    return LongTermReply(entities=await entity_memory(services).load_long_term_entities(user_id, limit))


@router.post("/entities/context")
async def context(body: ContextBody, services: ServicesDep) -> ContextReply:
    """The block about related entities for a router's system prompt (000 §8.4)."""
    await services.admit(body.user_id)
    found = await entity_memory(services).search_entities(body.query, body.user_id, body.limit)
    return ContextReply(context=context_lines(found, body.query), entities=tuple(found))


@router.post("/entities/aliases")
async def add_alias(body: AliasBody, services: ServicesDep) -> EntityReply:
    """Gives an entity one more name. A name that is another entity's is refused with 409."""
    await services.admit(body.user_id)
    entity, change = await entity_identity(services).add_alias(body.entity, body.alias, user_id=body.user_id)
    return EntityReply(entity=entity, change_ids=_ids(change))


@router.delete("/entities/{entity_id}/aliases")
async def remove_alias(entity_id: str, user_id: Identifier, alias: str, services: ServicesDep) -> EntityReply:
    """Takes an alias off an entity."""
    await services.admit(user_id)
    entity, change = await entity_identity(services).remove_alias(entity_id, alias, user_id=user_id)
    return EntityReply(entity=entity, change_ids=_ids(change))


@router.post("/entities/merge")
async def merge(body: MergeBody, services: ServicesDep) -> EntityReply:
    """Makes two entities one: names, mentions, memories and relations of `from` become those of `into`."""
    await services.admit(body.user_id)
    entity, change = await entity_identity(services).merge(body.into, body.merged, user_id=body.user_id)
    return EntityReply(entity=entity, change_ids=_ids(change))


@router.post("/entities/split")
async def split(body: SplitBody, services: ServicesDep) -> EntityReply:
    """Takes names or memories out of an entity into one of its own; returns the new one."""
    await services.admit(body.user_id)
    entity, change = await entity_identity(services).split(
        body.entity, user_id=body.user_id, names=body.names, memory_ids=body.memory_ids, name=body.name or ""
    )
    return EntityReply(entity=entity, change_ids=_ids(change))


@router.get("/entities/{entity_id}")
async def get(entity_id: str, user_id: Identifier, services: ServicesDep) -> EntityReply:
    """An entity by its id, its name or an alias. One that was merged names the other in `merged_into`."""
    await services.admit(user_id)
    async with services.record.reading(user_id=user_id) as unit:
        return EntityReply(entity=await referred(unit, entity_id))


@router.patch("/entities/{entity_id}")
async def edit(entity_id: str, body: EditBody, services: ServicesDep) -> EntityReply:
    """Renames an entity (the old name stays as an alias) or describes it."""
    await services.admit(body.user_id)
    entity, changes = await entity_identity(services).edit(
        entity_id, user_id=body.user_id, name=body.name, subtype=body.subtype, attributes=body.attributes
    )
    return EntityReply(entity=entity, change_ids=_ids(*changes))


@router.delete("/entities/{entity_id}")
async def forget(entity_id: str, user_id: Identifier, services: ServicesDep) -> ChangedReply:
    """Deletes an entity with its names and relations; the memories that mention it stay. Can be undone."""
    await services.admit(user_id)
    change = await entity_identity(services).forget(entity_id, user_id=user_id)
    return ChangedReply(change_id=change.change_id)


@router.get("/entities/{entity_id}/related")
async def related(
    entity_id: str,
    user_id: Identifier,
    services: ServicesDep,
    depth: Annotated[int, Query(ge=1, le=5)] = 1,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    min_confidence: Annotated[float, Query(ge=0, le=1)] = 0.0,
) -> RelatedReply:
    """Entities that hang together with one (000 `get_related_entities`), with the relations and what they weigh now."""
    await services.admit(user_id)
    found = await entity_identity(services).get_related(
        entity_id, user_id=user_id, depth=depth, limit=limit, min_confidence=min_confidence
    )
    return RelatedReply(results=tuple(found))


def _ids(*changes: Change | None) -> tuple[str, ...]:
    return tuple(change.change_id for change in changes if change is not None)
