"""`DELETE /mem0/v1/memories/` and `/mem0/…/entities/`: everything of somebody, and who there is."""

from collections import defaultdict
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from memory.values.access.identity import shown_user
from memory.values.errors import BadRequest
from memory.values.governance.erasures import WHOLE_USER, ErasureState
from memory.values.ids import derive_id

from ...identity.current import CURRENT_IDENTITY
from ...identity.operators import write_audit
from ...support.erasing import until_done
from ...support.service_route import ErasureRoute, ServiceRoute
from ...support.services import Services, ServicesDep
from .filters import ANY, AllOf, Filter, names_entity, read_filter, read_written, users_of
from .kept import KeptMemory
from .owners import NO_ENTITY, owner_of, owners_among
from .paging import paged
from .reading import Selection, list_memories
from .replies import PREFIX
from .single import delete_memories

router = APIRouter(prefix=PREFIX, route_class=ServiceRoute)
erasing = APIRouter(prefix=PREFIX, route_class=ErasureRoute)
_TYPES = ("user", "agent", "app", "run")
NO_PROFILES = "Profiles are not served: GET /context of Jiyi's own API says what is known of a user."
_DELETED = "Entity deleted successfully."


async def _deleted(
    services: ServicesDep,
    user_id: str | None = None,
    agent_id: str | None = None,
    app_id: str | None = None,
    run_id: str | None = None,
    metadata: Annotated[str | None, Query(description="An object, as `filters`.")] = None,
    filters: Annotated[str | None, Query(description="JSON, or a Python dictionary as mem0's client sends it.")] = None,
) -> Selection:
    ids = {"user_id": user_id, "agent_id": agent_id, "app_id": app_id, "run_id": run_id}
    parts: list[Filter] = [read_filter({name: value}) for name, value in ids.items() if value is not None]
    if filters is not None:
        parts.append(read_filter(read_written(filters, "filters")))
    if not names_entity(AllOf(tuple(parts))):
        raise BadRequest(NO_ENTITY)
    if metadata is not None:
        parts.append(read_filter({"metadata": read_written(metadata, "metadata")}))
    whole = AllOf(tuple(parts))
    return Selection(await owners_among(users_of(whole), services), whole, None)


@router.delete("/v1/memories/")
async def delete_all(selection: Annotated[Selection, Depends(_deleted)], services: ServicesDep) -> dict[str, Any]:
    """Deletes the memories that are named, expired ones too; without any name it deletes nothing and is 400."""
    await _delete(services, selection)
    return {"message": "Memories deleted successfully!"}


@router.get("/v1/entities/")
async def list_entities(
    request: Request,
    services: ServicesDep,
    page: Annotated[int, Query(ge=1)] = 1,
    page_size: Annotated[int | None, Query(ge=1)] = None,
) -> dict[str, Any]:
    """Whom memories are of: users, and the agents, apps and runs that they name. It reads all of these memories.

    Without `page_size` all are on one page, since the clients that delete everybody read no second one.
    """
    entities = await _entities(services)
    totals = {f"total_{type_}s": sum(entity["type"] == type_ for entity in entities) for type_ in _TYPES}
    return paged(request, entities, number=page, size=page_size or max(1, len(entities))) | totals


@router.get("/v2/entities/{entity_type}/{entity_id:path}/profile/")
async def get_profile(entity_type: str, entity_id: str, services: ServicesDep) -> None:
    """400: there are no profiles."""
    raise BadRequest(NO_PROFILES)


@router.get("/v2/entities/{entity_type}/{entity_id:path}/")
async def get_entity(entity_type: str, entity_id: str, services: ServicesDep) -> list[dict[str, Any]]:
    """One of them, as a list of one or none."""
    _check_type(entity_type)
    found = await _entities(services)
    return [entity for entity in found if (entity["type"], entity["name"]) == (entity_type, entity_id)]


@erasing.delete("/v1/entities/{entity_type}/{entity_id:path}/")
@erasing.delete("/v2/entities/{entity_type}/{entity_id:path}/")
async def delete_entity(entity_type: str, entity_id: str, services: ServicesDep) -> dict[str, Any]:
    """Erases a user from every store, or deletes the memories that name an agent, an app or a run."""
    _check_type(entity_type)
    if entity_id == ANY:
        raise BadRequest("An entity is deleted by its own name: * is none.")
    if entity_type != "user":
        named = read_filter({f"{entity_type}_id": entity_id})
        await _delete(services, Selection(await owners_among(None, services), named, None))
        return {"message": _DELETED}
    erasure = await services.erasures.request(WHOLE_USER, user_id=owner_of(entity_id))
    details = {"erasure_id": erasure.erasure_id, "kind": erasure.kind.value, "user": erasure.user}
    write_audit("erase", credential=CURRENT_IDENTITY.get().caller.credential, **details)
    is_done = (await until_done(services.erasures, erasure)).state is ErasureState.DONE
    return {"message": _DELETED if is_done else "Delete in progress. This may take some time."}


async def _delete(services: Services, selection: Selection) -> None:
    by_owner: dict[str, list[str]] = defaultdict(list)
    for kept in await list_memories(services, selection):
        by_owner[kept.memory.user_id].append(kept.memory.memory_id)
    for owner, ids in by_owner.items():
        await delete_memories(services, owner, ids)


async def _entities(services: Services) -> list[dict[str, Any]]:
    owners = await owners_among(None, services)
    memories = await list_memories(services, Selection(owners, AllOf(()), None))
    named: dict[tuple[str, str], list[KeptMemory]] = {("user", shown_user(owner)): [] for owner in owners}
    for kept in memories:
        for type_ in _TYPES:
            if (name := kept.value(f"{type_}_id")) is not None:
                named.setdefault((type_, name), []).append(kept)
    return [_entity(type_, name, found) for (type_, name), found in named.items() if found]


def _entity(type_: str, name: str, memories: list[KeptMemory]) -> dict[str, Any]:
    app = CURRENT_IDENTITY.get().app
    first: datetime = min(kept.memory.created_at for kept in memories)
    return {
        "id": derive_id("mem0 entity", app, type_, name),
        "name": name,
        "type": type_,
        "owner": app,
        "metadata": None,
        "total_memories": len(memories),
        "created_at": first.isoformat(),
        "updated_at": max(kept.memory.updated_at for kept in memories).isoformat(),
    }


def _check_type(type_: str) -> None:
    if type_ not in _TYPES:
        raise BadRequest(f"Invalid entity type: one of {', '.join(_TYPES)}")
