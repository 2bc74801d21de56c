"""What every system of record does (`memory.ports.record`), the fake and SQLite alike."""

import asyncio
from datetime import timedelta, timezone
from types import SimpleNamespace
from typing import Never

import pytest

from memory.entities import EntityStatus
from memory.errors import InvalidField, StoreUnavailable
from memory.ports.record import SystemOfRecord


class TestUnitOfWork:
    async def test_a_unit_that_is_left_without_commit_leaves_nothing(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        async with record.writing(user_id="ann") as unit:
            await unit.log.append([make.resource("r")])
            await unit.entities.save([make.entity("宏康")])
            await unit.memories.save([make.memory("m")])
        assert {**await record.backlog.counts(), "size_bytes": 0} == dict.fromkeys(
            ("resources", "unlearned", "entities", "memories", "outbox", "users", "size_bytes"), 0
        )

    async def test_an_error_undoes_the_unit_and_the_next_one_writes(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> Never:
        async def fail() -> None:
            async with record.writing(user_id="ann") as unit:
                await unit.memories.save([make.memory("lost")])
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()
        await make.save(record, memories=[make.memory("kept")])
        async with record.reading(user_id="ann") as unit:
            assert [one.memory_id for one in await unit.memories.recent(limit=9)] == ["kept"]

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
            with pytest.raises(RuntimeError, match="reading"):
                await unit.memories.save([make.memory("m")])

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
            assert [one.resource_id for one in await unit.log.session("s", limit=99)] == [str(n) for n in range(20)]

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
            found = {one.memory_id for one in await unit.memories.recent(limit=9)}
        assert found in ({"c"}, {"a", "b", "c"})

    async def test_cancelled_waiters_do_not_hold_up_the_others(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        async with record.writing(user_id="ann"):
            waiting = [asyncio.create_task(make.save(record, resources=[make.resource(str(n))])) for n in range(10)]
            await asyncio.sleep(0.01)
            for task in waiting[::2]:
                task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        async with record.reading(user_id="ann") as unit:
            assert [one.resource_id for one in await unit.log.session("s", limit=99)] == ["1", "3", "5", "7", "9"]

    @pytest.mark.parametrize("user_id", ["", "a\nb", "x" * 129, "\ud800"])
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
            assert [one.content for one in await unit.log.get(["id"])] == ["ann"]
            assert [one.entity_value for one in await unit.entities.get(["id"])] == ["ann"]
            assert [one.text for one in await unit.memories.get(["id"])] == ["ann"]
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
        assert [one.user_id for one in await record.backlog.unlearned(limit=9)] == ["bob"]


class TestRawLog:
    async def test_an_entry_comes_back_as_it_was_with_its_place_in_the_log(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        written = make.resource(
            "r",
            content="他說\x00「買 1.20 版」\u2028 𠮷",
            resolved="小明說…",
            speaker="小明",
            metadata={"n": 2**70, "x": 1.0, "yes": True, "none": None, "": "空"},
            created_at=make.at(0.123456).astimezone(timezone(timedelta(hours=8))),
        )
        await make.save(record, resources=[written])
        async with record.reading(user_id="ann") as unit:
            (read,) = await unit.log.get(["r"])
        assert read.sequence > 0
        assert read.model_copy(update={"sequence": 0}) == written
        assert [type(value) for value in read.metadata.values()] == [int, float, bool, type(None), str]

    async def test_an_entry_that_is_there_is_never_changed(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(record, resources=[make.resource("r", content="first"), make.resource("r", content="second")])
        await make.save(record, resources=[make.resource("r", content="third", session_id="other")])
        async with record.reading(user_id="ann") as unit:
            (read,) = await unit.log.session("s", limit=9)
            assert await unit.log.session("other", limit=9) == []
        assert read.content == "first"

    async def test_a_repeated_append_does_not_bring_it_back_to_the_learner(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, resources=[make.resource("r")])
        async with record.writing(user_id="ann") as unit:
            await unit.log.mark_learned(["r"])
            await unit.log.append([make.resource("r")])
            await unit.commit()
        assert await record.backlog.unlearned(limit=9) == []

    async def test_get_keeps_the_order_of_the_ids_and_skips_unknown_ones(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, resources=[make.resource(name) for name in "abc"])
        async with record.reading(user_id="ann") as unit:
            assert [one.resource_id for one in await unit.log.get(["c", "x", "a"])] == ["c", "a"]

    async def test_get_takes_any_number_of_ids(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        names = [str(n) for n in range(1200)]
        await make.save(record, resources=[make.resource(name) for name in names])
        async with record.reading(user_id="ann") as unit:
            assert [one.resource_id for one in await unit.log.get(names)] == names

    async def test_a_session_is_read_backwards_in_pages_oldest_first(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, resources=[make.resource(name) for name in "abcde"])
        await make.save(record, resources=[make.resource("x", session_id="t")])
        async with record.reading(user_id="ann") as unit:
            last = await unit.log.session("s", limit=2)
            assert [one.resource_id for one in last] == ["d", "e"]
            before = await unit.log.session("s", limit=2, before=last[0].sequence)
            assert [one.resource_id for one in before] == ["b", "c"]
            assert await unit.log.session("s", limit=0) == []

    async def test_only_the_first_to_take_an_entry_gets_it(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(record, resources=[make.resource("a"), make.resource("b"), make.resource("done", learn=False)])
        async with record.writing(user_id="ann") as unit:
            assert await unit.log.mark_learned(["b"]) == ["b"]
            await unit.commit()
        async with record.writing(user_id="ann") as unit:
            assert await unit.log.mark_learned(["b", "a", "a", "done", "unknown"]) == ["a"]
            await unit.commit()


class TestEntities:
    async def test_an_entity_comes_back_as_it_was(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        written = make.entity("宏康 HCI", "HCI", "宏康", attributes={"a": 1.0, "b": None}, related_entities=("e",))
        await make.save(record, entities=[written])
        async with record.reading(user_id="ann") as unit:
            assert await unit.entities.get([written.entity_id]) == [written]

    @pytest.mark.parametrize("spelling", ["宏康HCI", "宏康　ＨＣＩ", "宏康 hci", "鴻海"])
    async def test_an_entity_is_found_by_any_spelling_of_name_or_alias(
        self, record: SystemOfRecord, make: SimpleNamespace, spelling: str
    ) -> None:
        written = make.entity("宏康 HCI", "鸿海")
        await make.save(record, entities=[written])
        async with record.reading(user_id="ann") as unit:
            assert await unit.entities.get_by_value(spelling) == written

    async def test_a_name_goes_before_an_alias(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        named, alias = make.entity("蘋果", entity_id="z"), make.entity("Apple", "蘋果", entity_id="a")
        await make.save(record, entities=[alias, named])
        async with record.reading(user_id="ann") as unit:
            assert await unit.entities.get_by_value("苹果") == named

    async def test_the_one_that_took_over_an_archived_name_goes_first(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        archived = make.entity("鴻海", status=EntityStatus.ARCHIVED)
        merged = make.entity("富士康", "鴻海")
        await make.save(record, entities=[archived, merged])
        async with record.reading(user_id="ann") as unit:
            assert await unit.entities.get_by_value("鴻海") == merged
            assert await unit.entities.get_by_value("富士康") == merged

    async def test_an_alias_that_was_taken_off_is_not_found(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, entities=[make.entity("台積電", "TSMC")])
        await make.save(record, entities=[make.entity("台積電")])
        async with record.reading(user_id="ann") as unit:
            assert await unit.entities.get_by_value("TSMC") is None
            assert await unit.entities.found_in("TSMC") == []

    async def test_recent_gives_the_active_ones_latest_mentioned_first(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(
            record,
            entities=[
                make.entity("old", last_mentioned=make.at(1)),
                make.entity("new", last_mentioned=make.at(1.000001).astimezone(timezone(timedelta(hours=-5)))),
                make.entity("gone", last_mentioned=make.at(9), status=EntityStatus.ARCHIVED),
            ],
        )
        async with record.reading(user_id="ann") as unit:
            assert [one.entity_value for one in await unit.entities.recent(limit=9)] == ["new", "old"]
            assert [one.entity_value for one in await unit.entities.recent(limit=1)] == ["new"]
            assert await unit.entities.recent(limit=0) == []


class TestMemories:
    async def test_a_memory_comes_back_as_it_was_and_is_replaced_by_its_id(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, memories=[make.memory("m", text="alt")])
        new = make.memory("m", text="neu", entity_ids=("e",), metadata={"k": "v"}, last_accessed_at=make.at(5))
        await make.save(record, memories=[new])
        async with record.reading(user_id="ann") as unit:
            assert await unit.memories.get(["m", "x"]) == [new]
            assert await unit.memories.recent(limit=9) == [new]

    async def test_recent_gives_the_latest_first_of_one_session_or_all(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(
            record,
            memories=[
                make.memory("b", created_at=make.at(2)),
                make.memory("a", created_at=make.at(1)),
                make.memory("tie", created_at=make.at(2)),
                make.memory("other", session_id="t", created_at=make.at(3)),
            ],
        )
        async with record.reading(user_id="ann") as unit:
            assert [one.memory_id for one in await unit.memories.recent(limit=9)] == ["other", "tie", "b", "a"]
            assert [one.memory_id for one in await unit.memories.recent(limit=2, session_id="s")] == ["tie", "b"]
