"""What every system of record does with the log of changes (`memory.ports.stores.repositories`), and with deletion."""

from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest

from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.vectors import Collection
from memory.values.entities import EntityStatus
from memory.values.errors import InvalidField
from memory.values.governance.changes import ChangedItem, ChangeKind

TAIPEI = timezone(timedelta(hours=8))


async def _append(record: SystemOfRecord, *changes: object, user_id: str = "ann") -> None:
    async with record.writing(user_id=user_id) as unit:
        await unit.changes.append(changes)  # type: ignore[arg-type]
        await unit.commit()


class TestChanges:
    async def test_a_change_comes_back_as_it_was_with_its_place_in_the_log(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        item = ChangedItem.of(make.entity("宏康 HCI"), make.entity("宏康 HCI", "Hongkang", confidence=0.1 + 0.2))
        written = make.change("c", item.item_id, at=make.at(0.5).astimezone(TAIPEI), items=(item,), reason="It's 100%_")
        await _append(record, written)
        async with record.reading(user_id="ann") as unit:
            [found] = await unit.changes.get(["none", "c"])
            assert found.sequence > 0
            assert found.model_copy(update={"sequence": 0}) == written
            assert await unit.changes.list() == [found]

    async def test_an_id_that_is_there_already_is_skipped(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await _append(record, make.change("c", "a", reason="first"), make.change("c", "b", reason="second"))
        await _append(record, make.change("c", "b", reason="third"))
        async with record.reading(user_id="ann") as unit:
            assert [change.reason for change in await unit.changes.list()] == ["first"]
            assert await unit.changes.list(subject="b") == []

    async def test_the_list_is_latest_first_page_by_page(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        for n in range(5):
            await _append(record, make.change(str(n), at=make.at(-n)))
        async with record.reading(user_id="ann") as unit:
            assert await unit.changes.list(limit=0) == []
            pages, before = [], None
            while page := await unit.changes.list(limit=2, before=before):
                pages.append([change.change_id for change in page])
                before = page[-1].sequence
            assert pages == [["4", "3"], ["2", "1"], ["0"]]

    async def test_changes_are_found_by_what_they_are_about_and_by_kind(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await _append(
            record,
            make.change("1", "a", "b"),
            make.change("2", "a", kind=ChangeKind.MERGE),
            make.change("3", "b", "a%", kind=ChangeKind.MERGE),
        )
        async with record.reading(user_id="ann") as unit:
            for conditions, wanted in (
                ({"subject": "a"}, ["2", "1"]),
                ({"subject": "b"}, ["3", "1"]),
                ({"subject": "a%"}, ["3"]),
                ({"subject": "A"}, []),
                ({"kind": ChangeKind.MERGE}, ["3", "2"]),
                ({"kind": ChangeKind.MERGE, "subject": "a"}, ["2"]),
                ({"kind": ChangeKind.SPLIT}, []),
            ):
                assert [change.change_id for change in await unit.changes.list(**conditions)] == wanted

    async def test_a_change_is_marked_undone_and_done_again(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await _append(record, make.change("c", "a"))
        for moment in (make.at(7).astimezone(TAIPEI), None):
            async with record.writing(user_id="ann") as unit:
                assert await unit.changes.mark_undone("c", at=moment)
                assert not await unit.changes.mark_undone("none", at=moment)
                await unit.commit()
            async with record.reading(user_id="ann") as unit:
                [found] = await unit.changes.list(subject="a")
                assert found.undone_at == moment
                assert found.sequence > 0

    async def test_a_moment_without_a_zone_is_refused(self, record: SystemOfRecord) -> None:
        async with record.writing(user_id="ann") as unit:
            with pytest.raises(InvalidField):
                await unit.changes.mark_undone("c", at=datetime(2026, 3, 1))

    async def test_everybody_has_changes_of_their_own(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        for user in ("ann", "bob"):
            await _append(record, make.change("c", "a", user_id=user, reason=user), user_id=user)
        async with record.writing(user_id="bob") as unit:
            with pytest.raises(InvalidField):
                await unit.changes.append([make.change("d")])
            assert await unit.changes.mark_undone("c", at=make.NOON)
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            [found] = await unit.changes.list(subject="a")
            assert (found.reason, found.undone_at) == ("ann", None)

    async def test_who_has_nothing_but_changes_is_a_user_too(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await _append(record, make.change("c"))
        assert await record.backlog.users(limit=9) == ["ann"]

    async def test_a_unit_that_is_left_logs_nothing(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        async with record.writing(user_id="ann") as unit:
            await unit.changes.append([make.change("c", "a")])
        async with record.reading(user_id="ann") as unit:
            assert await unit.changes.list() == []
            assert await unit.changes.list(subject="a") == []


class TestDeletion:
    async def test_a_deleted_entity_is_gone_with_its_names_and_queued_for_the_index(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        gone, kept = make.entity("宏康", "Hongkang", entity_id="1"), make.entity("AI-Box", entity_id="2")
        await make.save(record, entities=[gone, kept], relations=[make.relation("1", "2")])
        await make.save(record, user_id="bob", entities=[make.entity("宏康", user_id="bob", entity_id="1")])
        await record.backlog.acknowledge(await record.backlog.outbox(limit=9))
        async with record.writing(user_id="ann") as unit:
            assert await unit.entities.delete(["1", "none", "1"]) == 1
            assert await unit.entities.delete([]) == 0
            assert await unit.entities.get(["1", "2"]) == [kept]
            assert await unit.entities.get_by_value("Hongkang") is None
            assert await unit.entities.found_in("宏康 and AI-Box") == [kept]
            assert await unit.relations.related("2") == {}
            await unit.commit()
        waiting = await record.backlog.outbox(limit=9)
        assert [(entry.user_id, entry.collection, entry.item_id) for entry in waiting] == [
            ("ann", Collection.ENTITIES, "1")
        ]
        async with record.reading(user_id="bob") as unit:
            assert (await unit.entities.get_by_value("宏康")) is not None

    async def test_a_deleted_memory_is_gone_and_queued_and_the_log_keeps_its_entry(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, resources=[make.resource("r-1")], memories=[make.memory("1"), make.memory("2")])
        await record.backlog.acknowledge(await record.backlog.outbox(limit=9))
        async with record.writing(user_id="ann") as unit:
            assert await unit.memories.delete(["none", "1", "1"]) == 1
            assert [memory.memory_id for memory in await unit.memories.recent(limit=9)] == ["2"]
            assert await unit.log.count() == 1
            await unit.commit()
        assert [entry.item_id for entry in await record.backlog.outbox(limit=9)] == ["1"]


async def test_entities_in_review_are_found_as_active_ones_are_and_archived_ones_are_not(
    record: SystemOfRecord, make: SimpleNamespace
) -> None:
    active, review, archived = (
        make.entity(name, status=status, last_mentioned=make.at(n))
        for n, (name, status) in enumerate(
            [
                ("宏康", EntityStatus.ACTIVE),
                ("AI-Box", EntityStatus.REVIEW),
                ("RM05-008", EntityStatus.ARCHIVED),
            ]
        )
    )
    await make.save(record, entities=[active, review, archived])
    async with record.reading(user_id="ann") as unit:
        assert await unit.entities.found_in("宏康 AI-Box RM05-008") == [review, active]
        assert await unit.entities.recent(limit=9) == [review, active]
        assert await unit.entities.get_by_value("RM05-008") == archived
