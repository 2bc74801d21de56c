"""A key that belongs to a user takes and gives that user's memory, and nobody else's."""

from memory.values.access.identity import KeyScope
from tests.deployments.http.identity.conftest import Client


async def test_a_key_of_a_user_reaches_only_its_own_memory(client_of: Client) -> None:
    ann, bob = [await client_of(KeyScope.USER, user=user, app_id="shop") for user in ("ann", "bob")]
    assert (await ann.post("/chat", json={"message": "We run Grafana.", "wait": True})).is_success
    assert (await bob.get("/export", params={"user_id": "ann"})).status_code == 403
    file = (await ann.get("/export")).content
    assert (await bob.post("/import", params={"user_id": "ann"}, content=file)).status_code == 403
    assert (await bob.post("/import", content=file)).status_code == 422
    reply = await bob.post("/import", params={"from_user_id": "ann"}, content=file)
    assert reply.status_code == 200, reply.text
    assert (reply.json()["user_id"], reply.json()["from_user_id"]) == ("bob", "ann")
    assert b"Grafana" in (await bob.get("/export")).content


async def test_users_of_two_apps_have_different_memories(client_of: Client) -> None:
    shop, blog = [await client_of(KeyScope.APP, app_id=app) for app in ("shop", "blog")]
    user = {"user_id": "ann"}
    assert (await shop.post("/chat", json={**user, "message": "We run Grafana.", "wait": True})).is_success
    assert b"Grafana" not in (await blog.get("/export", params=user)).content
    file = (await shop.get("/export", params=user)).content
    assert "\u241f".encode() not in file
    assert (await blog.post("/import", params=user, content=file)).status_code == 422
    assert (await blog.post("/import", params=user | {"from_user_id": "ann"}, content=file)).status_code == 200
    assert b"Grafana" in (await blog.get("/export", params=user)).content
