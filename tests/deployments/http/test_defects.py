"""Whatever goes wrong inside, the reply is a problem."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NoReturn

import httpx
import pytest

from deployments.http.support.services import Services
from tests.deployments.serving import client_of, running_app


@asynccontextmanager
async def _client(services: Services, error: BaseException) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service whose searches end with this error."""

    async def fail(*_: object, **__: object) -> NoReturn:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services.retriever, "search", fail)
        async with running_app(services) as app, client_of(app, raise_app_exceptions=False) as client:
            yield client


async def _search(client: httpx.AsyncClient) -> httpx.Response:
    return await client.post("/search", json={"user_id": "a", "query": "b"})


async def test_a_defect_is_a_problem_that_says_nothing_of_what_is_inside(services: Services) -> None:
    async with _client(services, ZeroDivisionError("secret")) as client:
        reply = await _search(client)
    assert (reply.status_code, reply.headers["Content-Type"]) == (500, "application/problem+json")
    assert "secret" not in reply.text


async def test_a_cancellation_that_is_not_the_clients_says_when_to_come_back(services: Services) -> None:
    async with _client(services, asyncio.CancelledError()) as client:
        reply = await _search(client)
    assert (reply.status_code, reply.headers["Content-Type"]) == (503, "application/problem+json")
    assert reply.headers["Retry-After"] == "1"


async def test_a_client_that_has_gone_is_not_replied_to(services: Services) -> None:
    async def wait(*_: object, **__: object) -> NoReturn:
        await asyncio.Event().wait()
        raise AssertionError

    async with _client(services, asyncio.CancelledError()) as client:
        services.retriever.search = wait  # type: ignore[method-assign]
        asking = asyncio.create_task(_search(client))
        await asyncio.sleep(0.05)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
