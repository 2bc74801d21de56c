"""What `/health/detailed` says of the stores (`deployments.builders.storage.store_probes`)."""

import asyncio
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deployments.builders.storage.store_probes import PatientPing, RateLimitedCounts, facts_probe, store_probes
from memory.ports.jobs import PipelineRun, RunState
from memory.values.errors import StoreUnavailable
from memory.values.facts import FactStatus
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.sessions import InMemorySessions
from storage.resilience.fallbacks import ResilientSessions
from storage.resilience.journaled_record import JournaledRecord
from storage.sqlite.record import SqliteRecord
from tests.memory.tiers.facts import NOW, fact

AWAY = StoreUnavailable("The store is gone.", component="store")


class Store:
    """An index, and a way to break it and a record."""

    def __init__(self) -> None:
        self.away = False

    async def ping(self) -> None:
        if self.away:
            raise AWAY

    def figures(self) -> Mapping[str, float | str]:
        return {"circuit": "closed"}


@pytest.fixture
def short_lived() -> Any:
    sessions = ResilientSessions(InMemorySessions(), InMemorySessions())
    return SimpleNamespace(sessions=sessions, limiter=None)


async def test_a_store_that_answers_shows_its_figures(short_lived: Any) -> None:
    probes = store_probes(record=InMemoryRecord(), index=Store(), short_lived=short_lived)
    assert set(probes) == {"record", "vectors", "sessions"}
    record = await probes["record"]()
    assert (record["resources"], record["backend"]) == (0, "memory")
    assert await probes["vectors"]() == {"circuit": "closed"}
    assert (await probes["sessions"]())["fallbacks"] == 0


async def test_facts_are_counted_and_the_last_runs_of_their_jobs_told() -> None:
    record = InMemoryRecord()
    probe = facts_probe(record)
    assert await probe() == {
        "active": 0, "archived": 0, "deleted": 0, "active_preferences": 0, "active_facts": 0, "active_goals": 0,
        "active_skills": 0, "active_relationships": 0, "active_events": 0,
    }  # fmt: skip
    async with record.writing(user_id="ann") as unit:
        await unit.facts.create_many(
            [
                fact("user", "likes", "tea", confidence=0.5),
                fact("user", "lives_in", "Boston", confidence=0.8, category="facts"),
                fact("user", "lives_in", "Rome", category="facts", status=FactStatus.ARCHIVED),
            ]
        )
        await unit.commit()
    await record.runs.save(
        PipelineRun(
            run_id="r", pipeline="facts_weekly", state=RunState.DONE, started_at=NOW, updated_at=NOW, ended_at=NOW
        )
    )
    figures = await facts_probe(record)()
    assert {name: figures[name] for name in ("active", "archived", "active_preferences", "active_facts")} == {
        "active": 2, "archived": 1, "active_preferences": 1, "active_facts": 1,
    }  # fmt: skip
    assert figures["confidence"] == pytest.approx(0.65)
    assert (figures["weekly_run"], figures["weekly_started_s"]) == ("done", NOW.timestamp())
    assert "nightly_run" not in figures


async def test_an_index_that_is_away_is_degraded_and_says_why(short_lived: Any) -> None:
    index = Store()
    index.away = True
    probes = store_probes(record=InMemoryRecord(), index=index, short_lived=short_lived)
    assert await probes["vectors"]() == {"circuit": "closed", "status": "degraded", "error": "The store is gone."}


async def test_a_record_that_is_away_is_down_unless_a_journal_stands_in(tmp_path: Path, short_lived: Any) -> None:
    record = InMemoryRecord()

    async def counts() -> Mapping[str, int]:
        raise AWAY

    record.backlog.counts = counts  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailable):
        await store_probes(record=record, index=Store(), short_lived=short_lived)["record"]()
    journaled = JournaledRecord(record, SqliteRecord.open(tmp_path / "journal.sqlite", readers=1))
    report = await store_probes(record=journaled, index=Store(), short_lived=short_lived)["record"]()
    assert (report["status"], report["error"], report["journal_waiting"]) == ("degraded", "The store is gone.", 0)
    await journaled.close()


async def test_a_ping_that_takes_long_goes_on_and_is_not_asked_twice() -> None:
    calls = 0
    answered = asyncio.Event()

    async def ping() -> None:
        nonlocal calls
        calls += 1
        await answered.wait()
        raise AWAY

    patiently = PatientPing(ping, wait_s=0.01)
    await patiently()
    await patiently()
    assert calls == 1
    answered.set()
    with pytest.raises(StoreUnavailable):
        await patiently()


async def test_what_takes_long_to_count_is_counted_seldom() -> None:
    now = 0.0
    calls = 0

    async def ask() -> Mapping[str, int]:
        nonlocal now, calls
        now += 0.5
        calls += 1
        return {"asked": calls}

    counts = RateLimitedCounts(ask, clock=lambda: now)
    assert await counts() == {"asked": 1}
    now = 10.4
    assert await counts() == {"asked": 1}
    now = 10.5
    assert await counts() == {"asked": 2}


async def test_the_record_is_down_as_soon_as_it_refuses_writes(tmp_path: Path, short_lived: Any) -> None:
    record, now = SqliteRecord.open(tmp_path / "record.db", readers=1, deadline_s=0.1), 0.0
    pings = 0

    async def count() -> None:
        nonlocal pings
        pings += 1
        await record.ping()

    ping = PatientPing(count, wait_s=5.0, fresh_s=5.0, clock=lambda: now)
    for _ in range(3):
        await ping(again=False)
    assert pings == 1
    with sqlite3.connect(tmp_path / "record.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        now = 6.0
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="locked"):
                await ping(again=False)
        probe = store_probes(record=record, index=Store(), short_lived=short_lived)["record"]
        with pytest.raises(StoreUnavailable, match="locked"):
            await probe()
        other.execute("ROLLBACK")
    other.close()
    await probe()
    await record.close()
