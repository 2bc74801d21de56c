"""What mem0's clients send, and what they refuse to send, over HTTP."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from deployments.config.access_settings import LimitArgs
from deployments.http.identity.authentication import Authenticator
from deployments.http.support.services import Services
from memory.ports.services import LearningService, LearnReport
from memory.values.access.identity import KeyScope
from memory.values.errors import Unavailable
from memory.values.governance.forgetting import ForgetReport, ForgetRequest
from storage.inmemory.coordination import InMemoryRateLimiter
from tests.deployments.conftest import MOVED
from tests.deployments.serving import serving

UNKNOWN = "0b0c7f5e-3c5e-4f0e-9a55-1f6a3c2b9d10"


@pytest.fixture
async def mem0(http: httpx.AsyncClient) -> httpx.AsyncClient:
    http.base_url = httpx.URL("http://localhost/mem0")
    return http


async def post(client: httpx.AsyncClient, path: str, **body: Any) -> Any:
    reply = await client.post(path, json=body)
    assert reply.status_code in (200, 201), reply.text
    return reply.json()


async def add(client: httpx.AsyncClient, text: str, user: str = "alice", **fields: Any) -> str:
    messages = [{"role": "user", "content": text}]
    reply = await post(client, "/v3/memories/add/", messages=messages, user_id=user, **fields)
    assert reply["status"] == "SUCCEEDED"
    return str(reply["results"][0]["id"])


async def listed(client: httpx.AsyncClient, filters: dict[str, Any], **fields: Any) -> list[str]:
    reply = await post(client, "/v3/memories/", filters=filters, **fields)
    assert reply["count"] == len(reply["results"])
    return sorted(memory["memory"] for memory in reply["results"])


def refusal(reply: httpx.Response, status: int) -> str:
    """The text of an error, which has to be where the clients look."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/json"
    body = reply.json()
    assert body["detail"] == body["error"]
    return str(body["detail"])


async def test_what_is_added_is_found_at_once_by_every_door_under_the_id_that_add_gave(
    mem0: httpx.AsyncClient,
) -> None:
    tea = await add(mem0, "我喜歡烏龍茶", metadata={"room": "kitchen"})
    found = await post(mem0, "/v3/memories/search/", query="烏龍茶", filters={"user_id": "alice"})
    assert found["results"][0]["id"] == tea
    ours = await mem0.post("http://localhost/search", json={"user_id": "alice", "query": "烏龍茶", "kinds": ["memory"]})
    assert (ours.json()["results"][0]["id"], ours.json()["results"][0]["metadata"]["room"]) == (tea, "kitchen")
    note = await mem0.post("http://localhost/memories", json={"user_id": "alice", "text": "A note."})
    kept = await mem0.get(f"/v1/memories/{note.json()['results'][0]['id']}/")
    assert (kept.json()["memory"], kept.json()["run_id"], kept.json()["metadata"]) == ("A note.", None, {})


async def test_facts_are_learned_unless_infer_is_false_and_their_categories_are_shown(
    mem0: httpx.AsyncClient,
) -> None:
    learned, kept = await add(mem0, MOVED), await add(mem0, MOVED, infer=False)
    shown = [(await mem0.get(f"/v1/memories/{id_}/")).json() for id_ in (learned, kept)]
    assert [one["memory"] for one in shown] == [MOVED, MOVED]
    [category] = shown[0]["categories"]
    assert shown[1]["categories"] == []
    of = {"filters": {"user_id": "alice"}, "categories": [category]}
    found = await post(mem0, "/v3/memories/search/", query="moved", **of)
    assert [one["id"] for one in found["results"]] == [learned]
    assert len(await listed(mem0, {"AND": [{"user_id": "alice"}, {"categories": {"contains": category}}]})) == 1
    assert await listed(mem0, {"AND": [{"user_id": "alice"}, {"categories": {"in": ["other"]}}]}) == []


async def test_an_event_says_what_became_of_an_addition(mem0: httpx.AsyncClient) -> None:
    messages = [
        {"role": "system", "content": "You are kind."},
        {"role": "user", "content": [{"type": "text", "text": "eins"}, {"type": "text", "text": "zwei"}]},
        {"role": "assistant", "content": "drei"},
    ]
    reply = await post(mem0, "/v3/memories/add/", messages=messages, filters={"user_id": "alice", "run_id": "r"})
    await add(mem0, "later", run_id="r")
    event = (await mem0.get(f"/v1/event/{reply['event_id']}/")).json()
    assert (event["id"], event["status"], event["results"]) == (reply["event_id"], "SUCCEEDED", reply["results"])
    assert [result["memory"] for result in event["results"]] == ["eins\nzwei", "drei"]
    assert "not found" in refusal(await mem0.get(f"/v1/event/{UNKNOWN}/"), 404)


