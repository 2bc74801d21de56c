"""Timeline, audit, policies and single memories over HTTP (004 §7, §11.3)."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from deployments.http.identity.authentication import Authenticator
from deployments.http.support.services import Services
from memory.values.access.identity import KeyScope
from memory.values.base import utc_now
from memory.values.governance.changes import ItemKind
from tests.deployments.conftest import MOVED
from tests.deployments.serving import serving

KEY = "The key is in the Quarzborn drawer."
LADDER = "The ladder is in Linz."


async def added(http: httpx.AsyncClient, *texts: str, user: str = "ann", **fields: Any) -> list[str]:
    """Adds texts that were said a day apart; the ids of their memories."""
    messages = [{"content": text, "created_at": f"2026-01-0{day}T00:00:00Z"} for day, text in enumerate(texts, 1)]
    body = {"user_id": user, "messages": messages, "session_id": "s", "wait": True} | fields
    reply = await http.post("/memories", json=body)
    assert reply.status_code == 200, reply.text
    return [item["id"] for item in reply.json()["results"]]


async def get(http: httpx.AsyncClient, path: str, *, user: str = "ann", **params: Any) -> Any:
    reply = await http.get(path, params={"user_id": user, **params})
    assert reply.status_code == 200, reply.text
    return reply.json()


async def decide(http: httpx.AsyncClient, decisions: dict[str, str], **fields: Any) -> httpx.Response:
    return await http.post("/memories/audit", json={"user_id": "ann", "decisions": decisions, "wait": True, **fields})


async def test_the_timeline_has_times_kinds_pages_and_scores(http: httpx.AsyncClient, services: Services) -> None:
    key, ladder, moved = await added(http, KEY, LADDER, MOVED)
    await http.post("/memories", json={"user_id": "ann", "text": "A note.", "wait": True})
    await added(http, KEY, user="bob")
    services.tally.add(ItemKind.MEMORY, [key], user_id="ann", at=utc_now())
    await services.tally.flush()
    shown = await get(http, "/memories/timeline", kind="turn")
    assert [entry["memory"]["memory_id"] for entry in shown["results"]] == [moved, ladder, key]
    assert {entry["memory"]["user_id"] for entry in shown["results"]} == {"ann"}
    scores = {entry["memory"]["memory_id"]: entry["retention"]["score"] for entry in shown["results"]}
    assert scores[key] == pytest.approx((1 + 0.6931) / 5, abs=1e-3)
    assert max(scores[ladder], scores[moved]) < 0.2
    assert [kept["fact"]["object"] for kept in shown["results"][0]["facts"]] == ["Boston"]
    first = await get(http, "/memories/timeline", kind="turn", limit=2)
    second = await get(http, "/memories/timeline", kind="turn", limit=2, after=first["next"])
    paged = [entry["memory"] for entry in (*first["results"], *second["results"])]
    assert paged == [entry["memory"] for entry in shown["results"]]
    assert second["next"] is None
    part = await get(http, "/memories/timeline", since="2026-01-02T00:00:00Z", until="2026-01-03T00:00:00Z")
    assert [entry["memory"]["memory_id"] for entry in part["results"]] == [ladder]


async def test_a_memory_is_shown_edited_deleted_and_its_history_told(http: httpx.AsyncClient) -> None:
    key, moved = await added(http, KEY, MOVED)
    shown = await get(http, f"/memories/{moved}")
    assert (shown["memory"]["version"], len(shown["facts"])) == (1, 1)
    body = {"user_id": "ann", "text": "I moved to Linz.", "expected_version": 1}
    edited = await http.put(f"/memories/{moved}", json=body)
    assert edited.status_code == 200, edited.text
    after = edited.json()["memory"]
    assert (after["memory"]["text"], after["memory"]["version"]) == (body["text"], 2)
    assert after["facts"][0]["fact"]["status"] == "archived"
    found = await http.post("/search", json={"user_id": "ann", "query": "moved", "kinds": ["memory"]})
    assert "I moved to Linz." in [hit["text"] for hit in found.json()["results"]]
    stale = await http.put(f"/memories/{moved}", json=body | {"text": "I moved to Rome."})
    assert (stale.status_code, stale.json()["title"]) == (409, "VersionConflict")
    assert stale.json()["errors"][0]["field"] == f"expected_versions.{moved}"
    deleted = await http.delete(
        f"/memories/{moved}", params={"user_id": "ann", "expected_version": 2, "idempotency_key": "d", "wait": True}
    )
    assert deleted.status_code == 200, deleted.text
    again = await http.delete(
        f"/memories/{moved}", params={"user_id": "ann", "expected_version": 2, "idempotency_key": "d"}
    )
    assert again.json() == deleted.json()
    assert (await http.get(f"/memories/{moved}", params={"user_id": "ann"})).status_code == 404
    history = await get(http, f"/memories/{moved}/history")
    assert [change["kind"] for change in history["results"]] == ["decision"]
    assert "Boston" not in (await http.get("/export", params={"user_id": "ann"})).text
    assert [entry["memory"]["memory_id"] for entry in (await get(http, "/memories/timeline"))["results"]] == [key]


async def test_the_history_of_a_memory_that_is_there_has_its_edits(http: httpx.AsyncClient) -> None:
    [key] = await added(http, KEY)
    await http.put(f"/memories/{key}", json={"user_id": "ann", "metadata": {"room": "a"}, "reason": "found it"})
    await decide(http, {key: "retain"})
    [decision, edit] = (await get(http, f"/memories/{key}/history"))["results"]
    assert (decision["kind"], edit["kind"], edit["reason"]) == ("decision", "edit", "found it")
    undone = await http.post("/changes/undo", json={"user_id": "ann"})  # the latest that can be undone
    assert undone.status_code == 200, undone.text
    assert (await get(http, f"/memories/{key}"))["memory"]["metadata"] == {}
    refused = await http.post("/changes/undo", json={"user_id": "ann", "change_id": decision["change_id"]})
    assert refused.status_code == 409


async def test_a_decision_is_made_everywhere_and_audited(http: httpx.AsyncClient) -> None:
    key, ladder, moved = await added(http, KEY, LADDER, MOVED)
    await added(http, KEY, user="bob")
    reply = await decide(http, {key: "anonymize", moved: "delete", ladder: "retain"}, note="by mail")
    assert reply.status_code == 200, reply.text
    assert len(reply.json()["erasures"]) == 2
    for erasure_id in reply.json()["erasures"]:
        erasure = (await http.get(f"/erasures/{erasure_id}")).json()
        assert erasure["receipt"]["purged"] == {"record": True, "sessions": True, "vectors": True}
    exported = (await http.get("/export", params={"user_id": "ann"})).text
    assert [word for word in ("Quarzborn", "Boston", "Linz") if word in exported] == ["Linz"]
    found = await http.post("/search", json={"user_id": "ann", "query": "Where is the Quarzborn key?"})
    assert {key, moved}.isdisjoint(hit["id"] for hit in found.json()["results"])
    shown = await get(http, f"/memories/{key}")
    assert (shown["memory"]["text"], shown["memory"]["is_anonymised"]) == ("[ANONYMIZED]", True)
    audit = await get(http, "/memories/audit")
    assert audit["results"] == [reply.json()]
    assert (await get(http, "/memories/audit", memory_id=moved))["results"] == [reply.json()]
    assert (await get(http, "/memories/audit", memory_id="unknown"))["results"] == []
    assert (await get(http, "/memories/audit", user="bob"))["results"] == []
    assert "Quarzborn" in (await http.get("/export", params={"user_id": "bob"})).text


async def test_the_audit_history_comes_in_pages(http: httpx.AsyncClient) -> None:
    [key] = await added(http, KEY)
    for note in ("a", "b", "c"):
        await decide(http, {key: "retain"}, note=note)
    first = await get(http, "/memories/audit", limit=2)
    rest = await get(http, "/memories/audit", limit=2, before=first["next"])
    assert [entry["note"] for entry in (*first["results"], *rest["results"])] == ["c", "b", "a"]
    assert rest["next"] is None


async def test_versions_keys_and_unknown_memories_are_refused_by_name(http: httpx.AsyncClient) -> None:
    key, ladder = await added(http, KEY, LADDER)
    stale = await decide(http, {key: "delete", ladder: "delete"}, expected_versions={key: 1, ladder: 7})
    assert (stale.status_code, stale.json()["title"]) == (409, "VersionConflict")
    assert stale.json()["errors"] == [
        {
            "field": f"expected_versions.{ladder}",
            "problem": "it was changed since",
            "allowed": "1, the version that it has now",
        }
    ]
    first = await decide(http, {key: "retain"}, idempotency_key="k")
    same = await decide(http, {key: "retain"}, idempotency_key="k", wait=False)
    other = await decide(http, {key: "delete"}, idempotency_key="k")
    assert (same.json(), other.status_code) == (first.json(), 409)
    assert "idempotency_key" in other.json()["detail"]
    missing = await decide(http, {"unknown": "delete"})
    assert (missing.status_code, "unknown" in missing.json()["detail"]) == (404, True)
    assert len((await get(http, "/memories/timeline"))["results"]) == 2


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"decisions": {}}, "decisions"),
        ({"decisions": {"m": "forget"}}, "decisions.m"),
        ({"decisions": {"m": "Delete"}}, "decisions.m"),
        ({"decisions": {f"m{n}": "retain" for n in range(65)}}, "64 members"),
        ({"decisions": {"m": "retain"}, "expected_versions": {"n": 1}}, "expected_versions"),
        ({"decisions": {"m": "retain"}, "expected_versions": {"m": 0}}, "expected_versions.m"),
        ({"decisions": {"m": "retain"}, "idempotency_key": ""}, "idempotency_key"),
        ({"decisions": {"m": "retain"}, "note": "x" * 1_025}, "note"),
    ],
)
async def test_a_decision_that_is_not_sound_is_refused(
    http: httpx.AsyncClient, fields: dict[str, Any], named: str
) -> None:
    reply = await http.post("/memories/audit", json={"user_id": "ann", **fields})
    assert reply.status_code == 422
    assert named in reply.text


@pytest.mark.parametrize(
    ("policy", "named"),
    [
        ({"decay_rate": -1}, "decay_rate"),
        ({"decay_rate": 11}, "decay_rate"),
        ({"frequency_weight": 10.5}, "frequency_weight"),
        ({"threshold": 1.5}, "threshold"),
        ({"threshold": "0.1"}, "threshold"),
        ({"half_life": 3}, "half_life"),
    ],
)
async def test_a_policy_that_is_not_sound_is_refused_and_changes_nothing(
    http: httpx.AsyncClient, policy: dict[str, Any], named: str
) -> None:
    for method, path in (
        ("PUT", "/memories/policy"),
        ("PUT", "/memories/policy/app"),
        ("POST", "/memories/policy/preview"),
        ("POST", "/memories/policy/app/preview"),
    ):
        user = {} if "app" in path else {"user_id": "ann"}
        reply = await http.request(method, path, json={**user, "policy": policy})
        assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, f"policy.{named}")
    shown = await get(http, "/memories/policy")
    document = {"decay_rate": 0.1, "frequency_weight": 1.0, "threshold": 0.01}
    assert shown == {"policy": document, "source": "default"}


async def test_a_policy_is_previewed_set_and_removed(http: httpx.AsyncClient) -> None:
    await added(http, KEY, LADDER)
    await added(http, KEY, user="bob")
    strict = {"decay_rate": 0.3, "threshold": 0.1}
    tried = await http.post("/memories/policy/preview", json={"user_id": "ann", "policy": strict, "samples": 1})
    assert tried.json()["memories"] == {"total": 2, "forgotten": 2}
    assert [entry["memory"]["text"] for entry in tried.json()["samples"]] == [KEY]
    whole = await http.post("/memories/policy/app/preview", json={"policy": strict})
    assert (whole.json()["users"], whole.json()["memories"]["forgotten"]) == (2, 3)
    assert (await get(http, "/memories/policy"))["source"] == "default"
    for path, body, source in (
        ("/memories/policy/app", {"policy": strict}, "app"),
        ("/memories/policy", {"user_id": "ann", "policy": {"decay_rate": 0}}, "user"),
        ("/memories/policy", {"user_id": "ann", "policy": None}, "app"),
        ("/memories/policy/app", {"policy": None}, "default"),
    ):
        reply = await http.put(path, json=body)
        assert reply.status_code == 200, reply.text
        shown = await get(http, "/memories/policy")
        assert shown["source"] == source
        timeline = await get(http, "/memories/timeline")
        assert timeline["policy"] == shown["policy"]
        assert timeline["results"][0]["retention"]["is_forgotten"] == (source != "user")
    assert (await http.get("/memories/policy/app")).json()["source"] == "default"


class TestCredentials:
    @pytest.fixture
    async def guarded(self, services: Services) -> AsyncIterator[httpx.AsyncClient]:
        keys = services.authenticator.keys
        async with serving(replace(services, authenticator=Authenticator(keys=keys, required=True))) as client:
            yield client

    async def headers(self, services: Services, scope: KeyScope, app: str = "shop") -> dict[str, str]:
        user = "ann" if scope is KeyScope.USER else None
        issued = await services.authenticator.keys.create("k", scope=scope, app=app, user=user)
        return {"Authorization": f"Bearer {issued.secret}"}

    async def test_a_user_decides_on_their_own_memories_and_no_app_policy(
        self, guarded: httpx.AsyncClient, services: Services
    ) -> None:
        guarded.headers = httpx.Headers(await self.headers(services, KeyScope.USER))
        reply = await guarded.post("/memories", json={"text": KEY, "wait": True})
        [memory] = reply.json()["results"]
        assert (await guarded.post("/memories/audit", json={"decisions": {memory["id"]: "retain"}})).status_code == 200
        assert (await guarded.put("/memories/policy", json={"policy": {"decay_rate": 0.5}})).status_code == 200
        for method, path in (("GET", "/memories/policy/app"), ("PUT", "/memories/policy/app")):
            reply = await guarded.request(method, path, json={"policy": None})
            assert reply.status_code == 403
        other = {"user_id": "bob", "decisions": {memory["id"]: "delete"}}
        assert (await guarded.post("/memories/audit", json=other)).status_code == 403

    async def test_the_policy_of_an_app_holds_in_that_app_alone(
        self, guarded: httpx.AsyncClient, services: Services
    ) -> None:
        shop, desk = [await self.headers(services, KeyScope.APP, app) for app in ("shop", "desk")]
        body = {"policy": {"decay_rate": 0.5}}
        assert (await guarded.put("/memories/policy/app", json=body, headers=shop)).status_code == 200
        for headers, source in ((shop, "app"), (desk, "default")):
            reply = await guarded.get("/memories/policy", params={"user_id": "ann"}, headers=headers)
            assert reply.json()["source"] == source
