"""`/entities…` and `/relations`: entities by hand and their relations (000 §4.2, §5.4, §7.1, DESIGN §9)."""

from typing import Annotated

from fastapi import APIRouter, Query

from memory.chat.messages import NewMemory
from memory.chat.prompt_context import context_lines
from memory.extraction.recognition import recognise
from memory.ports.stores.repositories import MAX_DEPTH
from memory.values.base import utc_now
from memory.values.entities import Entity
from memory.values.errors import NotFound
from memory.values.governance.changes import Change
from memory.values.records import ResourceKind
from memory.values.understanding.extractions import Extraction

from ...schemas.memory.chat import DEFAULT_SESSION
from ...schemas.memory.entities import (
    AliasBody,
    ChangedReply,
    ContextBody,
    EditBody,
    EntitiesReply,
    EntityContextReply,
    EntityReply,
    EntitySearchBody,
    ExtractBody,
    ExtractReply,
    LongTermReply,
    MergeBody,
    ReferenceSearchBody,
    RelatedReply,
    RelationBody,
    RelationReply,
    RelationsReply,
    RememberBody,
    SplitBody,
)
from ...schemas.memory.understanding import FactReply
from ...schemas.users import UserQuery
from ...support.problems import replies
from ...support.service_route import ServiceRoute
from ...support.services import Services, ServicesDep

router = APIRouter(tags=["entities"], responses=replies(404, 409), route_class=ServiceRoute)


@router.get("/entities")
async def list_recent(
    user_id: UserQuery, services: ServicesDep, limit: Annotated[int, Query(ge=1, le=100)] = 20
) -> EntitiesReply:
    """The entities that were mentioned last, latest first."""
    async with services.record.reading(user_id=user_id) as unit:
        recent = await unit.entities.recent(limit=limit)
    return EntitiesReply(results=tuple(entity for entity in recent if not entity.is_unseen_seed))


@router.post("/entities/extract")
async def extract(body: ExtractBody, services: ServicesDep) -> ExtractReply:
    """Finds entities, intents, facts and requests to remember in a text; learns it only where `store` is true."""
    [extraction] = await recognise(
        [body.text], user_id=body.user_id, record=services.record, extractor=services.extractor
    )
    services.count_degraded(extraction.degraded)
    stored = await _learn_text(body, extraction, services) if body.store else ()
    return ExtractReply(
        mentions=extraction.mentions,
        remember=extraction.remember,
        intents=extraction.intents,
        facts=FactReply.of(extraction.facts),
        stored=stored,
        degraded=extraction.degraded,
    )


async def _learn_text(body: ExtractBody, extraction: Extraction, services: Services) -> tuple[Entity, ...]:
    note = NewMemory(content=body.text, kind=ResourceKind.NOTE, created_at=utc_now(), understanding=extraction)
    _, learned = await services.additions.add([note], user_id=body.user_id, session_id=DEFAULT_SESSION, wait=True)
    return learned.entities if learned else ()


@router.post("/entities")
async def remember(body: RememberBody, services: ServicesDep) -> EntityReply:
    """Stores a name as an entity (000 `remember_entity`); a number, a greeting or a date is refused."""
    entity, change = await services.editor.remember(
        body.entity_value, user_id=body.user_id, subtype=body.subtype, attributes=body.attributes
    )
    return EntityReply(entity=entity, change_ids=_ids(change))


@router.post("/entities/search")
async def search(body: EntitySearchBody, services: ServicesDep) -> EntitiesReply:
    """Searches entities by vector, keyword and exact name (000 `search_entities`); an empty query returns all."""
    entities = await services.entities.search_entities(
        body.query, body.user_id, body.limit, entity_type=body.entity_type
    )
    return EntitiesReply(results=tuple(entities))


@router.post("/entities/by-reference")
async def search_by_reference(body: ReferenceSearchBody, services: ServicesDep) -> EntitiesReply:
    """Entities that a referring expression may mean in its session, best first (000 `search_by_coreference`)."""
    entities = await services.entities.search_by_coreference(body.word, body.session_id, body.user_id, body.limit)
    return EntitiesReply(results=tuple(entities))


@router.get("/entities/by-name")
async def get_by_name(user_id: UserQuery, name: str, services: ServicesDep) -> EntityReply:
    """The entity with this name or alias; width, case and script are ignored (000 `get_entity`)."""
    entity = await services.entities.get_entity(name, user_id)
    if entity is None:
        raise NotFound(f"name: there is no entity {name!r}.")
    return EntityReply(entity=entity)


