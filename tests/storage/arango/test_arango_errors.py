"""What Jiyi makes of what ArangoDB says, and of its saying nothing (`storage.arango.engine.errors`,
`storage.arango.engine.http`)."""

import asyncio
import pickle
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import arango.errno as errno
import pytest
from arango.exceptions import ArangoServerError
from arango.request import Request
from arango.response import Response

from memory.values.errors import JiyiError, StoreUnavailable
from storage.arango.engine.client import ArangoSettings
from storage.arango.engine.errors import WriteConflict, translate
from storage.arango.engine.http import Unreachable
from storage.arango.record import ArangoRecord
from storage.resilience.circuit import CircuitState
from testing.arango_standin import ArangoStandIn

CURSOR = "/_api/cursor"


@pytest.fixture
def server() -> Iterator[ArangoStandIn]:
    with ArangoStandIn(password="pässword 密") as running:
        yield running


@pytest.fixture
async def record(server: ArangoStandIn) -> AsyncIterator[ArangoRecord]:
    opened = ArangoRecord.open(settings_of(server))
    yield opened
    await opened.close()


def settings_of(server: ArangoStandIn, **fields: Any) -> ArangoSettings:
    return ArangoSettings(server.url, "jiyi", **dict[str, Any](password="pässword 密", deadline_s=10) | fields)


SOON: dict[str, Any] = {"deadline_s": 0.6, "connect_timeout_s": 0.2}


def server_error(code: int, status: int = 400) -> ArangoServerError:
    reply = Response("post", "http://db/_api/cursor", {}, status, "Bad", "")
    reply.error_code, reply.error_message = code, "said so"
    return ArangoServerError(reply, Request("post", "/_api/cursor"))


async def failure(record: ArangoRecord) -> StoreUnavailable:
    with pytest.raises(StoreUnavailable) as caught:
        async with record.reading(user_id="ann") as unit:
            await unit.memories.recent(limit=1)
    assert caught.value.component == "record"
    return caught.value


class TestMeaning:
    @pytest.mark.parametrize("code", [1200, 1210])
    def test_a_conflict_is_for_whoever_may_try_again(self, code: int) -> None:
        assert isinstance(translate(server_error(code, 409)), WriteConflict)

    @pytest.mark.parametrize("code", [1501, 1551, 1552, 1579, 1652])
    def test_a_statement_that_is_wrong_is_a_fault_of_the_program(self, code: int) -> None:
        error = translate(server_error(code))
        assert type(error) is RuntimeError
        assert str(code) in str(error)

    @pytest.mark.parametrize(("code", "status"), [(1202, 404), (1203, 404), (1207, 409), (1228, 404), (1655, 404)])
    def test_what_is_missing_or_doubled_makes_the_store_unavailable(self, code: int, status: int) -> None:
        error = translate(server_error(code, status))
        assert type(error) is StoreUnavailable
        assert f"ArangoDB error {code}" in str(error)

    def test_every_number_that_the_driver_knows_has_a_meaning(self) -> None:
        codes = {value for value in vars(errno).values() if isinstance(value, int)}
        assert len(codes) > 100
        for code in codes:
            error = translate(server_error(code))
            assert isinstance(error, StoreUnavailable | WriteConflict | RuntimeError)
            if isinstance(error, JiyiError):
                assert str(pickle.loads(pickle.dumps(error))) == str(error)


