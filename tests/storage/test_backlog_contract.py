"""What every system of record shows of what is waiting (`memory.ports.record.Backlog`)."""

from types import SimpleNamespace

from memory.ports.record import OutboxEntry, SystemOfRecord
from memory.ports.vectors import Collection


class TestBacklog:
    async def test_the_learner_sees_all_users_oldest_first_without_what_is_not_to_be_learned(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, resources=[make.resource("1")])
        await make.save(record, user_id="bob", resources=[make.resource("2", user_id="bob")])
        await make.save(record, resources=[make.resource("answer", learn=False), make.resource("3")])
        waiting = await record.backlog.unlearned(limit=9)
        assert [(one.user_id, one.resource_id) for one in waiting] == [("ann", "1"), ("bob", "2"), ("ann", "3")]
        assert [one.resource_id for one in await record.backlog.unlearned(limit=1, user_id="bob")] == ["2"]
        assert len(await record.backlog.unlearned(limit=2)) == 2

    async def test_the_outbox_holds_one_entry_an_item_however_often_it_changed(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, entities=[make.entity("宏康"), make.entity("宏康")], memories=[make.memory("m")])
        await make.save(record, user_id="bob", memories=[make.memory("m", user_id="bob")])
        await make.save(record, entities=[make.entity("宏康", "HCI")])
        entries = await record.backlog.outbox(limit=9)
        assert [(entry.user_id, entry.collection, entry.item_id) for entry in entries] == [
            ("ann", Collection.MEMORIES, "m"),
            ("bob", Collection.MEMORIES, "m"),
            ("ann", Collection.ENTITIES, make.entity("宏康").entity_id),
        ]
        assert [entry.user_id for entry in await record.backlog.outbox(limit=9, user_id="bob")] == ["bob"]
        assert len(await record.backlog.outbox(limit=1)) == 1

    async def test_what_is_acknowledged_is_gone(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(record, memories=[make.memory("a"), make.memory("b")])
        first, second = await record.backlog.outbox(limit=9)
        await record.backlog.acknowledge([first])
        assert await record.backlog.outbox(limit=9) == [second]

    async def test_an_item_that_was_saved_again_meanwhile_stays(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, memories=[make.memory("m", text="old")])
        entries = await record.backlog.outbox(limit=9)
        await make.save(record, memories=[make.memory("m", text="new")])
        await record.backlog.acknowledge(entries)
        assert [entry.item_id for entry in await record.backlog.outbox(limit=9)] == ["m"]

    async def test_an_old_acknowledgement_never_fits_a_later_save(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, memories=[make.memory("m")])
        entries = await record.backlog.outbox(limit=9)
        await record.backlog.acknowledge(entries)
        await make.save(record, memories=[make.memory("m")])
        await record.backlog.acknowledge(entries)
        assert len(await record.backlog.outbox(limit=9)) == 1

    async def test_nobody_acknowledges_for_another(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(record, memories=[make.memory("m")])
        (entry,) = await record.backlog.outbox(limit=9)
        await record.backlog.acknowledge([OutboxEntry(entry.sequence, "bob", entry.collection, entry.item_id)])
        assert await record.backlog.outbox(limit=9) == [entry]

    async def test_counts_are_totals_over_all_users(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(
            record,
            resources=[make.resource("1"), make.resource("2", learn=False)],
            entities=[make.entity("宏康")],
            memories=[make.memory("m"), make.memory("n")],
        )
        await make.save(record, user_id="bob", memories=[make.memory("m", user_id="bob")])
        counts = dict(await record.backlog.counts())
        assert counts.pop("size_bytes") >= 0
        assert counts == {"resources": 2, "unlearned": 1, "entities": 1, "memories": 3, "outbox": 4, "users": 2}
