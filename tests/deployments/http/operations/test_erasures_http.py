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
        ({"kind": "session"}, "session_id"),
        ({"kind": "session", "session_id": "s", "messages": True}, "messages"),
        ({"kind": "item", "session_id": "s"}, "item_id"),
        ({"kind": "period"}, "since"),
        ({"kind": "period", "since": "2026-03-02T00:00:00Z", "until": "2026-03-01T00:00:00Z"}, "until"),
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


async def test_a_session_a_message_an_entity_and_a_period_are_erased_and_the_rest_is_found(
    http: httpx.AsyncClient,
) -> None:
    said = {"s": "Erika keeps the key in Bonn.", "t": "Erika keeps the ladder in Linz.", "u": "Otto keeps the saw."}
    ids: dict[str, str] = {}
    for session, text in said.items():
        messages = [{"content": text, "created_at": f"20{20 + len(ids)}-01-01T00:00:00Z"}]
        body = {"user_id": "ann", "session_id": session, "messages": messages, "wait": True}
        ids[session] = (await http.post("/memories", json=body)).json()["results"][0]["id"]
    entity = (await http.post("/entities", json={"user_id": "ann", "entity_value": "Quarzborn"})).json()["entity"]

    async def left() -> set[str]:
        reply = await http.get("/export", params={"user_id": "ann"})
        return {text for text in (*said.values(), "Quarzborn") if text in reply.text}

    async def erase(**scope: Any) -> dict[str, Any]:
        reply = await http.post("/erasures", json={"user_id": "ann", "wait": True, **scope})
        assert (reply.status_code, reply.json()["state"]) == (200, "done"), reply.text
        return dict(reply.json()["receipt"]["removed"])

    assert len(await left()) == 4
    assert (await erase(kind="session", session_id="s"))["record.resources"] == 1
    assert await left() == {said["t"], said["u"], "Quarzborn"}
    assert (await erase(kind="item", item_id=ids["t"]))["record.memories"] == 1
    assert await left() == {said["u"], "Quarzborn"}
    assert (await erase(kind="item", item_id=entity["entity_id"]))["record.entities"] == 1
    assert await left() == {said["u"]}
    await erase(kind="period", since="2022-01-01T00:00:00Z", until="2023-01-01T00:00:00Z")
    assert await left() == set()


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
