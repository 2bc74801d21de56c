"""What every system of record does with items (`memory.ports.stores.items`)."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.ports.stores.record import SystemOfRecord, UnitOfWork
from memory.values.errors import InvalidField
from memory.values.items import ItemCollection, ItemOrder, ItemPlace, ItemVectors, StoredItem

STORE, CHECKPOINTS = ItemCollection.STORE, ItemCollection.CHECKPOINTS
DIFFICULT = ["a", "A", "%", "_", "*", "[", "é", "e\u0301", "記憶", "a b", "'", "/", "-", "~", "\U0001f9e0"]


async def put(record: SystemOfRecord, *items: StoredItem, user_id: str = "ann") -> None:
    async with record.writing(user_id=user_id) as unit:
        await unit.items.put(items)
        await unit.commit()


async def listed(unit: UnitOfWork, collection: ItemCollection = STORE, **options: Any) -> list[tuple[Any, str]]:
    return [(found.namespace, found.key) for found in await unit.items.page(collection, **{"limit": 99} | options)]


class TestItems:
    async def test_an_item_comes_back_as_it_was(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        value = {"text": "記憶 'é' \x00", "n": [1, 1.5, -0.0, 2**53, True, None], "deep": {"": {}}}
        written = make.item(
            "使用者",
            "a b",
            key="",
            value=value,
            ttl_minutes=0.5,
            expires_at=make.at(30),
            session_id="s",
            index=("text", "$"),
            vectors=ItemVectors(model_id="e5", count=1, packed="AAAA"),
        )
        await put(record, written)
        async with record.reading(user_id="ann") as unit:
            assert await unit.items.get([written.place]) == [written]
            assert await unit.items.page(STORE, limit=1) == [written]

    async def test_a_put_replaces_the_whole_value_and_the_last_of_several_counts(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await put(record, make.item(value={"a": 1, "b": 2}))
        await put(record, make.item(value={"c": 3}), make.item(value={"d": 4}))
        async with record.reading(user_id="ann") as unit:
            assert [found.value for found in await unit.items.page(STORE, limit=9)] == [{"d": 4}]

    async def test_places_are_got_in_the_order_asked_and_those_without_an_item_are_left_out(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await put(record, *(make.item(key=key) for key in "abc"))
        places = [ItemPlace(STORE, ("a",), key) for key in "cxa"]
        async with record.reading(user_id="ann") as unit:
            assert [found.key for found in await unit.items.get(places)] == ["c", "a"]

    async def test_what_is_deleted_is_gone_and_counted(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await put(record, make.item(key="1"), make.item(key="2"))
        async with record.writing(user_id="ann") as unit:
            assert await unit.items.delete([ItemPlace(STORE, ("a",), "1"), ItemPlace(STORE, ("a",), "3")]) == 1
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert await listed(unit) == [(("a",), "2")]

    async def test_collections_never_meet(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        for collection in ItemCollection:
            await put(record, make.item(collection=collection, value={"of": collection.value}))
        async with record.writing(user_id="ann") as unit:
            await unit.items.delete([ItemPlace(STORE, ("a",), "k")])
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            for collection in ItemCollection:
                found = await unit.items.page(collection, limit=9)
                expected = [] if collection is STORE else [{"of": collection.value}]
                assert [one.value for one in found] == expected
                assert len(await unit.items.namespaces(collection, at=make.NOON)) == len(expected)

    async def test_everybody_has_items_of_their_own(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        for user in ("ann", "bob"):
            await put(record, make.item(user_id=user, value={"of": user}), user_id=user)
        async with record.writing(user_id="bob") as unit:
            with pytest.raises(InvalidField):
                await unit.items.put([make.item()])
            await unit.items.delete([ItemPlace(STORE, ("a",), "k")])
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert [found.value for found in await unit.items.page(STORE, limit=9)] == [{"of": "ann"}]

    async def test_a_unit_that_is_left_keeps_nothing(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        async with record.writing(user_id="ann") as unit:
            await unit.items.put([make.item()])
        async with record.reading(user_id="ann") as unit:
            assert await listed(unit) == []
            with pytest.raises(RuntimeError):
                await unit.items.put([make.item()])

    async def test_a_user_with_items_alone_is_a_user(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await put(record, make.item())
        assert await record.backlog.users(limit=9) == ["ann"]


class TestPrefixes:
    async def test_a_prefix_is_of_whole_labels_as_they_are_written(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        namespaces = [("a",), ("a", "b"), ("ab",), ("A", "b"), ("a-",), ("a/",), ("a", "b", "c"), ("a%",), ("%",)]
        await put(record, *(make.item(*labels) for labels in namespaces))
        async with record.reading(user_id="ann") as unit:
            for prefix in [(), *namespaces, ("a", "b", "c", "d"), ("*",), ("_",)]:
                expected = [labels for labels in namespaces if labels[: len(prefix)] == prefix]
                for order in ItemOrder:
                    found = [labels for labels, _ in await listed(unit, prefix=prefix, order=order)]
                    assert sorted(found) == sorted(expected)

    async def test_namespaces_are_each_given_once(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await put(record, make.item("b"), make.item("a", "記"), make.item("a", "記", key="2"))
        async with record.reading(user_id="ann") as unit:
            assert await unit.items.namespaces(STORE, at=make.NOON) == [("a", "記"), ("b",)]

    @settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        namespaces=st.lists(
            st.lists(st.sampled_from(DIFFICULT), min_size=1, max_size=3), min_size=1, max_size=6, unique_by=tuple
        ),
        prefix=st.lists(st.sampled_from(DIFFICULT), max_size=2),
    )
    async def test_no_label_is_taken_for_another(
        self, record: SystemOfRecord, make: SimpleNamespace, namespaces: list[list[str]], prefix: list[str]
    ) -> None:
        await record.erase_user("ann")
        await put(record, *(make.item(*labels) for labels in namespaces))
        async with record.reading(user_id="ann") as unit:
            found = [list(labels) for labels, _ in await listed(unit, prefix=prefix)]
            assert sorted(found) == sorted(labels for labels in namespaces if labels[: len(prefix)] == prefix)
            assert sorted(map(list, await unit.items.namespaces(STORE, at=make.NOON))) == sorted(namespaces)


class TestOrders:
    async def test_the_latest_come_first_and_of_one_moment_the_first_by_name(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await put(
            record,
            make.item("b"),
            make.item("a", key="2"),
            make.item("a", key="1"),
            make.item("c", updated_at=make.at(1)),
        )
        async with record.reading(user_id="ann") as unit:
            found = await listed(unit, order=ItemOrder.LATEST)
        assert found == [(("c",), "k"), (("a",), "1"), (("a",), "2"), (("b",), "k")]

    async def test_keys_are_ordered_by_code_point(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        keys = ["Z", "a", "é", "e\u0301", "記", "", "10", "9", "\uffff", "\U0001f9e0"]
        await put(record, *(make.item(key=key) for key in keys))
        async with record.reading(user_id="ann") as unit:
            assert [key for _, key in await listed(unit, order=ItemOrder.KEY)] == sorted(keys)
            found = [key for _, key in await listed(unit, order=ItemOrder.KEY_DESCENDING)]
            assert found == sorted(keys, reverse=True)

    @pytest.mark.parametrize("order", ItemOrder)
    async def test_pages_together_are_the_whole_list(
        self, record: SystemOfRecord, make: SimpleNamespace, order: ItemOrder
    ) -> None:
        places: Sequence[tuple[tuple[str, ...], str, int]] = [
            (labels, key, number % 3)
            for number, (labels, key) in enumerate(
                (labels, key) for labels in (("a",), ("a", "b"), ("a", "é"), ("b",)) for key in ("1", "2", "記")
            )
        ]
        await put(
            record, *(make.item(*labels, key=key, updated_at=make.at(seconds)) for labels, key, seconds in places)
        )
        async with record.writing(user_id="ann") as unit:
            whole = await unit.items.page(STORE, prefix=("a",), order=order, limit=99)
            paged: list[StoredItem] = []
            while page := await unit.items.page(
                STORE, prefix=("a",), order=order, behind=paged[-1] if paged else None, limit=2
            ):
                paged += page
                await unit.items.delete([page[-1].place])  # a place stays one when its item is gone
            assert paged == whole
            assert len(whole) == 9
            assert await unit.items.page(STORE, order=order, limit=0) == []


class TestExpiry:
    async def test_expired_items_are_there_until_they_are_deleted_but_their_namespaces_are_not_listed(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await put(
            record,
            make.item("stays"),
            make.item("expires", expires_at=make.at(10)),
            make.item("expires later", expires_at=make.at(10.000001)),
            make.item("expires", collection=CHECKPOINTS, expires_at=make.at(10)),
        )
        async with record.writing(user_id="ann") as unit:
            assert await unit.items.namespaces(STORE, at=make.at(10)) == [("expires later",), ("stays",)]
            assert len(await listed(unit)) == 3
            assert await unit.items.delete_expired(at=make.at(10)) == 2
            assert [labels for labels, _ in await listed(unit)] == [("expires later",), ("stays",)]
            assert await listed(unit, CHECKPOINTS) == []
            await unit.commit()
