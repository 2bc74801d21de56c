"""`/mem0/v3/memories/` and `/search/`: memories by filters, in pages or by relevance."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from memory.values.base import utc_now
from memory.values.errors import BadRequest

from ...identity.current import CURRENT_IDENTITY
from ...support.service_route import ServiceRoute
from ...support.services import Services, ServicesDep
from .bodies import FilterBody, PageBody, SearchBody
from .filters import names_entity, users_of
from .owners import NO_ENTITY, owners_among
from .paging import paged
from .reading import Selection, list_memories, search_memories, selection_of, with_categories
from .replies import PREFIX

router = APIRouter(prefix=PREFIX, route_class=ServiceRoute)


async def select(body: FilterBody, services: Services) -> Selection:
    """What a body means, of users that the caller may act for.

    Raises:
        BadRequest: Nothing says of whom, neither the filters nor the credential.
    """
    filter_ = body.filter()
    if not names_entity(filter_) and CURRENT_IDENTITY.get().user() is None:
        raise BadRequest(NO_ENTITY)
    return selection_of(body, await owners_among(users_of(filter_), services), now=utc_now())


async def _listed(body: PageBody, services: ServicesDep) -> tuple[PageBody, Selection]:
    return body, await select(body, services)


async def _searched(body: SearchBody, services: ServicesDep) -> tuple[SearchBody, Selection]:
    return body, await select(body, services)


@router.post("/v3/memories/")
async def get_all(
    request: Request,
    chosen: Annotated[tuple[PageBody, Selection], Depends(_listed)],
    services: ServicesDep,
    page: Annotated[int | None, Query(ge=1)] = None,
    page_size: Annotated[int | None, Query(ge=1, le=200)] = None,
) -> dict[str, Any]:
    """A page of the memories that the filters let through, latest first."""
    body, selection = chosen
    found = await list_memories(services, selection)
    shown = paged(request, found, number=page or body.page, size=page_size or body.page_size)
    return shown | {
        "results": [memory.shown(body.fields) for memory in await with_categories(services, shown["results"])]
    }


@router.post("/v3/memories/search/")
async def search(
    chosen: Annotated[tuple[SearchBody, Selection], Depends(_searched)], services: ServicesDep
) -> dict[str, Any]:
    """The memories that answer a query best, of those that the filters let through."""
    body, selection = chosen
    found = await search_memories(services, selection, body, utc_now())
    return {"results": [memory.shown(body.fields) for memory in found]}
