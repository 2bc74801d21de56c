"""Which requests are answered, for whom, and what the others are told."""

import dataclasses
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from deployments.http.identity.authentication import Authenticator
from deployments.http.identity.middleware import OPEN_PATHS
from deployments.http.support.services import Services
from memory.values.access.identity import KeyScope
from storage.inmemory.coordination import InMemoryRateLimiter
from tests.deployments.http.identity.conftest import Client

WRONG = {"X-API-Key": f"jiyi_{'0' * 16}_{'0' * 43}"}
NOTE = {"text": "The spare key is in the blue drawer."}


async def _operations(client: httpx.AsyncClient) -> list[tuple[str, str, dict[str, Any]]]:
    """Method, path and description of every operation."""
    page = (await client.get("/openapi.json")).json()
    operations = [(m.upper(), path, said) for path, methods in page["paths"].items() for m, said in methods.items()]
    assert len(operations) > 45
    return operations


async def test_every_route_asks_for_a_credential_but_those_that_hold_nothing(anonymous: httpx.AsyncClient) -> None:
    for method, path, _ in await _operations(anonymous):
        reply = await anonymous.request(method, path)
        if path in OPEN_PATHS:
            assert reply.status_code in (200, 503), path
            continue
        assert reply.status_code == 401, f"{method} {path}"
        assert reply.headers["www-authenticate"].startswith("Bearer")
        is_door = path.startswith("/v1/")  # whose clients read errors of their own form
        assert reply.headers["content-type"] == ("application/json" if is_door else "application/problem+json"), path
    for path in ("/nothing", "/static-offline-docs/../entities", "//health/live", "/health/live/"):
        assert (await anonymous.get(path)).status_code == 401, path
    assert (await anonymous.get("/docs")).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer {}"},
        {"authorization": "bearer  {} "},
        {"Authorization": "Token {}"},
        {"X-API-Key": "{}"},
        {"X-API-Key": "{}", "Authorization": "Bearer sk-of-another-service"},
    ],
)
async def test_a_key_is_accepted_in_each_of_these_headers(
    anonymous: httpx.AsyncClient, guarded: Services, headers: dict[str, str]
) -> None:
    issued = await guarded.authenticator.keys.create("k", scope=KeyScope.USER, user="ann")
    sent = {name: value.format(issued.secret) for name, value in headers.items()}
    assert (await anonymous.get("/entities", headers=sent)).status_code == 200


@pytest.mark.parametrize(
    "value",
    [
        "Bearer",
        "Bearer ",
        "Basic {}",
        "{}",
        "Bearer {} {}",
        "Bearer jiyi_0123456789abcdef_wrong",
        "Bearer {}x",
        "Token",
    ],
)
async def test_anything_else_is_refused_and_not_repeated(
    anonymous: httpx.AsyncClient, guarded: Services, value: str
) -> None:
    issued = await guarded.authenticator.keys.create("k", scope=KeyScope.ADMIN)
    value = value.format(*[issued.secret] * 2)
    reply = await anonymous.get("/entities", params={"user_id": "ann"}, headers={"Authorization": value})
    assert reply.status_code == 401
    assert "jiyi_" not in reply.text


async def test_a_user_need_not_be_named_with_a_key_of_their_own(client_of: Client) -> None:
    ann, app = await client_of(KeyScope.USER, user="ann"), await client_of(KeyScope.APP)
    added = await ann.post("/memories", json=NOTE)
    assert added.status_code == 200, added.text
    by_app = await app.post("/search", json={"user_id": "ann", "query": "spare key"})
    by_ann = await ann.post("/search", json={"query": "spare key"})
    assert [hit["id"] for hit in by_ann.json()["results"]] == [hit["id"] for hit in by_app.json()["results"]] != []
    assert (await ann.get("/sessions/default")).json()["context"]["user_id"] == "ann"


