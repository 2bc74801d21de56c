"""Batches of operations on items: what they see, what they write, and search by meaning."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from typing_extensions import override

from memory.items import meaning
from memory.items.store import ItemStore
from memory.ports.models.language import Encoder, FloatMatrix, Priority, TextKind
from memory.values.errors import InvalidField, ModelUnavailable
from memory.values.items import (
    GetItem,
    ItemCollection,
    ItemOperation,
    ItemOrder,
    ItemPlace,
    ListNamespaces,
    PutItem,
    SearchItems,
    StoredItem,
)
from storage.inmemory.record import InMemoryRecord
from testing.fakes.encoder import FakeEncoder

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Counting(Encoder):
    """An encoder that counts the texts that it embeds, and may be away."""

    def __init__(self, model_id: str = "fake") -> None:
        self._inner = FakeEncoder(model_id=model_id)
        self.passages = 0
        self.is_away = False

    @property
    @override
    def model_id(self) -> str:
        return self._inner.model_id

    @property
    @override
    def dimension(self) -> int:
        return self._inner.dimension

    @override
    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        if self.is_away:
            raise ModelUnavailable("away", component="embedder")
        self.passages += len(texts) if kind is TextKind.PASSAGE else 0
        return await self._inner.encode(texts, kind=kind)


class Desk:
    """The items of one user at a time that the test sets."""

    def __init__(self) -> None:
        self.record = InMemoryRecord()
        self.encoder = Counting()
        self.at = NOON
        self.store = ItemStore(self.record, encoder=self._live)

    async def _live(self) -> Encoder:
        return self.encoder

    async def do(self, *operations: ItemOperation, **options: Any) -> list[Any]:
        return await self.store.batch(operations, user_id="ann", now=self.at, **options)

    async def put(self, key: str, value: dict[str, Any] | None = None, **fields: Any) -> None:
        await self.do(put(key, {"text": key} if value is None else value, **fields))

    async def keys(self, **fields: Any) -> list[str]:
        [found] = await self.do(SearchItems(**fields))
        return [entry.item.key for entry in found]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def put(key: str, value: dict[str, Any] | None, *, namespace: tuple[str, ...] = ("a",), **fields: Any) -> PutItem:
    return PutItem(namespace=namespace, key=key, value=value, **fields)


def get(key: str, **fields: Any) -> GetItem:
    return GetItem(namespace=("a",), key=key, **fields)


class TestBatches:
    async def test_reads_see_the_state_before_the_writes_of_their_batch(self, desk: Desk) -> None:
        await desk.put("old")
        results = await desk.do(
            put("new", {}), get("new"), get("old"), put("old", None), SearchItems(), ListNamespaces()
        )
        assert results[:2] == [None, None]
        assert isinstance(results[2], StoredItem)
        assert [found.item.key for found in results[4]] == ["old"]
        assert results[5] == (("a",),)
        assert await desk.keys() == ["new"]

    async def test_of_several_puts_in_one_place_the_last_counts(self, desk: Desk) -> None:
        await desk.do(put("k", {"n": 1}), put("k", None), put("k", {"n": 2}), put("gone", {}), put("gone", None))
        [found, gone] = await desk.do(get("k"), get("gone"))
        assert (found.value, gone) == ({"n": 2}, None)

    async def test_a_put_replaces_the_whole_value_and_keeps_when_the_item_began(self, desk: Desk) -> None:
        await desk.put("k", {"a": 1, "b": 2})
        desk.at += timedelta(seconds=5)
        await desk.put("k", {"a": 3})
        [found] = await desk.do(get("k"))
        assert (found.value, found.created_at, found.updated_at) == ({"a": 3}, NOON, desk.at)

    async def test_what_cannot_be_done_refuses_the_whole_batch(self, desk: Desk) -> None:
        for refused in (
            SearchItems(filter={"n": {"$in": [1]}}),
            put("bad", {"text": "x"}, index=("a..b",)),
            put("many", {"all": ["x"] * 65}, index=("all[*]",)),
        ):
            with pytest.raises(InvalidField):
                await desk.do(put("good", {}), refused)
        with pytest.raises(InvalidField, match="1001"):
            await desk.do(*[put("good", {})] * 1001)
        assert await desk.keys() == []

    async def test_a_batch_stays_in_its_collection(self, desk: Desk) -> None:
        for collection in ItemCollection:
            await desk.do(put("k", {"of": collection.value}), collection=collection)
        await desk.do(put("k", None))
        assert await desk.keys() == []
        for collection in set(ItemCollection) - {ItemCollection.STORE}:
            [found] = await desk.do(get("k"), collection=collection)
            assert found.value == {"of": collection.value}


class TestSearches:
    async def test_the_latest_come_first_and_pages_meet(self, desk: Desk) -> None:
        for number in range(5):
            desk.at += timedelta(seconds=1)
            await desk.put(str(number))
        assert await desk.keys() == ["4", "3", "2", "1", "0"]
        assert await desk.keys(limit=2, offset=1) == ["3", "2"]
        assert await desk.keys(order=ItemOrder.KEY, limit=2) == ["0", "1"]
        assert await desk.keys(limit=0) == []

    async def test_a_filter_counts_before_the_limit(self, desk: Desk) -> None:
        await desk.do(*(put(f"{number:03}", {"even": number % 2 == 0}) for number in range(600)))
        found = await desk.keys(filter={"even": True}, order=ItemOrder.KEY, offset=298, limit=10)
        assert found == ["596", "598"]

    async def test_namespaces_are_listed_with_wildcards_and_cut_to_a_depth(self, desk: Desk) -> None:
        namespaces = [("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "c", "f"), ("b",)]
        await desk.do(*(put("k", {}, namespace=labels) for labels in namespaces))

        async def listed(**fields: Any) -> Any:
            return (await desk.do(ListNamespaces(**fields)))[0]

        assert await listed() == tuple(namespaces)
        assert await listed(prefix=("a", "b"), max_depth=3) == (("a", "b", "c"), ("a", "b", "d"))
        assert await listed(prefix=("*", "c")) == (("a", "c", "f"),)
        assert await listed(suffix=("*", "e")) == (("a", "b", "d", "e"),)
        assert await listed(suffix=("d", "*")) == (("a", "b", "d", "e"), ("a", "b", "d", "i"))
        assert await listed(prefix=("a",), suffix=("b",)) == ()
        assert await listed(limit=1, offset=1) == (("a", "b", "d", "e"),)


class TestExpiry:
    async def test_an_item_is_gone_after_its_minutes(self, desk: Desk) -> None:
        await desk.put("k", ttl_minutes=1)
        desk.at += timedelta(seconds=60)
        assert await desk.do(get("k"), SearchItems(), ListNamespaces()) == [None, (), ()]

    async def test_a_read_lets_it_stay_as_long_again_unless_it_says_otherwise(self, desk: Desk) -> None:
        await desk.put("k", ttl_minutes=1)
        for read in (get("k"), SearchItems(), SearchItems(query="k")):
            desk.at += timedelta(seconds=50)
            assert (await desk.do(read))[0]
        desk.at += timedelta(seconds=50)
        assert (await desk.do(get("k", refresh_ttl=False), SearchItems(refresh_ttl=False)))[0]
        desk.at += timedelta(seconds=50)
        assert (await desk.do(get("k")))[0] is None

    async def test_what_expired_is_deleted_by_the_next_put_and_begins_anew(self, desk: Desk) -> None:
        await desk.put("k", ttl_minutes=1)
        await desk.put("other", ttl_minutes=1)
        desk.at += timedelta(minutes=2)
        await desk.put("k")
        async with desk.record.reading(user_id="ann") as unit:
            [found] = await unit.items.page(ItemCollection.STORE, limit=9)
        assert (found.key, found.created_at, found.expires_at) == ("k", desk.at, None)


class TestMeaning:
    async def test_the_nearest_come_first_with_their_scores(self, desk: Desk) -> None:
        for text in ("I like green tea", "The car is red", "茶很好喝"):
            await desk.put(text)
        [found] = await desk.do(SearchItems(query="green tea", limit=2))
        assert next(entry.item.key for entry in found) == "I like green tea"
        assert found[0].score > found[1].score
        assert await desk.keys(query="喝茶", limit=1) == ["茶很好喝"]

    async def test_an_item_has_the_score_of_its_nearest_text(self, desk: Desk) -> None:
        await desk.put("k", {"parts": ["red car", "green tea"]}, index=("parts[*]",))
        [[found]] = await desk.do(SearchItems(query="green tea"))
        assert found.score == pytest.approx(1)

    async def test_what_is_not_indexed_has_no_score_and_comes_last(self, desk: Desk) -> None:
        await desk.put("green tea", index=False)
        await desk.put("blank", {"text": " "}, index=("text",))
        await desk.put("red car")
        [found] = await desk.do(SearchItems(query="green tea"))
        assert next(entry.item.key for entry in found) == "red car"
        assert [entry.score is None for entry in found] == [False, True, True]
        assert desk.encoder.passages == 1

    async def test_only_the_store_is_searched_by_meaning(self, desk: Desk) -> None:
        with pytest.raises(InvalidField):
            await desk.do(SearchItems(query="x"), collection=ItemCollection.CHECKPOINTS)
        await desk.do(put("k", {"text": "x"}), collection=ItemCollection.CHECKPOINTS)
        assert desk.encoder.passages == 0

    async def test_a_filter_holds_in_a_search_by_meaning(self, desk: Desk) -> None:
        await desk.put("1", {"text": "green tea", "kind": "a"})
        await desk.put("2", {"text": "green tea", "kind": "b"})
        assert await desk.keys(query="green tea", filter={"kind": "b"}) == ["2"]

    async def test_vectors_of_another_model_are_not_compared_but_made_again_and_kept(self, desk: Desk) -> None:
        for text in ("green tea", "red car"):
            await desk.put(text)
        desk.encoder = Counting("other")
        for _ in range(2):
            [found] = await desk.do(SearchItems(query="green tea"))
            assert [entry.item.vectors.model_id for entry in found] == ["other", "other"]
            assert desk.encoder.passages == 2
        [found] = await desk.do(get("red car"))
        assert found.vectors.model_id == "other"

    async def test_a_search_embeds_so_many_at_most_and_the_next_goes_on(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await desk.do(*(put(f"{number}", {"text": f"tea {number}"}) for number in range(5)))
        monkeypatch.setattr(meaning, "_MAX_EMBEDDED", 3)
        desk.encoder = Counting("other")
        for scored in (3, 5):
            [found] = await desk.do(SearchItems(query="tea"))
            assert sum(entry.score is not None for entry in found) == scored

    async def test_nothing_is_written_where_the_model_is_away_and_what_needs_none_goes_on(self, desk: Desk) -> None:
        await desk.put("there", index=False)
        desk.encoder.is_away = True
        with pytest.raises(ModelUnavailable):
            await desk.put("new")
        with pytest.raises(ModelUnavailable):
            await desk.do(put("new", {}, index=False), SearchItems(query="x"))
        await desk.put("unindexed", index=False)
        assert sorted(await desk.keys()) == ["there", "unindexed"]

    async def test_an_item_that_was_put_again_meanwhile_keeps_its_own_vectors(self, desk: Desk) -> None:
        await desk.put("k", {"text": "green tea"})
        desk.encoder = Counting("other")
        place = ItemPlace(ItemCollection.STORE, ("a",), "k")
        async with desk.record.reading(user_id="ann") as unit:
            [before] = await unit.items.get([place])
        desk.at += timedelta(seconds=1)
        await desk.put("k", {"text": "red car"}, index=False)
        ranked = await meaning.rank([before], "tea", desk.encoder)
        await desk.store._keep_vectors(ranked.embedded)
        async with desk.record.reading(user_id="ann") as unit:
            [after] = await unit.items.get([place])
        assert after.vectors is None


def test_bad_labels_never_make_an_operation() -> None:
    bad: list[tuple[Any, ...]] = [(), ("a.b",), ("",), ("a\x00",), ("a", 1), ("a",) * 33, ("x" * 513,)]
    for labels in bad:
        with pytest.raises(ValueError, match="namespace"):
            PutItem(namespace=labels, key="k", value={})
        if labels:
            with pytest.raises(ValueError, match="prefix"):
                SearchItems(prefix=labels)


def test_no_two_places_have_one_id() -> None:
    def item(*labels: str, key: str) -> str:
        at: dict[str, Any] = {"created_at": NOON, "updated_at": NOON}
        return StoredItem(
            user_id="ann", collection=ItemCollection.STORE, namespace=labels, key=key, value={}, **at
        ).item_id

    assert len({item("a", key="b./k"), item("a", "b", key="k"), item("a", "/b", key="k"), item("a", key="k")}) == 4
