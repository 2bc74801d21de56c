"""`GET /users`: who has something in memory; what is kept of one is erased by `DELETE /users/{user_id}`."""

from typing import Annotated

from fastapi import APIRouter, Query

from memory.identity.users import users_of_app
from memory.values.access.identity import shown_user

from ...identity.operators import APP_OR_ADMIN, AUDITED, IdentityDep
from ...schemas.fields import Identifier
from ...schemas.operations.user_list import UserList, UserReply
from ...support.service_route import ServiceRoute
from ...support.services import ServicesDep

router = APIRouter(route_class=ServiceRoute, tags=["operations"])


@router.get("/users", dependencies=[APP_OR_ADMIN, AUDITED])
async def list_users(
    services: ServicesDep,
    identity: IdentityDep,
    after: Annotated[Identifier | None, Query(description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> UserList:
    """A page of the users of the app who have something in memory, sorted by id. For its backend and for operators."""
    found: list[UserReply] = []
    async for stored in users_of_app(services.record.backlog, identity.app, after=after):
        if len(found) == limit:
            return UserList(results=tuple(found), next=shown_user(found[-1].user_id))
        found.append(UserReply(user_id=stored))
    return UserList(results=tuple(found), next=None)
