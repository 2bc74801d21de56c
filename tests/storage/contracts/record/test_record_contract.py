"""What every system of record does (`memory.ports.stores.record`), the fake and SQLite alike."""

import asyncio
from types import SimpleNamespace

import pytest

from memory.ports.stores.record import SystemOfRecord
from memory.values.errors import Conflict, InvalidField, StoreUnavailable
from memory.values.facts import FactStatus


class TestUnitOfWork:
    async def test_a_record_that_answers_can_be_asked_how_it_is(self, record: SystemOfRecord) -> None:
        await record.ping()
        assert "status" not in record.figures()

    async def test_an_id_that_the_caller_chose_keeps_its_text(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        first, again = make.resource("a", content="blue"), make.resource("a", content="blue", created_at=make.at(9))
        other, new = make.resource("a", content="red"), make.resource("b")
        for entry in (first, again):
            assert await record.append([entry], user_id="ann", named=["a"])
        with pytest.raises(Conflict, match="turn_id"):
            await record.append([new, other], user_id="ann", named=["a", "b"])
        with pytest.raises(Conflict):
            await record.append([new, make.resource("b", content="red")], user_id="ann", named=["b"])
        await record.append([other], user_id="ann")  # an id of our own is a repetition, whatever the entry says
        async with record.reading(user_id="ann") as unit:
            assert [entry.content for entry in await unit.log.get(["a", "b"])] == ["blue"]

    async def test_an_append_says_that_it_can_be_read_back(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        assert await record.append([make.resource("a")], user_id="ann")
        async with record.reading(user_id="ann") as unit:
            assert len(await unit.log.get(["a"])) == 1

    async def test_a_unit_that_is_left_without_commit_leaves_nothing(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        async with record.writing(user_id="ann") as unit:
            await unit.log.append([make.resource("r")])
            await unit.entities.save([make.entity("宏康")])
            await unit.memories.save([make.memory("m")])
        counts = dict(await record.backlog.counts())
        assert counts.pop("size_bytes") >= 0
        assert set(counts.values()) == {0}

    async def test_what_is_rolled_back_leaves_nothing_and_the_next_unit_writes(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        async with record.writing(user_id="ann") as unit:
            await unit.log.append([make.resource("lost")])
            await unit.rollback()
            for late in (unit.commit, unit.rollback, unit.log.count):
                with pytest.raises(RuntimeError, match="over"):
                    await late()
        await make.save(record, resources=[make.resource("kept")])
        async with record.reading(user_id="ann") as unit:
            assert [resource.resource_id for resource in await unit.log.list()] == ["kept"]

    async def test_ending_a_reading_unit_changes_nothing(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        async with record.reading(user_id="ann") as one, record.reading(user_id="ann") as other:
            await make.save(record, resources=[make.resource("meanwhile")])
            await one.commit()
            await other.rollback()
            with pytest.raises(RuntimeError, match="over"):
                await one.log.count()
        async with record.reading(user_id="ann") as unit:
            assert await unit.log.count() == 1

    async def test_an_error_undoes_the_unit_and_the_next_one_writes(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        async def fail() -> None:
            async with record.writing(user_id="ann") as unit:
                await unit.memories.save([make.memory("lost")])
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()
        await make.save(record, memories=[make.memory("kept")])
        async with record.reading(user_id="ann") as unit:
            assert [memory.memory_id for memory in await unit.memories.recent(limit=9)] == ["kept"]

    async def test_a_unit_sees_its_own_writes(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        async with record.writing(user_id="ann") as unit:
            await unit.memories.save([make.memory("m")])
            assert await unit.memories.get(["m"]) == [make.memory("m")]

    async def test_a_reader_keeps_the_view_with_which_it_began(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        async with record.reading(user_id="ann") as reader:
            await make.save(record, memories=[make.memory("later")])
            assert await reader.memories.recent(limit=9) == []
        async with record.reading(user_id="ann") as reader:
            assert len(await reader.memories.recent(limit=9)) == 1

    async def test_several_readers_are_open_at_once(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(record, memories=[make.memory("m")])
        async with record.reading(user_id="ann") as one, record.reading(user_id="ann") as other:
            assert await one.memories.get(["m"]) == await other.memories.get(["m"])

    async def test_a_reading_unit_refuses_to_write(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        async with record.reading(user_id="ann") as unit:
            for write in (
                unit.log.append([make.resource("r")]),
                unit.log.mark_learned(["r"]),
                unit.log.delete_orphaned(created_before=make.at(9)),
                unit.entities.save([make.entity("e")]),
                unit.entities.update_mention("e", at=make.NOON),
                unit.relations.store([]),
                unit.relations.delete(["r"]),
                unit.memories.save([make.memory("m")]),
                unit.facts.create_many([make.fact("f")]),
                unit.facts.update(make.fact("f")),
                unit.facts.update_status("f", FactStatus.ARCHIVED, now=make.NOON),
                unit.categories.create(make.category("c")),
                unit.categories.upsert(make.category("c")),
                unit.category_accesses.create_many([make.access("a")]),
                unit.graph.create_many([make.edge("a", "p", "b")]),
                unit.graph.delete_all(),
                unit.category_accesses.prune(before=make.NOON),
                unit.entities.delete(["e"]),
                unit.memories.delete(["m"]),
                unit.entities.count_accesses([]),
                unit.memories.count_accesses([]),
                unit.typed_memories.save([make.typed_memory("t", "v")]),
                unit.typed_memories.count_accesses([]),
                unit.changes.append([make.change("c")]),
                unit.changes.mark_undone("c", at=None),
            ):
                with pytest.raises(RuntimeError, match="reading"):
                    await write

    async def test_a_unit_is_over_once_it_is_committed(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        async with record.writing(user_id="ann") as unit:
            await unit.commit()
            with pytest.raises(RuntimeError, match="over"):
                await unit.memories.save([make.memory("m")])

    async def test_a_unit_that_leaks_out_of_its_block_touches_nothing(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        async with record.writing(user_id="ann") as leaked:
            pass
        async with record.writing(user_id="bob"):
            with pytest.raises(RuntimeError, match="over"):
                await leaked.memories.save([make.memory("m")])

    async def test_writers_take_turns_and_lose_nothing(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await asyncio.gather(*(make.save(record, resources=[make.resource(str(n))]) for n in range(40)))
        async with record.reading(user_id="ann") as unit:
            assert len(await unit.log.session("s", limit=99)) == 40

    async def test_writers_come_in_the_order_of_asking(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await asyncio.gather(*(make.save(record, resources=[make.resource(str(n))]) for n in range(20)))
        async with record.reading(user_id="ann") as unit:
            assert [resource.resource_id for resource in await unit.log.session("s", limit=99)] == [
                str(n) for n in range(20)
            ]

    @pytest.mark.parametrize("steps", range(12))
    async def test_a_cancelled_writer_leaves_no_lock_and_no_half(
        self, record: SystemOfRecord, make: SimpleNamespace, steps: int
    ) -> None:
        async def write() -> None:
            async with record.writing(user_id="ann") as unit:
                await unit.memories.save([make.memory("a")])
                await unit.memories.save([make.memory("b")])
                await unit.commit()

        task = asyncio.create_task(write())
        for _ in range(steps):
            await asyncio.sleep(0.0003)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await make.save(record, memories=[make.memory("c")])
        async with record.reading(user_id="ann") as unit:
            found = {memory.memory_id for memory in await unit.memories.recent(limit=9)}
        assert found in ({"c"}, {"a", "b", "c"})

    async def test_cancelled_waiters_do_not_hold_up_the_others(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        async with record.writing(user_id="ann"):
            waiting = [asyncio.create_task(make.save(record, resources=[make.resource(str(n))])) for n in range(10)]
            await asyncio.sleep(0.01)
            for task in waiting[::2]:
                task.cancel()
        await asyncio.gather(*waiting[1::2])
        async with record.reading(user_id="ann") as unit:
            assert [resource.resource_id for resource in await unit.log.session("s", limit=99)] == [
                "1",
                "3",
                "5",
                "7",
                "9",
            ]

    @pytest.mark.parametrize("user_id", ["", "a\nb", "x" * 193, "\ud800"])
    async def test_an_impossible_user_is_refused(self, record: SystemOfRecord, user_id: str) -> None:
        for opening in (record.reading, record.writing):
            with pytest.raises(InvalidField):
                async with opening(user_id=user_id):
                    pass

    async def test_nothing_opens_after_close(self, record: SystemOfRecord) -> None:
        await record.close()
        for opening in (record.reading, record.writing):
            with pytest.raises(StoreUnavailable) as caught:
                async with opening(user_id="ann"):
                    pass
            assert caught.value.component == "record"

    async def test_a_record_that_is_well_says_what_it_is(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(record, resources=[make.resource("r")])
        figures = record.figures()
        assert figures["backend"]
        assert figures["failures"] == 0
        assert "status" not in figures


class TestIsolation:
    async def test_an_item_of_another_user_is_refused_and_nothing_is_written(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        async with record.writing(user_id="ann") as unit:
            with pytest.raises(InvalidField):
                await unit.log.append([make.resource("mine"), make.resource("theirs", user_id="bob")])
            with pytest.raises(InvalidField):
                await unit.entities.save([make.entity("宏康", user_id="bob")])
            with pytest.raises(InvalidField):
                await unit.memories.save([make.memory("m", user_id="bob")])
            await unit.commit()
        assert (await record.backlog.counts())["resources"] == 0

    async def test_two_users_may_use_the_same_ids(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        for user in ("ann", "bob"):
            await make.save(
                record,
                user_id=user,
                resources=[make.resource("id", user_id=user, content=user)],
                entities=[make.entity(user, user_id=user, entity_id="id")],
                memories=[make.memory("id", user_id=user, text=user)],
            )
        async with record.reading(user_id="ann") as unit:
            assert [resource.content for resource in await unit.log.get(["id"])] == ["ann"]
            assert [entity.entity_value for entity in await unit.entities.get(["id"])] == ["ann"]
            assert [memory.text for memory in await unit.memories.get(["id"])] == ["ann"]
            assert await unit.entities.get_by_value("bob") is None
            assert await unit.entities.found_in("bob and ann") == await unit.entities.get(["id"])

    async def test_learning_ones_log_leaves_that_of_another(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        for user in ("ann", "bob"):
            await make.save(record, user_id=user, resources=[make.resource("id", user_id=user)])
        async with record.writing(user_id="ann") as unit:
            await unit.log.mark_learned(["id"])
            await unit.commit()
        assert [entry.user_id for entry in await record.backlog.unlearned(limit=9)] == ["bob"]
