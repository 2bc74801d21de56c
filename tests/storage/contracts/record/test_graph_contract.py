"""What every system of record does with the graph of facts (`memory.ports.facts.GraphRepository`)."""

import math
from types import SimpleNamespace

import pytest

from memory.ports.facts import MAX_DEPTH
from memory.ports.record import SystemOfRecord
from memory.values.errors import InvalidField
from memory.values.text import normalise


class TestCreate:
    async def test_an_edge_comes_back_as_it_was(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        written = make.edge("王 小明", "喜歡", "臺灣 咖啡", weight=0.1, created_at=make.at(0.000001))
        async with record.writing(user_id="ann") as unit:
            assert await unit.graph.create(written) == written.edge_id
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert await unit.graph.list_all() == [written]

    @pytest.mark.parametrize(
        ("subject", "predicate", "object_"),
        [
            ("宏康HCI", "供應", "台積電"),
            ("宏康 HCI", "供应", "台积电"),
            ("宏康　ＨＣＩ", "供應", "台積電 "),
            ("宏康 hci", "供應", "台積電"),
        ],
    )
    async def test_an_edge_of_the_same_names_stays_as_it_is(
        self, record: SystemOfRecord, make: SimpleNamespace, subject: str, predicate: str, object_: str
    ) -> None:
        first = make.edge("宏康 HCI", "供應", "台積電", edge_id="first", weight=2)
        await make.save(record, edges=[first])
        async with record.writing(user_id="ann") as unit:
            again = make.edge(subject, predicate, object_, edge_id="second", weight=5)
            other = make.edge(subject, predicate, "鴻海", edge_id="other")
            assert await unit.graph.create_many([again, other]) == ["first", "other"]
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert await unit.graph.list_all() == [first, other]

    async def test_the_first_of_two_in_one_call_is_kept(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        async with record.writing(user_id="ann") as unit:
            pair = [make.edge("a", "p", "b", edge_id="1"), make.edge("A", "P", "B", edge_id="2")]
            assert await unit.graph.create_many(pair) == ["1", "1"]
            assert await unit.graph.count() == 1
            assert await unit.graph.create_many([]) == []

    async def test_an_edge_of_another_user_is_refused_and_nothing_is_stored(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        async with record.writing(user_id="ann") as unit:
            with pytest.raises(InvalidField):
                await unit.graph.create_many([make.edge("a", "p", "b"), make.edge("a", "p", "c", user_id="bob")])
            assert await unit.graph.count() == 0

    async def test_a_unit_that_is_left_changes_nothing(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(record, edges=[make.edge("a", "p", "b")])
        async with record.writing(user_id="ann") as unit:
            await unit.graph.update_weight("a", "p", "b", 9)
            await unit.graph.create(make.edge("a", "p", "c"))
            await unit.graph.delete_all()
        async with record.reading(user_id="ann") as unit:
            assert await unit.graph.list_all() == [make.edge("a", "p", "b")]


class TestRead:
    async def test_edges_come_in_the_order_of_their_ids(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        edges = [make.edge("我", "喜歡", f"object {n}", edge_id=one) for n, one in enumerate("茶bB咖9")]
        await make.save(record, edges=[*edges, make.edge("你", "喜歡", "茶", edge_id="x")])
        async with record.reading(user_id="ann") as unit:
            found = [edge.edge_id for edge in await unit.graph.get_by_subject("我")]
            assert found == sorted(edge.edge_id for edge in edges)
            assert [edge.edge_id for edge in await unit.graph.list_all()] == sorted([*found, "x"])
            assert await unit.graph.count() == 6

    async def test_a_subject_is_found_by_any_spelling(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        written = make.edge("蘋果 Apple", "在", "加州")
        await make.save(record, edges=[written])
        async with record.reading(user_id="ann") as unit:
            for spelling in ("苹果apple", "蘋果　ＡＰＰＬＥ", " 蘋果 Apple "):
                assert await unit.graph.get_by_subject(spelling) == [written]
            for other in ("加州", "蘋果", "%", "_果 apple", ""):
                assert await unit.graph.get_by_subject(other) == []

    async def test_an_empty_graph_has_nothing(self, record: SystemOfRecord) -> None:
        async with record.reading(user_id="ann") as unit:
            assert await unit.graph.list_all() == []
            assert await unit.graph.count() == 0
            assert await unit.graph.get_neighbors("我", depth=3) == {}


class TestNeighbors:
    #  我 → 臺北 ← 王明 → 茶 → 福建
    CHAIN = (("我", "住在", "臺北"), ("王明", "住在", "台北"), ("王明", "喜歡", "茶"), ("茶", "來自", "福建"))

    @pytest.fixture
    async def chain(self, record: SystemOfRecord, make: SimpleNamespace) -> SystemOfRecord:
        taipei = [(subject, predicate, object_.replace("臺", "台")) for subject, predicate, object_ in self.CHAIN]
        await make.save(record, edges=[make.edge(*triple) for triple in taipei])
        return record

    @pytest.mark.parametrize("depth", [1, 2, 3])
    async def test_a_walk_goes_both_ways_in_normalised_form_and_counts_hops(
        self, chain: SystemOfRecord, depth: int
    ) -> None:
        wanted = [("台北", 1), ("王明", 2), ("茶", 3)][:depth]
        async with chain.reading(user_id="ann") as unit:
            found = await unit.graph.get_neighbors("我", depth=depth)
        assert list(found.items()) == [(normalise(name), hops) for name, hops in wanted]

    async def test_the_start_may_be_spelt_in_any_way_and_is_left_out(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        edges = [make.edge("蘋果 Apple", "競爭", "三星"), make.edge("三星", "競爭", "苹果apple")]
        await make.save(record, edges=[*edges, make.edge("蘋果apple", "是", "蘋果Apple")])
        async with record.reading(user_id="ann") as unit:
            assert await unit.graph.get_neighbors("苹果　ＡＰＰＬＥ", depth=3) == {"三星": 1}

    async def test_the_nearest_are_kept_where_there_are_too_many(self, chain: SystemOfRecord) -> None:
        async with chain.reading(user_id="ann") as unit:
            for limit in range(5):
                found = await unit.graph.get_neighbors("王明", depth=2, limit=limit)
                wanted = [*((name, 1) for name in sorted(["台北", "茶"])), *((name, 2) for name in ["我", "福建"])]
                assert list(found.items()) == wanted[:limit]

    @pytest.mark.parametrize("depth", [0, -1, MAX_DEPTH + 1])
    async def test_another_depth_is_refused(self, chain: SystemOfRecord, depth: int) -> None:
        async with chain.reading(user_id="ann") as unit:
            with pytest.raises(InvalidField) as caught:
                await unit.graph.get_neighbors("我", depth=depth)
        assert caught.value.field == "depth"


class TestChange:
    async def test_edges_of_a_subject_are_deleted_by_any_spelling(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, edges=[make.edge("臺積電", "生產", "晶片"), make.edge("晶片", "用於", "臺積電")])
        async with record.writing(user_id="ann") as unit:
            assert await unit.graph.delete_by_subject("臺积電") == 1
            assert await unit.graph.delete_by_subject("臺積電") == 0
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert await unit.graph.list_all() == [make.edge("晶片", "用於", "臺積電")]

    async def test_what_was_deleted_may_come_again(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(record, edges=[make.edge("a", "p", "b"), make.edge("b", "p", "a")])
        async with record.writing(user_id="ann") as unit:
            assert await unit.graph.delete_all() == 2
            assert await unit.graph.delete_all() == 0
            assert await unit.graph.create(make.edge("a", "p", "b", weight=3)) == "a p b"
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert [edge.weight for edge in await unit.graph.list_all()] == [3]

    async def test_a_weight_is_set_by_any_spelling_of_the_names(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, edges=[make.edge("宏康 HCI", "供應", "台積電"), make.edge("宏康 HCI", "供應", "鴻海")])
        async with record.writing(user_id="ann") as unit:
            assert await unit.graph.update_weight("宏康hci", "供应", "台积電", 0.1 + 0.2)
            assert not await unit.graph.update_weight("台積電", "供應", "宏康 HCI", 1)
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert {edge.object: edge.weight for edge in await unit.graph.list_all()} == {
                "台積電": 0.1 + 0.2,
                "鴻海": 1,
            }

    @pytest.mark.parametrize("weight", [-0.1, math.nan])
    async def test_what_is_no_weight_is_refused(
        self, record: SystemOfRecord, make: SimpleNamespace, weight: float
    ) -> None:
        await make.save(record, edges=[make.edge("a", "p", "b")])
        async with record.writing(user_id="ann") as unit:
            with pytest.raises(InvalidField):
                await unit.graph.update_weight("a", "p", "b", weight)
            assert await unit.graph.list_all() == [make.edge("a", "p", "b")]


async def test_everybody_has_a_graph_of_their_own(record: SystemOfRecord, make: SimpleNamespace) -> None:
    for user, object_ in (("ann", "茶"), ("bob", "咖啡")):
        edges = [
            make.edge("我", "喜歡", "水", user_id=user, edge_id=f"{user} 1"),
            make.edge("水", "像", object_, user_id=user, edge_id=f"{user} 2"),
        ]
        async with record.writing(user_id=user) as unit:
            assert await unit.graph.create_many(edges) == [f"{user} 1", f"{user} 2"]
            await unit.commit()
    async with record.writing(user_id="bob") as unit:
        assert list(await unit.graph.get_neighbors("我", depth=3)) == ["水", "咖啡"]
        assert await unit.graph.update_weight("我", "喜歡", "水", 7)
        assert await unit.graph.delete_by_subject("水") == 1
        await unit.commit()
    async with record.reading(user_id="ann") as unit:
        assert list(await unit.graph.get_neighbors("我", depth=3)) == ["水", "茶"]
        assert [edge.weight for edge in await unit.graph.list_all()] == [1, 1]
