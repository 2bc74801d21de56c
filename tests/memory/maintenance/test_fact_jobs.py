"""The nightly, weekly and monthly jobs: what they do, twice, interrupted, on a schedule (002 §5)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from memory.jobs.cron import Schedule
from memory.maintenance.decay import MaintenanceRules
from memory.maintenance.fact_jobs import LOCK, PIPELINES, FactJobs, FactMaintenance
from memory.maintenance.merging import SimilarFacts
from memory.maintenance.reports import COUNTED, MaintenanceReport
from memory.ports.jobs import MaintenanceKind, PipelineRun, RunState
from memory.ports.models.language import Encoder, FloatMatrix, Priority, TextKind
from memory.ports.stores.record import UnitOfWork
from memory.ports.stores.vectors import Collection
from memory.tiers.summaries import ExtractiveWriter
from memory.typed_memories.bands import BandQuality, SimilarityBand, SimilarityBands
from memory.values.errors import Conflict, ModelUnavailable, StoreUnavailable
from memory.values.facts import CategoryAccess, Fact, FactStatus
from memory.values.records import Resource
from memory.values.understanding.readings import Qualifier
from storage.inmemory.coordination import InMemoryLocks
from storage.inmemory.record import InMemoryRecord
from tests.memory.tiers.facts import NOW, days_ago, fact

NIGHTLY, WEEKLY, MONTHLY = MaintenanceKind
QUALITY = BandQuality(precision=1, recall=1, pairs=1)
BAND = SimilarityBand(lower=0.5, duplicate=0.9, upper=1.0, candidates=QUALITY, duplicates=QUALITY)


class FewWordsEncoder(Encoder):
    """Texts are equal where they have the same words of four letters and more; it notes how many it encoded."""

    def __init__(self, *, away: bool = False) -> None:
        self.encoded = 0
        self.away = away

    @property
    @override
    def model_id(self) -> str:
        return "few words"

    @property
    @override
    def dimension(self) -> int:
        return 32

    @override
    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        if self.away:
            raise ModelUnavailable("away", component="embedder")
        assert priority is Priority.BATCH
        self.encoded += len(texts)
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in {word.strip(".").lower()[:4] for word in text.split() if len(word) > 4}:
                vector[sum(map(ord, word)) % self.dimension] = 1
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


class MortalRecord(InMemoryRecord):
    """A record that goes away after some transactions; None for never."""

    left: int | None = None
    written = 0

    @override
    @asynccontextmanager
    async def writing(self, *, user_id: str) -> AsyncIterator[UnitOfWork]:
        if self.left is not None and self.written >= self.left:
            raise StoreUnavailable("killed", component="record")
        self.written += 1
        async with super().writing(user_id=user_id) as unit:
            yield unit


class House:
    """A record, and the jobs over it, which can be made to fail at a user."""

    def __init__(self, *, encoder: Encoder | None = None, schedules: Any = None) -> None:
        self.record = MortalRecord()
        self.locks = InMemoryLocks()
        self.now = NOW
        similar = SimilarFacts(encoder=encoder, bands=SimilarityBands(chinese=BAND, other=BAND)) if encoder else None

        async def find() -> SimilarFacts | None:
            return similar

        self.facts = FactMaintenance(record=self.record, writer=ExtractiveWriter(), similar=find)
        self.schedules = schedules or {}
        self.jobs = self.restarted()

    def restarted(self) -> FactJobs:
        return FactJobs(facts=self.facts, locks=self.locks, schedules=self.schedules, now=lambda: self.now)

    async def add(self, *facts: Fact) -> None:
        for one in facts:
            async with self.record.writing(user_id=one.user_id) as unit:
                await unit.facts.create_many([one])
                await unit.commit()

    async def run(self, kind: MaintenanceKind, user: str = "ann") -> MaintenanceReport:
        return await self.facts.run(kind, user, now=self.now)

    async def all(self, user: str = "ann") -> dict[str, Fact]:
        async with self.record.reading(user_id=user) as unit:
            return {one.fact_id: one for one in await unit.facts.page(limit=999)}

    async def said(self, status: FactStatus = FactStatus.ACTIVE) -> list[str]:
        return sorted(one.object for one in (await self.all()).values() if one.status is status)


async def ended(jobs: FactJobs, kind: MaintenanceKind) -> PipelineRun:
    while (run := await jobs.last_run(kind)) is None or run.state is RunState.RUNNING:
        await asyncio.sleep(0)
    return run


class TestNightly:
    async def test_what_is_said_twice_becomes_one_fact_and_nothing_is_lost(self) -> None:
        house = House()
        first = fact("user", "likes", "ＴＥＡ", days=9, confidence=0.5, access_count=1, valid_from=days_ago(5))
        again = fact(
            "User", "likes", "tea", days=3, confidence=0.9, access_count=2, valid_from=days_ago(8), supersedes="x"
        )
        await house.add(first, again, fact("user", "dislikes", "tea"))
        report = await house.run(NIGHTLY)
        assert (report.merged, report.before.active, report.after.active, report.after.archived) == (1, 3, 2, 1)
        facts = await house.all()
        kept = facts[first.fact_id]
        assert (kept.confidence, kept.access_count, kept.valid_from, kept.supersedes) == (0.9, 3, days_ago(8), "x")
        assert facts[again.fact_id] == again.model_copy(update={"status": FactStatus.ARCHIVED, "updated_at": NOW})

    async def test_what_is_so_and_what_is_not_are_not_the_same(self) -> None:
        house = House()
        no = (Qualifier.NEGATED,)
        await house.add(
            fact("user", "eats", "beef", days=3),
            fact("user", "eats", "beef", days=2, qualifiers=no),
            fact("user", "eats", "beef", days=1, qualifiers=no),
        )
        assert (await house.run(NIGHTLY)).merged == 1
        kept = [one for one in (await house.all()).values() if one.status is FactStatus.ACTIVE]
        assert sorted((one.is_negated, one.evidence) for one in kept) == [(False, ()), (True, ("r-1",))]
        assert (await house.run(MONTHLY)).edges == 1

    async def test_what_a_prompt_held_becomes_surer_once_and_summaries_are_written(self) -> None:
        house = House()
        await house.add(
            fact("user", "likes", "tea", days=1, confidence=0.5, accessed_at=days_ago(1)),
            fact("user", "likes", "x"),
        )
        reports = [await house.run(NIGHTLY) for _ in range(2)]
        assert [(report.promoted, report.summaries) for report in reports] == [(1, 1), (0, 0)]
        assert reports[0].after.confidence == pytest.approx((0.55 + 0.8) / 2)
        async with house.record.reading(user_id="ann") as unit:
            assert [category.summary for category in await unit.categories.list()] == ["The user likes tea and x."]


class TestWeekly:
    async def test_age_lowers_confidence_and_archives_what_is_old_and_unsure(self) -> None:
        house = House()
        await house.add(
            fact("user", "likes", "old", days=125),
            fact("user", "likes", "month", days=30),
            fact("user", "likes", "used", days=400, accessed_at=days_ago(2)),
            fact("user", "allergic_to", "peanuts", days=900),
        )
        report = await house.run(WEEKLY)
        assert (report.decayed, report.archived) == (3, 1)
        assert await house.said() == ["month", "peanuts", "used"]
        confidence = {one.object: one.confidence for one in (await house.all()).values()}
        assert confidence == {
            "old": pytest.approx(0.8 * 0.5 ** (125 / 30)),
            "month": pytest.approx(0.4),
            "used": pytest.approx(0.8 * 0.5 ** (2 / 30)),
            "peanuts": 0.8,
        }

    async def test_what_says_about_the_same_becomes_one_and_what_may_differ_stays(self) -> None:
        house = House(encoder=FewWordsEncoder())
        await house.add(
            fact("user", "habit", "walks every morning before breakfast", days=3, confidence=0.9),
            fact("user", "habit", "walking every morning before breakfast", days=1, confidence=0.7),
            fact("user", "habit", "walks 3 km every morning before breakfast", days=2),
            fact("user", "habit", "reads every evening in bed with cats", days=2),
            fact("user", "allergic_to", "roasted peanuts from the supermarket", days=2),
            fact("user", "allergic_to", "roasting peanuts from the supermarket", days=2),
            fact("user", "likes", "coffee", days=2),
            fact("user", "likes", "coffees", days=1),
        )
        report = await house.run(WEEKLY)
        assert report.compressed == 1
        assert await house.said(FactStatus.ARCHIVED) == ["walking every morning before breakfast"]
        assert (await house.run(WEEKLY)).compressed == 0

    async def test_without_an_encoder_the_rest_is_done(self) -> None:
        house = House(encoder=FewWordsEncoder(away=True))
        await house.add(
            fact("user", "habit", "walks every morning before breakfast", days=40),
            fact("user", "habit", "walking every morning before breakfast", days=40),
        )
        report = await house.run(WEEKLY)
        assert (report.decayed, report.compressed) == (2, 0)

    async def test_old_entries_that_nothing_was_made_of_are_deleted(self) -> None:
        house = House()
        async with house.record.writing(user_id="ann") as unit:
            entries = [
                Resource(resource_id=name, user_id="ann", session_id="s", content=name, learn=False, created_at=at)
                for name, at in (("old", days_ago(91)), ("new", days_ago(89)), ("r-91", days_ago(91)))
            ]
            await unit.log.append(entries)
            await unit.commit()
        await house.add(fact("user", "birthday", "May 4", days=91))
        report = await house.run(WEEKLY)
        assert (report.orphans, report.before.log_entries, report.after.log_entries) == (1, 3, 2)
        async with house.record.reading(user_id="ann") as unit:
            assert [entry.resource_id for entry in await unit.log.get(["old", "new", "r-91"])] == ["new", "r-91"]

    async def test_uses_that_count_no_longer_are_deleted(self) -> None:
        house = House()
        uses = [
            CategoryAccess(
                access_id=f"{days}", user_id="ann", category="goals", accessed_at=days_ago(days), source="prompt"
            )
            for days in (1, 29, 31, 60)
        ]
        async with house.record.writing(user_id="ann") as unit:
            await unit.category_accesses.create_many(uses)
            await unit.commit()
        assert [(await house.run(WEEKLY)).uses for _ in range(2)] == [2, 0]


class TestMonthly:
    async def test_active_facts_are_embedded_again_and_the_graph_is_theirs(self) -> None:
        house = House()
        gone = fact("user", "lives_in", "板橋", days=9)
        await house.add(
            gone, fact("user", "lives_in", "三峽", days=1), fact("User", "lives_in", "三峽", days=0, confidence=1)
        )
        assert (await house.run(MONTHLY)).edges == 2
        async with house.record.writing(user_id="ann") as unit:
            await unit.facts.update_status(gone.fact_id, FactStatus.ARCHIVED, now=NOW)
            await unit.commit()
        await house.record.backlog.acknowledge(await house.record.backlog.outbox(limit=99))
        house.now += timedelta(days=30)
        report = await house.run(MONTHLY)
        assert (report.embeddings, report.edges, report.before.edges, report.after.edges) == (2, 1, 2, 1)
        waiting = await house.record.backlog.outbox(limit=9)
        assert {entry.collection for entry in waiting} == {Collection.FACTS}
        assert gone.fact_id not in {entry.item_id for entry in waiting}
        async with house.record.reading(user_id="ann") as unit:
            [edge] = await unit.graph.list_all()
        assert (edge.object, edge.weight, edge.created_at) == ("三峽", 1.0, NOW)


stated = st.builds(
    lambda predicate, object_, days, confidence, used, status: fact(
        "user", predicate, object_, days=days, confidence=confidence, status=status,
        accessed_at=None if used is None else days_ago(min(used, days)),
    ),
    st.sampled_from(["likes", "habit", "allergic_to", "lives_in"]),
    st.sampled_from(["tea", "Tea", "jazz", "long walks in the park", "long walking in the park", "三峽"]),
    st.integers(min_value=0, max_value=400),
    st.floats(min_value=0, max_value=1),
    st.none() | st.integers(min_value=0, max_value=400),
    st.sampled_from(FactStatus),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(stated, max_size=10), st.permutations(list(MaintenanceKind)))
async def test_doing_a_job_again_changes_nothing_more_and_no_job_destroys_a_fact(
    facts: list[Fact], order: list[MaintenanceKind]
) -> None:
    house = House(encoder=FewWordsEncoder())
    await house.add(*facts)
    for kind in order:
        await house.run(kind)
        after = await house.all()
        again = await house.run(kind)
        assert await house.all() == after
        assert again.model_dump(include={*COUNTED} - {"embeddings", "edges"}) == dict.fromkeys(
            {*COUNTED} - {"embeddings", "edges"}, 0
        )
        assert again.before == again.after
    kept = await house.all()
    assert kept.keys() == {one.fact_id for one in facts}
    deleted = {one.fact_id for one in facts if one.status is FactStatus.DELETED}
    assert {one.fact_id for one in kept.values() if one.status is FactStatus.DELETED} <= deleted | kept.keys()


@pytest.mark.parametrize("kind", MaintenanceKind)
async def test_a_job_that_was_killed_between_any_two_writes_ends_like_one_that_was_not(kind: MaintenanceKind) -> None:
    async def filled() -> House:
        house = House(encoder=FewWordsEncoder())
        await house.add(
            *(fact("user", "likes", "tea", days=days, confidence=days / 100) for days in (5, 95)),
            fact("user", "attended", "PyCon", days=3, category="events", accessed_at=days_ago(1)),
            fact("user", "habit", "walks every morning before breakfast", days=3),
            fact("user", "habit", "walking every morning before breakfast", days=2),
            fact("user", "likes", "old", days=200),
        )
        house.record.written = 0
        return house

    async def state(house: House) -> list[Any]:
        async with house.record.reading(user_id="ann") as unit:
            return [await house.all(), await unit.categories.list(), await unit.graph.list_all()]

    whole = await filled()
    await whole.run(kind)
    assert whole.record.written > 0
    for writes in range(whole.record.written):
        house = await filled()
        house.record.left = writes
        with pytest.raises(StoreUnavailable):
            await house.run(kind)
        house.record.left = None
        await house.run(kind)
        assert await state(house) == await state(whole)


class TestRuns:
    async def test_a_run_over_everybody_is_recorded_with_counts_before_and_after(self) -> None:
        house = House()
        await house.add(
            *(fact("user", "likes", "tea", user=user, days=days) for user in ("ann", "bob") for days in (1, 2))
        )
        begun = await house.jobs.start(NIGHTLY)
        run = await ended(house.jobs, NIGHTLY)
        assert (run.run_id, run.state, run.done, run.total, run.pipeline) == (
            begun.run_id, RunState.DONE, 2, 2, PIPELINES[NIGHTLY],
        )  # fmt: skip
        report = MaintenanceReport.model_validate(run.output)
        assert (report.users, report.merged, report.summaries) == (2, 2, 2)
        assert (report.before.active, report.after.active, report.after.archived) == (4, 2, 2)
        assert house.jobs.figures()["facts_nightly_merged"] == 2
        assert await house.jobs.last_run(WEEKLY) is None

    async def test_one_user_can_be_done_alone(self) -> None:
        house = House()
        await house.add(*(fact("user", "likes", "x", user=user, days=30) for user in ("ann", "bob")))
        await house.jobs.start(WEEKLY, user_id="bob")
        assert (await ended(house.jobs, WEEKLY)).output["decayed"] == 1
        assert [one.confidence for one in (await house.all("ann")).values()] == [0.8]

    async def test_no_two_jobs_run_at_once(self) -> None:
        house = House()
        async with house.locks.held(LOCK):
            with pytest.raises(Conflict):
                await house.jobs.start(WEEKLY)
        await house.jobs.start(WEEKLY)
        await ended(house.jobs, WEEKLY)

    async def test_a_scheduled_run_that_was_killed_goes_on_behind_the_last_user_and_counts_nobody_twice(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        house = House(schedules={WEEKLY: Schedule.parse("0 3 * * 0", timezone="UTC")})
        users = [f"user {index}" for index in range(4)]
        await house.add(*(fact("user", "likes", "x", user=user, days=30) for user in users))
        house.now = datetime(2026, 3, 8, 3, 0, tzinfo=UTC)
        run_user = house.facts.run

        async def run_until_away(kind: MaintenanceKind, user_id: str, *, now: datetime) -> MaintenanceReport:
            if user_id == "user 2":
                await run_user(kind, user_id, now=now)  # it was done, but the process died before that was written down
                raise StoreUnavailable("away", component="record")
            return await run_user(kind, user_id, now=now)

        monkeypatch.setattr(house.facts, "run", run_until_away)
        with pytest.raises(StoreUnavailable):
            await house.jobs.jobs[WEEKLY].run_if_due()
        monkeypatch.setattr(house.facts, "run", run_user)
        house.now += timedelta(days=2)
        run = await house.restarted().jobs[WEEKLY].run_if_due()
        assert run is not None
        assert (run.state, run.done, run.output["users"], run.output["decayed"]) == (RunState.DONE, 4, 4, 3)
        confidences = [one.confidence for user in users for one in (await house.all(user)).values()]
        assert confidences == [pytest.approx(0.8 * 0.5 ** (35 / 30))] * 4, "all count from the begin of the run"
        assert await house.restarted().jobs[WEEKLY].run_if_due() is None

    async def test_a_month_over_everybody_ends_with_the_files_written_anew(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        house, purged = House(), []

        async def purge() -> bool:
            purged.append(1)
            return True

        monkeypatch.setattr(house.record, "purge", purge)
        await house.add(fact("user", "likes", "x"))
        for user in (None, "ann"):
            await house.jobs.start(MONTHLY, user_id=user)
            await ended(house.jobs, MONTHLY)
        assert purged == [1]


def test_the_rules_that_002_gives_are_the_defaults() -> None:
    rules = MaintenanceRules()
    assert (rules.half_life_days, rules.archive_after_days) == (30, 90)
