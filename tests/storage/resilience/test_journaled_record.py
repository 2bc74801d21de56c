"""Turns are kept while the system of record is away, and reach it in order (DESIGN §7)."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs

from memory.ports.stores.record import SystemOfRecord
from memory.values.errors import Conflict, InvalidField, StoreUnavailable
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.mentions import Mention
from storage.inmemory.record import InMemoryRecord
from storage.resilience.journaled_record import JournaledRecord
from storage.sqlite.record import SqliteRecord
from tests.storage.resilience.breakable import Breakable, drained, entries, ids, until

NEVER_S = 3600.0


@pytest.fixture
async def inner() -> Breakable:
    return Breakable(InMemoryRecord())


@pytest.fixture(params=["memory", "sqlite"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Breakable:
    if request.param == "memory":
        return Breakable(InMemoryRecord())
    return Breakable(SqliteRecord.open(tmp_path / "journal.db", readers=1))


@pytest.fixture
async def record(inner: Breakable, journal: Breakable) -> AsyncIterator[JournaledRecord]:
    opened = JournaledRecord(inner, journal, probe_interval_s=0.01)
    yield opened
    await opened.close()


async def test_while_the_store_answers_the_journal_stays_empty(
    record: JournaledRecord, inner: Breakable, journal: Breakable, make: SimpleNamespace
) -> None:
    await record.append([make.resource("a"), make.resource("b")], user_id="ann")
    await record.append([], user_id="ann")
    assert await ids(record) == await ids(inner) == ["a", "b"]
    assert (await journal.backlog.counts())["resources"] == 0
    assert record.figures() == {
        "kind": "breakable",
        "journal_waiting": 0,
        "journal_held": 0,
        "journal_flushed": 0,
        "journal_refused": 0,
    }


async def test_an_id_that_the_caller_chose_keeps_its_text_in_the_journal(
    record: JournaledRecord, inner: Breakable, make: SimpleNamespace
) -> None:
    inner.away = True
    for _ in range(2):
        await record.append([make.resource("a", content="blue")], user_id="ann", named=["a"])
    with pytest.raises(Conflict):
        await record.append([make.resource("a", content="red")], user_id="ann", named=["a"])
    inner.away = False
    await drained(record)
    with pytest.raises(Conflict):
        await record.append([make.resource("a", content="red")], user_id="ann", named=["a"])
    async with record.reading(user_id="ann") as unit:
        assert [entry.content for entry in await unit.log.get(["a"])] == ["blue"]


async def test_what_was_understood_goes_through_the_journal(
    record: JournaledRecord, inner: Breakable, make: SimpleNamespace
) -> None:
    inner.away = True
    understanding = Extraction(mentions=(Mention(text="AI-Box", start=0, end=6),), version="1")
    await record.append([make.resource("a", understanding=understanding), make.resource("b")], user_id="ann")
    inner.away = False
    await drained(record)
    assert [entry.understanding for entry in await record.backlog.unlearned(limit=9)] == [understanding, None]


async def test_what_is_said_while_the_store_is_away_reaches_it_when_it_is_back_and_leaves_the_journal(
    record: JournaledRecord, inner: Breakable, journal: Breakable, make: SimpleNamespace
) -> None:
    await record.append([make.resource("a")], user_id="ann")
    inner.away = True
    for name in "bcd":
        await record.append([make.resource(name)], user_id="ann")
    await record.append([make.resource("b", user_id="bob")], user_id="bob")
    figures = dict(record.figures())
    assert isinstance(figures.pop("since"), str)
    assert figures == {
        "kind": "breakable",
        "journal_waiting": 4,
        "journal_held": 4,
        "journal_flushed": 0,
        "journal_refused": 0,
        "status": "degraded",
        "error": "It is away.",
    }
    inner.away = False
    await drained(record)
    await record.append([make.resource("e")], user_id="ann")
    assert await ids(inner) == ["a", "b", "c", "d", "e"]
    assert await ids(inner, user_id="bob") == ["b"]
    assert (record.figures()["journal_flushed"], record.figures()["journal_waiting"]) == (4, 0)
    assert (await journal.backlog.counts())["resources"] == 0


async def test_entries_come_through_the_journal_unchanged(
    record: JournaledRecord, inner: Breakable, make: SimpleNamespace
) -> None:
    said = [
        make.resource("q", content="宏康\x00𠮷", metadata={"a": 1, "b": None, "c": 0.1}, speaker="小明", resolved="它"),
        make.resource("r", role="assistant", kind="note", learn=False, created_at=make.at(-1.25)),
    ]
    inner.away = True
    await record.append(said, user_id="ann")
    inner.away = False
    await drained(record)
    kept = await entries(inner)
    assert [entry.model_copy(update={"sequence": 0}) for entry in kept] == said
    assert [entry.resource_id for entry in await inner.backlog.unlearned(limit=10)] == ["q"]


async def test_a_store_that_is_known_to_be_away_is_not_asked_by_every_turn(
    inner: Breakable, journal: Breakable, make: SimpleNamespace
) -> None:
    record = JournaledRecord(inner, journal, probe_interval_s=NEVER_S)
    inner.away = True
    for name in "abc":
        await record.append([make.resource(name)], user_id="ann")
    assert inner.appends == 1
    await record.close()


async def test_a_turn_that_finds_earlier_ones_waiting_goes_behind_them(
    inner: Breakable, journal: Breakable, make: SimpleNamespace
) -> None:
    one, other = (JournaledRecord(inner, journal, probe_interval_s=NEVER_S, batch=2) for _ in range(2))
    inner.away = True
    for name in "abcde":
        await one.append([make.resource(name)], user_id="ann")
    inner.away = False
    other.start = lambda: None  # type: ignore[method-assign]  # what waits is met by a turn before it is drained
    await other.append([make.resource("f")], user_id="ann")
    assert await ids(inner) == ["a", "b"]
    await other.append([make.resource("x", user_id="bob")], user_id="bob")
    assert await ids(inner, user_id="bob") == ["x"]
    for name in "gh":
        await other.append([make.resource(name)], user_id="ann")
    await other.flush()
    await other.append([make.resource("i")], user_id="ann")
    assert await ids(inner) == list("abcdefghi")
    await one.close()


async def test_what_a_crash_left_is_handed_over_at_the_next_start(
    inner: Breakable, journal: Breakable, make: SimpleNamespace
) -> None:
    dead = JournaledRecord(inner, journal, probe_interval_s=NEVER_S)
    inner.away = True
    await dead.append([make.resource("a")], user_id="ann")
    inner.away = False
    record = JournaledRecord(inner, journal)
    record.start()
    await until(lambda: _has(inner, ["a"]))
    await record.close()
    await dead.close()


async def _has(record: SystemOfRecord, expected: list[str]) -> bool:
    return await ids(record) == expected


async def test_what_another_process_left_is_found_without_a_turn(
    inner: Breakable, journal: Breakable, make: SimpleNamespace
) -> None:
    living = JournaledRecord(inner, journal, probe_interval_s=0.01, look_interval_s=0.01)
    living.start()
    await journal.append([], user_id="ann")
    dead = JournaledRecord(inner, journal, probe_interval_s=NEVER_S)
    inner.away = True
    await dead.append([make.resource("a")], user_id="ann")
    inner.away = False
    await until(lambda: _has(inner, ["a"]))
    await living.close()
    await dead.close()


async def test_an_entry_that_the_store_has_and_the_journal_still_holds_is_not_doubled(
    inner: Breakable, journal: Breakable, make: SimpleNamespace
) -> None:
    record = JournaledRecord(inner, journal, probe_interval_s=NEVER_S)
    inner.unsure = True
    await record.append([make.resource("a"), make.resource("b")], user_id="ann")
    assert await ids(inner) == ["a", "b"]
    inner.unsure = False
    journal.no_units = True
    with pytest.raises(StoreUnavailable):
        await record.flush()
    journal.no_units = False
    await record.flush()
    assert await ids(inner) == ["a", "b"]
    assert record.figures()["journal_waiting"] == 0
    await record.close()


async def test_an_entry_that_the_store_refuses_holds_up_nobody(
    record: JournaledRecord, inner: Breakable, journal: Breakable, make: SimpleNamespace
) -> None:
    inner.away = True
    for name in "abc":
        await record.append([make.resource(name)], user_id="ann")
    await record.append([make.resource("x", user_id="bob")], user_id="bob")
    inner.refuses = {"b"}
    inner.away = False
    with capture_logs() as logs:
        await until(lambda: record.figures()["journal_flushed"] == 3)
        await record.append([make.resource("d")], user_id="ann")
    assert await ids(inner) == ["a", "c", "d"]
    assert await ids(inner, user_id="bob") == ["x"]
    assert [entry["resource_id"] for entry in logs if entry["event"] == "journal_entry_refused"] == ["b"]
    await until(lambda: record.figures()["journal_waiting"] == 1)
    assert (record.figures()["journal_refused"], record.figures()["status"]) == (1, "degraded")
    assert [entry.resource_id for entry in await journal.backlog.unlearned(limit=10)] == ["b"]


async def test_an_envelope_that_cannot_be_read_holds_up_nobody(
    record: JournaledRecord, inner: Breakable, journal: Breakable, make: SimpleNamespace
) -> None:
    await journal.append([make.resource("garbage", content="{")], user_id="ann")
    await record.append([make.resource("a")], user_id="ann")
    await until(lambda: record.figures()["journal_refused"] == 1)
    assert await ids(inner) == ["a"]


async def test_a_bad_request_is_the_callers_and_nothing_is_held(
    record: JournaledRecord, inner: Breakable, journal: Breakable, make: SimpleNamespace
) -> None:
    inner.refuses = {"b"}
    for wrong, user_id in ((make.resource("b"), "ann"), (make.resource("a"), "bob"), (make.resource("a"), "")):
        with pytest.raises(InvalidField):
            await record.append([wrong], user_id=user_id)
    assert (await journal.backlog.counts())["resources"] == 0


async def test_a_broken_journal_refuses_nothing_that_the_store_can_keep(
    inner: Breakable, tmp_path: Path, make: SimpleNamespace
) -> None:
    journal = SqliteRecord.open(tmp_path / "journal.db", readers=1)
    await journal.close()
    record = JournaledRecord(inner, journal)
    await record.append([make.resource("a")], user_id="ann")
    assert await ids(inner) == ["a"]
    inner.away = True
    with pytest.raises(StoreUnavailable, match="neither in the system of record nor in its journal"):
        await record.append([make.resource("b")], user_id="ann")
    inner.away = False
    record = JournaledRecord(inner, journal)
    await record.append([make.resource("b")], user_id="ann")
    assert await ids(inner) == ["a", "b"]


async def test_concurrent_turns_are_all_kept_once_while_the_store_comes_and_goes(
    record: JournaledRecord, inner: Breakable, make: SimpleNamespace
) -> None:
    async def talk(user: str) -> None:
        for n in range(20):
            inner.away = random.random() < 0.5
            await record.append([make.resource(f"{n}", user_id=user)], user_id=user)

    users = [f"user {n}" for n in range(8)]
    await asyncio.gather(*(talk(user) for user in users))
    inner.away = False
    await drained(record)
    for user in users:
        assert await ids(inner, user_id=user) == [str(n) for n in range(20)]
