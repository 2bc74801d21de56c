"""`/store` and `/checkpoints`: LangGraph's own SDK, unchanged, against the running app; and what the routes refuse."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import UnprocessableEntityError

from tests.deployments.loopback import on_loopback

TEA, CAR = {"text": "She likes oolong tea without milk"}, {"text": "Her car is a red Volvo"}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with on_loopback() as address:
        yield address


@pytest.fixture
async def client(url: str, request: pytest.FixtureRequest) -> AsyncIterator[LangGraphClient]:
    """The SDK's client for a user of this test alone."""
    async with get_client(url=url, headers={"X-Jiyi-User": request.node.name}) as opened:
        yield opened


class TestSdk:
    async def test_an_item_is_put_got_and_deleted(self, client: LangGraphClient) -> None:
        await client.store.put_item(["使用者", "a b"], key="k/1", value=TEA)
        item = await client.store.get_item(["使用者", "a b"], key="k/1")
        assert {name: item[name] for name in ("namespace", "key", "value")} == {
            "namespace": ["使用者", "a b"],
            "key": "k/1",
            "value": TEA,
        }
        assert item["created_at"] == item["updated_at"]
        await client.store.delete_item(["使用者", "a b"], key="k/1")
        assert await client.store.get_item(["使用者", "a b"], key="k/1") is None

    async def test_items_are_found_by_meaning_by_filter_and_by_prefix(self, client: LangGraphClient) -> None:
        await client.store.put_item(["notes", "food"], key="tea", value=TEA | {"stars": 5})
        await client.store.put_item(["notes", "cars"], key="car", value=CAR | {"stars": 3})
        await client.store.put_item(["notesx"], key="other", value={"stars": 5}, index=False)
        found = (await client.store.search_items(["notes"], query="Which tea does she like?"))["items"]
        assert [item["key"] for item in found] == ["tea", "car"]
        scores = [item["score"] or 0.0 for item in found]
        assert scores[0] > scores[1]
        found = (await client.store.search_items([], filter={"stars": {"$gte": 5}}))["items"]
        assert [(item["key"], item["score"]) for item in found] == [("other", None), ("tea", None)]
        assert len((await client.store.search_items(["notes"], limit=1, offset=1))["items"]) == 1

    async def test_namespaces_are_listed(self, client: LangGraphClient) -> None:
        for labels in (["a", "b", "c"], ["a", "b", "d"], ["x"]):
            await client.store.put_item(labels, key="k", value={})
        listed = await client.store.list_namespaces(prefix=["a"], max_depth=2)
        assert listed == {"namespaces": [["a", "b"]]}
        assert (await client.store.list_namespaces(suffix=["d"]))["namespaces"] == [["a", "b", "d"]]

    async def test_an_item_expires(self, client: LangGraphClient) -> None:
        await client.store.put_item(["a"], key="k", value={}, ttl=1)
        await client.http.put("/store/items", json={"namespace": ["a"], "key": "soon", "value": {}, "ttl": 0.0001})
        while await client.store.get_item(["a"], key="soon", refresh_ttl=False) is not None:
            await asyncio.sleep(0.01)
        assert await client.store.get_item(["a"], key="k", refresh_ttl=False) is not None

    async def test_what_is_refused_says_why(self, client: LangGraphClient) -> None:
        with pytest.raises(UnprocessableEntityError, match=r"filter.*\$in"):
            await client.store.search_items(["a"], filter={"n": {"$in": [1]}})
        with pytest.raises(UnprocessableEntityError, match="namespace"):
            await client.store.put_item([], key="k", value={})

    async def test_everybody_has_items_of_their_own(self, url: str, client: LangGraphClient) -> None:
        await client.store.put_item(["a"], key="k", value={"of": "me"})
        async with get_client(url=url, headers={"X-Jiyi-User": "somebody else"}) as other:
            assert await other.store.get_item(["a"], key="k") is None
            assert (await other.store.search_items([]))["items"] == []


async def put(http: httpx.AsyncClient, **fields: Any) -> httpx.Response:
    body = {"user_id": "ann", "namespace": ["a"], "key": "k", "value": {}}
    return await http.put("/store/items", json=body | fields)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"namespace": ["a.b"]}, "namespace.0"),
        ({"namespace": [""]}, "namespace.0"),
        ({"namespace": []}, "namespace"),
        ({"namespace": ["a", 1]}, "namespace.1"),
        ({"key": 1}, "key"),
        ({"value": None}, "value"),
        ({"value": "text"}, "value"),
        ({"index": True}, "index"),
        ({"index": ["a..b"]}, "index"),
        ({"ttl": 0}, "ttl"),
        ({"unknown": 1}, "unknown"),
    ],
)
async def test_a_put_that_cannot_be_done_names_the_field(
    http: httpx.AsyncClient, fields: dict[str, Any], named: str
) -> None:
    reply = await put(http, **fields)
    assert reply.status_code == 422
    assert named in reply.text


async def test_without_a_user_nothing_is_kept(http: httpx.AsyncClient) -> None:
    reply = await http.put("/store/items", json={"namespace": ["a"], "key": "k", "value": {}})
    assert (reply.status_code, "user_id" in reply.text) == (422, True)


async def test_what_is_no_json_is_refused(http: httpx.AsyncClient) -> None:
    for value in (b'{"n": NaN}', b'{"n": "\\ud800"}'):
        body = b'{"user_id": "ann", "namespace": ["a"], "key": "k", "value": ' + value + b"}"
        reply = await http.put("/store/items", content=body, headers={"content-type": "application/json"})
        assert reply.status_code == 422, reply.text


async def test_a_document_may_have_a_thousand_members(http: httpx.AsyncClient) -> None:
    value = {f"member {number}": number for number in range(1_000)}
    assert (await put(http, value=value, index=False)).status_code == 204
    found = await http.get("/store/items", params={"user_id": "ann", "namespace": "a", "key": "k"})
    assert found.json()["value"] == value


async def test_a_batch_is_whole_and_the_collections_never_meet(http: httpx.AsyncClient) -> None:
    body: dict[str, Any] = {
        "user_id": "ann",
        "operations": [
            {"op": "put", "namespace": ["a"], "key": "k", "value": {"n": 1}},
            {"op": "get", "namespace": ["a"], "key": "k"},
            {"op": "search"},
            {"op": "list_namespaces"},
        ],
    }
    for path in ("/store/batch", "/store/checkpoints/batch"):
        assert (await http.post(path, json=body)).json() == {"results": [None, None, [], []]}
    await http.request("DELETE", "/store/items", json={"user_id": "ann", "namespace": ["a"], "key": "k"})
    assert (await http.post("/store/items/search", json={"user_id": "ann"})).json() == {"items": []}
    reply = (await http.post("/store/checkpoints/batch", json=body)).json()["results"]
    assert (reply[1]["value"], reply[1]["user_id"], reply[1]["vectors"]) == ({"n": 1}, "ann", None)
    assert (reply[2][0]["item"]["key"], reply[3]) == ("k", [["a"]])
    refused = {**body, "operations": [*body["operations"], {"op": "get", "namespace": ["a.b"], "key": "k"}]}
    refused["operations"][0] = {"op": "put", "namespace": ["a"], "key": "new", "value": {}}
    assert (await http.post("/store/checkpoints/batch", json=refused)).status_code == 422
    assert len((await http.post("/store/checkpoints/batch", json=body)).json()["results"][2]) == 1