@router.get("/entities/long-term")
async def list_long_term(
    user_id: UserQuery, services: ServicesDep, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> LongTermReply:
    """All entities by name, for an agent's own conversation context (000 §8.2 `load_long_term_entities`)."""
    return LongTermReply(entities=await services.entities.load_long_term_entities(user_id, limit))


@router.post("/entities/context")
async def context(body: ContextBody, services: ServicesDep) -> EntityContextReply:
    """Lines about related entities for the system prompt of a router (000 §8.4)."""
    entities = await services.entities.related_entities(body.query, body.user_id, body.limit)
    return EntityContextReply(context=context_lines(entities, body.query), entities=tuple(entities))


@router.post("/entities/aliases")
async def add_alias(body: AliasBody, services: ServicesDep) -> EntityReply:
    """Adds an alias to an entity. 409 where the name belongs to another entity."""
    entity, change = await services.editor.add_alias(body.entity, body.alias, user_id=body.user_id)
    return EntityReply(entity=entity, change_ids=_ids(change))


@router.delete("/entities/{entity_id}/aliases")
async def remove_alias(entity_id: str, user_id: UserQuery, alias: str, services: ServicesDep) -> EntityReply:
    """Removes an alias from an entity."""
    entity, change = await services.editor.remove_alias(entity_id, alias, user_id=user_id)
    return EntityReply(entity=entity, change_ids=_ids(change))


@router.post("/entities/merge")
async def merge(body: MergeBody, services: ServicesDep) -> EntityReply:
    """Merges two entities: names, mentions, memories and relations of `from` go to `into`."""
    entity, change = await services.editor.merge(body.into, body.merged, user_id=body.user_id)
    return EntityReply(entity=entity, change_ids=_ids(change))


@router.post("/entities/split")
async def split(body: SplitBody, services: ServicesDep) -> EntityReply:
    """Splits names or memories off an entity into a new one; returns the new entity."""
    entity, change = await services.editor.split(
        body.entity, user_id=body.user_id, names=body.names, memory_ids=body.memory_ids, name=body.name or ""
    )
    return EntityReply(entity=entity, change_ids=_ids(change))


@router.get("/entities/{entity_id}")
async def get(entity_id: str, user_id: UserQuery, services: ServicesDep) -> EntityReply:
    """An entity by its id, its name or an alias; `merged_into` names the entity that it was merged into."""
    return EntityReply(entity=await services.entities.find_entity(entity_id, user_id))


@router.patch("/entities/{entity_id}")
async def edit(entity_id: str, body: EditBody, services: ServicesDep) -> EntityReply:
    """Renames an entity (the old name stays as an alias) or sets its subtype and attributes."""
    entity, changes = await services.editor.edit(
        entity_id, user_id=body.user_id, name=body.name, subtype=body.subtype, attributes=body.attributes
    )
    return EntityReply(entity=entity, change_ids=_ids(*changes))


@router.delete("/entities/{entity_id}")
async def delete(entity_id: str, user_id: UserQuery, services: ServicesDep) -> ChangedReply:
    """Deletes an entity with its names and relations; the memories that mention it stay. Can be undone."""
    change = await services.editor.delete(entity_id, user_id=user_id)
    return ChangedReply(change_id=change.change_id)


@router.get("/entities/{entity_id}/related")
async def list_related(
    entity_id: str,
    user_id: UserQuery,
    services: ServicesDep,
    depth: Annotated[int, Query(ge=1, le=MAX_DEPTH)] = 1,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    min_confidence: Annotated[float, Query(ge=0, le=1)] = 0.0,
) -> RelatedReply:
    """Entities that are related to one (000 `get_related_entities`), with the relations and their strength."""
    related = await services.editor.get_related(
        entity_id, user_id=user_id, depth=depth, limit=limit, min_confidence=min_confidence
    )
    return RelatedReply(results=tuple(related))


@router.post("/relations")
async def add_relation(body: RelationBody, services: ServicesDep) -> RelationReply:
    """Adds a relation from one entity to another (000 `store_relation`)."""
    relation, change = await services.editor.add_relation(
        body.source,
        body.relation_type,
        body.target,
        user_id=body.user_id,
        description=body.description,
        confidence=body.confidence,
    )
    return RelationReply(relation=relation, change_id=change.change_id)


@router.get("/relations")
async def list_relations(
    user_id: UserQuery, entity: str, services: ServicesDep, limit: Annotated[int, Query(ge=1, le=100)] = 20
) -> RelationsReply:
    """The relations of an entity, strongest first, with their evidence: a log entry and offsets into its text."""
    relations = await services.editor.list_relations(entity, user_id=user_id, limit=limit)
    return RelationsReply(results=tuple(relations))


@router.delete("/relations/{relation_id}")
async def delete_relation(relation_id: str, user_id: UserQuery, services: ServicesDep) -> ChangedReply:
    """Deletes a relation. Can be undone."""
    change = await services.editor.delete_relation(relation_id, user_id=user_id)
    return ChangedReply(change_id=change.change_id)


def _ids(*changes: Change | None) -> tuple[str, ...]:
    return tuple(change.change_id for change in changes if change is not None)
