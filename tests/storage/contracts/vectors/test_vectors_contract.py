"""What every `VectorIndex` does: the fake, the embedded engine, and the server's adapter.

The cases of `qdrant-server` run on a real server (`tests.storage.servers`), in collections of their own, which they
delete.
"""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from memory.ports.stores.vectors import Collection, IndexQuery, VectorIndex
from memory.values.errors import InvalidField
from memory.values.hits import SearchFilter
from memory.values.understanding.dialogue import Role
from memory.values.vectors import SparseVector

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")

MEMORIES = Collection.MEMORIES


def dense(*numbers: Any, limit: int = 10, collection: Collection = MEMORIES, **filters: Any) -> IndexQuery:
    vector = np.asarray(numbers, dtype=np.float32)
    return IndexQuery(collection, limit, dense=vector, filters=SearchFilter(**filters))


def sparse(*terms: Any, limit: int = 10, collection: Collection = MEMORIES, **filters: Any) -> IndexQuery:
    vector = SparseVector(terms, (1.0,) * len(terms))
    return IndexQuery(collection, limit, sparse=vector, filters=SearchFilter(**filters))


async def names(
    index: VectorIndex, make: SimpleNamespace, query: IndexQuery, *, user_id: str = "ann", known: str = "abcdefgh"
) -> list[str]:
    (hits,) = await index.search([query], user_id=user_id)
    by_id = {make.point_id(name): name for name in known}
    return [by_id[hit.point_id] for hit in hits]


def idf(total: int, holding: int) -> float:
    return math.log((total - holding + 0.5) / (holding + 0.5) + 1)


class TestDense:
    async def test_the_score_is_the_cosine_and_the_best_come_first(
        self, index: VectorIndex, make: SimpleNamespace
    ) -> None:
        points = [
            make.point("a", dense=(1, 0, 0, 0)),
            make.point("b", dense=(1, 1, 0, 0)),
            make.point("c", dense=(-1, 0, 0, 0)),
        ]
        await index.upsert(MEMORIES, points, user_id="ann")
        (hits,) = await index.search([dense(1, 0, 0, 0)], user_id="ann")
        assert [hit.point_id for hit in hits] == [make.point_id(name) for name in "abc"]
        assert [hit.score for hit in hits] == pytest.approx([1, math.sqrt(0.5), -1], abs=1e-5)

    async def test_at_most_limit_are_found(self, index: VectorIndex, make: SimpleNamespace) -> None:
        await index.upsert(MEMORIES, [make.point(name) for name in "abc"], user_id="ann")
        assert len(await names(index, make, dense(1, 0, 0, 0, limit=2))) == 2
        assert await names(index, make, dense(1, 0, 0, 0, limit=0)) == []

    async def test_equal_scores_are_ordered_by_id(self, index: VectorIndex, make: SimpleNamespace) -> None:
        await index.upsert(MEMORIES, [make.point(name) for name in "abcde"], user_id="ann")
        (hits,) = await index.search([dense(1, 0, 0, 0)], user_id="ann")
        assert [hit.point_id for hit in hits] == sorted(make.point_id(name) for name in "abcde")