class Away(LearningService):
    """A learner that is down."""

    async def learn(self, *, user_id: str) -> LearnReport:
        raise Unavailable("down", component="learner")

    async def forget(self, request: ForgetRequest) -> ForgetReport | None:
        raise Unavailable("down", component="learner")

    def notify(self, *, user_id: str) -> None:
        pass


async def test_without_the_learner_an_addition_is_pending_and_search_finds_it_all_the_same(services: Services) -> None:
    services.additions._learning = Away()
    async with serving(services) as http:
        http.base_url = httpx.URL("http://localhost/mem0")
        body = {"messages": [{"role": "user", "content": "the blue drawer"}], "user_id": "alice"}
        reply = await post(http, "/v3/memories/add/", **body)
        assert (reply["status"], "results" in reply) == ("PENDING", False)
        event = (await http.get(f"/v1/event/{reply['event_id']}/")).json()
        assert (event["status"], event["results"]) == ("PENDING", [])
        found = await post(http, "/v3/memories/search/", query="drawer", filters={"user_id": "alice"})
        assert [hit["memory"] for hit in found["results"]] == ["the blue drawer"]


async def test_filters_join_conditions_of_all_fields(mem0: httpx.AsyncClient) -> None:
    await add(mem0, "old", timestamp=1_700_000_000, agent_id="bot", metadata={"n": 3, "tags": ["a"]})
    await add(mem0, "new", run_id="r1", metadata={"n": 5, "name": "Blue Drawer"})
    await add(mem0, "other", user="bob", agent_id="bot")
    alice = {"user_id": "alice"}
    for expected, filters in (
        (["new", "old"], alice),
        (["new"], alice | {"run_id": "r1"}),
        (["old"], alice | {"agent_id": "*"}),
        (["new"], {"AND": [alice, {"NOT": [{"agent_id": "*"}]}]}),
        (["new"], {"AND": [alice, {"NOT": {"agent_id": "bot"}}]}),
        (["new"], {"AND": [alice, {"created_at": {"gte": "2024-01-01"}}]}),
        (["old"], {"AND": [alice, {"created_at": {"gte": "2023-11-14", "lte": "2023-11-14"}}]}),
        (["old"], {"AND": [alice, {"metadata": {"n": {"lt": 5}}}]}),
        (["new"], {"AND": [alice, {"metadata": {"name": {"icontains": "drawer"}}}]}),
        (["old"], {"AND": [alice, {"metadata": {"tags": {"contains": "a"}}}]}),
        (["new", "old"], {"AND": [alice, {"metadata": {"n": {"in": [3, 5]}}}]}),
        (["new"], {"AND": [alice, {"metadata": {"n": {"ne": 3}}}]}),
        (["new", "old", "other"], {"OR": [{"user_id": "alice"}, {"agent_id": "*"}]}),
        (["old", "other"], {"agent_id": "bot"}),
        (["new", "old", "other"], {"user_id": "*"}),
        (["new", "old", "other"], {"user_id": {"in": ["alice", "bob"]}}),
        ([], {"AND": [alice, {"user_id": "bob"}]}),
        ([], {"user_id": "nobody"}),
    ):
        assert await listed(mem0, filters) == expected, filters
        found = await post(mem0, "/v3/memories/search/", query="old new other", filters=filters)
        assert sorted(hit["memory"] for hit in found["results"]) == expected, filters
    assert await listed(mem0, alice, start_date="2024-01-01") == ["new"]
    assert await listed(mem0, alice, end_date="2024-01-01") == ["old"]
    assert await listed(mem0, alice, keywords="OLD") == ["old"]
    assert await listed(mem0, alice, metadata={"n": 5}) == ["new"]


