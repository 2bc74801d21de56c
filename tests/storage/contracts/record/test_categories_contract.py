"""What every system of record does with categories and their use (`memory.ports.stores.facts`)."""

from datetime import timedelta, timezone
from types import SimpleNamespace

import pytest

from memory.ports.stores.record import SystemOfRecord
from memory.values.errors import InvalidField

TAIPEI = timezone(timedelta(hours=8))


class TestCategories:
    async def test_a_category_comes_back_as_it_was(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        written = make.category("偏好", summary="It's 100%_", updated_at=make.at(0.5).astimezone(TAIPEI))
        async with record.writing(user_id="ann") as unit:
            assert await unit.categories.create(written)
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert await unit.categories.list() == [written]

    async def test_names_are_compared_as_they_are_written(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        names = ["偏好", "偏 好", "Facts", "facts", "ｆacts", "%", ""]
        await make.save(record, categories=[make.category(name) for name in names])
        async with record.reading(user_id="ann") as unit:
            assert [category.name for category in await unit.categories.list()] == sorted(names)

    async def test_a_name_or_an_id_that_is_taken_is_not_created(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        first = make.category("a", category_id="1", summary="first")
        await make.save(record, categories=[first])
        async with record.writing(user_id="ann") as unit:
            assert not await unit.categories.create(make.category("a", category_id="2"))
            assert not await unit.categories.create(make.category("b", category_id="1"))
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert await unit.categories.list() == [first]

    async def test_upsert_adds_or_replaces_by_name_and_keeps_the_id(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        async with record.writing(user_id="ann") as unit:
            await unit.categories.upsert(make.category("a", category_id="1", summary="first"))
            second = make.category("a", category_id="2", summary="second", updated_at=make.at(5))
            await unit.categories.upsert(second)
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            kept = second.model_copy(update={"category_id": "1"})
            assert await unit.categories.list() == [kept]

    async def test_no_category_takes_the_id_of_another(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        first = make.category("a", category_id="1")
        await make.save(record, categories=[first])
        async with record.writing(user_id="ann") as unit:
            with pytest.raises(InvalidField):
                await unit.categories.upsert(make.category("b", category_id="1"))
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert await unit.categories.list() == [first]

    async def test_everybody_has_categories_of_their_own(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        for user in ("ann", "bob"):
            await make.save(record, user_id=user, categories=[make.category("a", user_id=user, summary=user)])
        async with record.writing(user_id="bob") as unit:
            with pytest.raises(InvalidField):
                await unit.categories.upsert(make.category("a"))
            with pytest.raises(InvalidField):
                await unit.categories.create(make.category("b"))
            await unit.categories.upsert(make.category("a", user_id="bob", summary="new"))
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert [category.summary for category in await unit.categories.list()] == ["ann"]

    async def test_a_unit_that_is_left_adds_nothing(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        async with record.writing(user_id="ann") as unit:
            await unit.categories.upsert(make.category("a"))
            await unit.category_accesses.create_many([make.access("1")])
        async with record.reading(user_id="ann") as unit:
            assert await unit.categories.list() == []
            assert await unit.category_accesses.last_accessed() == {}


class TestAccesses:
    async def test_accesses_are_counted_since_a_moment_each_once(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        accesses = [
            make.access("1", accessed_at=make.at(1)),
            make.access("2", accessed_at=make.at(3).astimezone(TAIPEI)),
            make.access("3", accessed_at=make.at(2), category="偏好"),
        ]
        for _ in range(2):
            await make.save(record, accesses=[*accesses, make.access("1", accessed_at=make.at(99))])
        await make.save(record, user_id="bob", accesses=[make.access("1", user_id="bob", accessed_at=make.at(50))])
        async with record.reading(user_id="ann") as unit:
            for since, wanted in (
                (0, {"preferences": 2, "偏好": 1}),
                (2, {"preferences": 1, "偏好": 1}),
                (2.000001, {"preferences": 1}),
                (3.000001, {}),
            ):
                assert await unit.category_accesses.count_since(make.at(since)) == wanted
            assert await unit.category_accesses.last_accessed() == {"preferences": make.at(3), "偏好": make.at(2)}

    async def test_old_accesses_are_pruned_but_the_last_of_each_category(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        accesses = [
            *(make.access(f"a{second}", accessed_at=make.at(second)) for second in (1, 2, 3, 4)),
            *(make.access(f"b{second}", accessed_at=make.at(second), category="偏好") for second in (1, 2)),
        ]
        await make.save(record, accesses=accesses)
        await make.save(record, user_id="bob", accesses=[make.access("1", user_id="bob", accessed_at=make.at(1))])
        for before, pruned, left in ((3, 3, ["a3", "a4", "b2"]), (3, 0, ["a3", "a4", "b2"]), (99, 1, ["a4", "b2"])):
            async with record.writing(user_id="ann") as unit:
                assert await unit.category_accesses.prune(before=make.at(before).astimezone(TAIPEI)) == pruned
                await unit.commit()
            async with record.reading(user_id="ann") as unit:
                assert [access.access_id for access in await unit.category_accesses.list()] == left
                assert await unit.category_accesses.last_accessed() == {"preferences": make.at(4), "偏好": make.at(2)}
        async with record.reading(user_id="bob") as unit:
            assert len(await unit.category_accesses.list()) == 1

    async def test_nothing_used_is_nothing_counted(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        async with record.writing(user_id="ann") as unit:
            await unit.category_accesses.create_many([])
            assert await unit.category_accesses.count_since(make.at(0)) == {}
            assert await unit.category_accesses.last_accessed() == {}

    async def test_accesses_of_another_user_are_refused(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        async with record.writing(user_id="ann") as unit:
            with pytest.raises(InvalidField):
                await unit.category_accesses.create_many([make.access("1"), make.access("2", user_id="bob")])
            assert await unit.category_accesses.last_accessed() == {}
