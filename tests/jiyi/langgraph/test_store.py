"""`JiyiStore` over a running app: LangGraph's semantics, what is refused, and langmem's tools."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

from jiyi.errors import Unreachable
from jiyi.langgraph import JiyiStore
from jiyi.langgraph.remote import MAX_UNDER_WAY
from memory.values.ids import new_id
from tests.deployments.loopback import on_loopback

TEA, CAR = {"text": "She likes oolong tea"}, {"text": "Her car is a red Volvo"}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with on_loopback() as address:
        yield address


@pytest.fixture
def store(url: str) -> Iterator[JiyiStore]:
    with JiyiStore(url, user_id=new_id(), index={"fields": ["text"]}) as opened:
        yield opened


def test_a_value_comes_back_whole_and_a_put_replaces_it(store: JiyiStore) -> None:
    store.put(("使用者", "ann"), "k", TEA | {"deep": [1, None, True]})
    first = store.get(("使用者", "ann"), "k")
    assert first is not None
    assert (first.value, first.namespace, first.key) == (TEA | {"deep": [1, None, True]}, ("使用者", "ann"), "k")
    store.put(("使用者", "ann"), "k", CAR)
    second = store.get(("使用者", "ann"), "k")
    assert second is not None
    assert (second.value, second.created_at) == (CAR, first.created_at)
    assert second.updated_at > first.updated_at
    store.delete(("使用者", "ann"), "k")
    assert store.get(("使用者", "ann"), "k") is None


async def test_the_asynchronous_methods_do_the_same_from_any_event_loop(store: JiyiStore) -> None:
    await store.aput(("a",), "k", TEA)
    found = await asyncio.to_thread(lambda: asyncio.run(store.asearch(("a",), query="tea")))
    assert [(item.key, item.score is not None) for item in found] == [("k", True)]
    assert await store.alist_namespaces() == [("a",)]


def test_a_batch_reads_what_was_there_before_it(store: JiyiStore) -> None:
    store.put(("a",), "old", {})
    results = store.batch(
        [
            PutOp(("a",), "new", TEA),
            GetOp(("a",), "new"),
            GetOp(("a",), "old"),
            SearchOp(("a",)),
            ListNamespacesOp((MatchCondition("prefix", ("*",)),)),
            PutOp(("a",), "old", None),
        ]
    )
    assert results[:2] == [None, None]
    found: Any = results[3]
    assert [item.key for item in found] == ["old"]
    assert results[4] == [("a",)]
    assert [item.key for item in store.search(("a",))] == ["new"]


def test_a_bad_label_refuses_the_whole_batch(store: JiyiStore) -> None:
    bad: list[Any] = [
        GetOp(("a.b",), "k"),
        PutOp(("",), "k", {}),
        PutOp(("a", 1), "k", {}),  # type: ignore[arg-type]
        SearchOp(("a\x00",)),
        ListNamespacesOp((MatchCondition("suffix", ("a.b",)),)),
    ]
    for op in bad:
        with pytest.raises(InvalidNamespaceError):
            store.batch([PutOp(("a",), "k", {}), op])
    assert store.search(()) == []


def test_index_false_is_honoured_and_fields_may_be_named(store: JiyiStore) -> None:
    store.put(("a",), "hidden", TEA, index=False)
    store.put(("a",), "named", {"title": "oolong tea", "text": "a red Volvo"}, index=["title"])
    store.put(("a",), "car", CAR)
    found = store.search(("a",), query="oolong tea")
    assert next((item.key, item.score is None) for item in found) == ("named", False)
    assert [item.key for item in found if item.score is None] == ["hidden"]


def test_a_store_without_an_index_embeds_only_what_a_put_names(url: str) -> None:
    with JiyiStore(url, user_id=new_id(), index=None) as store:
        store.put(("a",), "k", TEA)
        assert [item.score for item in store.search(("a",), query="tea")] == [None]
        store.put(("a",), "k", TEA, index=["text"])
        assert store.search(("a",), query="tea")[0].score is not None


@pytest.mark.parametrize("index", [{"embed": len, "dims": 3}, {"dims": 384}, {"field": ["text"]}, {"fields": ["a..b"]}])
def test_a_foreign_embedder_and_what_is_unknown_are_refused(index: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="index"):
        JiyiStore(index=index)


def test_an_unknown_operator_is_refused(store: JiyiStore) -> None:
    with pytest.raises(ValueError, match=r"\$in"):
        store.search(("a",), filter={"n": {"$in": [1]}})


def test_items_expire_and_reads_prolong_them_unless_the_store_says_otherwise(url: str) -> None:
    assert JiyiStore.supports_ttl
    with pytest.raises(ValueError, match="omit_expired"):
        JiyiStore(url, ttl={"omit_expired": False})
    with JiyiStore(url, user_id=new_id(), ttl={"default_ttl": 0.001, "refresh_on_read": False}) as store:
        store.put(("a",), "soon", TEA)
        store.put(("a",), "stays", TEA, ttl=None)
        while store.get(("a",), "soon") is not None:
            assert store.get(("a",), "stays") is not None
        assert [item.key for item in store.search(("a",))] == ["stays"]


def test_users_never_see_each_others_items(url: str) -> None:
    with JiyiStore(url, user_id="ann") as ann, JiyiStore(url, user_id="bob") as bob:
        ann.put(("a",), "k", TEA)
        assert bob.get(("a",), "k") is None
        assert (bob.search(()), bob.list_namespaces()) == ([], [])
        bob.delete(("a",), "k")
        assert ann.get(("a",), "k") is not None


async def test_of_a_thousand_calls_at_once_few_are_under_way_and_all_are_answered() -> None:
    under_way = most = 0

    async def answer(request: httpx.Request) -> httpx.Response:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return httpx.Response(200, json={"results": [None]})

    with JiyiStore(user_id="ann", transport=httpx.MockTransport(answer)) as store:
        assert await asyncio.gather(*(store.aget(("a",), str(number)) for number in range(1_000))) == [None] * 1_000
    assert 1 < most <= MAX_UNDER_WAY


def test_a_service_that_is_away_is_an_error_that_says_so() -> None:
    with JiyiStore("http://127.0.0.1:9", user_id="ann", patience_s=0) as store, pytest.raises(Unreachable):
        store.get(("a",), "k")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # langmem imports what LangGraph renamed
def test_the_tools_of_langmem_run_on_it(store: BaseStore) -> None:
    from langmem import create_manage_memory_tool, create_search_memory_tool

    manage = create_manage_memory_tool(namespace=("memories", "ann"), store=store)
    search = create_search_memory_tool(namespace=("memories", "ann"), store=store)
    manage.invoke({"content": "Ann likes oolong tea", "action": "create"})
    [kept] = store.search(("memories", "ann"))
    assert "oolong" in search.invoke({"query": "Which tea does Ann like?"})
    manage.invoke({"content": "Ann likes coffee", "action": "update", "id": kept.key})
    [changed] = store.search(("memories", "ann"))
    assert changed.value["content"] == "Ann likes coffee"
    manage.invoke({"action": "delete", "id": kept.key})
    assert store.search(("memories", "ann")) == []
