"""What every system of record shows of what is waiting (`memory.ports.stores.record.Backlog`)."""

from types import SimpleNamespace

import pytest

from memory.ports.stores.record import OutboxEntry, SystemOfRecord
from memory.ports.stores.vectors import Collection
from memory.values.errors import InvalidField
from memory.values.facts import FactStatus


class TestBacklog:
    async def test_the_learner_sees_all_users_oldest_first_without_what_is_not_to_be_learned(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, resources=[make.resource("1")])
        await make.save(record, user_id="bob", resources=[make.resource("2", user_id="bob")])
        await make.save(record, resources=[make.resource("answer", learn=False), make.resource("3")])
        waiting = await record.backlog.unlearned(limit=9)
        assert [(entry.user_id, entry.resource_id) for entry in waiting] == [("ann", "1"), ("bob", "2"), ("ann", "3")]
        assert [resource.resource_id for resource in await record.backlog.unlearned(limit=1, user_id="bob")] == ["2"]
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
            entities=[make.entity("宏康", entity_id="a"), make.entity("AI-Box", entity_id="seed", source="system")],
            relations=[make.relation("a", "a", relation_id=name) for name in "123"],
            memories=[make.memory("m"), make.memory("n")],
            facts=[make.fact(name) for name in "1234"],
        )
        await make.save(record, user_id="bob", memories=[make.memory("m", user_id="bob")])
        counts = dict(await record.backlog.counts())
        assert counts.pop("size_bytes") >= 0
        assert counts == {
            "resources": 2,
            "unlearned": 1,
            "entities": 2,
            "preloaded": 1,
            "relations": 3,
            "memories": 3,
            "facts": 4,
            "corpora": 0,
            "knowledge": 0,
            "outbox": 9,
            "users": 2,
        }

    async def test_facts_are_totalled_by_status_and_category_over_all_users(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        assert await record.backlog.fact_totals() == []
        archived = {"status": FactStatus.ARCHIVED, "category": "技能", "confidence": 0.9}
        mine = [make.fact("1", category="goals", confidence=0.5), make.fact("2", category="goals", confidence=0.7)]
        await make.save(record, facts=[*mine, make.fact("3", **archived)])
        await make.save(record, user_id="bob", facts=[make.fact("1", user_id="bob", category="goals", confidence=0.0)])
        totals = {(total.status, total.category): total for total in await record.backlog.fact_totals()}
        goals, skills = totals[FactStatus.ACTIVE, "goals"], totals[FactStatus.ARCHIVED, "技能"]
        assert len(totals) == 2
        assert (goals.count, skills.count) == (3, 1)
        assert goals.confidence == pytest.approx(0.4)
        assert skills.confidence == pytest.approx(0.9)


class TestOutboxOfFacts:
    async def test_every_change_of_a_fact_is_queued_for_the_index_to_decide(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        async def queued() -> list[tuple[Collection, str]]:
            entries = await record.backlog.outbox(limit=9)
            await record.backlog.acknowledge(entries)
            return [(entry.collection, entry.item_id) for entry in entries]

        await make.save(record, facts=[make.fact("a"), make.fact("b")])
        assert await queued() == [(Collection.FACTS, "a"), (Collection.FACTS, "b")]
        await make.save(record, facts=[make.fact("a"), make.fact("c", status=FactStatus.DELETED)])
        assert await queued() == [(Collection.FACTS, "c")]
        async with record.writing(user_id="ann") as unit:
            await unit.facts.update(make.fact("b", confidence=0.5))
            await unit.facts.update_status("a", FactStatus.DELETED, now=make.at(1))
            await unit.facts.update_status("none", FactStatus.DELETED, now=make.at(1))
            await unit.commit()
        assert await queued() == [(Collection.FACTS, "b"), (Collection.FACTS, "a")]

    async def test_the_same_id_in_two_collections_is_two_entries(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, memories=[make.memory("id")], facts=[make.fact("id")])
        first, second = await record.backlog.outbox(limit=9)
        assert {first.collection, second.collection} == {Collection.MEMORIES, Collection.FACTS}


class TestRequeue:
    async def test_items_are_queued_whether_or_not_they_exist(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, facts=[make.fact("a"), make.fact("b")])
        before = await record.backlog.outbox(limit=9)
        await record.backlog.requeue(Collection.FACTS, ["a", "gone", "'; --"], user_id="ann")
        after = await record.backlog.outbox(limit=9)
        assert [entry.item_id for entry in after] == ["b", "a", "gone", "'; --"]
        assert {entry.user_id for entry in after} == {"ann"}
        await record.backlog.acknowledge(before)
        assert [entry.item_id for entry in await record.backlog.outbox(limit=9)] == ["a", "gone", "'; --"]

    async def test_a_user_may_have_nothing_but_requeued_items(self, record: SystemOfRecord) -> None:
        await record.backlog.requeue(Collection.MEMORIES, ["gone"], user_id="ann")
        await record.backlog.requeue(Collection.MEMORIES, [], user_id="bob")
        (entry,) = await record.backlog.outbox(limit=9)
        assert (entry.user_id, entry.item_id) == ("ann", "gone")
        await record.backlog.acknowledge([entry])
        assert await record.backlog.outbox(limit=9) == []

    async def test_an_impossible_user_is_refused(self, record: SystemOfRecord) -> None:
        with pytest.raises(InvalidField):
            await record.backlog.requeue(Collection.MEMORIES, ["a"], user_id="a\nb")


class TestUsers:
    async def test_the_owners_of_a_memory_are_found_by_its_id_alone(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        for user_id in ("bob", "安娜"):
            async with record.writing(user_id=user_id) as unit:
                await unit.memories.save(
                    [make.memory("shared", user_id=user_id), make.memory(user_id, user_id=user_id)]
                )
                await unit.commit()
        assert await record.backlog.owners("安娜") == ["安娜"]
        assert await record.backlog.owners("shared") == ["bob", "安娜"]
        assert await record.backlog.owners("Shared") == []
        await record.erase_user("bob")
        assert await record.backlog.owners("shared") == ["安娜"]

    async def test_users_are_paged_in_the_order_of_code_points(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        names = ["bob", "Ann", "ann", 'ann"} OR *', "王小明", "𠮷", "é", "%", "ann_", "x" * 128]
        for name in names:
            await make.save(record, user_id=name, resources=[make.resource("r", user_id=name)])
        seen: list[str] = []
        while page := await record.backlog.users(after=seen[-1] if seen else None, limit=3):
            assert len(page) <= 3
            seen += page
        assert seen == sorted(names)
        assert await record.backlog.users(limit=0) == []
        assert (await record.backlog.counts())["users"] == len(names)

    async def test_any_kind_of_data_makes_a_user(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(record, user_id="1", resources=[make.resource("r", user_id="1")])
        await make.save(record, user_id="2", entities=[make.entity("e", user_id="2")])
        await make.save(record, user_id="3", memories=[make.memory("m", user_id="3")])
        await make.save(record, user_id="4", facts=[make.fact("f", user_id="4")])
        await make.save(record, user_id="5", categories=[make.category("c", user_id="5")])
        await make.save(record, user_id="6", accesses=[make.access("a", user_id="6")])
        await make.save(record, user_id="7", edges=[make.edge("a", "p", "b", user_id="7")])
        assert await record.backlog.users(limit=9) == list("1234567")
        assert (await record.backlog.counts())["users"] == 7

    async def test_who_has_no_data_any_more_is_no_user(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(record, edges=[make.edge("a", "p", "b")])
        async with record.writing(user_id="ann") as unit:
            await unit.graph.delete_all()
            await unit.commit()
        await record.backlog.requeue(Collection.FACTS, ["f"], user_id="bob")
        assert await record.backlog.users(limit=9) == []
        assert (await record.backlog.counts())["users"] == 0
