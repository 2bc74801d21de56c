"""What every system of record does with entities and memories (`memory.ports.stores.repositories`)."""

from datetime import timedelta, timezone
from types import SimpleNamespace

import pytest

from memory.ports.stores.record import SystemOfRecord
from memory.values.entities import EntityStatus
from memory.values.errors import InvalidField


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
            assert [entity.entity_value for entity in await unit.entities.recent(limit=9)] == ["new", "old"]
            assert [entity.entity_value for entity in await unit.entities.recent(limit=1)] == ["new"]
            assert await unit.entities.recent(limit=0) == []

    async def test_entities_are_paged_by_id_whatever_their_status(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        ids = ["b", "a", "ä", "記", "憶", "B", "𠮷", "z'--", "%"]
        status = EntityStatus.ARCHIVED
        await make.save(record, entities=[make.entity(f"name {id_}", entity_id=id_, status=status) for id_ in ids])
        async with record.reading(user_id="ann") as unit:
            seen: list[str] = []
            while page := await unit.entities.page(after=seen[-1] if seen else None, limit=2):
                assert len(page) <= 2
                seen += [entity.entity_id for entity in page]
            assert sorted(seen) == sorted(ids)
            assert [id_ for id_ in seen if id_ in "ab憶記"] == ["a", "b", "憶", "記"]
            assert [entity.entity_id for entity in await unit.entities.page(after="aa", limit=1)] == ["b"]
            assert await unit.entities.page(limit=0) == []
        async with record.reading(user_id="bob") as unit:
            assert await unit.entities.page(limit=9) == []

    @pytest.mark.parametrize("seconds", [-5, 0, 5])
    async def test_a_mention_is_counted_and_widens_the_times(
        self, record: SystemOfRecord, make: SimpleNamespace, seconds: int
    ) -> None:
        written = make.entity("宏康", "HCI", mention_count=3, version=7, attributes={"k": "v"})
        await make.save(record, entities=[written, make.entity("other")])
        await record.backlog.acknowledge(await record.backlog.outbox(limit=9))
        async with record.writing(user_id="ann") as unit:
            assert await unit.entities.update_mention(written.entity_id, at=make.at(seconds))
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            (found,) = await unit.entities.get([written.entity_id])
            assert await unit.entities.get_by_value("hci") == found
        changed = {
            "first_mentioned": make.at(min(seconds, 0)),
            "last_mentioned": make.at(max(seconds, 0)),
            "mention_count": 4,
            "version": 8,
        }
        assert found == written.model_copy(update=changed)
        assert [entry.item_id for entry in await record.backlog.outbox(limit=9)] == [written.entity_id]

    async def test_a_mention_changes_who_is_recent(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        first, second = make.entity("first", last_mentioned=make.at(2)), make.entity("second")
        await make.save(record, entities=[first, second])
        async with record.writing(user_id="ann") as unit:
            await unit.entities.update_mention(second.entity_id, at=make.at(3))
            assert [entity.entity_value for entity in await unit.entities.recent(limit=9)] == ["second", "first"]

    async def test_nobody_mentions_the_entity_of_another(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(record, entities=[make.entity("宏康", entity_id="id")])
        async with record.writing(user_id="bob") as unit:
            assert not await unit.entities.update_mention("id", at=make.at(1))
            await unit.commit()
        async with record.writing(user_id="ann") as unit:
            assert not await unit.entities.update_mention("none", at=make.at(1))
            assert [entity.mention_count for entity in await unit.entities.get(["id"])] == [0]
            with pytest.raises(InvalidField):
                await unit.entities.update_mention("id", at=make.NOON.replace(tzinfo=None))


class TestMemories:
    async def test_memories_are_paged_by_id(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        ids = ["b", "a", "記", "憶", "c"]
        await make.save(record, memories=[make.memory(id_) for id_ in ids])
        async with record.reading(user_id="ann") as unit:
            first = await unit.memories.page(limit=3)
            rest = await unit.memories.page(after=first[-1].memory_id, limit=3)
            assert [memory.memory_id for memory in [*first, *rest]] == sorted(ids)
            assert await unit.memories.page(after=rest[-1].memory_id, limit=3) == []
            assert await unit.memories.page(limit=0) == []
        async with record.reading(user_id="bob") as unit:
            assert await unit.memories.page(limit=9) == []

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
            assert [memory.memory_id for memory in await unit.memories.recent(limit=9)] == ["other", "tie", "b", "a"]
            assert [memory.memory_id for memory in await unit.memories.recent(limit=2, session_id="s")] == ["tie", "b"]

    async def test_the_memory_before_each_is_that_of_its_session_in_the_order_of_recent(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(
            record,
            memories=[
                make.memory("b", created_at=make.at(2)),
                make.memory("elsewhere", session_id="t", created_at=make.at(2)),
                make.memory("a", created_at=make.at(1)),
                make.memory("tie", created_at=make.at(2)),
                make.memory("last", created_at=make.at(3)),
            ],
        )
        await make.save(record, memories=[make.memory("b", text="said again", created_at=make.at(2))])
        async with record.reading(user_id="ann") as unit:
            before = await unit.memories.previous(["last", "tie", "b", "a", "elsewhere", "unknown", "last"])
            assert before == {"last": "tie", "tie": "b", "b": "a"}
            assert await unit.memories.previous([]) == {}
        async with record.reading(user_id="bob") as unit:
            assert await unit.memories.previous(["last"]) == {}

    async def test_the_memories_that_mention_an_entity_are_found_by_its_id_alone(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(
            record,
            memories=[
                make.memory("2", entity_ids=("e", "宏康")),
                make.memory("1", entity_ids=("e",)),
                make.memory("3", text='"e" is said here', entity_ids=("other",)),
                make.memory("4", entity_ids=("e2", 'quo"te')),
            ],
        )
        async with record.reading(user_id="ann") as unit:
            assert [memory.memory_id for memory in await unit.memories.mentioning("e")] == ["1", "2"]
            assert [memory.memory_id for memory in await unit.memories.mentioning("宏康")] == ["2"]
            assert [memory.memory_id for memory in await unit.memories.mentioning('quo"te')] == ["4"]
            assert await unit.memories.mentioning("nobody") == []
        async with record.reading(user_id="bob") as unit:
            assert await unit.memories.mentioning("e") == []