async def test_every_route_refuses_another_user_by_the_name_of_the_field(client_of: Client) -> None:
    ann = await client_of(KeyScope.USER, user="ann")
    page = (await ann.get("/openapi.json")).json()
    refused = 0
    for method, path, said in await _operations(ann):
        in_query = any(parameter["name"] == "user_id" for parameter in said.get("parameters", ()))
        reference = str(said.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {}))
        schema = reference.rsplit("/", 1)[-1].rstrip("'}")
        fields = page["components"]["schemas"].get(schema, {}).get("properties", {})
        named = [
            name for name in ("user_id", "user") if name in fields and not path.startswith(("/keys", "/review/run"))
        ]
        if not in_query and not named:
            continue
        examples = page["components"]["schemas"].get(schema, {}).get("examples", [{}])
        body = examples[0] | dict.fromkeys(named, "bob") if named else None
        parameters = {"user_id": "bob"} if in_query else {}
        parameters |= {p["name"]: "x" for p in said.get("parameters", ()) if p["in"] == "query" and p.get("required")}
        reply = await ann.request(method, path.replace("{", "").replace("}", ""), json=body, params=parameters)
        assert reply.status_code == 403, f"{method} {path} {reply.text}"
        told = reply.json()
        field = told["error"]["param"] if path.startswith("/v1/") else told["errors"][0]["field"]
        assert field in ("user_id", "user"), path
        refused += 1
    assert refused > 35


@pytest.mark.parametrize("header", ["X-Jiyi-User", "X-OpenWebUI-User-Id"])
async def test_a_header_names_the_user_of_a_key_that_has_none(client_of: Client, header: str) -> None:
    app, ann = await client_of(KeyScope.APP), await client_of(KeyScope.USER, user="安")
    named = {header.encode(): "安".encode()}
    assert (await app.post("/memories", json=NOTE, headers=named)).status_code == 200
    assert (await ann.post("/search", json={"query": "spare key"}, headers=named)).json()["results"] != []
    refused = await ann.post("/search", json={"query": "spare key"}, headers={header: "bob"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (403, header)


@pytest.mark.parametrize(
    "headers",
    [
        [("X-Jiyi-User", "ann"), ("X-Jiyi-User", "bob")],
        [("X-Jiyi-User", "x" * 129)],
        [("X-Jiyi-User", b"\xff")],
        [("X-Jiyi-App", "No App")],
        [("X-API-Key", "a"), ("X-API-Key", "b")],
    ],
)
async def test_a_header_that_is_no_id_or_sent_twice_is_refused(client_of: Client, headers: Any) -> None:
    app = await client_of(KeyScope.APP)
    reply = await app.post("/search", json={"query": "x"}, headers=headers)
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, headers[0][0])


async def test_a_header_that_was_not_configured_means_nothing(client_of: Client) -> None:
    app = await client_of(KeyScope.APP)
    reply = await app.post("/search", json={"query": "x"}, headers={"x-sm-user-id": "ann"})
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, "user_id")


OPERATORS = {"/health/detailed", "/metrics", "/review/run", "/review/status"}


@pytest.mark.parametrize("scope", [KeyScope.USER, KeyScope.APP])
async def test_operators_routes_need_an_admin(client_of: Client, scope: KeyScope) -> None:
    client = await client_of(scope, user="ann" if scope is KeyScope.USER else None)
    admin = await client_of(KeyScope.ADMIN)
    found = 0
    for method, path, said in await _operations(client):
        if path not in OPERATORS and not path.startswith(("/index", "/jobs")):
            continue
        body = {"model": "unknown"} if path.endswith("reembed") else {"dry_run": True} if "run" in path else {}
        sent: dict[str, Any] = {"json": body} if "requestBody" in said else {}
        assert (await client.request(method, path, **sent)).status_code == 403, path
        assert (await admin.request(method, path, **sent)).status_code not in (401, 403), path
        found += 1
    assert found == 13