class TestFailures:
    async def test_a_refused_connection_is_reported_at_once_and_says_so(self) -> None:
        with ArangoStandIn() as server:
            settings = settings_of(server)
        record = ArangoRecord(settings)
        async with asyncio.timeout(60):
            error = await failure(record)
        assert "Connection refused" in error.message
        await record.close()

    async def test_a_server_that_is_silent_is_given_up_within_the_deadline(self, server: ArangoStandIn) -> None:
        record = ArangoRecord(settings_of(server, **SOON))
        server.freeze()
        async with asyncio.timeout(9):
            assert "silent" in (await failure(record)).message
        server.thaw()
        await record.close()

    async def test_a_server_that_is_away_is_not_asked_again_and_again(
        self, record: ArangoRecord, server: ArangoStandIn
    ) -> None:
        server.stop()
        for _ in range(3):
            await failure(record)
        assert "away" in (await failure(record)).message
        figures = record.figures()
        assert figures["circuit"] == CircuitState.OPEN.value
        assert figures["status"] == "degraded"
        assert figures["backend"] == "arangodb"

    async def test_an_answer_that_is_not_json_is_not_taken_for_one(self) -> None:
        async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(greet, "127.0.0.1", 0) as other:
            port = other.sockets[0].getsockname()[1]
            record = ArangoRecord(ArangoSettings(f"http://127.0.0.1:{port}", "jiyi"))
            assert "something else than JSON" in (await failure(record)).message
            await record.close()

    async def test_a_server_that_starts_or_stops_is_unreachable(
        self, record: ArangoRecord, server: ArangoStandIn
    ) -> None:
        server.fail_next(503, 503)
        assert isinstance(await failure(record), Unreachable)

    async def test_a_wrong_password_is_said_and_never_shown(self, server: ArangoStandIn) -> None:
        settings = settings_of(server, password="wrong-secret")
        with pytest.raises(StoreUnavailable, match="password") as caught:
            ArangoRecord.open(settings)
        assert not isinstance(caught.value, Unreachable)
        assert "wrong-secret" not in f"{caught.value}{settings}"

    async def test_a_password_that_was_changed_is_said_when_it_is_used(
        self, record: ArangoRecord, server: ArangoStandIn
    ) -> None:
        server.password = "other"
        assert "password" in (await failure(record)).message

    @pytest.mark.parametrize("version", ["3.10.14", "2.8.0", "devel"])
    async def test_an_old_server_is_refused(self, server: ArangoStandIn, version: str) -> None:
        server.version = version
        with pytest.raises(StoreUnavailable, match=r"3\.11 or later"):
            ArangoRecord.open(settings_of(server))

    @pytest.mark.parametrize("version", ["3.11.0", "3.12.4-nightly", "4.0"])
    async def test_a_new_server_is_taken(self, server: ArangoStandIn, version: str) -> None:
        server.version = version
        await ArangoRecord.open(settings_of(server)).close()

    async def test_a_statement_that_the_server_does_not_understand_raises_what_no_breaker_counts(
        self, record: ArangoRecord, server: ArangoStandIn
    ) -> None:
        server.fail_next(1501, 400, path=CURSOR)
        with pytest.raises(RuntimeError, match="1501"):
            async with record.reading(user_id="ann") as unit:
                await unit.log.count()
        assert record.figures()["failures"] == 0

    async def test_a_collection_that_is_gone_is_said_and_never_made_anew(
        self, record: ArangoRecord, server: ArangoStandIn
    ) -> None:
        server.reset()
        for _ in range(2):
            assert "gone" in (await failure(record)).message

    async def test_an_impossible_timeout_is_refused(self) -> None:
        with pytest.raises(ValueError, match="connect_timeout_s"):
            ArangoSettings("http://db", "jiyi", deadline_s=1, connect_timeout_s=1)


class TestAwayAtStart:
    async def test_a_record_opens_without_its_server_and_works_when_the_server_is_back(
        self, server: ArangoStandIn, make: SimpleNamespace
    ) -> None:
        settings = settings_of(server)
        server.stop()
        record = ArangoRecord.open(settings)
        await failure(record)
        server.start()
        await make.save(record, memories=[make.memory("m")])
        assert (await record.backlog.counts())["memories"] == 1
        await record.close()

    async def test_many_who_wait_for_the_first_connection_share_one_attempt(self, server: ArangoStandIn) -> None:
        record = ArangoRecord(settings_of(server, **SOON))
        server.freeze()
        failures = await asyncio.gather(*(failure(record) for _ in range(20)))
        assert len({error.message for error in failures}) == 1
        assert record.figures()["failures"] == 1
        server.thaw()
        await record.close()

    async def test_nothing_is_asked_after_close(self, record: ArangoRecord) -> None:
        await record.close()
        await record.close()
        with pytest.raises(StoreUnavailable, match="closed"):
            await record.backlog.counts()