class TestSparse:
    async def test_the_score_is_bm25_with_idf_over_the_users_points(
        self, index: VectorIndex, make: SimpleNamespace
    ) -> None:
        points = [
            make.point("a", terms={1: 1.0}),
            make.point("b", terms={1: 0.5, 2: 2.0}),
            make.point("c", terms={3: 1.0}),
        ]
        await index.upsert(MEMORIES, points, user_id="ann")
        (hits,) = await index.search([sparse(1, 2)], user_id="ann")
        assert [hit.point_id for hit in hits] == [make.point_id(name) for name in "ba"]
        expected = [0.5 * idf(3, 2) + 2 * idf(3, 1), idf(3, 2)]
        assert [hit.score for hit in hits] == pytest.approx(expected, rel=1e-4)

    async def test_a_filter_narrows_the_result_and_not_the_statistics(
        self, index: VectorIndex, make: SimpleNamespace
    ) -> None:
        points = [make.point("a", session_id="s"), make.point("b", session_id="t"), make.point("c", terms={2: 1.0})]
        await index.upsert(MEMORIES, points, user_id="ann")
        (hits,) = await index.search([sparse(1, session_id="s")], user_id="ann")
        assert [hit.score for hit in hits] == pytest.approx([idf(3, 2)], rel=1e-4)

    async def test_scores_follow_what_is_replaced_and_deleted(self, index: VectorIndex, make: SimpleNamespace) -> None:
        await index.upsert(MEMORIES, [make.point(name) for name in "abcd"], user_id="ann")
        await index.upsert(MEMORIES, [make.point("b", terms={2: 1.0})], user_id="ann")
        await index.delete(MEMORIES, [make.point_id("c")], user_id="ann")
        (hits,) = await index.search([sparse(1)], user_id="ann")
        assert [hit.score for hit in hits] == pytest.approx([idf(3, 2)] * 2, rel=1e-4)

    async def test_a_point_without_terms_counts_and_is_not_found(
        self, index: VectorIndex, make: SimpleNamespace
    ) -> None:
        await index.upsert(MEMORIES, [make.point("a"), make.point("b", terms={})], user_id="ann")
        (hits,) = await index.search([sparse(1)], user_id="ann")
        assert [hit.score for hit in hits] == pytest.approx([idf(2, 1)], rel=1e-4)
        assert await names(index, make, dense(1, 0, 0, 0)) != []

    async def test_a_search_without_terms_finds_nothing(self, index: VectorIndex, make: SimpleNamespace) -> None:
        await index.upsert(MEMORIES, [make.point("a")], user_id="ann")
        assert await names(index, make, sparse()) == []

    async def test_the_largest_term_id_is_found(self, index: VectorIndex, make: SimpleNamespace) -> None:
        await index.upsert(MEMORIES, [make.point("a", terms={2**32 - 1: 1.0, 0: 1.0})], user_id="ann")
        assert await names(index, make, sparse(2**32 - 1)) == ["a"]


class TestWriting:
    async def test_a_point_with_the_same_id_is_replaced(self, index: VectorIndex, make: SimpleNamespace) -> None:
        await index.upsert(MEMORIES, [make.point("a", session_id="s", metadata={"k": 1})], user_id="ann")
        await index.upsert(MEMORIES, [make.point("a", dense=(0, 1, 0, 0), terms={2: 1.0})], user_id="ann")
        assert await index.count(MEMORIES, user_id="ann") == 1
        assert await names(index, make, sparse(1)) == []
        assert await names(index, make, dense(1, 0, 0, 0, session_id="s")) == []
        assert await names(index, make, dense(1, 0, 0, 0, metadata={"k": 1})) == []

    async def test_the_collections_are_apart(self, index: VectorIndex, make: SimpleNamespace) -> None:
        await index.upsert(Collection.ENTITIES, [make.point("a")], user_id="ann")
        assert await index.count(MEMORIES, user_id="ann") == 0
        results = await index.search(
            [sparse(1), dense(1, 0, 0, 0, collection=Collection.ENTITIES), dense(1, 0, 0, 0)], user_id="ann"
        )
        assert [len(hits) for hits in results] == [0, 1, 0]

    async def test_a_large_batch_is_stored_whole(self, index: VectorIndex, make: SimpleNamespace) -> None:
        await index.upsert(MEMORIES, [make.point(str(n)) for n in range(700)], user_id="ann")
        assert await index.count(MEMORIES, user_id="ann") == 700
        await index.delete(MEMORIES, [make.point_id(str(n)) for n in range(600)], user_id="ann")
        assert await index.count(MEMORIES, user_id="ann") == 100

    async def test_deleting_what_is_not_there_is_no_error(self, index: VectorIndex, make: SimpleNamespace) -> None:
        await index.delete(MEMORIES, [make.point_id("a")], user_id="ann")
        await index.delete(MEMORIES, [], user_id="ann")
        await index.upsert(MEMORIES, [], user_id="ann")
        assert await index.count(MEMORIES, user_id="ann") == 0


