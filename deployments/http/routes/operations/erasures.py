"""`/erasures` and `DELETE /users/{user_id}`: forgetting a user or a part of their memory, with a receipt."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from memory.identity.caller import Identity
from memory.values.governance.erasures import WHOLE_USER, Erasure, ErasureScope, ErasureState, Tombstone

from ...identity.operators import OPERATORS, IdentityDep, write_audit
from ...schemas.fields import Identifier
from ...schemas.operations.erasures import EraseBody, ErasureList, ReplayBody, TombstoneList
from ...schemas.users import UserOfPath
from ...support.erasing import until_done
from ...support.problems import replies
from ...support.service_route import ErasureRoute
from ...support.services import Services, ServicesDep

router = APIRouter(tags=["erasure"], responses=replies(404, 409), route_class=ErasureRoute)
_PENDING: dict[int | str, dict[str, Any]] = {
    202: {"model": Erasure, "description": "It is at work, or waits for a store to come back."}
}


@router.post("/erasures", responses=_PENDING)
async def erase(body: EraseBody, services: ServicesDep, identity: IdentityDep, response: Response) -> Erasure:
    """Erases everything of a user, or a part, from every store.

    With messages goes what was learned only from them: what others say, too, stays. Of an `item`, the messages that
    mention it stay unless `messages` is true.

    202 while it is at work: `GET /erasures/{erasure_id}` says when it is done, with a receipt. It is tried again until
    every store has done so. The same request again returns the erasure that is pending. While a whole user is being
    erased, other requests about that user are 409.
    """
    return await _erase(services, identity, body.scope, body.user_id, response, wait=body.wait)


@router.delete("/users/{user_id}", responses=_PENDING)
async def erase_user(
    user_id: UserOfPath,
    services: ServicesDep,
    identity: IdentityDep,
    response: Response,
    wait: Annotated[bool, Query(description="Reply when it is done, or after half a minute.")] = False,
) -> Erasure:
    """Erases everything of a user; see `POST /erasures`."""
    return await _erase(services, identity, WHOLE_USER, user_id, response, wait=wait)


@router.get("/erasures", dependencies=OPERATORS)
async def list_erasures(services: ServicesDep, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> ErasureList:
    """Pending erasures, then finished ones with their receipts, latest first. For operators."""
    return ErasureList(results=tuple(await services.erasures.list(limit=limit)))


@router.get("/erasures/tombstones", dependencies=OPERATORS)
async def list_tombstones(services: ServicesDep) -> TombstoneList:
    """Finished erasures in digests, to be kept with backups: a restored one then brings nobody back. For operators."""
    return TombstoneList(tombstones=tuple(await services.erasures.tombstones()))


@router.post("/erasures/replay", dependencies=OPERATORS)
async def replay(body: ReplayBody, services: ServicesDep) -> ErasureList:
    """Erases again what a restored backup or an import has brought back. For operators.

    Those are users who were erased and whose memory begins before that, and parts of which something from before is
    there.
    """
    return ErasureList(
        results=tuple(await services.erasures.replay([Tombstone(**mark.model_dump()) for mark in body.tombstones]))
    )


@router.get("/erasures/{erasure_id}")
async def get_erasure(erasure_id: Identifier, services: ServicesDep) -> Erasure:
    """An erasure, with its receipt once it is done; nothing in it says whose it was."""
    return await services.erasures.get(erasure_id)


async def _erase(
    services: Services, identity: Identity, scope: ErasureScope, user_id: str, response: Response, *, wait: bool
) -> Erasure:
    erasure = await services.erasures.request(scope, user_id=user_id)
    # Not `AUDITED`, which would write the user's id down.
    details = {"erasure_id": erasure.erasure_id, "kind": erasure.kind.value, "user": erasure.user}
    write_audit("erase", credential=identity.caller.credential, **details)
    if wait:
        erasure = await until_done(services.erasures, erasure)
    if erasure.state is not ErasureState.DONE:
        response.status_code = 202
    return erasure