async def test_what_has_expired_is_hidden_until_it_is_asked_for_or_the_date_is_taken_away(
    mem0: httpx.AsyncClient,
) -> None:
    today = datetime.now(UTC).date()
    gone = await add(mem0, "gone", expiration_date=(today - timedelta(days=2)).isoformat())
    await add(mem0, "today", expiration_date=(today + timedelta(days=1)).isoformat())
    alice = {"user_id": "alice"}
    assert await listed(mem0, alice) == ["today"]
    assert await listed(mem0, alice, show_expired=True) == ["gone", "today"]
    found = await post(mem0, "/v3/memories/search/", query="gone", filters=alice)
    assert gone not in [hit["id"] for hit in found["results"]]
    assert (await mem0.get(f"/v1/memories/{gone}/")).json()["memory"] == "gone"
    changed = await mem0.put(f"/v1/memories/{gone}/", json={"expiration_date": None})
    assert changed.json()["expiration_date"] is None
    assert await listed(mem0, alice) == ["gone", "today"]


async def test_an_update_changes_what_is_given_and_keeps_the_rest(mem0: httpx.AsyncClient) -> None:
    id_ = await add(mem0, "one", agent_id="bot", metadata={"a": 1}, expiration_date="2099-01-01")
    changed = (await mem0.put(f"/v1/memories/{id_}/", json={"data": "two", "timestamp": 1_700_000_000})).json()
    assert (changed["memory"], changed["metadata"], changed["agent_id"]) == ("two", {"a": 1}, "bot")
    assert (changed["created_at"], changed["expiration_date"]) == ("2023-11-14T22:13:20+00:00", "2099-01-01")
    changed = (await mem0.put(f"/v1/memories/{id_}/", json={"metadata": {"b": [1, {"c": None}]}})).json()
    assert (changed["memory"], changed["metadata"], changed["agent_id"]) == ("two", {"b": [1, {"c": None}]}, "bot")
    feedback = await post(mem0, "/v1/feedback/", memory_id=id_, feedback="NEGATIVE", feedback_reason="wrong")
    assert feedback["feedback"] == "NEGATIVE"
    history = (await mem0.get(f"/v1/memories/{id_}/history/")).json()
    assert [(entry["event"], entry["new_memory"]) for entry in history] == [("ADD", "one"), ("UPDATE", "two")]
    changes = (await mem0.get(f"http://localhost/memories/{id_}/history", params={"user_id": "alice"})).json()
    assert changes["results"][0]["reason"] == "wrong"
    await mem0.delete(f"/v1/memories/{id_}/", params={"delete_linked": "true"})
    gone = await mem0.get(f"/v1/memories/{id_}/history/", headers={"X-Jiyi-User": "alice"})
    assert [entry["event"] for entry in gone.json()] == ["DELETE"]


async def test_deleting_needs_a_name_and_never_takes_more_than_was_named(mem0: httpx.AsyncClient) -> None:
    await add(mem0, "kept", run_id="r1")
    await add(mem0, "gone", run_id="r2", agent_id="bot")
    for params in (
        {},
        {"filters": "{}"},
        {"filters": "{'metadata': {'a': 1}}"},
        {"filters": "[object Object]"},
        {"filters": "__import__('os').remove('x')"},
        {"filters": "(" * 4_000},
        {"filters": "{'user_id': {'$gt': ''}}"},
        {"filters": "{'user_id': None}"},
        {"filters": "{'agent_id': None}"},
        {"filters": "{'user_id': b'alice'}"},
        {"filters": "{'NOT': {'user_id': 'bob'}}"},
        {"filters": "{'user_id': {'ne': 'bob'}}"},
        {"filters": "{'OR': [{'user_id': 'alice'}, {'metadata': {'a': 1}}]}"},
        {"filters": "{'OR': []}"},
        {"org_id": "jiyi", "unknown": "x"},
    ):
        refusal(await mem0.delete("/v1/memories/", params=params), 400)
    for params in ({"user_id": "alice", "run_id": "r3"}, {"user_id": "nobody"}, {"filters": "{'agent_id': 'x'}"}):
        assert (await mem0.delete("/v1/memories/", params=params)).status_code == 200
    assert await listed(mem0, {"user_id": "alice"}) == ["gone", "kept"]
    assert (await mem0.delete("/v1/memories/", params={"user_id": "alice", "agent_id": "*"})).status_code == 200
    assert await listed(mem0, {"user_id": "alice"}) == ["kept"]
    assert (await mem0.delete("/v2/entities/run/r1/")).json() == {"message": "Entity deleted successfully."}
    assert await listed(mem0, {"user_id": "alice"}) == []
    for type_ in ("user", "agent"):
        refusal(await mem0.delete(f"/v2/entities/{type_}/*/"), 400)
    assert "Invalid entity type" in refusal(await mem0.delete("/v2/entities/team/x/"), 400)


