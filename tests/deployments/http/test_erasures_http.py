"""Erasure over HTTP: a request, its state and its receipt; a user who is being erased is refused."""

import asyncio
from typing import Any

import httpx
import pytest

from deployments.http.support.services import Services
from memory.erasure.service import Erasing


async def done(http: httpx.AsyncClient, erasure: dict[str, Any]) -> dict[str, Any]:
    while erasure["state"] != "done":
        await asyncio.sleep(0.01)
        erasure = (await http.get(f"/erasures/{erasure['erasure_id']}")).json()
    return erasure


async def test_a_user_is_erased_and_the_receipt_says_what_was_removed(http: httpx.AsyncClient) -> None:
    for user in ("ann", "bob"):
        await http.post("/memories", json={"user_id": user, "text": f"The key of {user} is in the drawer."})
    reply = await http.delete("/users/ann")
    assert reply.status_code == 202
    erasure = await done(http, reply.json())
    assert erasure["receipt"]["removed"]["record.resources"] == 1
    assert "ann" not in str(erasure)
    for user, count in (("ann", 0), ("bob", 1)):
        found = await http.post("/search", json={"user_id": user, "query": "key", "kinds": ["memory"]})
        assert len(found.json()["results"]) == count


async def test_a_caller_may_wait_for_the_end(http: httpx.AsyncClient) -> None:
    await http.post("/memories", json={"user_id": "ann", "text": "The key is in the drawer."})
    reply = await http.post("/erasures", json={"user_id": "ann", "kind": "user", "wait": True})
    assert (reply.status_code, reply.json()["state"]) == (200, "done")
    listed = (await http.get("/erasures")).json()["results"]
    assert [erasure["erasure_id"] for erasure in listed] == [reply.json()["erasure_id"]]


async def test_a_user_who_is_being_erased_is_refused(
    http: httpx.AsyncClient, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(services.erasures, Erasing)
    await services.erasures.close()  # so that it stays pending
    await http.delete("/users/ann")
    for path, body in (
        ("/chat", {"message": "hello"}),
        ("/memories", {"text": "the key"}),
        ("/search", {"query": "k"}),
    ):
        reply = await http.post(path, json={"user_id": "ann", **body})
        assert (reply.status_code, "being erased" in reply.json()["detail"]) == (409, True)
    assert (await http.post("/search", json={"user_id": "bob", "query": "k"})).status_code == 200


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"kind": "user", "session_id": "s"}, "session_id"),
        ({"kind": "everything"}, "kind"),
        ({}, "kind"),
    ],
)
async def test_a_scope_that_is_not_sound_is_refused(
    http: httpx.AsyncClient, fields: dict[str, Any], named: str
) -> None:
    reply = await http.post("/erasures", json={"user_id": "ann", **fields})
    assert reply.status_code == 422
    assert named in reply.text


async def test_an_unknown_erasure_is_not_found(http: httpx.AsyncClient) -> None:
    assert (await http.get("/erasures/unknown")).status_code == 404


async def test_finished_erasures_are_replayed_by_operators(http: httpx.AsyncClient) -> None:
    await http.post("/memories", json={"user_id": "ann", "text": "The key is in the drawer."})
    await http.post("/erasures", json={"user_id": "ann", "kind": "user", "wait": True})
    marks = (await http.get("/erasures/tombstones")).json()["tombstones"]
    assert [mark["kind"] for mark in marks] == ["user"]
    old = {"content": "The key is in the drawer.", "created_at": "2020-01-01T00:00:00Z"}
    await http.post("/memories", json={"user_id": "ann", "messages": [old]})
    again = await http.post("/erasures/replay", json={"tombstones": marks})
    assert len(again.json()["results"]) == 1
    await done(http, again.json()["results"][0])
    assert (await http.post("/erasures/replay", json={})).json()["results"] == []
