"""Timeline, policies, their preview, and editing by hand (004 §7, §11.3)."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.entities.undo import undo
from memory.governance.accesses import AccessTally
from memory.governance.editing import MemoryEdit, edit_memory
from memory.governance.policies import PolicySource, effective_policy, preview_policy, set_policy
from memory.governance.timeline import Timeline, read_memory, read_timeline
from memory.ports.stores.record import SystemOfRecord
from memory.values.access.identity import app_owner, stored_user
from memory.values.entities import Entity
from memory.values.errors import Conflict, InvalidField, NotFound, VersionConflict
from memory.values.facts import Fact, FactStatus
from memory.values.governance.changes import ChangeKind, ItemKind
from memory.values.governance.decisions import anonymised_memory
from memory.values.governance.retention import RetentionPolicy
from memory.values.ids import entity_id
from memory.values.records import Memory, MemoryKind
from memory.values.text import normalise
from storage.inmemory.record import InMemoryRecord

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOW = NOON + timedelta(days=60)


def memory(name: str, *, user_id: str = "ann", days: float = 0, **fields: Any) -> Memory:
    at = NOON + timedelta(days=days)
    given = {"text": f"text of {name}", "created_at": at, "updated_at": at} | fields
    return Memory.model_validate(
        {"memory_id": name, "user_id": user_id, "session_id": "s", "resource_id": f"r-{name}", **given}
    )


def fact(name: str, of: str, *, user_id: str = "ann", **fields: Any) -> Fact:
    given = {"subject": "user", "predicate": "likes", "object": name, "category": "preferences"} | fields
    times = {"recorded_at": NOON, "updated_at": NOON}
    return Fact.model_validate({"fact_id": name, "user_id": user_id, "resource_id": f"r-{of}", **times, **given})


async def save(record: SystemOfRecord, *memories: Memory, facts: tuple[Fact, ...] = ()) -> None:
    for user_id in {value.user_id for value in memories} | {value.user_id for value in facts}:
        async with record.writing(user_id=user_id) as unit:
            await unit.memories.save([value for value in memories if value.user_id == user_id])
            await unit.facts.create_many([value for value in facts if value.user_id == user_id])
            await unit.commit()


async def timeline(record: SystemOfRecord, policy: RetentionPolicy = RetentionPolicy(), **options: Any) -> Timeline:  # noqa: B008
    async with record.reading(user_id="ann") as unit:
        return await read_timeline(unit, policy, now=NOW, **{"limit": 10, **options})


def names(shown: Timeline) -> list[str]:
    return [entry.memory.memory_id for entry in shown.results]


async def test_each_memory_comes_with_its_facts_and_the_scores_of_both() -> None:
    record = InMemoryRecord()
    used = memory("old", access_count=5, last_accessed_at=NOW - timedelta(days=1))
    await save(record, used, memory("new", days=59), facts=(fact("tea", "old"), fact("cake", "new")))
    policy = RetentionPolicy()
    shown = await timeline(record)
    assert names(shown) == ["new", "old"]
    assert [entry.retention for entry in shown.results] == [
        policy.retention_of(entry.memory, NOW) for entry in shown.results
    ]
    assert [(kept.fact.fact_id, kept.retention.is_forgotten) for entry in shown.results for kept in entry.facts] == [
        ("cake", True),
        ("tea", True),
    ]
    assert shown.results[1].retention.score > shown.results[0].retention.score


@settings(max_examples=60, deadline=None)
@given(
    kinds=st.lists(st.sampled_from(MemoryKind), max_size=120),
    wanted=st.none() | st.sampled_from(MemoryKind),
    limit=st.integers(1, 7),
    first=st.integers(0, 120),
    length=st.integers(0, 120),
)
def test_the_pages_of_a_timeline_hold_each_memory_of_a_time_and_kind_once(
    kinds: list[MemoryKind], wanted: MemoryKind | None, limit: int, first: int, length: int
) -> None:
    async def check() -> None:
        record = InMemoryRecord()
        await save(record, *(memory(f"{n:03}", days=n // 2, kind=kind) for n, kind in enumerate(kinds)))
        since, until = NOON + timedelta(days=first), NOON + timedelta(days=first + length)
        pages: list[list[str]] = []
        after: str | None = None
        while not pages or after is not None:
            page = await timeline(record, since=since, until=until, kind=wanted, after=after, limit=limit)
            pages.append(names(page))
            after = page.next
        meant = [
            f"{n:03}" for n, kind in enumerate(kinds) if first <= n // 2 < first + length and wanted in (None, kind)
        ]
        found = [name for page in pages for name in page]
        assert sorted(found) == meant
        assert found == sorted(found, key=lambda name: (-(int(name) // 2), name))
        assert all(len(page) == limit for page in pages[:-1])

    asyncio.run(check())


async def test_what_is_no_cursor_is_refused() -> None:
    with pytest.raises(InvalidField, match="after"):
        await timeline(InMemoryRecord(), after="x")


async def test_the_uses_that_answers_count_make_the_curve_move() -> None:
    record = InMemoryRecord()
    await save(record, memory("m"))
    tally = AccessTally(record, interval_s=3_600)
    for day in (10, 20):
        tally.add(ItemKind.MEMORY, ["m"], user_id="ann", at=NOON + timedelta(days=day))
    [unwritten] = (await timeline(record)).results
    await tally.close()  # as a replica does when it ends
    [written] = (await timeline(record)).results
    assert (unwritten.memory.access_count, written.memory.access_count) == (0, 2)
    assert written.memory.version == unwritten.memory.version
    assert written.retention.days_elapsed == 40
    assert written.retention.score > unwritten.retention.score


class TestPolicies:
    async def test_the_user_s_own_comes_before_the_app_s_and_that_before_the_document_s(self) -> None:
        record = InMemoryRecord()
        ann, bob = stored_user("shop", "ann"), stored_user("shop", "bob")
        assert (await effective_policy(record, ann)).source is PolicySource.DEFAULT
        app = await set_policy(record, app_owner("shop"), RetentionPolicy(decay_rate=0.5))
        assert (app.source, app.policy.decay_rate) == (PolicySource.APP, 0.5)
        own = await set_policy(record, ann, RetentionPolicy(decay_rate=0.2))
        assert (own.source, own.policy.decay_rate) == (PolicySource.USER, 0.2)
        assert await effective_policy(record, bob) == app
        for other in ("ann", stored_user("desk", "ann"), app_owner("desk")):
            assert (await effective_policy(record, other)).source is PolicySource.DEFAULT
        assert await set_policy(record, ann, None) == app
        assert (await set_policy(record, app_owner("shop"), None)).policy == RetentionPolicy()

    async def test_a_preview_counts_what_the_timeline_would_call_forgotten_and_changes_nothing(self) -> None:
        record = InMemoryRecord()
        hidden = anonymised_memory(memory("hidden"))
        gone = fact("gone", "m0", status=FactStatus.ARCHIVED)
        memories = [memory(f"m{n}", days=n) for n in range(0, 60, 5)]
        await save(record, *memories, hidden, facts=(fact("tea", "m0"), gone))
        before = await timeline(record, limit=99)
        for policy in (RetentionPolicy(), RetentionPolicy(decay_rate=0.5), RetentionPolicy(threshold=0)):
            marked = [e for e in (await timeline(record, policy, limit=99)).results if not e.memory.is_anonymised]
            wanted = sorted((e for e in marked if e.retention.is_forgotten), key=lambda entry: entry.retention.score)
            shown = await preview_policy(record, "ann", policy, now=NOW, samples=3)
            assert (shown.memories.total, shown.memories.forgotten) == (12, len(wanted))
            assert (shown.facts.total, shown.facts.forgotten) == (
                1,
                policy.retention_of(fact("tea", "m0"), NOW).is_forgotten,
            )
            assert [sample.memory.memory_id for sample in shown.samples] == [e.memory.memory_id for e in wanted[:3]]
            assert (shown.users, shown.is_complete) == (1, True)
        assert await timeline(record, limit=99) == before

    async def test_a_preview_of_an_app_is_of_all_its_users_and_of_no_others(self) -> None:
        record = InMemoryRecord()
        users = [stored_user(app, name) for app in ("shop", "desk", "default") for name in ("ann", "bob")]
        await save(record, *(memory("m", user_id=user) for user in users))
        for app in ("shop", "default"):
            shown = await preview_policy(record, app_owner(app), RetentionPolicy(), now=NOW, samples=9)
            assert (shown.users, shown.memories.forgotten) == (2, 2)
            assert {sample.memory.user_id for sample in shown.samples} == {
                stored_user(app, "ann"),
                stored_user(app, "bob"),
            }


class TestEditing:
    @pytest.fixture
    async def record(self) -> InMemoryRecord:
        record = InMemoryRecord()
        said = memory("m", text="I like tea and cake.", resolved="Ann likes tea and cake.", metadata={"room": "a"})
        await save(record, said, facts=(fact("tea", "m"), fact("cake", "m"), fact("bread", "m")))
        cake = Entity(
            entity_id=entity_id("ann", "cake"),
            user_id="ann",
            entity_value="cake",
            normalised_value=normalise("cake"),
            first_mentioned=NOON,
            last_mentioned=NOON,
        )
        async with record.writing(user_id="ann") as unit:
            await unit.entities.save([cake])
            await unit.commit()
        return record

    async def edit(self, record: SystemOfRecord, **fields: Any) -> tuple[Memory, Mapping[str, FactStatus]]:
        async with record.writing(user_id="ann") as unit:
            edited, _ = await edit_memory(unit, "m", MemoryEdit(**fields), at=NOW)
            await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert await unit.memories.get(["m"]) == [edited]
            return edited, {kept.fact_id: kept.status for kept in await unit.facts.page(limit=9)}

    async def test_what_the_new_text_does_not_say_is_archived(self, record: InMemoryRecord) -> None:
        edited, facts = await self.edit(record, text="I like cake.", expected_version=1)
        assert (edited.text, edited.resolved, edited.version, edited.updated_at) == ("I like cake.", None, 2, NOW)
        assert edited.entity_ids == (entity_id("ann", "cake"),)
        # "bread" was never in the text: it was understood from another message.
        archived, active = FactStatus.ARCHIVED, FactStatus.ACTIVE
        assert facts == {"tea": archived, "cake": active, "bread": active}
        assert [entry.item_id for entry in await record.backlog.outbox(limit=9, user_id="ann")][-2:] == ["m", "tea"]

    async def test_metadata_alone_touches_no_facts(self, record: InMemoryRecord) -> None:
        edited, facts = await self.edit(record, metadata={"room": "b"})
        assert (edited.text, edited.metadata, edited.version) == ("I like tea and cake.", {"room": "b"}, 2)
        assert set(facts.values()) == {FactStatus.ACTIVE}

    async def test_an_edit_that_changes_nothing_is_none(self, record: InMemoryRecord) -> None:
        edited, _ = await self.edit(record, text="I like tea and cake.", metadata={"room": "a"})
        assert edited.version == 1
        async with record.reading(user_id="ann") as unit:
            assert await unit.changes.list() == []

    async def test_it_can_be_undone(self, record: InMemoryRecord) -> None:
        await self.edit(record, text="I like cake.", reason="typo")
        async with record.reading(user_id="ann") as unit:
            [change] = await unit.changes.list(kind=ChangeKind.EDIT)
        assert change.reason == "typo"
        await undo(record, change.change_id, user_id="ann", at=NOW)
        async with record.reading(user_id="ann") as unit:
            [back] = await unit.memories.get(["m"])
        assert (back.text, back.resolved, back.version) == ("I like tea and cake.", "Ann likes tea and cake.", 3)

    async def test_it_is_refused_where_it_cannot_be_meant(self, record: InMemoryRecord) -> None:
        with pytest.raises(VersionConflict, match="version 1, not 2"):
            await self.edit(record, text="x", expected_version=2)
        async with record.writing(user_id="ann") as unit:
            with pytest.raises(NotFound):
                await edit_memory(unit, "unknown", MemoryEdit(text="x"), at=NOW)
        await save(record, anonymised_memory(memory("m")))
        with pytest.raises(Conflict, match="anonymised"):
            await self.edit(record, text="x")


async def test_one_memory_is_read_with_its_facts() -> None:
    record = InMemoryRecord()
    await save(
        record, memory("m"), memory("m", user_id="bob"), facts=(fact("tea", "m"), fact("ale", "m", user_id="bob"))
    )
    async with record.reading(user_id="ann") as unit:
        shown = await read_memory(unit, "m", RetentionPolicy(), now=NOW)
        with pytest.raises(NotFound):
            await read_memory(unit, "unknown", RetentionPolicy(), now=NOW)
    assert [kept.fact.fact_id for kept in shown.facts] == ["tea"]