async def test_health_says_how_the_service_is_guarded(
    client_of: Client, http: httpx.AsyncClient, anonymous: httpx.AsyncClient
) -> None:
    admin = await client_of(KeyScope.ADMIN)
    assert (await admin.get("/health/detailed")).json()["auth"] == {"required": True, "oidc": False}
    auth = (await http.get("/health/detailed")).json()["auth"]
    assert auth["required"] is False
    assert "jiyi keys create" in auth["warning"]
    assert (await anonymous.get("/health/live")).status_code == 200


async def test_where_none_is_required_a_credential_still_binds(http: httpx.AsyncClient, services: Services) -> None:
    issued = await services.authenticator.keys.create("k", scope=KeyScope.USER, user="ann")
    key = {"Authorization": f"Bearer {issued.secret}"}
    assert (await http.get("/entities", params={"user_id": "bob"})).status_code == 200
    assert (await http.get("/entities", params={"user_id": "bob"}, headers=key)).status_code == 403
    assert (await http.get("/index/status", headers=key)).status_code == 403
    # Clients of OpenAI's format always send some key.
    placeholder = {"Authorization": "Bearer sk-none"}
    assert (await http.get("/entities", params={"user_id": "bob"}, headers=placeholder)).status_code == 200
    revoked = {"Authorization": f"Bearer {issued.secret[:-1]}x"}
    assert (await http.get("/entities", params={"user_id": "bob"}, headers=revoked)).status_code == 401


async def test_an_unauthenticated_body_is_not_read(anonymous: httpx.AsyncClient) -> None:
    async def endless() -> Any:
        while True:
            yield b" " * 65_536

    reply = await anonymous.post("/chat", content=endless())
    assert reply.status_code == 401


async def test_the_api_page_describes_the_credentials(anonymous: httpx.AsyncClient) -> None:
    page = (await anonymous.get("/openapi.json")).json()
    assert set(page["components"]["securitySchemes"]) == {"Bearer", "ApiKey"}
    assert page["paths"]["/health/live"]["get"]["security"] == []
    assert {"401", "403"} <= set(page["paths"]["/chat"]["post"]["responses"])
    assert "401" not in page["paths"]["/health/ready"]["get"]["responses"]
    user_id = page["components"]["schemas"]["ChatBody"]["properties"]["user_id"]
    assert (user_id["type"], user_id["maxLength"], "default" in user_id) == ("string", 128, False)
    assert "user_id" not in page["components"]["schemas"]["ChatBody"]["required"]


async def test_wrong_credentials_of_an_address_are_slowed_and_valid_ones_are_not(
    app: FastAPI, guarded: Services, client_of: Client
) -> None:
    ann = await client_of(KeyScope.USER, user="ann")
    app.state.services = dataclasses.replace(
        guarded,
        authenticator=Authenticator(
            keys=guarded.authenticator.keys,
            required=True,
            failures=InMemoryRateLimiter(requests_per_minute=1, burst=3),
        ),
    )

    def at(address: str) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(app, client=(address, 40_000))
        return httpx.AsyncClient(transport=transport, base_url="http://localhost")

    async with at("192.0.2.1") as client, at("192.0.2.2") as other:
        guesses = [{"X-API-Key": f"jiyi_{number:016x}_{'0' * 43}"} for number in range(5)]
        replies = [await client.get("/entities", headers=guess) for guess in guesses]
        assert [reply.status_code for reply in replies] == [401, 401, 401, 429, 429]
        assert 50 < int(replies[-1].headers["retry-after"]) <= 120
        assert replies[-1].headers["content-type"] == "application/problem+json"
        for _ in range(5):  # a valid key from the same address, and nobody's from it
            assert (await client.get("/entities", headers=ann.headers)).status_code == 200
            assert (await client.get("/entities")).status_code == 401
        assert (await other.get("/entities", headers=WRONG)).status_code == 401
        assert (await client.get("/health/ready", headers=WRONG)).status_code == 200
