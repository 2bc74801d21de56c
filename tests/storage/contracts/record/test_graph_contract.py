"""What every system of record does with the graph of facts (`memory.ports.stores.facts.GraphRepository`)."""

from types import SimpleNamespace

import pytest

from memory.ports.stores.record import SystemOfRecord
from memory.values.errors import InvalidField


class TestCreate:
    async def test_an_edge_comes_back_as_it_was(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        written = make.edge("王 小明", "喜歡", "臺灣 咖啡", weight=0.1, created_at=make.at(0.000001))
        async with record.writing(user_id="ann") as unit:
            assert await unit.graph.create_many([written]) == [written.edge_id]
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
            await unit.graph.create_many([make.edge("a", "p", "c")])
            await unit.graph.delete_all()
        async with record.reading(user_id="ann") as unit:
            assert await unit.graph.list_all() == [make.edge("a", "p", "b")]


class TestRead:
    async def test_edges_come_in_the_order_of_their_ids(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        edges = [make.edge("我", "喜歡", f"object {n}", edge_id=one) for n, one in enumerate("茶bB咖9")]
        await make.save(record, edges=[*edges, make.edge("你", "喜歡", "茶", edge_id="x")])
        async with record.reading(user_id="ann") as unit:
            found = [edge.edge_id for edge in await unit.graph.list_all()]
            assert found == sorted(["x", *(edge.edge_id for edge in edges)])
            assert await unit.graph.count() == 6

    async def test_an_empty_graph_has_nothing(self, record: SystemOfRecord) -> None:
        async with record.reading(user_id="ann") as unit:
            assert await unit.graph.list_all() == []
            assert await unit.graph.count() == 0


class TestChange:
    async def test_what_was_deleted_may_come_again(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(record, edges=[make.edge("a", "p", "b"), make.edge("b", "p", "a")])
        async with record.writing(user_id="ann") as unit:
            assert await unit.graph.delete_all() == 2
            assert await unit.graph.delete_all() == 0
            assert await unit.graph.create_many([make.edge("a", "p", "b", weight=3)]) == ["a p b"]
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert [edge.weight for edge in await unit.graph.list_all()] == [3]


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
        assert await unit.graph.delete_all() == 2
        await unit.commit()
    async with record.reading(user_id="ann") as unit:
        assert [edge.object for edge in await unit.graph.list_all()] == ["水", "茶"]