class TestIsolation:
    async def test_two_users_with_one_id_have_two_points(self, index: VectorIndex, make: SimpleNamespace) -> None:
        await index.upsert(MEMORIES, [make.point("a")], user_id="ann")
        await index.upsert(MEMORIES, [make.point("a", dense=(0, 1, 0, 0), terms={2: 1.0})], user_id="bob")
        assert await names(index, make, sparse(1)) == ["a"]
        assert await names(index, make, sparse(1), user_id="bob") == []
        await index.delete(MEMORIES, [make.point_id("a")], user_id="bob")
        assert [await index.count(MEMORIES, user_id=user) for user in ("ann", "bob")] == [1, 0]

    async def test_what_another_user_writes_changes_no_score(self, index: VectorIndex, make: SimpleNamespace) -> None:
        await index.upsert(MEMORIES, [make.point("a"), make.point("b", terms={2: 1.0})], user_id="ann")
        queries = [sparse(1, 2), dense(1, 0, 0, 0)]
        before = await index.search(queries, user_id="ann")
        await index.upsert(MEMORIES, [make.point(str(n)) for n in range(50)], user_id="bob")
        assert await index.search(queries, user_id="ann") == before
        await index.delete(MEMORIES, [make.point_id(str(n)) for n in range(40)], user_id="bob")
        assert await index.search(queries, user_id="ann") == before

    async def test_an_impossible_user_is_refused(self, index: VectorIndex, make: SimpleNamespace) -> None:
        for call in (
            index.upsert(MEMORIES, [make.point("a")], user_id=""),
            index.delete(MEMORIES, [make.point_id("a")], user_id="a\x1fb"),
            index.search([sparse(1)], user_id="\ud800"),
            index.count(MEMORIES, user_id="x" * 193),
        ):
            with pytest.raises(InvalidField):
                await call


