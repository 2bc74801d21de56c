"""What every vector index gives back, and what it stores beside the vectors (000 §5.1, 001 §2.2, 002 §6.2)."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from memory.ports.stores.vectors import PAYLOAD_FIELDS, Collection, IndexPoint, IndexQuery, VectorIndex
from memory.values.errors import InvalidField
from memory.values.vectors import SparseVector

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")

ENTITIES, MEMORIES, FACTS = Collection.ENTITIES, Collection.MEMORIES, Collection.FACTS
NOON_S = 1_772_366_400.123456
PAYLOADS: dict[Collection, dict[str, Any]] = {
    ENTITIES: {
        "entity_value": "宏康 HCI",
        "entity_type": "product",
        "status": "active",
        "first_mentioned": NOON_S,
        "last_mentioned": NOON_S + 3600,
        "mention_count": 7,
    },
    MEMORIES: {
        "confidence": 0.75,
        "access_count": 2**40,
        "created_at": NOON_S,
        "updated_at": 0.0,
        "language": "chinese",
    },
    FACTS: {
        "category": "preference",
        "entity_type": "part_number",
        "entity_value": "RM05-008",
        "confidence": 0.5,
        "access_count": 3,
        "status": "review",
        "created_at": NOON_S,
        "updated_at": NOON_S + 60,
    },
    Collection.KNOWLEDGE: {"corpus_id": "c", "source_id": "s", "chunk_index": 12, "language": "other"},
}


def everything(collection: Collection = MEMORIES, **fields: Any) -> IndexQuery:
    return IndexQuery(collection, 1000, dense=np.array([1, 0, 0, 0], dtype=np.float32), **fields)


async def found(index: VectorIndex, query: IndexQuery, user_id: str = "ann") -> set[str]:
    (hits,) = await index.search([query], user_id=user_id)
    return {hit.point_id for hit in hits}


def assert_same(point: IndexPoint, given: IndexPoint) -> None:
    """Vectors to the precision of 32 bits, the rest exactly; terms in any order, no metadata."""
    assert np.allclose(point.dense, given.dense, atol=1e-6)
    terms = dict(zip(point.sparse.indices, point.sparse.values, strict=True))
    assert terms == pytest.approx(dict(zip(given.sparse.indices, given.sparse.values, strict=True)))
    for name in ("point_id", "created_at_s", "session_id", "role", "payload", "fingerprint"):
        assert getattr(point, name) == getattr(given, name)
    assert point.metadata == {}


class TestGet:
    @pytest.mark.parametrize("collection", Collection)
    async def test_a_point_comes_back_with_all_that_was_given(
        self, index: VectorIndex, make: SimpleNamespace, collection: Collection
    ) -> None:
        assert PAYLOADS[collection].keys() == PAYLOAD_FIELDS[collection].keys()
        given = make.point(
            "a",
            dense=(1, 2, 3, 4),
            terms={7: 0.25, 3: 1.5, 2**32 - 1: 0.1},
            session_id="s",
            role="user",
            created_at_s=NOON_S,
            metadata={"k": 1},
            payload=PAYLOADS[collection],
            fingerprint="f00d",
        )
        await index.upsert(collection, [given], user_id="ann")
        (point,) = await index.get(collection, [given.point_id], user_id="ann")
        assert_same(point, given)

    async def test_what_was_not_given_is_not_there(self, index: VectorIndex, make: SimpleNamespace) -> None:
        given = make.point("a", terms={})
        await index.upsert(ENTITIES, [given], user_id="ann")
        (point,) = await index.get(ENTITIES, [given.point_id], user_id="ann")
        assert_same(point, given)

    async def test_points_come_in_the_order_of_the_ids_and_unknown_ones_are_left_out(
        self, index: VectorIndex, make: SimpleNamespace
    ) -> None:
        await index.upsert(MEMORIES, [make.point(str(n)) for n in range(300)], user_id="ann")
        asked = [make.point_id(str(n)) for n in reversed(range(310))]
        points = await index.get(MEMORIES, [*asked, "no uuid", "\ud800", ""], user_id="ann")
        assert [point.point_id for point in points] == asked[10:]
        assert await index.get(MEMORIES, [], user_id="ann") == []

    async def test_a_replaced_point_keeps_nothing_of_the_old_one(
        self, index: VectorIndex, make: SimpleNamespace
    ) -> None:
        await index.upsert(FACTS, [make.point("a", payload=PAYLOADS[FACTS], session_id="s")], user_id="ann")
        given = make.point("a", payload={"category": "habit"}, terms={9: 1.0})
        await index.upsert(FACTS, [given], user_id="ann")
        (point,) = await index.get(FACTS, [given.point_id], user_id="ann")
        assert_same(point, given)


class TestInventory:
    async def test_stored_says_of_every_point_what_it_was_made_from(
        self, index: VectorIndex, make: SimpleNamespace
    ) -> None:
        points = [make.point(str(n), fingerprint=f"f{n}") for n in range(600)]
        await index.upsert(MEMORIES, points, user_id="ann")
        await index.upsert(MEMORIES, [make.point("0", fingerprint="other")], user_id="bob")
        held = await index.stored(MEMORIES, user_id="ann")
        assert sorted((point.point_id, point.fingerprint) for point in held) == sorted(
            (point.point_id, point.fingerprint) for point in points
        )
        assert await index.stored(ENTITIES, user_id="ann") == []

    async def test_users_are_those_who_have_points(self, index: VectorIndex, make: SimpleNamespace) -> None:
        assert await index.users(MEMORIES) == []
        names = ["bob", "ann", 'x"} OR *', "王小明", "a.b[]", *(f"u{n:02}" for n in range(30))]
        for name in names:
            await index.upsert(MEMORIES, [make.point("a"), make.point("b")], user_id=name)
        await index.upsert(FACTS, [make.point("a")], user_id="zoe")
        assert await index.users(MEMORIES) == sorted(names)
        await index.delete(MEMORIES, [make.point_id("a"), make.point_id("b")], user_id="bob")
        await index.delete_user(MEMORIES, user_id="ann")
        assert await index.users(MEMORIES) == sorted(set(names) - {"ann", "bob"})

    async def test_deleting_a_user_leaves_the_others_and_the_other_collections(
        self, index: VectorIndex, make: SimpleNamespace
    ) -> None:
        for user in ("ann", "bob"):
            for collection in (MEMORIES, FACTS):
                await index.upsert(collection, [make.point(str(n)) for n in range(300)], user_id=user)
        await index.delete_user(MEMORIES, user_id="ann")
        await index.delete_user(MEMORIES, user_id="nobody")
        counts = [await index.count(where, user_id=user) for user in ("ann", "bob") for where in (MEMORIES, FACTS)]
        assert counts == [0, 300, 300, 300]
        assert await found(index, everything()) == set()

    async def test_delete_stale_keeps_what_is_named_and_says_how_many_went(
        self, index: VectorIndex, make: SimpleNamespace
    ) -> None:
        await index.upsert(FACTS, [make.point(name) for name in "abcd"], user_id="ann")
        await index.upsert(FACTS, [make.point("a")], user_id="bob")
        keep = {make.point_id("b"), make.point_id("z")}
        assert await index.delete_stale(FACTS, keep, user_id="ann") == 3
        assert await index.delete_stale(FACTS, keep, user_id="ann") == 0
        assert [point.point_id for point in await index.stored(FACTS, user_id="ann")] == [make.point_id("b")]
        assert await index.count(FACTS, user_id="bob") == 1

    async def test_it_answers_a_ping(self, index: VectorIndex) -> None:
        await index.ping()


class TestThreshold:
    async def test_worse_scores_are_left_out(self, index: VectorIndex, make: SimpleNamespace) -> None:
        vectors = {"a": (1, 0, 0, 0), "b": (3, 4, 0, 0), "c": (0, 1, 0, 0), "d": (-1, 0, 0, 0)}
        await index.upsert(FACTS, [make.point(name, dense=dense) for name, dense in vectors.items()], user_id="ann")
        for threshold, expected in ((0.61, "a"), (0.59, "ab"), (-0.1, "abc"), (None, "abcd")):
            wanted = {make.point_id(name) for name in expected}
            assert await found(index, everything(FACTS, threshold=threshold)) == wanted

    async def test_it_compares_keyword_scores_with_their_idf(self, index: VectorIndex, make: SimpleNamespace) -> None:
        points = [make.point("a", terms={1: 2.0}), make.point("b", terms={1: 1.0}), make.point("c", terms={2: 1.0})]
        await index.upsert(MEMORIES, points, user_id="ann")
        idf = math.log((3 - 2 + 0.5) / (2 + 0.5) + 1)
        query = IndexQuery(MEMORIES, 9, sparse=SparseVector((1,), (1.0,)), threshold=1.5 * idf)
        assert await found(index, query) == {make.point_id("a")}


class TestWhere:
    async def test_all_fields_have_the_values_that_are_asked_for(
        self, index: VectorIndex, make: SimpleNamespace
    ) -> None:
        points = [
            make.point("a", payload={"entity_type": "person", "status": "active", "entity_value": "Room 101"}),
            make.point("b", payload={"entity_type": "person", "status": "review"}),
            make.point("c", payload={"entity_type": "place"}),
            make.point("d"),
        ]
        await index.upsert(ENTITIES, points, user_id="ann")
        for where, expected in (
            ({}, "abcd"),
            ({"entity_type": "person"}, "ab"),
            ({"entity_type": "person", "status": "active"}, "a"),
            ({"entity_value": "Room 101"}, "a"),
            ({"entity_value": "room 101"}, ""),
            ({"entity_value": "Room"}, ""),
            ({"status": ""}, ""),
        ):
            wanted = {make.point_id(name) for name in expected}
            assert await found(index, everything(ENTITIES, where=where)) == wanted

    async def test_it_joins_the_filters_and_leaves_the_statistics(
        self, index: VectorIndex, make: SimpleNamespace
    ) -> None:
        points = [make.point("a", payload={"category": "x"}), make.point("b", payload={"category": "y"})]
        await index.upsert(FACTS, points, user_id="ann")
        (hits,) = await index.search(
            [IndexQuery(FACTS, 9, sparse=SparseVector((1,), (1.0,)), where={"category": "x"})], user_id="ann"
        )
        assert [hit.point_id for hit in hits] == [make.point_id("a")]
        assert hits[0].score == pytest.approx(math.log(0.5 / 2.5 + 1), rel=1e-4)

    @pytest.mark.parametrize(
        "value", ["'; DROP", '"}]', "a.b[]", "*", "x" * 50_000, "二手\u3000書", "\x00", "\u202e", "😀", " "]
    )
    async def test_any_text_is_compared_as_it_is(self, index: VectorIndex, make: SimpleNamespace, value: str) -> None:
        await index.upsert(FACTS, [make.point("a", payload={"category": value})], user_id="ann")
        await index.upsert(FACTS, [make.point("b", payload={"category": f"{value}."})], user_id="ann")
        assert await found(index, everything(FACTS, where={"category": value})) == {make.point_id("a")}


class TestRefusals:
    @pytest.mark.parametrize(
        ("collection", "payload"),
        [
            (MEMORIES, {"user_id": "bob"}),
            (MEMORIES, {"category": "x"}),
            (MEMORIES, {"metadata": "x"}),
            (MEMORIES, {"point_id": "x"}),
            (MEMORIES, {"confidence": math.nan}),
            (MEMORIES, {"confidence": "high"}),
            (MEMORIES, {"confidence": True}),
            (MEMORIES, {"access_count": 1.5}),
            (MEMORIES, {"access_count": 2**63}),
            (MEMORIES, {"created_at": math.inf}),
            (MEMORIES, {"created_at": 1e15}),
            (MEMORIES, {"created_at": "2026-03-01"}),
            (ENTITIES, {"entity_value": 3}),
            (ENTITIES, {"entity_value": "\ud800"}),
        ],
    )
    async def test_a_batch_with_an_unsound_payload_is_refused_whole(
        self, index: VectorIndex, make: SimpleNamespace, collection: Collection, payload: dict[str, Any]
    ) -> None:
        with pytest.raises(InvalidField):
            await index.upsert(collection, [make.point("a"), make.point("b", payload=payload)], user_id="ann")
        assert await index.count(collection, user_id="ann") == 0

    @pytest.mark.parametrize("fields", [{"session_id": "\ud800"}, {"role": "\ud800"}, {"fingerprint": "\ud800"}])
    async def test_a_text_that_cannot_be_written_is_refused(
        self, index: VectorIndex, make: SimpleNamespace, fields: dict[str, str]
    ) -> None:
        with pytest.raises(InvalidField):
            await index.upsert(MEMORIES, [replace(make.point("a"), **fields)], user_id="ann")

    @pytest.mark.parametrize(
        ("collection", "where"),
        [
            (MEMORIES, {"confidence": "1"}),
            (FACTS, {"user_id": "bob"}),
            (MEMORIES, {"entity_type": "person"}),
            (FACTS, {"category[]": "x"}),
            (FACTS, {"": "x"}),
            (FACTS, {"category": 1}),
            (FACTS, {"category": None}),
            (FACTS, {"category": "\ud800"}),
        ],
    )
    async def test_where_compares_keyword_fields_of_the_collection_and_nothing_else(
        self, index: VectorIndex, collection: Collection, where: Any
    ) -> None:
        with pytest.raises(InvalidField):
            await index.search([everything(collection, where=where)], user_id="ann")

    async def test_a_threshold_that_is_no_number_is_refused(self, index: VectorIndex) -> None:
        with pytest.raises(InvalidField):
            await index.search([everything(threshold=math.nan)], user_id="ann")

    async def test_an_impossible_user_is_refused(self, index: VectorIndex, make: SimpleNamespace) -> None:
        for call in (
            index.get(MEMORIES, [make.point_id("a")], user_id=""),
            index.stored(MEMORIES, user_id="a\x1fb"),
            index.delete_user(MEMORIES, user_id="\ud800"),
            index.delete_stale(MEMORIES, set(), user_id="x" * 193),
        ):
            with pytest.raises(InvalidField):
                await call