async def test_a_batch_is_refused_whole_where_one_id_is_wrong(mem0: httpx.AsyncClient) -> None:
    id_ = await add(mem0, "one")
    for wrong, status in ((UNKNOWN, 404), ("x", 400)):
        memories = [{"memory_id": id_, "text": "two"}, {"memory_id": wrong, "text": "three"}]
        refusal(await mem0.put("/v1/batch/", json={"memories": memories}), status)
        refusal(await mem0.request("DELETE", "/v1/batch/", json={"memories": memories}), status)
    refusal(await mem0.put("/v1/batch/", json={"memories": [{"memory_id": id_}] * 1_001}), 400)
    assert await listed(mem0, {"user_id": "alice"}) == ["one"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/memories/not-a-uuid/", 400),
        ("GET", "/v1/memories/a%2Fb/", 400),
        ("GET", f"/v1/memories/{{{UNKNOWN}}}/", 400),
        ("GET", f"/v1/memories/{UNKNOWN}/", 404),
        ("GET", f"/v1/memories/{UNKNOWN}/history/", 404),
        ("PUT", f"/v1/memories/{UNKNOWN}/", 404),
        ("DELETE", f"/v1/memories/{UNKNOWN}/", 404),
        ("POST", "/v1/summary/", 400),
        ("GET", "/v2/entities/user/alice/profile/", 400),
        ("POST", "/v2/profiles/jobs/", 400),
        ("GET", "/api/v1/webhooks/projects/default/", 400),
        ("GET", "/api/v1/orgs/organizations/jiyi/projects/other/", 404),
        ("PATCH", "/api/v1/orgs/organizations/jiyi/projects/default/", 400),
        ("GET", "/v1/events/", 400),
        ("GET", "/v9/nothing/", 404),
    ],
)
async def test_what_cannot_be_served_is_said_with_a_reason(
    mem0: httpx.AsyncClient, method: str, path: str, status: int
) -> None:
    refusal(await mem0.request(method, path, json={} if method in ("PUT", "POST", "PATCH") else None), status)


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("/v3/memories/add/", {"messages": [], "user_id": "a"}, "messages"),
        ("/v3/memories/add/", {"messages": "x"}, "user_id"),
        ("/v3/memories/add/", {"messages": "x", "user_id": "a", "run_id": "a/b"}, "run_id"),
        ("/v3/memories/add/", {"messages": "x", "filters": {"user_id": 3}}, "user_id"),
        ("/v3/memories/add/", {"messages": "x", "user_id": "a", "timestamp": "noon"}, "timestamp"),
        ("/v3/memories/add/", {"messages": "x", "user_id": "a", "expiration_date": "soon"}, "expiration_date"),
        ("/v3/memories/add/", {"messages": "x", "user_id": "a", "metadata": {"mem0_json": 1}}, "mem0_json"),
        ("/v3/memories/add/", {"messages": [{"content": [{"type": "image_url"}]}], "user_id": "a"}, "content"),
        ("/v3/memories/add/", {"messages": [{"role": "system", "content": "x"}], "user_id": "a"}, "messages"),
        ("/v3/memories/search/", {"query": " ", "filters": {"user_id": "a"}}, "query"),
        ("/v3/memories/search/", {"query": "x", "filters": {}}, "user_id"),
        ("/v3/memories/search/", {"query": "x", "filters": {"user_id": "a", "foo": 1}}, "filters.foo"),
        ("/v3/memories/search/", {"query": "x", "filters": {"user_id": {"like": "a"}}}, "filters.user_id.like"),
        ("/v3/memories/search/", {"query": "x", "filters": {"OR": {"user_id": "a"}}}, "filters.OR"),
        ("/v3/memories/search/", {"query": "x", "filters": {"user_id": "a", "memory": 3}}, "filters.memory"),
        ("/v3/memories/search/", {"query": "x", "filters": {"user_id": ["a", None]}}, "filters.user_id"),
        ("/v3/memories/", {"filters": {"user_id": "a", "created_at": {"gte": "soon"}}}, "created_at.gte"),
        ("/v1/feedback/", {"memory_id": UNKNOWN, "feedback": "MAYBE"}, "feedback"),
    ],
)
async def test_a_bad_body_is_400_and_names_the_field(
    mem0: httpx.AsyncClient, path: str, body: dict[str, Any], named: str
) -> None:
    assert named in refusal(await mem0.post(path, json=body), 400)


