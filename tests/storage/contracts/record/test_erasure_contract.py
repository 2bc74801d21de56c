"""What every system of record does about erasure: a user's rows in every table, and nobody else's."""

from types import SimpleNamespace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.ports.jobs import PipelineRun
from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.vectors import Collection
from memory.values.items import ItemCollection


async def fill(record: SystemOfRecord, make: SimpleNamespace, user_id: str) -> None:
    own = {"user_id": user_id}
    left, right = make.entity("宏康", "HCI", **own), make.entity("RM05-008", **own)
    await make.save(
        record,
        **own,
        resources=[make.resource("a", **own), make.resource("b", session_id="t", **own)],
        entities=[left, right],
        relations=[make.relation(left.entity_id, right.entity_id, **own)],
        memories=[make.memory("m", **own)],
        facts=[make.fact("f", **own)],
        categories=[make.category("preferences", **own)],
        accesses=[make.access("x", **own)],
        edges=[make.edge("我", "喜歡", "茶", **own)],
    )
    async with record.writing(user_id=user_id) as unit:
        await unit.typed_memories.save([make.typed_memory("drink", "tea", **own)])
        await unit.changes.append([make.change("c", left.entity_id, **own)])
        await unit.items.put([make.item("a", collection=collection, **own) for collection in ItemCollection])
        await unit.commit()


async def contents(record: SystemOfRecord, user_id: str) -> list[object]:
    async with record.reading(user_id=user_id) as unit:
        entities = await unit.entities.page(limit=10)
        return [
            await unit.log.list(),
            entities,
            await unit.entities.found_in("宏康 HCI RM05-008"),
            [await unit.relations.of(entity.entity_id) for entity in entities],
            await unit.memories.page(limit=10),
            await unit.facts.page(limit=10),
            await unit.categories.list(),
            await unit.category_accesses.last_accessed(),
            await unit.graph.list_all(),
            await unit.typed_memories.page(limit=10),
            await unit.changes.list(),
            await unit.changes.list(subject=entities[0].entity_id) if entities else [],
            *[await unit.items.page(collection, limit=9) for collection in ItemCollection],
            [entry.item_id for entry in await record.backlog.outbox(limit=100, user_id=user_id)],
            await record.backlog.unlearned(limit=100, user_id=user_id),
        ]


class TestEraseUser:
    async def test_a_user_is_gone_from_every_table_and_the_others_stay(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        for user_id in ("ann", "ann2", "Ann"):
            await fill(record, make, user_id)
        others = {user_id: await contents(record, user_id) for user_id in ("ann2", "Ann")}
        erased = await record.erase_user("ann")
        assert sum(erased.values()) >= 17
        assert not any(await contents(record, "ann"))
        assert {user_id: await contents(record, user_id) for user_id in others} == others
        assert await record.backlog.users(limit=10) == ["Ann", "ann2"]

    async def test_erasing_again_or_an_unknown_user_finds_nothing(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await fill(record, make, "ann")
        await record.erase_user("ann")
        for user_id in ("ann", "nobody"):
            assert not any((await record.erase_user(user_id)).values())

    async def test_a_user_who_comes_back_begins_anew(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await fill(record, make, "ann")
        await record.erase_user("ann")
        await record.append([make.resource("a", content="new")], user_id="ann")
        async with record.reading(user_id="ann") as unit:
            assert [entry.content for entry in await unit.log.list()] == ["new"]

    async def test_what_waits_for_the_index_of_an_erased_user_is_gone_too(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await record.backlog.requeue(Collection.MEMORIES, ["m"], user_id="ann")
        await record.erase_user("ann")
        assert await record.backlog.outbox(limit=10) == []

    async def test_a_purge_keeps_everything(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await fill(record, make, "ann")
        before = await contents(record, "ann")
        assert await record.purge() in (True, False)
        assert await contents(record, "ann") == before

    @settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(users=st.lists(st.text("aAbé\u0301%'_ ", min_size=1, max_size=3), min_size=2, max_size=3, unique=True))
    async def test_no_user_is_taken_for_another(
        self, record: SystemOfRecord, make: SimpleNamespace, users: list[str]
    ) -> None:
        for user_id in users:
            await record.erase_user(user_id)
            await record.append([make.resource("a", user_id=user_id)], user_id=user_id)
        await record.erase_user(users[0])
        for user_id in users:
            async with record.reading(user_id=user_id) as unit:
                assert await unit.log.count() == (user_id != users[0])


class TestRuns:
    async def test_a_run_is_found_by_its_id(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        run = PipelineRun(run_id="1", pipeline="erasure", started_at=make.NOON, updated_at=make.NOON)
        await record.runs.save(run)
        assert await record.runs.get("1") == run
        assert await record.runs.get("2") is None

    async def test_a_request_of_a_unit_of_work_is_seen_once_that_is_committed(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        run = PipelineRun(run_id="1", pipeline="erasure", started_at=make.NOON, updated_at=make.NOON)
        async with record.writing(user_id="ann") as unit:
            await unit.erasure.request([run])
        assert await record.runs.latest("erasure") == []
        async with record.writing(user_id="ann") as unit:
            await unit.erasure.request([run])
            await unit.commit()
        done = run.model_copy(update={"pipeline": "erasure_done"})
        assert await record.runs.latest("erasure") == [run]
        await record.runs.save(done)
        assert (await record.runs.get("1"), await record.runs.latest("erasure")) == (done, [])
