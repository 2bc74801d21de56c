"""`/mem0/v1/ping/`, the project, exports, and what is not served."""

from collections import defaultdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import JsonValue

from memory.jobs.runs import recorded_run
from memory.values.errors import BadRequest, NotFound

from ...identity.current import CURRENT_IDENTITY
from ...support.service_route import ServiceRoute
from ...support.services import Services, ServicesDep
from .bodies import ExportBody
from .finding import select
from .kept import KeptMemory
from .reading import list_memories, with_categories
from .removing import NO_PROFILES
from .replies import PREFIX

router = APIRouter(prefix=PREFIX, route_class=ServiceRoute)
unserved = APIRouter(prefix=PREFIX, route_class=ServiceRoute)
ORGANISATION = "jiyi"
_EXPORT = "export"
_PROJECT = "/api/v1/orgs/organizations/{org_id}/projects/{project_id}/"
_NOT_SERVED = {
    "api/v1/webhooks": "Webhooks are not served.",
    "api/v1/orgs": "Projects and members are not managed here: `jiyi keys` makes keys for apps and users.",
    "v1/summary": "Summaries are not served: POST /summarize of Jiyi's own API writes them.",
    "v2/profiles": NO_PROFILES,
    "v1/events": "Events are not listed: GET /v1/event/{event_id}/ says what became of an addition.",
    "v1/memories/events": "Events are not listed: GET /v1/event/{event_id}/ says what became of an addition.",
    "v1/users": "Users are not made beforehand: a user is there with the first memory.",
    "v1/agents": "Agents are not made beforehand: an agent is there with the first memory that names it.",
    "v1/apps": "Apps are not made beforehand: an app is there with the first memory that names it.",
    "v1/runs": "Runs are not made beforehand: a run is there with the first memory that names it.",
}
"""By the beginning of the path."""


@router.get("/v1/ping/")
async def ping(services: ServicesDep) -> dict[str, Any]:
    """That the credential is valid, and the names that clients then put into paths."""
    return {"status": "ok", "org_id": ORGANISATION, "project_id": CURRENT_IDENTITY.get().app}


@router.get(_PROJECT)
async def get_project(
    org_id: str, project_id: str, services: ServicesDep, fields: Annotated[list[str] | None, Query()] = None
) -> dict[str, Any]:
    """The app of the credential as a project; nothing about how it learns can be set."""
    app = CURRENT_IDENTITY.get().app
    if (org_id, project_id) != (ORGANISATION, app):
        raise NotFound("Organization or project not found")
    project = {
        "project_id": app,
        "name": app,
        "description": "",
        "custom_instructions": "",
        "custom_categories": [],
    }
    return project if fields is None else {name: value for name, value in project.items() if name in fields}


@router.patch(_PROJECT)
async def update_project(org_id: str, project_id: str, services: ServicesDep) -> dict[str, Any]:
    """400: what is learned is decided by the models of the service."""
    raise BadRequest("Jiyi learns by its own models: a project has no instructions or categories that could be set.")


async def _exported(body: ExportBody, services: ServicesDep) -> list[KeptMemory]:
    return await list_memories(services, await select(body, services))


@router.post("/v1/exports/", status_code=201)
async def export(found: Annotated[list[KeptMemory], Depends(_exported)], services: ServicesDep) -> dict[str, Any]:
    """Notes which memories the filters let through now; `/v1/exports/get/` gives them as they are then."""
    items: list[JsonValue] = [{"user_id": kept.memory.user_id, "item_id": kept.memory.memory_id} for kept in found]
    app = CURRENT_IDENTITY.get().app
    async with recorded_run(services.record.runs, _EXPORT, {"door": "mem0"}, app=app) as work:
        await work.advance(done=len(items), total=len(items), output={"items": items})
        id_ = work.run.run_id
    return {"id": id_, "message": "The export is ready. Memories are exported as they are; no schema is filled."}


@router.post("/v1/exports/get/")
async def get_export(body: ExportBody, services: ServicesDep) -> dict[str, Any]:
    """The memories of an export that are left, or those that the filters let through now."""
    if body.memory_export_id is None:
        found = await list_memories(services, await select(body, services))
    else:
        found = await _of_export(body.memory_export_id, services)
    return {"memories": [kept.shown(body.fields) for kept in await with_categories(services, found)]}


async def _of_export(export_id: str, services: Services) -> list[KeptMemory]:
    identity = CURRENT_IDENTITY.get()
    run = await services.record.runs.get(export_id)
    if run is None or (run.pipeline, run.app, run.input.get("door")) != (_EXPORT, identity.app, "mem0"):
        raise NotFound("No memory export request found")
    by_owner: dict[str, list[str]] = defaultdict(list)
    items = run.output.get("items")
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            by_owner[str(item["user_id"])].append(str(item["item_id"]))
    only = identity.user()
    if only is not None and by_owner.keys() - {only}:
        raise NotFound("No memory export request found")
    found: list[KeptMemory] = []
    for owner, ids in by_owner.items():
        async with services.record.reading(user_id=owner) as unit:
            found += map(KeptMemory, await unit.memories.get(ids))
    return found


@unserved.api_route("/{path:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
async def refuse(path: str, services: ServicesDep) -> None:
    """400 for what mem0 has and this service has not, 404 for what neither has."""
    for beginning, reason in _NOT_SERVED.items():
        if path.startswith(f"{beginning}/"):
            raise BadRequest(reason)
    raise NotFound(f"/mem0/{path} is no path of this service.")