class TestFilters:
    @pytest.fixture
    async def stored(self, index: VectorIndex, make: SimpleNamespace) -> VectorIndex:
        points = [
            make.point(
                "a", session_id="s", role="user", created_at_s=make.at(1).timestamp(), metadata={"n": 1, "t": "x"}
            ),
            make.point(
                "b", session_id="s", role="assistant", created_at_s=make.at(2).timestamp(), metadata={"n": True}
            ),
            make.point("c", session_id="t", role="user", created_at_s=make.at(3).timestamp(), metadata={"n": None}),
            make.point("d", created_at_s=make.at(4).timestamp(), metadata={"n": "1", "t": "y"}),
        ]
        await index.upsert(MEMORIES, points, user_id="ann")
        return index

    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            ({}, "abcd"),
            ({"session_id": "s"}, "ab"),
            ({"session_id": "'s' OR 1"}, ""),
            ({"role": Role.USER}, "ac"),
            ({"session_id": "s", "role": Role.USER}, "a"),
            ({"metadata": {"n": 1}}, "a"),
            ({"metadata": {"n": 1.0}}, "a"),
            ({"metadata": {"n": True}}, "b"),
            ({"metadata": {"n": None}}, "c"),
            ({"metadata": {"n": "1"}}, "d"),
            ({"metadata": {"n": [1, "1"]}}, "ad"),
            ({"metadata": {"n": [1, "1"], "t": "y"}}, "d"),
            ({"metadata": {"n": []}}, ""),
            ({"metadata": {"absent": None}}, ""),
        ],
    )
    async def test_all_conditions_hold(
        self, stored: VectorIndex, make: SimpleNamespace, filters: dict[str, Any], expected: Any
    ) -> None:
        for query in (dense(1, 0, 0, 0, **filters), sparse(1, **filters)):
            assert sorted(await names(stored, make, query)) == list(expected)

    @pytest.mark.parametrize(
        ("start", "end", "expected"), [(2, None, "bcd"), (None, 2, "ab"), (2, 3, "bc"), (2, 2, "b"), (3, 2, "")]
    )
    async def test_both_ends_of_a_time_range_belong_to_it(
        self, stored: VectorIndex, make: SimpleNamespace, start: Any, end: Any, expected: Any
    ) -> None:
        limits = {"created_from": start and make.at(start), "created_to": end and make.at(end)}
        assert sorted(await names(stored, make, dense(1, 0, 0, 0, **limits))) == list(expected)

    @pytest.mark.parametrize(
        ("metadata", "wanted"),
        [
            ({'a","b': "c"}, {"a": 'b","c'}),
            ({"a": '1],["b",2'}, {"b": 2}),
            ({"a": "x" * 99}, {"a": "x" * 98}),
            ({"a": "x" * 99}, {"a" * 2: "x" * 98}),
            ({"user_id": "bob"}, {"user_id": "ann"}),
            ({"a.b": 1}, {"a": 1}),
            ({"metadata": "m"}, {"metadata[]": "m"}),
        ],
    )
    async def test_no_key_or_value_poses_as_another(
        self, index: VectorIndex, make: SimpleNamespace, metadata: dict[str, Any], wanted: dict[str, Any]
    ) -> None:
        await index.upsert(MEMORIES, [make.point("a", metadata=metadata)], user_id="ann")
        assert await names(index, make, dense(1, 0, 0, 0, metadata=metadata)) == ["a"]
        assert await names(index, make, dense(1, 0, 0, 0, metadata=wanted)) == []

    async def test_no_filter_reaches_another_users_points(self, index: VectorIndex, make: SimpleNamespace) -> None:
        await index.upsert(MEMORIES, [make.point("a", session_id="s", metadata={"user_id": "ann"})], user_id="bob")
        for filters in (
            {"session_id": "s"},
            {"metadata": {"user_id": "ann"}},
            {"metadata": {"user_id": ["ann", "bob"]}},
        ):
            assert await names(index, make, dense(1, 0, 0, 0, **filters)) == []


class TestRefusals:
    @pytest.mark.parametrize(
        "changes",
        [
            {"dense": np.ones(3, dtype=np.float32)},
            {"dense": np.ones((1, 4), dtype=np.float32)},
            {"dense": np.array([np.nan, 0, 0, 1], dtype=np.float32)},
            {"sparse": SparseVector((1, 1), (1.0, 1.0))},
            {"sparse": SparseVector((1, 2), (1.0,))},
            {"sparse": SparseVector((-1,), (1.0,))},
            {"sparse": SparseVector((2**32,), (1.0,))},
            {"sparse": SparseVector((1,), (math.inf,))},
            {"point_id": "no uuid"},
            {"created_at_s": math.nan},
        ],
    )
    async def test_a_batch_with_an_unsound_point_is_refused_whole(
        self, index: VectorIndex, make: SimpleNamespace, changes: Any
    ) -> None:
        with pytest.raises(InvalidField):
            await index.upsert(MEMORIES, [make.point("a"), replace(make.point("b"), **changes)], user_id="ann")
        assert await index.count(MEMORIES, user_id="ann") == 0

    @pytest.mark.parametrize(
        "query",
        [
            IndexQuery(MEMORIES, 1),
            IndexQuery(MEMORIES, 1, dense=np.ones(4, dtype=np.float32), sparse=SparseVector((1,), (1.0,))),
            dense(1, 0, 0),
            dense(math.inf, 0, 0, 0),
        ],
    )
    async def test_an_unsound_search_is_refused(self, index: VectorIndex, query: IndexQuery) -> None:
        with pytest.raises(InvalidField):
            await index.search([query], user_id="ann")
