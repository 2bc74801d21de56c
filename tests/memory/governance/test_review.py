"""The weekly review: what it archives, marks and keeps, when it runs, and how it goes on (001 §4)."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import structlog

from memory.entities.statuses import ReviewableKind, get_reviewable, set_status
from memory.entities.undo import undo
from memory.governance.review import ReviewRules, Verdict, review_user
from memory.governance.review_job import LOCK, PIPELINE, ReviewJob
from memory.jobs.cron import Schedule
from memory.ports.jobs import PipelineRun, RunState
from memory.values.entities import Entity, EntityStatus
from memory.values.errors import Conflict, StoreUnavailable
from memory.values.governance.changes import ChangeActor, ChangeKind
from memory.values.ids import entity_id
from memory.values.text import normalise
from memory.values.typed_memories import MemoryStatus
from storage.inmemory.coordination import InMemoryLocks
from storage.inmemory.record import InMemoryRecord
from tests.memory.typed_memories.harness import NOW, TypedMemories

RULES = ReviewRules()
WEEKLY = Schedule.parse("0 2 * * 0", timezone="UTC")
SUNDAY = datetime(2026, 3, 8, 2, 0, tzinfo=UTC)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def entity(value: str, *, user: str = "ann", mentioned_days_ago: float = 0, **fields: Any) -> Entity:
    defaults: dict[str, Any] = {
        "entity_id": entity_id(user, value),
        "user_id": user,
        "entity_value": value,
        "normalised_value": normalise(value),
        "mention_count": 1,
        "first_mentioned": ago(mentioned_days_ago),
        "last_mentioned": ago(mentioned_days_ago),
    }
    return Entity(**defaults | fields)


async def save(record: InMemoryRecord, *entities: Entity) -> None:
    async with record.writing(user_id=entities[0].user_id) as unit:
        await unit.entities.save(entities)
        await unit.commit()


async def statuses(record: InMemoryRecord, user: str = "ann") -> dict[str, str]:
    async with record.reading(user_id=user) as unit:
        return {entity.entity_value: entity.status.value for entity in await unit.entities.page(limit=999)}


class TestRules:
    def test_the_thresholds_are_those_of_001(self) -> None:
        assert (RULES.archive_max_access, RULES.archive_after_days) == (3, 90)
        assert (RULES.stale_after_days, RULES.keep_above_access) == (180, 10)

    @pytest.mark.parametrize(
        ("fields", "verdict"),
        [
            ({"access_count": 3, "days": 90.1}, Verdict.ARCHIVE),
            ({"access_count": 4, "days": 90.1}, Verdict.NONE),
            ({"access_count": 3, "days": 90}, Verdict.NONE),
            ({"access_count": 0, "days": 400, "accessed": 1}, Verdict.REVIEW),
            ({"access_count": 0, "days": 400, "accessed": 91}, Verdict.ARCHIVE),
            ({"access_count": 5, "days": 180.1, "accessed": 1}, Verdict.REVIEW),
            ({"access_count": 5, "days": 180, "accessed": 1}, Verdict.NONE),
            ({"access_count": 5, "days": 400, "accessed": 91}, Verdict.NONE),
            ({"access_count": 10, "days": 1}, Verdict.NONE),
            ({"access_count": 11, "days": 1}, Verdict.KEEP),
            ({"access_count": 11, "days": 400}, Verdict.KEEP),
            ({"access_count": 0, "days": 400, "status": MemoryStatus.REVIEW}, Verdict.NONE),
            ({"access_count": 0, "days": 400, "status": MemoryStatus.ARCHIVED}, Verdict.NONE),
        ],
    )
    async def test_each_threshold_is_where_001_puts_it(
        self, typed_memories: TypedMemories, fields: dict[str, Any], verdict: Verdict
    ) -> None:
        stored_at = ago(fields.pop("days"))
        accessed = fields.pop("accessed", None)
        at = None if accessed is None else ago(accessed)
        memory = await typed_memories.put("tea", created_at=stored_at, updated_at=stored_at, accessed_at=at, **fields)
        assert RULES.verdict(memory, NOW) is verdict

    def test_what_is_kept_is_never_archived_whatever_the_other_threshold(self) -> None:
        rules = ReviewRules(archive_max_access=99)
        assert rules.verdict(entity("a", mentioned_days_ago=400, access_count=11), NOW) is Verdict.KEEP
        assert rules.verdict(entity("a", mentioned_days_ago=400, access_count=5), NOW) is Verdict.ARCHIVE

    def test_a_mention_of_an_entity_is_a_use(self) -> None:
        assert RULES.verdict(entity("a", mentioned_days_ago=91, mention_count=3), NOW) is Verdict.ARCHIVE
        assert RULES.verdict(entity("a", mentioned_days_ago=91, mention_count=4), NOW) is Verdict.NONE

    def test_a_preloaded_name_that_was_never_mentioned_is_left_alone(self) -> None:
        assert (
            RULES.verdict(entity("AI-Box", mentioned_days_ago=400, mention_count=0, source="system"), NOW)
            is Verdict.NONE
        )


class TestReview:
    async def test_it_archives_and_marks_with_a_reason_and_logs_each_change(
        self, typed_memories: TypedMemories
    ) -> None:
        record = typed_memories.record
        await save(
            record,
            entity("cold", mentioned_days_ago=91),
            entity("stale", mentioned_days_ago=181, mention_count=9, accessed_at=NOW),
        )
        await save(record, entity("young"), entity("kept", mentioned_days_ago=400, mention_count=11))
        await typed_memories.put("tea", created_at=ago(91), updated_at=ago(91))
        report = await review_user(record, "ann", rules=RULES, now=NOW)
        assert (report.checked, report.archived, report.marked, report.kept) == (5, 2, 1, 1)
        assert {(item.value, item.verdict) for item in report.items} == {
            ("cold", Verdict.ARCHIVE),
            ("stale", Verdict.REVIEW),
            ("preference: tea", Verdict.ARCHIVE),
        }
        status_by_name = await statuses(record)
        assert status_by_name == {"cold": "archived", "stale": "review", "young": "active", "kept": "active"}
        async with record.reading(user_id="ann") as unit:
            changes = await unit.changes.list()
            [stale] = await unit.entities.get([entity_id("ann", "stale")])
        assert {change.actor for change in changes} == {ChangeActor.JOB}
        assert sorted(change.kind for change in changes) == ["archive", "archive", "review"]
        assert "長期未更新但持續訪問" in (stale.review_reason or "")
        again = await review_user(record, "ann", rules=RULES, now=NOW)
        assert (again.archived, again.marked) == (0, 0)

    async def test_each_archived_id_is_in_the_log_of_the_service(self, typed_memories: TypedMemories) -> None:
        await save(typed_memories.record, entity("cold", mentioned_days_ago=91))
        memory = await typed_memories.put("tea", created_at=ago(91), updated_at=ago(91))
        with structlog.testing.capture_logs() as logs:
            await review_user(typed_memories.record, "ann", rules=RULES, now=NOW)
        lines = [line for line in logs if line["event"] == "memory_reviewed"]
        assert {(line["kind"], line["item_id"], line["verdict"]) for line in lines} == {
            ("entity", entity_id("ann", "cold"), "archive"),
            ("aam_memory", memory.memory_id, "archive"),
        }
        assert "cold" not in str(logs).replace(entity_id("ann", "cold"), "")

    async def test_a_dry_run_says_the_same_and_changes_nothing(self, typed_memories: TypedMemories) -> None:
        await save(typed_memories.record, entity("cold", mentioned_days_ago=91))
        before = await statuses(typed_memories.record)
        report = await review_user(typed_memories.record, "ann", rules=RULES, now=NOW, dry_run=True)
        assert (report.archived, [item.value for item in report.items]) == (1, ["cold"])
        assert await statuses(typed_memories.record) == before

    async def test_what_is_restored_stays_and_what_is_archived_by_the_review_can_be_undone(
        self, typed_memories: TypedMemories
    ) -> None:
        record = typed_memories.record
        await save(record, entity("a", mentioned_days_ago=91), entity("b", mentioned_days_ago=91))
        await review_user(record, "ann", rules=RULES, now=NOW)
        async with record.writing(user_id="ann") as unit:
            item = await get_reviewable(unit, ReviewableKind.ENTITY, entity_id("ann", "a"))
            await set_status(unit, item, ChangeKind.RESTORE, at=NOW, actor=ChangeActor.USER, reason="")
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            [archived] = await unit.changes.list(subject=entity_id("ann", "b"))
        await undo(record, archived.change_id, user_id="ann", at=NOW)
        assert await statuses(record) == {"a": "active", "b": "active"}
        week = NOW + timedelta(days=7)
        await review_user(record, "ann", rules=RULES, now=week)
        assert await statuses(record) == {"a": "active", "b": "active"}

    async def test_a_merged_entity_is_not_restored_by_itself(self, typed_memories: TypedMemories) -> None:
        await save(typed_memories.record, entity("a", status=EntityStatus.ARCHIVED, merged_into="b"))
        async with typed_memories.record.writing(user_id="ann") as unit:
            item = await get_reviewable(unit, ReviewableKind.ENTITY, entity_id("ann", "a"))
            with pytest.raises(Conflict, match="merged"):
                await set_status(unit, item, ChangeKind.RESTORE, at=NOW, actor=ChangeActor.USER, reason="")

    async def test_one_users_review_touches_nobody_else(self, typed_memories: TypedMemories) -> None:
        await save(typed_memories.record, entity("cold", mentioned_days_ago=91))
        await save(typed_memories.record, entity("cold", user="bob", mentioned_days_ago=91))
        await review_user(typed_memories.record, "ann", rules=RULES, now=NOW)
        assert await statuses(typed_memories.record, "bob") == {"cold": "active"}


class Clock:
    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def job(record: InMemoryRecord, clock: Clock, locks: InMemoryLocks | None = None) -> ReviewJob:
    return ReviewJob(record=record, locks=locks or InMemoryLocks(), rules=RULES, schedule=WEEKLY, now=clock)


async def wait_for_end(review: ReviewJob) -> PipelineRun:
    while (run := await review.last_run()) is None or run.state is RunState.RUNNING:
        await asyncio.sleep(0.001)
    return run


async def save_users(record: InMemoryRecord, size: int = 5) -> list[str]:
    users = [f"user {n}" for n in range(size)]
    for user in users:
        await save(record, entity("cold", user=user, mentioned_days_ago=91))
    return users


class TestJob:
    async def test_it_runs_when_it_is_due_once_and_records_the_run(self) -> None:
        record, clock = InMemoryRecord(), Clock(SUNDAY - timedelta(hours=1))
        await save_users(record)
        review = job(record, clock)
        assert await review.run_if_due() is None
        clock.now = SUNDAY + timedelta(seconds=20)
        run = await review.run_if_due()
        assert run is not None
        assert (run.state, run.done, run.total, run.ended_at) == (RunState.DONE, 5, 5, clock.now)
        assert (run.output["archived"], run.output["users"]) == (5, 5)
        assert await record.runs.latest(PIPELINE) == [run]
        assert await review.run_if_due() is None
        figures = review.figures()
        assert (figures["review_run"], figures["review_archived"], figures["review_users"]) == ("done", 5, 5)
        assert figures["review_next"] == "2026-03-15T02:00:00+00:00"
        clock.now += timedelta(days=7)
        assert await review.run_if_due() is not None

    async def test_of_two_replicas_one_reviews(self) -> None:
        record, clock, locks = InMemoryRecord(), Clock(SUNDAY - timedelta(hours=1)), InMemoryLocks()
        await save_users(record)
        replicas = [job(record, clock, locks) for _ in range(4)]
        clock.now = SUNDAY
        runs = await asyncio.gather(*(replica.run_if_due() for replica in replicas))
        assert sum(run is not None for run in runs) == 1
        assert await replicas[0].run_if_due() is None
        assert len(await record.runs.latest(PIPELINE, limit=9)) == 1

    async def test_while_nobody_can_say_whether_another_is_at_it_nothing_is_done(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        record, clock, locks = InMemoryRecord(), Clock(SUNDAY - timedelta(hours=1)), InMemoryLocks()
        review = job(record, clock, locks)

        def away(*_: Any, **__: Any) -> None:
            raise StoreUnavailable("redis is away", component="redis")

        monkeypatch.setattr(locks, "held", away)
        clock.now = SUNDAY
        with pytest.raises(StoreUnavailable):
            await review.run_if_due()
        with pytest.raises(StoreUnavailable):
            await review.start()
        assert await record.runs.latest(PIPELINE) == []

    @pytest.mark.parametrize("stops", range(1, 6))
    async def test_a_run_that_broke_off_is_gone_on_with_and_counts_everybody_once(
        self, monkeypatch: pytest.MonkeyPatch, stops: int
    ) -> None:
        record, clock = InMemoryRecord(), Clock(SUNDAY - timedelta(hours=1))
        users = await save_users(record)
        review = job(record, clock)
        clock.now, writing, opened_users = SUNDAY, record.writing, []

        def away(*, user_id: str) -> Any:
            opened_users.append(user_id)
            if len(opened_users) == stops:
                raise StoreUnavailable("The record is away.", component="record")
            return writing(user_id=user_id)

        monkeypatch.setattr(record, "writing", away)
        with pytest.raises(StoreUnavailable):
            await review.run_if_due()
        [broken] = await record.runs.latest(PIPELINE, limit=9)
        assert (broken.state, broken.error) == (RunState.FAILED, "The record is away.")
        another = job(record, clock)
        run = await another.run_if_due()
        assert run is not None
        assert (run.run_id, run.state, run.done) == (broken.run_id, RunState.DONE, 5)
        assert run.output["archived"] == 5
        assert [await statuses(record, user) for user in users] == [{"cold": "archived"}] * 5
        assert await another.run_if_due() is None

    async def test_by_command_for_one_user_or_all_and_without_changing_anything(self) -> None:
        record, clock = InMemoryRecord(), Clock(SUNDAY)
        await save_users(record)
        review = job(record, clock)
        begun = await review.start(user_id="user 3", dry_run=True)
        run = await wait_for_end(review)
        assert (run.run_id, run.done, run.total, run.output["archived"]) == (begun.run_id, 1, 1, 1)
        assert await statuses(record, "user 3") == {"cold": "active"}
        await review.start(user_id="user 3")
        await wait_for_end(review)
        assert await statuses(record, "user 3") == {"cold": "archived"}
        assert await statuses(record, "user 2") == {"cold": "active"}
        clock.now += timedelta(minutes=1)
        await review.start()
        run = await wait_for_end(review)
        assert (run.done, run.output["archived"]) == (5, 4)

    async def test_one_run_at_a_time(self) -> None:
        record, clock, locks = InMemoryRecord(), Clock(SUNDAY), InMemoryLocks()
        await save_users(record)
        review = job(record, clock, locks)
        async with locks.held(LOCK):
            with pytest.raises(Conflict, match="another process"):
                await review.start()
        async with record.writing(user_id="somebody who writes"):
            await review.start()
            with pytest.raises(Conflict, match="running already"):
                await review.start()
        await wait_for_end(review)
        await review.close()

    async def test_of_a_killed_run_by_command_the_record_says_that_it_broke_off(self) -> None:
        record, clock = InMemoryRecord(), Clock(SUNDAY)
        stuck = PipelineRun(
            run_id="r",
            pipeline=PIPELINE,
            input={"user_id": None, "dry_run": False, "scheduled": False},
            started_at=SUNDAY,
            updated_at=SUNDAY,
        )
        await record.runs.save(stuck)
        review = job(record, clock)
        review.begin()
        while (run := await review.last_run()) is None or run.state is RunState.RUNNING:
            await asyncio.sleep(0.001)
        await review.close()
        assert (run.run_id, run.state, run.error) == ("r", RunState.FAILED, "it was interrupted")
