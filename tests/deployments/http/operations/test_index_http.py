"""Verifying and rebuilding the index over HTTP."""

import asyncio
from typing import Any

import httpx
import pytest

from deployments.http.support.services import Services
from memory.ports.stores.vectors import Collection
from memory.values.errors import StoreUnavailable


async def wait_for_end(http: httpx.AsyncClient) -> dict[str, Any]:
    while True:
        run: dict[str, Any] = (await http.get("/index/status")).json()
        if run["state"] != "running":
            return run
        await asyncio.sleep(0.005)


async def _lose_a_memory(services: Services) -> None:
    verifier = await services.index._verifiers.current()  # type: ignore[attr-defined]
    index = verifier._space.index
    await index.delete_user(Collection.MEMORIES, user_id="ann")


async def test_verifying_tells_what_is_wrong_and_mending_puts_it_right(
    http: httpx.AsyncClient, services: Services
) -> None:
    await http.post("/memories", json={"user_id": "ann", "text": "The spare key is in the blue drawer."})
    await _lose_a_memory(services)
    assert (await http.get("/index/status")).json() is None
    begun = await http.post("/index/verify", json={"mend": False})
    assert (begun.status_code, begun.json()["state"]) == (202, "running")
    run = await wait_for_end(http)
    assert (run["run_id"], run["operation"], run["state"]) == (begun.json()["run_id"], "verify", "done")
    assert run["report"]["collections"][Collection.MEMORIES.value]["missing"] == 1
    for body, operation, missing in [({"mend": True}, "mend", 1), ({}, "verify", 0)]:
        assert (await http.post("/index/verify", json=body)).status_code == 202
        run = await wait_for_end(http)
        assert (run["operation"], run["report"]["collections"][Collection.MEMORIES.value]["missing"]) == (
            operation,
            missing,
        )


async def test_rebuilding_makes_everything_again(http: httpx.AsyncClient, services: Services) -> None:
    await http.post("/memories", json={"user_id": "ann", "text": "The spare key is in the blue drawer."})
    await _lose_a_memory(services)
    assert (await http.post("/index/rebuild")).status_code == 202
    run = await wait_for_end(http)
    assert run["report"]["collections"][Collection.MEMORIES.value]["mended"] == 1
    reply = (await http.post("/search", json={"user_id": "ann", "query": "spare key"})).json()
    assert [hit["parts"]["cosine"] > 0 for hit in reply["results"]] == [True]


async def test_one_run_at_a_time(http: httpx.AsyncClient, services: Services) -> None:
    locks = services.index._locks  # type: ignore[attr-defined]
    async with locks.held("index-maintenance"):
        reply = await http.post("/index/rebuild")
    assert (reply.status_code, reply.headers["content-type"]) == (409, "application/problem+json")
    assert "already" in reply.json()["detail"] or "another" in reply.json()["detail"]


async def test_while_nobody_can_say_whether_a_run_is_under_way_none_is_begun(
    http: httpx.AsyncClient, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("redis is away", component="redis")

    monkeypatch.setattr(services.index._locks, "held", away)  # type: ignore[attr-defined]
    assert (await http.post("/index/verify", json={})).status_code == 503


async def wait_until_rested(http: httpx.AsyncClient) -> dict[str, Any]:
    while (run := (await http.get("/index/reembed")).json()) is None or run["state"] == "running":
        await asyncio.sleep(0.002)
    return dict(run)


async def test_the_model_is_changed_back_and_for_good(http: httpx.AsyncClient) -> None:
    turn = {"user_id": "ann", "message": "The spare key is in the blue drawer.", "wait": True}
    assert (await http.post("/chat", json=turn)).is_success
    assert (await http.get("/index/reembed")).json() is None
    for ending, live in (("rollback", "fake"), ("finish", "other")):
        reply = await http.post("/index/reembed", json={"model": "other"})
        assert reply.status_code == 202, reply.text
        switched = await wait_until_rested(http)
        assert (switched["run_id"], switched["output"]["phase"]) == (reply.json()["run_id"], "switched")
        assert (await http.get("/health/detailed")).json()["model"] == "other"
        again = await http.post("/index/reembed", json={"model": "other"})
        assert (again.status_code, again.json()["errors"][0]["field"]) == (422, "model")
        found_reply = await http.post("/search", json={"user_id": "ann", "query": "spare key"})
        assert not found_reply.json()["degraded"]
        assert (await http.post(f"/index/reembed/{ending}")).status_code == 202
        assert (await wait_until_rested(http))["state"] == "done"
        assert (await http.get("/health/detailed")).json()["model"] == live
        assert (await http.post(f"/index/reembed/{ending}")).status_code == 409
    assert (await http.post("/index/verify", json={"mend": False})).status_code == 202


async def test_a_model_that_there_is_not_is_refused(http: httpx.AsyncClient) -> None:
    refused = await http.post("/index/reembed", json={"model": "unknown"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "model")