@pytest.fixture
async def guarded(services: Services) -> AsyncIterator[tuple[httpx.AsyncClient, dict[str, str]]]:
    """The door where it asks for credentials, and keys by what they are for."""
    keys = services.authenticator.keys
    made = {
        "alice": await keys.create("a", scope=KeyScope.USER, user="alice"),
        "app": await keys.create("b", scope=KeyScope.APP),
        "shop": await keys.create("c", scope=KeyScope.APP, app="shop"),
    }
    with_keys = replace(
        services,
        authenticator=Authenticator(keys=keys, required=True),
        limiter=InMemoryRateLimiter(requests_per_minute=60, burst=40),
    )
    async with serving(with_keys, limits=LimitArgs(body_bytes=1024)) as http:
        http.base_url = httpx.URL("http://localhost/mem0")
        yield http, {name: f"Token {issued.secret}" for name, issued in made.items()}


async def test_no_key_reaches_more_than_its_own_users(
    guarded: tuple[httpx.AsyncClient, dict[str, str]],
) -> None:
    client, keys = guarded

    def as_(name: str) -> dict[str, str]:
        return {"Authorization": keys[name]}

    async def added(name: str, **ids: str) -> str:
        body = {"messages": "secret", **ids}
        reply = await client.post("/v3/memories/add/", json=body, headers=as_(name))
        return str(reply.json()["results"][0]["id"])

    own, others, theirs = await added("alice"), await added("app", user_id="bob"), await added("shop", user_id="bob")
    for name, visible in (("alice", {own}), ("app", {own, others}), ("shop", {theirs})):
        for id_ in (own, others, theirs):
            reply = await client.get(f"/v1/memories/{id_}/", headers=as_(name))
            assert reply.status_code == (200 if id_ in visible else 404), (name, id_)
            if id_ not in visible:
                refusal(await client.delete(f"/v1/memories/{id_}/", headers=as_(name)), 404)
                refusal(await client.get(f"/v1/event/{id_}/", headers=as_(name)), 404)
    bob = {"filters": {"user_id": "bob"}}
    assert "another user" in refusal(await client.post("/v3/memories/", json=bob, headers=as_("alice")), 403)
    assert (await client.post("/v3/memories/", json={}, headers=as_("alice"))).json()["count"] == 1
    for name, count in (("alice", 1), ("app", 2), ("shop", 1)):
        assert (await client.get("/v1/entities/", headers=as_(name))).json()["total_users"] == count, name
    export = await client.post("/v1/exports/", json={"filters": {"user_id": "*"}}, headers=as_("app"))
    wanted = {"memory_export_id": export.json()["id"]}
    for name in ("alice", "shop"):
        refusal(await client.post("/v1/exports/get/", json=wanted, headers=as_(name)), 404)
    got = await client.post("/v1/exports/get/", json=wanted, headers=as_("app"))
    assert {memory["id"] for memory in got.json()["memories"]} == {own, others}


async def test_errors_before_any_route_are_as_the_clients_read_them(
    guarded: tuple[httpx.AsyncClient, dict[str, str]],
) -> None:
    client, keys = guarded
    assert "credential" in refusal(await client.get("/v1/ping/"), 401)
    wrong = {"Authorization": f"Token jiyi_{'0' * 16}_{'0' * 43}"}
    assert "not valid" in refusal(await client.get("//v1/ping", headers=wrong), 401)
    headers = {"Authorization": keys["app"]}
    large = {"messages": "x", "user_id": "a", "metadata": {"a": "x" * 2_000}}
    assert "1024 bytes" in refusal(await client.post("/v3/memories/", json=large, headers=headers), 413)
    refusal(await client.post("/v3/memories/", content=b"{", headers=headers), 400)
    refusal(await client.patch("/v1/ping/", headers=headers), 404)
    while (reply := await client.get("/v1/ping/", headers=headers)).status_code == 200:
        assert reply.json() == {"status": "ok", "org_id": "jiyi", "project_id": "default"}
    refusal(reply, 429)
    assert int(reply.headers["Retry-After"]) >= 1


async def test_an_export_forgets_who_is_erased(mem0: httpx.AsyncClient, services: Services) -> None:
    await add(mem0, "one")
    export = await post(mem0, "/v1/exports/", schema={}, filters={"user_id": "alice"})
    await mem0.delete("/v2/entities/user/alice/")
    left = await post(mem0, "/v1/exports/get/", memory_export_id=export["id"])
    assert left == {"memories": []}
    run = await services.record.runs.get(export["id"])
    assert run is not None
    assert "alice" not in json.dumps([run.input, run.output])
