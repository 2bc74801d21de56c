"""Rate limits of every route, and how many requests are answered at a time."""

import asyncio
import dataclasses
from typing import Any

import pytest

from deployments.builders.storage.stores import open_short_lived
from deployments.config.access_settings import LimitArgs
from deployments.config.settings import AppArgs
from deployments.http.identity.current import CURRENT_IDENTITY
from deployments.http.support.services import Services
from memory.identity.caller import Caller, Identity
from memory.ports.stores.coordination import RateLimiter
from memory.values.access.identity import KeyScope
from memory.values.errors import Overloaded
from storage.inmemory.coordination import InMemoryRateLimiter
from tests.deployments.serving import serving

UNCOUNTED = {"/health", "/health/live", "/health/ready", "/health/detailed", "/metrics"}


class _Refusing(RateLimiter):
    async def take(self, *, user_id: str) -> None:
        raise Overloaded("Too many requests.", retry_after_s=7)


async def test_users_are_limited_by_default(tmp_path: Any) -> None:
    short_lived = open_short_lived(AppArgs(home=tmp_path), record=None)  # type: ignore[arg-type]
    assert short_lived.limiter is not None
    await short_lived.close()
    unlimited = AppArgs(home=tmp_path, limits=LimitArgs(requests_per_minute=0))
    short_lived = open_short_lived(unlimited, record=None)  # type: ignore[arg-type]
    assert short_lived.limiter is None
    await short_lived.close()


async def test_every_route_counts(services: Services) -> None:
    async with serving(dataclasses.replace(services, limiter=_Refusing())) as client:
        document = (await client.get("/openapi.json")).json()
        for path, methods in document["paths"].items():
            if path in UNCOUNTED:
                continue
            for method, operation in methods.items():
                body = None
                if "application/json" in operation.get("requestBody", {}).get("content", {}):
                    reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
                    schema = document["components"]["schemas"][reference.rsplit("/", 1)[-1]]
                    body = schema.get("examples", [{"user_id": "ann"}])[0]
                needed = [parameter["name"] for parameter in operation.get("parameters", []) if parameter["required"]]
                parameters = {name: "ann" for name in (*needed, "user_id") if f"{{{name}}}" not in path}
                called = path.replace("{kind}", "nightly").replace("{version}", "1")
                headers = {"X-Jiyi-User": "ann"} if path.startswith("/v1/") else {}
                reply = await client.request(
                    method, called, json=body, params=None if body else parameters, headers=headers
                )
                assert (reply.status_code, reply.headers.get("retry-after")) == (429, "7"), (method, path, reply.text)


async def test_one_user_s_requests_are_not_counted_for_another(services: Services) -> None:
    limiter = InMemoryRateLimiter(requests_per_minute=1, burst=1)
    async with serving(dataclasses.replace(services, limiter=limiter)) as client:
        statuses = [(await client.get("/entities", params={"user_id": user})).status_code for user in ("a", "a", "b")]
        assert statuses == [200, 429, 200]
        assert [(await client.get("/index/status")).status_code for _ in range(2)] == [200, 429]


async def test_more_requests_than_allowed_are_refused_until_one_ends(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, gate = asyncio.Semaphore(0), asyncio.Event()
    search = services.retriever.search

    async def wait(*arguments: Any) -> Any:
        running.release()
        await gate.wait()
        return await search(*arguments)

    monkeypatch.setattr(services.retriever, "search", wait)
    async with serving(services, limits=LimitArgs(concurrent_requests=2)) as client:
        body = {"user_id": "ann", "query": "x"}
        first = [asyncio.create_task(client.post("/search", json=body)) for _ in range(2)]
        for _ in first:
            await running.acquire()
        refused = await client.post("/search", json=body)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert refused.headers["content-type"] == "application/problem+json"
        assert (await client.get("/health/ready")).status_code == 200
        gate.set()
        assert [reply.status_code for reply in await asyncio.gather(*first)] == [200, 200]
        assert (await client.post("/search", json=body)).status_code == 200


async def test_a_key_s_requests_are_counted_for_all_of_its_users_together(services: Services) -> None:
    async def send(caller: Caller, user: str) -> int:
        token = CURRENT_IDENTITY.set(Identity(caller))
        try:
            await limited.count_request(user)
            return 200
        except Overloaded:
            return 429
        finally:
            CURRENT_IDENTITY.reset(token)

    def few() -> RateLimiter:
        return InMemoryRateLimiter(requests_per_minute=1, burst=2)

    limited = dataclasses.replace(services, limiter=few(), key_limiter=few())
    product = Caller("k1", KeyScope.APP)
    assert [await send(product, user) for user in ("a", "b", "c")] == [200, 200, 429]
    assert await send(Caller("k2", KeyScope.APP), "c") == 200
    bound = Caller("k3", KeyScope.USER, user="d")
    assert [await send(bound, "d") for _ in range(3)] == [200, 200, 429]


async def test_a_key_s_own_requests_and_those_for_its_users_have_different_names(services: Services) -> None:
    """On one server the limits of keys and of users are told apart by the name alone."""
    names: list[str] = []

    class Noting(RateLimiter):
        async def take(self, *, user_id: str) -> None:
            names.append(user_id)

    token = CURRENT_IDENTITY.set(Identity(Caller("k1", KeyScope.ADMIN)))
    await dataclasses.replace(services, limiter=Noting(), key_limiter=Noting()).count_request()
    CURRENT_IDENTITY.reset(token)
    assert len(set(names)) == 2
