"""`/keys`: who may make, see, rotate and revoke which."""

from typing import Any

import httpx
import pytest

from deployments.http.support.services import Services
from memory.values.access.identity import KeyScope
from tests.deployments.http.identity.conftest import Client


def _with(secret: str) -> dict[str, str]:
    return {"X-API-Key": secret}


async def test_a_key_from_its_making_to_its_end(client_of: Client, anonymous: httpx.AsyncClient) -> None:
    admin = await client_of(KeyScope.ADMIN)
    made = await admin.post("/keys", json={"name": "Ada's phone", "scope": "user", "user": "ada"})
    assert made.status_code == 201, made.text
    key, secret = made.json()["key"], made.json()["secret"]
    assert secret.startswith(key["prefix"])
    assert (await anonymous.get("/entities", headers=_with(secret))).status_code == 200

    rotated = (await admin.post(f"/keys/{key['key_id']}/rotate", json={"overlap_s": 60})).json()
    for valid in (secret, rotated["secret"]):
        assert (await anonymous.get("/entities", headers=_with(valid))).status_code == 200

    ended = await admin.delete(f"/keys/{key['key_id']}")
    assert ended.json()["revoked_at"] is not None
    for refused in (secret, rotated["secret"]):
        assert (await anonymous.get("/entities", headers=_with(refused))).status_code == 401
    assert (await admin.post(f"/keys/{key['key_id']}/rotate", json={})).status_code == 409


async def test_a_list_shows_no_secret_and_no_hash(client_of: Client, guarded: Services) -> None:
    admin = await client_of(KeyScope.ADMIN)
    issued = await guarded.authenticator.keys.create("後端", scope=KeyScope.APP, app="shop")
    await guarded.authenticator.keys.authenticate(issued.secret)
    await guarded.authenticator.keys.flush()
    reply = await admin.get("/keys", params={"app": "shop"})
    [shown] = reply.json()["results"]
    assert (shown["name"], shown["prefix"], shown["app"]) == ("後端", issued.key.prefix, "shop")
    assert shown["last_used_at"] is not None
    assert issued.secret not in reply.text
    assert issued.key.secret_hash not in reply.text


async def test_lists_come_in_pages(client_of: Client) -> None:
    admin = await client_of(KeyScope.ADMIN)
    for number in range(4):
        await admin.post("/keys", json={"name": str(number), "scope": "user", "user": "ann"})
    first = (await admin.get("/keys", params={"user": "ann", "limit": 3})).json()
    second = (await admin.get("/keys", params={"user": "ann", "limit": 3, "after": first["next"]})).json()
    assert (len(first["results"]), len(second["results"]), second["next"]) == (3, 1, None)


async def test_the_backend_of_a_product_manages_the_keys_of_its_users_alone(client_of: Client) -> None:
    admin, shop = await client_of(KeyScope.ADMIN), await client_of(KeyScope.APP, app_id="shop")
    made = await shop.post("/keys", json={"name": "k", "scope": "user", "user": "ann"})
    assert (made.status_code, made.json()["key"]["app"]) == (201, "shop")
    refusals: list[tuple[dict[str, Any], str]] = [
        ({"scope": "app"}, "scope"),
        ({"scope": "admin"}, "scope"),
        ({"scope": "user", "user": "ann", "app": "desk"}, "app"),
    ]
    for body, field in refusals:
        refused = await shop.post("/keys", json={"name": "k", **body})
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (403, field)
    foreign = [
        (await admin.post("/keys", json=body)).json()["key"]["key_id"]
        for body in (
            {"name": "k", "scope": "user", "user": "ann"},
            {"name": "k", "scope": "app", "app": "shop"},
            {"name": "k", "scope": "admin", "app": "shop"},
        )
    ]
    for key_id in foreign:
        assert (await shop.delete(f"/keys/{key_id}")).status_code == 404
        assert (await shop.post(f"/keys/{key_id}/rotate", json={})).status_code == 404
    assert {key["app"] for key in (await shop.get("/keys")).json()["results"]} == {"shop"}
    assert (await shop.get("/keys", params={"app": "desk"})).status_code == 403
    assert (await shop.delete(f"/keys/{made.json()['key']['key_id']}")).status_code == 200


async def test_a_user_manages_no_keys(client_of: Client) -> None:
    ann = await client_of(KeyScope.USER, user="ann")
    assert (await ann.get("/keys")).status_code == 403
    assert (await ann.post("/keys", json={"name": "k", "scope": "user", "user": "ann"})).status_code == 403


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"scope": "user"}, "user"),
        ({"scope": "app", "user": "ann"}, "user"),
        ({"scope": "root"}, "scope"),
        ({"scope": "app", "app": "No App"}, "app"),
        ({"scope": "app", "app": "\u241f"}, "app"),
        ({"scope": "app", "expires_at": "2001-01-01T00:00:00Z"}, "expires_at"),
    ],
)
async def test_what_cannot_be_a_key_is_refused_by_field(client_of: Client, body: dict[str, Any], field: str) -> None:
    admin = await client_of(KeyScope.ADMIN)
    reply = await admin.post("/keys", json={"name": "k", **body})
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, field)
