"""Two products share a service and no users: what one does, the other's users never see."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import httpx
import pytest
from httpx_sse import aconnect_sse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deployments.http.identity.authentication import Authenticator
from deployments.http.support.services import Services
from memory.identity.api_keys import ApiKeys
from memory.values.access.identity import DEFAULT_APP, KeyScope
from storage.inmemory.keys import InMemoryKeys
from tests.deployments.conftest import services as services_fixture
from tests.deployments.http.identity.conftest import Client
from tests.deployments.serving import serving

MARK = "\u241f"


async def test_the_same_user_id_in_two_apps_is_two_users(client_of: Client) -> None:
    shop, desk = [await client_of(KeyScope.APP, app_id=app) for app in ("shop", "desk")]
    for client, place in ((shop, "三樓機房"), (desk, "倉庫")):
        said = {"user_id": "ann", "message": f"我們公司買了 AI-Box，放在{place}。", "wait": True}
        assert (await client.post("/chat", json=said)).status_code == 200
    for client, place, other in ((shop, "三樓機房", "倉庫"), (desk, "倉庫", "三樓機房")):
        reply = await client.post("/chat", json={"user_id": "ann", "message": "它放在哪裡？"})
        assert place in reply.json()["reply"]
        assert other not in reply.text
        [entity, *_] = (await client.get("/entities", params={"user_id": "ann"})).json()["results"]
        assert entity["user_id"] == "ann"
    default = await client_of(KeyScope.APP)
    assert (await default.get("/entities", params={"user_id": "ann"})).json()["results"] == []
    assert (await default.get("/entities", params={"user_id": f"shop{MARK}ann"})).json()["results"] == []


async def test_a_backend_lists_the_users_of_its_own_app_page_by_page(client_of: Client) -> None:
    shop, desk = [await client_of(KeyScope.APP, app_id=app) for app in ("shop", "desk")]
    for client, users in ((shop, ("cid", "ann", "bob")), (desk, ("dan",))):
        for user in users:
            await client.post("/memories", json={"user_id": user, "text": "I live in Leeds.", "wait": True})
    first = (await shop.get("/users", params={"limit": 2})).json()
    assert first == {"results": [{"user_id": "ann"}, {"user_id": "bob"}], "next": "bob"}
    second = (await shop.get("/users", params={"limit": 2, "after": first["next"]})).json()
    assert second == {"results": [{"user_id": "cid"}], "next": None}
    assert (await desk.get("/users")).json() == {"results": [{"user_id": "dan"}], "next": None}
    assert (await (await client_of(KeyScope.APP)).get("/users")).json() == {"results": [], "next": None}


async def test_a_credential_of_one_user_does_not_list_users(client_of: Client) -> None:
    reply = await (await client_of(KeyScope.USER, app_id="shop", user="ann")).get("/users")
    assert reply.status_code == 403


async def test_the_limit_of_a_page_of_users_is_named(client_of: Client) -> None:
    reply = await (await client_of(KeyScope.APP)).get("/users", params={"limit": 0})
    assert (reply.status_code, "limit" in reply.text) == (422, True)


async def test_no_reply_shows_how_app_and_user_are_stored(client_of: Client) -> None:
    shop = await client_of(KeyScope.APP, app_id="shop")
    admin = await client_of(KeyScope.ADMIN, **{"X-Jiyi-App": "shop"})
    page = (await shop.get("/openapi.json")).json()
    replies = []
    for path, methods in page["paths"].items():
        if (
            "post" not in methods
            or "requestBody" not in methods["post"]
            or path.startswith(("/index", "/jobs", "/keys", "/erasures"))
        ):
            continue
        if path in ("/import", "/memories/audit") or "{corpus_id}" in path or "{conversation_id}" in path:
            continue  # JSON lines: `test_portability`; a memory: `test_retention_http`; a corpus: `test_knowledge_http`
        reference = methods["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        for example in page["components"]["schemas"][reference.rsplit("/", 1)[-1]]["examples"]:
            body = example | ({"model": "fake"} if path == "/v1/embeddings" else {})
            headers = {"X-Jiyi-User": "ada"} if path.startswith("/v1/") else {}
            client, named = admin if path == "/review/run" else shop, path.replace("{vector_store_id}", "memory")
            replies.append(await client.post(named, json=body, headers=headers))
            assert replies[-1].is_success, f"{path}: {replies[-1].text}"
    async with aconnect_sse(
        shop, "POST", "/chat", json={"user_id": "ada", "message": "我買了 AI-Box。", "stream": True}
    ) as source:
        streamed = json.dumps([event.json() async for event in source.aiter_sse()], ensure_ascii=False)
    paths = ("/entities", "/changes", "/sessions/s1", "/review", "/entities/long-term")
    replies += [await shop.get(path, params={"user_id": "ada"}) for path in paths]
    replies.append(await admin.get("/review/status"))
    assert sum('"user_id":"ada"' in reply.text for reply in replies) > 10
    assert [reply.text for reply in replies if MARK in reply.text] == []
    assert MARK not in streamed
    for reply in replies:
        assert int(reply.headers["content-length"]) == len(reply.content)


async def test_an_admin_acts_in_the_app_that_it_names_and_nobody_else_does(client_of: Client) -> None:
    shop, admin = await client_of(KeyScope.APP, app_id="shop"), await client_of(KeyScope.ADMIN)
    note = {"user_id": "ann", "text": "The spare key is in the blue drawer."}
    await admin.post("/memories", json=note, headers={"X-Jiyi-App": "shop"})
    search = {"user_id": "ann", "query": "spare key"}
    assert (await shop.post("/search", json=search)).json()["results"] != []
    assert (await admin.post("/search", json=search)).json()["results"] == []
    refused = await shop.post("/search", json=search, headers={"X-Jiyi-App": "desk"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (403, "X-Jiyi-App")


_FOUND_BY = {"search": "note", "entities": "RM"}
"""How what a step finds begins, whatever else is there: a search for "everything" needs no name of an entity."""
APPS = (DEFAULT_APP, "shop", "desk")
USERS = ("ann", "bob", f"shop{MARK}ann", f"{MARK}ann", "*", "ann'} OR *")
steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "search", "entities", "remember", "session", "changes"]),
        st.sampled_from(list(KeyScope)),
        st.sampled_from(APPS),  # of the key
        st.sampled_from(USERS),  # of the key, where it has one
        st.sampled_from([None, *APPS]),  # X-Jiyi-App
        st.sampled_from([None, *USERS]),  # X-Jiyi-User
        st.sampled_from([None, *USERS]),  # user_id
    ),
    min_size=4,
    max_size=16,
)


@asynccontextmanager
async def _service() -> AsyncIterator[tuple[httpx.AsyncClient, ApiKeys]]:
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(asynccontextmanager(cast("Any", services_fixture).__wrapped__)())
        keys = ApiKeys(InMemoryKeys())
        guarded: Services = replace(opened, authenticator=Authenticator(keys=keys, required=True))
        stack.push_async_callback(keys.close)

        yield await stack.enter_async_context(serving(guarded)), keys


def _reached(scope: KeyScope, app: str, user: str, named_app: Any, header: Any, field: Any) -> tuple[str, str] | None:
    """Whom a request may reach, said without the code under test; None where it is refused."""
    if named_app not in (None, app) and scope is not KeyScope.ADMIN:
        return None
    app = named_app or app
    if scope is KeyScope.USER:
        return (app, user) if {header, field} <= {None, user} else None
    if header is not None:
        return (app, header) if field in (None, header) else None
    return None if field is None else (app, field)


async def _send(http: httpx.AsyncClient, act: str, field: str | None, headers: Any, number: int) -> httpx.Response:
    named = {} if field is None else {"user_id": field}
    match act:
        case "add":
            return await http.post(
                "/memories", json=named | {"text": f"note-{number:02} about everything"}, headers=headers
            )
        case "remember":
            return await http.post("/entities", json=named | {"entity_value": f"RM{number:02}-008"}, headers=headers)
        case "search":
            return await http.post("/search", json=named | {"query": "everything", "top_k": 50}, headers=headers)
        case "entities":
            return await http.post("/entities/search", json=named | {"limit": 50}, headers=headers)
        case "session":
            return await http.get("/sessions/default", params=named, headers=headers)
        case _:
            return await http.get("/changes", params=named | {"limit": 100}, headers=headers)


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(steps=steps)
@pytest.mark.slow
def test_no_key_reaches_another_user_or_another_app(steps: Any) -> None:
    async def run() -> None:
        kept: dict[tuple[str, str], set[str]] = {}
        async with _service() as (http, keys):
            for number, (act, scope, app, user, named_app, header, field) in enumerate(steps):
                issued = await keys.create("k", scope=scope, app=app, user=user if scope is KeyScope.USER else None)
                headers = {"X-API-Key": issued.secret.encode()}
                headers |= {"X-Jiyi-App": named_app.encode()} if named_app else {}
                headers |= {"X-Jiyi-User": header.encode()} if header else {}
                reply = await _send(http, act, field, headers, number)
                whom = _reached(scope, app, user, named_app, header, field)
                assert reply.is_success == (whom is not None), reply.text
                if whom is None:
                    assert reply.status_code in (403, 422)
                    continue
                own = kept.setdefault(whom, set())
                own |= {f"note-{number:02}" if act == "add" else f"RM{number:02}-008"} & {
                    "add": {f"note-{number:02}"},
                    "remember": {f"RM{number:02}-008"},
                }.get(act, set())
                foreign = {item for owner, items in kept.items() if owner != whom for item in items}
                assert not [item for item in foreign if item in reply.text]
                if found := _FOUND_BY.get(act):
                    assert all(item in reply.text for item in own if item.startswith(found)), (own, reply.text)

    asyncio.run(run())
