"""What is particular to transactions in ArangoDB: turns between processes, lost answers, half-done work."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace

import pytest

from memory.ports.stores.record import SystemOfRecord
from memory.values.errors import StoreUnavailable
from storage.arango.engine.client import ArangoSettings
from storage.arango.record import ArangoRecord
from testing.arango_standin import ArangoStandIn

CURSOR = "/_api/cursor"
TRANSACTION = "/_api/transaction"


@pytest.fixture
def server() -> Iterator[ArangoStandIn]:
    with ArangoStandIn() as running:
        yield running


@pytest.fixture
async def record(server: ArangoStandIn) -> AsyncIterator[ArangoRecord]:
    async for opened in _opened(server):
        yield opened


@pytest.fixture
async def other(server: ArangoStandIn, record: ArangoRecord) -> AsyncIterator[ArangoRecord]:
    """The same database from another process: nothing is shared but the server."""
    async for opened in _opened(server):
        yield opened


async def _opened(server: ArangoStandIn) -> AsyncIterator[ArangoRecord]:
    opened = ArangoRecord.open(ArangoSettings(server.url, "jiyi", deadline_s=10))
    yield opened
    await opened.close()


async def log_of(record: SystemOfRecord, user_id: str = "ann") -> list[str]:
    async with record.reading(user_id=user_id) as unit:
        return [resource.resource_id for resource in await unit.log.session("s", limit=99)]


class TestTurns:
    async def test_writers_of_two_processes_take_turns_and_lose_nothing(
        self, record: ArangoRecord, other: ArangoRecord, make: SimpleNamespace
    ) -> None:
        patient = [record, other] * 5
        await asyncio.gather(
            *(make.save(one, resources=[make.resource(str(number))]) for number, one in enumerate(patient))
        )
        assert sorted(await log_of(record)) == sorted(map(str, range(10)))

    async def test_the_first_two_writers_of_a_new_user_both_write(
        self, record: ArangoRecord, other: ArangoRecord, make: SimpleNamespace
    ) -> None:
        one, two = make.resource("1", user_id="new"), make.resource("2", user_id="new")
        await asyncio.gather(
            make.save(record, user_id="new", resources=[one]), make.save(other, user_id="new", resources=[two])
        )
        assert sorted(await log_of(record, "new")) == ["1", "2"]

    async def test_a_writer_that_waits_too_long_is_told_and_the_circuit_stays_closed(
        self, server: ArangoStandIn, other: ArangoRecord
    ) -> None:
        impatient = ArangoRecord.open(ArangoSettings(server.url, "jiyi", deadline_s=1.5, connect_timeout_s=0.2))
        async with other.writing(user_id="ann"):
            with pytest.raises(StoreUnavailable, match="others have been writing"):
                async with impatient.writing(user_id="ann"):
                    pass
        assert impatient.figures()["failures"] == 0
        await impatient.close()

    async def test_users_do_not_wait_for_each_other(
        self, record: ArangoRecord, other: ArangoRecord, make: SimpleNamespace
    ) -> None:
        async with other.writing(user_id="ann") as unit:
            await unit.log.append([make.resource("a")])
            await make.save(record, user_id="bob", resources=[make.resource("b", user_id="bob")])
            await unit.commit()
        assert (await log_of(record), await log_of(record, "bob")) == (["a"], ["b"])

    async def test_an_acknowledgement_waits_for_who_is_saving_the_same_item(
        self, record: ArangoRecord, other: ArangoRecord, make: SimpleNamespace
    ) -> None:
        await make.save(record, memories=[make.memory("m")])
        entries = await record.backlog.outbox(limit=9)
        async with other.writing(user_id="ann") as unit:
            acknowledged = asyncio.create_task(record.backlog.acknowledge(entries))
            await asyncio.sleep(0.05)
            await unit.memories.save([make.memory("m", text="new")])
            await unit.commit()
        await acknowledged
        assert [entry.item_id for entry in await record.backlog.outbox(limit=9)] == ["m"]

    async def test_numbers_grow_from_unit_to_unit_and_with_many_in_one(
        self, record: ArangoRecord, other: ArangoRecord, make: SimpleNamespace
    ) -> None:
        for one, many in ((record, 2), (other, 1200), (record, 2)):
            await make.save(one, resources=[make.resource(f"{many} {n} {id(one)}") for n in range(many)])
            await make.save(one, resources=[make.resource(f"next {many} {id(one)}")])
        async with record.reading(user_id="ann") as unit:
            places = [entry.sequence for entry in await unit.log.session("s", limit=9999)]
        assert len(places) == 1204
        assert places == sorted(set(places))


class TestHalfDone:
    async def test_a_commit_without_an_answer_may_be_repeated(
        self, record: ArangoRecord, server: ArangoStandIn, make: SimpleNamespace
    ) -> None:
        async def write() -> None:
            async with record.writing(user_id="ann") as unit:
                await unit.log.append([make.resource("r")])
                server.lose_next_reply()
                await unit.commit()

        with pytest.raises(StoreUnavailable, match="not known whether"):
            await write()
        await make.save(record, resources=[make.resource("r")])
        assert await log_of(record) == ["r"]

    async def test_a_unit_in_which_a_statement_failed_cannot_be_committed(
        self, record: ArangoRecord, server: ArangoStandIn, make: SimpleNamespace
    ) -> None:
        async with record.writing(user_id="ann") as unit:
            await unit.log.append([make.resource("before")])
            server.fail_next(1004, 403, path=CURSOR)
            with pytest.raises(StoreUnavailable):
                await unit.memories.save([make.memory("m")])
            with pytest.raises(StoreUnavailable, match="cannot be committed"):
                await unit.commit()
        assert await log_of(record) == []

    async def test_a_conflict_in_the_middle_of_a_unit_is_said(
        self, record: ArangoRecord, server: ArangoStandIn, make: SimpleNamespace
    ) -> None:
        async with record.writing(user_id="ann") as unit:
            server.fail_next(1200, 409, path=CURSOR)
            with pytest.raises(StoreUnavailable, match="same time"):
                await unit.memories.save([make.memory("m")])

    async def test_a_unit_that_idles_too_long_is_given_up(
        self, record: ArangoRecord, server: ArangoStandIn, make: SimpleNamespace
    ) -> None:
        server.idle_timeout_s = 0.05
        async with record.writing(user_id="ann") as unit:
            await asyncio.sleep(0.2)
            with pytest.raises(StoreUnavailable, match="idles too long"):
                await unit.memories.save([make.memory("m")])
        server.idle_timeout_s = 60
        await make.save(record, resources=[make.resource("after")])
        assert await log_of(record) == ["after"]

    async def test_a_turn_is_free_at_once_after_a_unit_that_failed(
        self, record: ArangoRecord, other: ArangoRecord, make: SimpleNamespace
    ) -> None:
        async def fail() -> None:
            async with record.writing(user_id="ann") as unit:
                await unit.memories.save([make.memory("lost")])
                raise ZeroDivisionError

        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await fail()
            await make.save(other, resources=[make.resource("r")])
        assert (await record.backlog.counts())["memories"] == 0

    async def test_a_beginning_whose_answer_was_lost_holds_nobody_up(
        self, record: ArangoRecord, server: ArangoStandIn, make: SimpleNamespace
    ) -> None:
        server.lose_next_reply()
        with pytest.raises(StoreUnavailable):
            await make.save(record, resources=[make.resource("r")])
        await make.save(record, resources=[make.resource("r")])
        assert await log_of(record) == ["r"]

    async def test_a_unit_without_writes_leaves_no_trace(self, record: ArangoRecord) -> None:
        async with record.writing(user_id="nobody") as unit:
            await unit.commit()
        assert await record.backlog.users(limit=9) == []

    async def test_statements_of_one_unit_may_be_gathered(self, record: ArangoRecord, make: SimpleNamespace) -> None:
        await make.save(record, memories=[make.memory("m")], entities=[make.entity("宏康")])
        async with record.reading(user_id="ann") as unit:
            memories, entities = await asyncio.gather(unit.memories.recent(limit=9), unit.entities.recent(limit=9))
        assert (len(memories), len(entities)) == (1, 1)

    async def test_more_units_than_threads_are_served(self, record: ArangoRecord, make: SimpleNamespace) -> None:
        await asyncio.gather(
            *(make.save(record, user_id=f"u{n}", resources=[make.resource("r", user_id=f"u{n}")]) for n in range(30))
        )
        assert (await record.backlog.counts())["users"] == 30
