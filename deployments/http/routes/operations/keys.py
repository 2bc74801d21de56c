"""`/keys`: API keys, for operators, and for the backend of a product, which manages the keys of its own users."""

from typing import Annotated

from fastapi import APIRouter, Query

from memory.identity.api_keys import ApiKeys
from memory.identity.caller import Identity
from memory.values.access.identity import ApiKey, AppId, KeyScope
from memory.values.errors import Forbidden, NotFound

from ...identity.operators import APP_OR_ADMIN, AUDITED, IdentityDep
from ...schemas.fields import Identifier
from ...schemas.operations.keys import CreateKeyBody, IssuedKeyReply, KeyList, KeyReply, RotateKeyBody
from ...support.problems import replies
from ...support.service_route import ServiceRoute
from ...support.services import ServicesDep

router = APIRouter(
    prefix="/keys",
    tags=["keys"],
    dependencies=[APP_OR_ADMIN, AUDITED],
    responses=replies(404, 409),
    route_class=ServiceRoute,
)


@router.post("", status_code=201)
async def create_key(body: CreateKeyBody, services: ServicesDep, identity: IdentityDep) -> IssuedKeyReply:
    """Makes an API key; the secret is in this reply and nowhere else.

    A credential of scope `app` makes keys of scope `user` in its own app.
    """
    app = body.app or identity.app
    if not _may_manage(identity, body.scope, app):
        field = "app" if app != identity.app else "scope"
        raise Forbidden(f"{field}: this credential makes keys of scope user in its own app alone", field=field)
    issued = await services.authenticator.keys.create(
        body.name, scope=body.scope, app=app, user=body.user, expires_at=body.expires_at
    )
    return IssuedKeyReply.of(issued)


@router.get("")
async def list_keys(
    services: ServicesDep,
    identity: IdentityDep,
    app: AppId | None = None,
    user: Identifier | None = None,
    after: Identifier | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> KeyList:
    """A page of keys; for a credential of scope `app` those of its own app."""
    if identity.caller.scope is not KeyScope.ADMIN:
        if app not in (None, identity.app):
            raise Forbidden("app: this credential belongs to another app", field="app")
        app = identity.app
    keys = await services.authenticator.keys.list(app=app, user=user, after=after, limit=limit)
    results = tuple(KeyReply.of(key) for key in keys)
    return KeyList(results=results, next=keys[-1].key_id if len(keys) == limit else None)


@router.post("/{key_id}/rotate")
async def rotate_key(
    key_id: Identifier, body: RotateKeyBody, services: ServicesDep, identity: IdentityDep
) -> IssuedKeyReply:
    """Gives a key a new secret; its id, scope and user stay. 409 where the key is revoked."""
    keys = services.authenticator.keys
    await _managed(keys, key_id, identity)
    return IssuedKeyReply.of(await keys.rotate(key_id, overlap_s=body.overlap_s))


@router.delete("/{key_id}")
async def revoke_key(key_id: Identifier, services: ServicesDep, identity: IdentityDep) -> KeyReply:
    """Ends a key for good: refused at once by the replica that answers, by the others after a few seconds."""
    keys = services.authenticator.keys
    await _managed(keys, key_id, identity)
    return KeyReply.of(await keys.revoke(key_id))


def _may_manage(identity: Identity, scope: KeyScope, app: str) -> bool:
    return identity.caller.scope is KeyScope.ADMIN or (scope is KeyScope.USER and app == identity.app)


async def _managed(keys: ApiKeys, key_id: str, identity: Identity) -> ApiKey:
    """The key.

    Raises:
        NotFound: There is none, or none that the caller may manage: which of the two is not said.
    """
    key = await keys.get(key_id)
    if not _may_manage(identity, key.scope, key.app):
        raise NotFound(f"key_id: there is no key {key_id!r}")
    return key
