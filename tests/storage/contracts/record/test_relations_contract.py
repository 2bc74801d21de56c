"""What every system of record does with relations between entities (`RelationRepository`)."""

from types import SimpleNamespace

import pytest

from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.repositories import MAX_DEPTH
from memory.values.entities import EntityStatus
from memory.values.errors import InvalidField

#  a ── b ── c ── d ── e     and, from the side:  b ── x
CHAIN = [("a", "b"), ("c", "b"), ("c", "d"), ("d", "e"), ("b", "x")]


@pytest.fixture
async def chain(record: SystemOfRecord, make: SimpleNamespace) -> SystemOfRecord:
    names = sorted({name for pair in CHAIN for name in pair})
    await make.save(
        record,
        entities=[make.entity(name, entity_id=name) for name in names],
        relations=[make.relation(*pair) for pair in CHAIN],
    )
    return record


class TestStore:
    async def test_a_relation_comes_back_as_it_was(self, chain: SystemOfRecord, make: SimpleNamespace) -> None:
        written = make.relation(
            "a", "e", relation_type="工作於", description="從 2020 起", confidence=0.1, evidence="r", relation_id="新"
        )
        await make.save(chain, relations=[written])
        async with chain.reading(user_id="ann") as unit:
            assert await unit.relations.get(["新", "none", "a>b"]) == [written, make.relation("a", "b")]

    async def test_a_relation_is_replaced_by_its_id(self, chain: SystemOfRecord, make: SimpleNamespace) -> None:
        moved = make.relation("a", "e", relation_id="a>b", confidence=0.5)
        await make.save(chain, relations=[make.relation("a", "d", relation_id="a>b"), moved])
        async with chain.reading(user_id="ann") as unit:
            assert await unit.relations.get(["a>b"]) == [moved]
            assert await unit.relations.count() == len(CHAIN)
            assert await unit.relations.of("a") == [moved]
            assert moved not in await unit.relations.of("b")
            assert await unit.relations.related("a") == {"e": 1}

    async def test_storing_again_changes_nothing(self, chain: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(chain, relations=[make.relation(*pair) for pair in CHAIN])
        async with chain.reading(user_id="ann") as unit:
            assert await unit.relations.count() == len(CHAIN)

    @pytest.mark.parametrize("ends", [("a", "nobody"), ("nobody", "a"), ("theirs", "a")])
    async def test_an_end_that_is_no_entity_of_the_user_is_refused_and_nothing_is_stored(
        self, chain: SystemOfRecord, make: SimpleNamespace, ends: tuple[str, str]
    ) -> None:
        await make.save(chain, user_id="bob", entities=[make.entity("theirs", user_id="bob", entity_id="theirs")])
        async with chain.writing(user_id="ann") as unit:
            with pytest.raises(InvalidField):
                await unit.relations.store([make.relation("a", "e", relation_id="new"), make.relation(*ends)])
            await unit.commit()
        async with chain.reading(user_id="ann") as unit:
            assert await unit.relations.count() == len(CHAIN)

    async def test_a_relation_of_another_user_is_refused(self, chain: SystemOfRecord, make: SimpleNamespace) -> None:
        async with chain.writing(user_id="ann") as unit:
            with pytest.raises(InvalidField):
                await unit.relations.store([make.relation("a", "e", user_id="bob")])

    async def test_ends_may_be_saved_in_the_same_unit(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        async with record.writing(user_id="ann") as unit:
            await unit.entities.save([make.entity("a", entity_id="a")])
            await unit.relations.store([make.relation("a", "a")])
            assert await unit.relations.count() == 1

    async def test_storing_nothing_is_no_error(self, record: SystemOfRecord) -> None:
        async with record.writing(user_id="ann") as unit:
            await unit.relations.store([])
            assert await unit.relations.get([]) == []
            assert await unit.relations.count() == 0

    async def test_a_unit_that_is_left_stores_nothing(self, chain: SystemOfRecord, make: SimpleNamespace) -> None:
        async with chain.writing(user_id="ann") as unit:
            await unit.relations.store([make.relation("a", "e")])
            await unit.relations.delete(["a>b"])
        async with chain.reading(user_id="ann") as unit:
            assert await unit.relations.related("a") == {"b": 1}

    async def test_relations_are_nothing_for_the_vector_index(
        self, chain: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await chain.backlog.acknowledge(await chain.backlog.outbox(limit=99))
        await make.save(chain, relations=[make.relation("a", "e")])
        assert await chain.backlog.outbox(limit=99) == []


class TestOf:
    async def test_relations_of_an_entity_come_in_both_directions_surest_first_then_by_id(
        self, chain: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        sure = [make.relation("b", "e", relation_id="z", confidence=0.9), make.relation("e", "b", confidence=0.95)]
        await make.save(chain, relations=[*sure, make.relation("b", "b", confidence=0.97)])
        async with chain.reading(user_id="ann") as unit:
            found = await unit.relations.of("b")
            assert [relation.relation_id for relation in found] == ["a>b", "b>x", "c>b", "b>b", "e>b", "z"]
            assert await unit.relations.of("b", limit=4) == found[:4]
            assert await unit.relations.of("b", limit=0) == []

    async def test_an_unknown_entity_has_none(self, chain: SystemOfRecord) -> None:
        async with chain.reading(user_id="ann") as unit:
            assert await unit.relations.of("nobody") == []


class TestRelated:
    @pytest.mark.parametrize(
        ("depth", "reached"),
        [
            (1, {"b": 1}),
            (2, {"b": 1, "c": 2, "x": 2}),
            (3, {"b": 1, "c": 2, "x": 2, "d": 3}),
        ],
    )
    async def test_a_walk_goes_both_ways_and_counts_hops(
        self, chain: SystemOfRecord, depth: int, reached: dict[str, int]
    ) -> None:
        async with chain.reading(user_id="ann") as unit:
            found = await unit.relations.related("a", depth=depth)
        assert list(found.items()) == list(reached.items())

    async def test_a_circle_is_walked_once_and_leaves_out_the_start(
        self, chain: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(chain, relations=[make.relation("e", "a"), make.relation("a", "a"), make.relation("b", "a")])
        async with chain.reading(user_id="ann") as unit:
            assert await unit.relations.related("a", depth=3) == {"b": 1, "e": 1, "c": 2, "d": 2, "x": 2}

    async def test_the_nearest_are_kept_where_there_are_too_many(self, chain: SystemOfRecord) -> None:
        async with chain.reading(user_id="ann") as unit:
            for limit in range(6):
                found = await unit.relations.related("b", depth=3, limit=limit)
                assert list(found.items()) == [("a", 1), ("c", 1), ("x", 1), ("d", 2), ("e", 3)][:limit]

    async def test_a_vertex_with_very_many_neighbours_gives_the_first(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        leaves = [f"{n:04}" for n in range(600)]
        await make.save(
            record,
            entities=[make.entity(name, entity_id=name) for name in ["hub", *leaves]],
            relations=[make.relation("hub", leaf) for leaf in leaves],
        )
        async with record.reading(user_id="ann") as unit:
            assert list(await unit.relations.related("hub")) == leaves[:100]
            assert len(await unit.relations.related("0599", depth=2, limit=1000)) == 600

    async def test_only_relations_that_are_sure_enough_are_walked(
        self, chain: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(chain, relations=[make.relation("c", "b", confidence=0.5)])
        async with chain.reading(user_id="ann") as unit:
            assert await unit.relations.related("a", depth=3, min_confidence=0.5) == {"b": 1, "c": 2, "x": 2, "d": 3}
            assert await unit.relations.related("a", depth=3, min_confidence=0.6) == {"b": 1, "x": 2}

    async def test_archived_entities_are_neither_found_nor_walked_through(
        self, chain: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(chain, entities=[make.entity("c", entity_id="c", status=EntityStatus.ARCHIVED)])
        async with chain.reading(user_id="ann") as unit:
            assert await unit.relations.related("a", depth=3) == {"b": 1, "x": 2}
            assert await unit.relations.related("a", depth=3, min_confidence=0.1) == {"b": 1, "x": 2}
            assert await unit.relations.related("c", depth=1) == {"b": 1, "d": 1}

    async def test_an_unknown_entity_is_related_to_nothing(self, chain: SystemOfRecord) -> None:
        async with chain.reading(user_id="ann") as unit:
            assert await unit.relations.related("nobody", depth=3) == {}

    @pytest.mark.parametrize("depth", [0, -1, MAX_DEPTH + 1])
    async def test_another_depth_is_refused(self, chain: SystemOfRecord, depth: int) -> None:
        async with chain.reading(user_id="ann") as unit:
            with pytest.raises(InvalidField) as caught:
                await unit.relations.related("a", depth=depth)
        assert caught.value.field == "depth"

    async def test_a_walk_sees_what_its_own_unit_has_stored(self, chain: SystemOfRecord, make: SimpleNamespace) -> None:
        async with chain.writing(user_id="ann") as unit:
            await unit.relations.store([make.relation("a", "e")])
            assert await unit.relations.related("a") == {"b": 1, "e": 1}


class TestDelete:
    async def test_what_is_deleted_is_counted_once_and_no_longer_walked(self, chain: SystemOfRecord) -> None:
        async with chain.writing(user_id="ann") as unit:
            assert await unit.relations.delete(["a>b", "none", "a>b"]) == 1
            assert await unit.relations.delete([]) == 0
            await unit.commit()
        async with chain.reading(user_id="ann") as unit:
            assert await unit.relations.related("a") == {}
            assert await unit.relations.get(["a>b"]) == []
            assert await unit.relations.count() == len(CHAIN) - 1


class TestIsolation:
    async def test_nobody_walks_counts_or_deletes_the_relations_of_another(
        self, chain: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(
            chain,
            user_id="bob",
            entities=[make.entity(name, user_id="bob", entity_id=name) for name in "ab"],
            relations=[make.relation("b", "a", user_id="bob", relation_id="a>b")],
        )
        async with chain.writing(user_id="bob") as unit:
            assert await unit.relations.related("a", depth=3) == {"b": 1}
            assert await unit.relations.delete(["a>b", "c>b"]) == 1
            await unit.commit()
        async with chain.reading(user_id="ann") as unit:
            assert await unit.relations.get(["a>b"]) == [make.relation("a", "b")]
            assert await unit.relations.count() == len(CHAIN)
