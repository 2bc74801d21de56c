"""What every system of record does with the raw log (`memory.ports.stores.repositories`)."""

from datetime import timedelta, timezone
from types import SimpleNamespace

import pytest

from memory.ports.stores.record import SystemOfRecord
from memory.values.errors import InvalidField
from memory.values.facts import FactStatus
from memory.values.records import ResourceKind
from memory.values.understanding.extractions import Extraction, RememberIntent
from memory.values.understanding.mentions import EntitySubtype, Mention


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

    async def test_what_was_understood_comes_back_with_the_entry_and_goes_with_it(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        mention = Mention(text="小明", start=1, end=3, subtype=EntitySubtype.PERSON, confidence=0.25, entity_id="e")
        intent = RememberIntent(trigger="記住", content="他說", content_start=0, content_end=2)
        whole = Extraction(mentions=(mention,), remember=(intent,), version="1")
        partly = whole.model_copy(update={"degraded": ("reader",)})
        written = [
            make.resource("whole", understanding=whole),
            make.resource("partly", understanding=partly),
            make.resource("not"),
        ]
        await make.save(record, resources=written)
        await make.save(record, user_id="bob", resources=[make.resource("whole", user_id="bob")])
        async with record.reading(user_id="ann") as unit:
            for read in (await unit.log.get(["whole", "partly", "not"]), await unit.log.list_unextracted()):
                assert [entry.understanding for entry in read] == [whole, None, None]
        assert [entry.understanding for entry in await record.backlog.unlearned(limit=9, user_id="ann")] == [
            whole,
            None,
            None,
        ]
        async with record.writing(user_id="ann") as unit:
            await unit.log.mark_learned(["whole"])
            assert await unit.log.delete_orphaned(created_before=make.at(9)) == 1
            await unit.log.append([make.resource("whole")])
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            (again,) = await unit.log.get(["whole"])
        async with record.reading(user_id="bob") as unit:
            (of_bob,) = await unit.log.get(["whole"])
        assert (again.understanding, of_bob.understanding) == (None, None)

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
            assert [resource.resource_id for resource in await unit.log.get(["c", "x", "a"])] == ["c", "a"]

    async def test_get_takes_any_number_of_ids(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        names = [str(n) for n in range(1200)]
        await make.save(record, resources=[make.resource(name) for name in names])
        async with record.reading(user_id="ann") as unit:
            assert [resource.resource_id for resource in await unit.log.get(names)] == names

    async def test_a_session_is_read_backwards_in_pages_oldest_first(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, resources=[make.resource(name) for name in "abcde"])
        await make.save(record, resources=[make.resource("x", session_id="t")])
        async with record.reading(user_id="ann") as unit:
            last = await unit.log.session("s", limit=2)
            assert [resource.resource_id for resource in last] == ["d", "e"]
            before = await unit.log.session("s", limit=2, before=last[0].sequence)
            assert [resource.resource_id for resource in before] == ["b", "c"]
            assert await unit.log.session("s", limit=0) == []

    async def test_only_the_first_to_take_an_entry_gets_it(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(record, resources=[make.resource("a"), make.resource("b"), make.resource("done", learn=False)])
        async with record.writing(user_id="ann") as unit:
            assert await unit.log.mark_learned(["b"]) == ["b"]
            await unit.commit()
        async with record.writing(user_id="ann") as unit:
            assert await unit.log.mark_learned(["b", "a", "a", "done", "unknown"]) == ["a"]
            await unit.commit()

    async def test_the_log_is_listed_backwards_by_kind_and_age(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        taipei = timezone(timedelta(hours=8))
        await make.save(
            record,
            resources=[
                make.resource("1", created_at=make.at(1)),
                make.resource("2", created_at=make.at(2), kind=ResourceKind.NOTE),
                make.resource("3", created_at=make.at(3).astimezone(taipei), session_id="t", learn=False),
                make.resource("4", created_at=make.at(4), kind=ResourceKind.NOTE),
            ],
        )
        async with record.reading(user_id="ann") as unit:
            for wanted, query in (
                ("4321", {}),
                ("43", {"limit": 2}),
                ("", {"limit": 0}),
                ("42", {"kind": ResourceKind.NOTE}),
                ("31", {"kind": ResourceKind.TURN}),
                ("43", {"since": make.at(3)}),
                ("432", {"since": make.at(2).astimezone(taipei)}),
                ("432", {"since": make.at(1.000001)}),
                ("4", {"since": make.at(3), "kind": ResourceKind.NOTE}),
                ("", {"since": make.at(4.000001)}),
            ):
                assert "".join(resource.resource_id for resource in await unit.log.list(**query)) == wanted
            with pytest.raises(InvalidField) as caught:
                await unit.log.list(since=make.NOON.replace(tzinfo=None))
            assert caught.value.field == "since"

    async def test_the_log_is_counted_and_its_unlearned_part_listed_oldest_first(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, resources=[make.resource(name) for name in "cab"])
        await make.save(record, resources=[make.resource("done", learn=False)])
        await make.save(record, user_id="bob", resources=[make.resource("x", user_id="bob")])
        async with record.writing(user_id="ann") as unit:
            await unit.log.mark_learned(["a"])
            assert await unit.log.count() == 4
            assert [resource.resource_id for resource in await unit.log.list_unextracted()] == ["c", "b"]
            assert [resource.resource_id for resource in await unit.log.list_unextracted(limit=1)] == ["c"]
            assert await unit.log.list_unextracted(limit=0) == []
        async with record.reading(user_id="eve") as unit:
            assert await unit.log.count() == 0
            assert await unit.log.list_unextracted() == []
            assert await unit.log.list() == []

    async def test_only_old_entries_of_which_nothing_was_made_are_orphans(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        names = ["waiting", "learned", "answer", "memory", "fact", "forgotten"]
        kept = [make.resource(name, learn=name != "answer", created_at=make.at(1)) for name in names]
        await make.save(
            record,
            resources=[*kept, make.resource("young", learn=False, created_at=make.at(2))],
            memories=[make.memory("m").model_copy(update={"resource_id": "memory"})],
            facts=[
                make.fact("f", resource_id="fact"),
                make.fact("g", resource_id="forgotten", status=FactStatus.DELETED),
            ],
        )
        # What others have is no reason to keep it, and theirs is not touched.
        theirs = [make.resource(name, user_id="bob", learn=False) for name in ("learned", "theirs")]
        memories = [make.memory("m", user_id="bob").model_copy(update={"resource_id": "learned"})]
        await make.save(record, user_id="bob", resources=theirs, memories=memories)
        async with record.writing(user_id="ann") as unit:
            await unit.log.mark_learned([name for name in names if name != "waiting"])
            assert await unit.log.delete_orphaned(created_before=make.at(1)) == 0
            assert await unit.log.delete_orphaned(created_before=make.at(2)) == 2
            assert await unit.log.delete_orphaned(created_before=make.at(2)) == 0
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            left = [resource.resource_id for resource in await unit.log.list()]
            assert left == ["young", "forgotten", "fact", "memory", "waiting"]
        async with record.reading(user_id="bob") as unit:
            assert await unit.log.count() == 2

    async def test_the_place_of_a_deleted_entry_is_never_given_again(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, resources=[make.resource("a", learn=False)])
        async with record.writing(user_id="ann") as unit:
            (gone,) = await unit.log.list()
            await unit.log.delete_orphaned(created_before=make.at(9))
            await unit.log.append([make.resource("b")])
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert (await unit.log.list())[0].sequence > gone.sequence
