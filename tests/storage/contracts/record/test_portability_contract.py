"""An export holds everything of a user, and every system of record gives it back as it was, to nobody else."""

import asyncio
import io
import tempfile
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.erasure.effects import apply
from memory.erasure.planning import plan
from memory.erasure.selection import select
from memory.portability.exporting import export_user
from memory.portability.importing import Imported, import_user
from memory.portability.lines import ItemType
from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.sessions import SessionStore
from memory.values.entities import EntitySource
from memory.values.errors import Conflict
from memory.values.governance.changes import ChangedItem
from memory.values.governance.erasures import ErasureKind, ErasureScope
from memory.values.ids import entity_id, fact_id, memory_id, relation_id, typed_memory_id
from memory.values.items import ItemCollection, ItemVectors
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.mentions import Mention
from storage.inmemory.sessions import InMemorySessions
from tests.storage.conftest import RECORDS
from tests.storage.contracts.record.record_steps import CREATING, take, view
from tests.storage.contracts.record.steps import Step
from tests.storage.contracts.record.test_isolation import CRAFTED, USERS, record_steps, some_users

EXAMPLES = {"memory": 25, "sqlite": 15, "arango": 4}
LOCAL = [pytest.param(name, id=name) for name in EXAMPLES]


async def exported(
    record: SystemOfRecord, make: SimpleNamespace, user_id: str = "ann", sessions: SessionStore | None = None
) -> bytes:
    """The lines of an export, without the header."""
    pages = export_user(record, sessions or InMemorySessions(), user_id=user_id, version="1", now=make.NOON)
    return b"".join([page async for page in pages])


def body_of(file: bytes) -> bytes:
    """What says nothing of when it was written."""
    return file.partition(b"\n")[2]


async def imported(
    record: SystemOfRecord,
    make: SimpleNamespace,
    file: bytes,
    user_id: str = "ann",
    from_user_id: str | None = None,
    sessions: SessionStore | None = None,
) -> Imported:
    return await import_user(
        record,
        sessions or InMemorySessions(),
        io.BytesIO(file),
        user_id=user_id,
        from_user_id=from_user_id,
        now=make.NOON,
    )


async def fill(record: SystemOfRecord, make: SimpleNamespace, user_id: str = "ann") -> None:
    """Something of every kind, with the ids that the domain derives."""
    sarah, project = (make.entity(name, user_id=user_id) for name in ("Sarah", "天衡計劃"))
    seed = make.entity("Redis", user_id=user_id, source=EntitySource.SYSTEM)
    known = make.relation(
        sarah.entity_id,
        project.entity_id,
        user_id=user_id,
        relation_id=relation_id(user_id, sarah.entity_id, "leads", project.entity_id),
        relation_type="leads",
        evidence="r1",
    )
    mentions = (Mention(text="Sarah", start=0, end=5, entity_id=sarah.entity_id),)
    entries = [
        make.resource("r1", user_id=user_id, understanding=Extraction(mentions=mentions, version="1")),
        make.resource("r2", user_id=user_id, learn=False),
        make.resource("r3", user_id=user_id),
        make.resource("r4", user_id=user_id, learn=False),
    ]
    memory = make.memory("m", user_id=user_id).model_copy(
        update={
            "memory_id": memory_id(user_id, "r1"),
            "resource_id": "r1",
            "entity_ids": (sarah.entity_id, project.entity_id),
        }
    )
    typed = [
        make.typed_memory("room", value, user_id=user_id, memory_id=typed_memory_id(user_id, "room", value))
        for value in ("101", "202")
    ]
    typed[1] = typed[1].model_copy(update={"supersedes": (typed[0].memory_id,)})
    said = [make.fact(name, user_id=user_id, resource_id="r1", object=name) for name in ("茶", "咖啡")]
    facts = [
        fact.model_copy(update={"fact_id": fact_id(user_id, "r1", fact.subject, fact.predicate, fact.object)})
        for fact in said
    ]
    facts[1] = facts[1].model_copy(update={"supersedes": facts[0].fact_id})
    await make.save(
        record,
        user_id=user_id,
        resources=entries,
        entities=[sarah, project, seed],
        relations=[known],
        memories=[memory],
        facts=facts,
        categories=[make.category("preferences", user_id=user_id)],
        accesses=[make.access("a", user_id=user_id)],
        edges=[make.edge("我", "喜歡", "茶", user_id=user_id)],
    )
    renamed = sarah.model_copy(update={"entity_value": "Sara", "normalised_value": "sara", "version": 2})
    async with record.writing(user_id=user_id) as unit:
        await unit.log.mark_learned(["r1"])
        await unit.typed_memories.save(typed)
        await unit.entities.save([renamed])
        items = (ChangedItem.of(sarah, renamed), ChangedItem.of(None, memory))
        await unit.changes.append([make.change("c", sarah.entity_id, "r1", user_id=user_id, items=items)])
        await unit.changes.mark_undone("c", at=make.at(1))
        kept = {"user_id": user_id, "value": {"text": "記"}}
        await unit.items.put([make.item("記", collection=collection, **kept) for collection in ItemCollection])
        await unit.commit()


class TestEveryRecord:
    async def test_what_was_exported_is_imported_into_an_empty_memory(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await fill(record, make, "bob")
        file = await exported(record, make, "bob")
        words = [line.split(b'"')[3].decode() for line in file.splitlines()]
        assert words == ["header", *sorted(words[1:-1], key=lambda word: [*ItemType].index(ItemType(word))), "end"]
        assert {*words[1:-1]} == {*ItemType} - {ItemType.SESSION, ItemType.TYPED_MEMORY}
        assert (await imported(record, make, file, "ann", "bob")).imported[ItemType.RESOURCE] == 4
        again = await exported(record, make, "ann")
        assert body_of(await exported(record, make, "bob")) == body_of(file)
        back = io.BytesIO(again)
        assert b"bob" not in back.getvalue()

    async def test_ids_that_the_domain_derives_from_the_user_are_those_of_the_other_user(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await fill(record, make, "bob")
        await imported(record, make, await exported(record, make, "bob"), "ann", "bob")
        sarah, project = (entity_id("ann", name) for name in ("Sarah", "天衡計劃"))
        async with record.reading(user_id="ann") as unit:
            assert [entity.entity_value for entity in await unit.entities.get([sarah, project])] == ["Sara", "天衡計劃"]
            [memory] = await unit.memories.get([memory_id("ann", "r1")])
            assert memory.entity_ids == (sarah, project)
            [relation] = await unit.relations.get([relation_id("ann", sarah, "leads", project)])
            assert (relation.source_entity_id, relation.target_entity_id) == (sarah, project)
            ids = [typed_memory_id("ann", "room", value) for value in ("101", "202")]
            assert (await unit.typed_memories.get(ids))[1].supersedes == (ids[0],)
            tea, coffee = (fact_id("ann", "r1", "我", "喜歡", object_) for object_ in ("茶", "咖啡"))
            assert [fact.supersedes for fact in await unit.facts.get_many([tea, coffee])] == [None, tea]
            [change] = await unit.changes.get(["c"])
            assert change.subjects == (sarah, "r1")
            assert [item.item_id for item in change.items] == [sarah, memory.memory_id]
            [entry] = await unit.log.get(["r1"])
            assert entry.understanding is not None
            assert entry.understanding.mentions[0].entity_id == sarah
            assert [waiting.resource_id for waiting in await unit.log.list_unextracted()] == ["r3"]
            assert [entry.resource_id for entry in await unit.log.session("s", limit=9)] == ["r1", "r2", "r3", "r4"]
        waiting = {entry.item_id for entry in await record.backlog.outbox(limit=99, user_id="ann")}
        assert waiting >= {sarah, project, memory.memory_id, *ids, tea, coffee}

    async def test_an_import_can_be_repeated_and_changes_nothing(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await fill(record, make)
        file = await exported(record, make)
        words = ["r1", "c", "m"]
        before = await view(record, make, "ann", words)
        result = await imported(record, make, file)
        assert result.imported == {}
        assert result.unchanged[ItemType.RESOURCE] == 4
        after = await view(record, make, "ann", words)
        waiting = [name for name in before if name.startswith("outbox")]
        assert {name: part for name, part in after.items() if name not in waiting} == {
            name: part for name, part in before.items() if name not in waiting
        }

    async def test_a_stored_item_comes_without_vectors_and_not_once_it_has_expired(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        vectors = ItemVectors(model_id="e5", count=1, packed="AAAA")
        stays, expired = make.item("a", vectors=vectors), make.item("b", expires_at=make.NOON)
        async with record.writing(user_id="ann") as unit:
            await unit.items.put([stays, expired])
            await unit.commit()
        file = await exported(record, make)
        await record.erase_user("ann")
        for _ in range(2):  # again: nothing is another one now
            await imported(record, make, file)
            async with record.writing(user_id="ann") as unit:
                found = await unit.items.get([stays.place, expired.place])
                assert found == [stays.model_copy(update={"vectors": None})]
                await unit.items.put([found[0].model_copy(update={"vectors": vectors})])
        await imported(record, make, file)

    async def test_an_item_of_the_same_id_that_is_another_one_refuses_all(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await fill(record, make, "bob")
        file = await exported(record, make, "bob")
        theirs = make.change("c", reason="another")
        async with record.writing(user_id="ann") as unit:
            await unit.changes.append([theirs])
            await unit.commit()
        with pytest.raises(Conflict, match=r"line 18: change 'c' is there already"):
            await imported(record, make, file, "ann", "bob")
        async with record.reading(user_id="ann") as unit:
            assert await unit.log.count() == 0
            assert await unit.entities.page(limit=9) == []

    async def test_names_that_every_memory_begins_with_are_in_nobodys_way(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await fill(record, make, "bob")
        seed = make.entity("Redis", source=EntitySource.SYSTEM, last_mentioned=make.at(5), first_mentioned=make.at(5))
        await make.save(record, entities=[seed])
        result = await imported(record, make, await exported(record, make, "bob"), "ann", "bob")
        assert (result.imported[ItemType.ENTITY], result.unchanged) == (2, {ItemType.ENTITY: 1})

    async def test_pages_of_the_record_are_in_the_order_of_saving(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        names = ["d", "a", "c", "b"]
        await make.save(
            record,
            resources=[make.resource(name) for name in names],
            entities=[make.entity(name, entity_id=name) for name in names],
            memories=[make.memory(name, created_at=make.at(name == "a")) for name in names],
        )
        async with record.reading(user_id="ann") as unit:
            assert [entity.entity_id for entity in await unit.entities.oldest(limit=9)] == names
            assert [entity.entity_id for entity in await unit.entities.oldest(after="a", limit=1)] == ["c"]
            assert [memory.memory_id for memory in await unit.memories.oldest(limit=9)] == ["d", "c", "b", "a"]
            assert [memory.memory_id for memory in await unit.memories.oldest(after="b", limit=9)] == ["a"]
            assert await unit.memories.oldest(after="none", limit=9) == []
            first, *rest = await unit.log.page(limit=9)
            assert [entry.resource_id for entry in (first, *rest)] == names
            assert await unit.log.page(after=first.sequence, limit=2) == rest[:2]
            assert await unit.log.list_unextracted(after=first.sequence) == rest


async def _filled(record: SystemOfRecord, make: SimpleNamespace, spelling: list[str], steps: Any) -> None:
    for action, who, three, seconds, kept in steps:
        for user in sorted(who):
            first, second, third = (spelling[index] for index in three)
            await take(Step(action, user, first, second, third, make.at(seconds), kept), record, make)


@pytest.mark.parametrize("backend", LOCAL)
def test_everything_comes_back_whatever_was_done(make: SimpleNamespace, backend: str) -> None:
    @settings(
        max_examples=EXAMPLES[backend],
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(
        spelling=st.lists(st.sampled_from(["a", "b", *CRAFTED]), min_size=3, max_size=3, unique=True),
        having=some_users,
        steps=record_steps,
    )
    def check(spelling: list[str], having: set[str], steps: Any) -> None:
        begun = [(action, having, (0, 0, 1), 1, True) for action in CREATING]
        asyncio.run(_round_trip(make, backend, spelling, [*begun, *steps]))

    check()


async def _round_trip(make: SimpleNamespace, backend: str, spelling: list[str], steps: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = await RECORDS[backend](Path(folder) / "first")
        await _filled(first, make, spelling, steps)
        files = {user: await exported(first, make, user) for user in USERS}
        await first.close()
        second = await RECORDS[backend](Path(folder) / "second")
        seen: dict[str, Mapping[str, Any]] = {}
        for user, file in files.items():
            await imported(second, make, file, user)
            assert body_of(await exported(second, make, user)) == body_of(file)
            for other, before in seen.items():
                assert await view(second, make, other, spelling) == before
            seen[user] = await view(second, make, user, spelling)
        # To somebody else and back: nothing of either user is left behind or lost.
        await imported(second, make, files["ann"], "zed", "ann")
        of_zed = await exported(second, make, "zed")
        await second.close()
        third = await RECORDS[backend](Path(folder) / "third")
        await imported(third, make, of_zed, "ann", "zed")
        assert body_of(await exported(third, make, "ann")) == body_of(files["ann"])
        await third.close()


class TestErasure:
    async def test_an_export_gives_back_everything_of_a_user_who_was_erased(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        for user_id in ("ann", "bob"):
            await fill(record, make, user_id)
        file, other = await exported(record, make), await exported(record, make, "bob")
        sessions = InMemorySessions(now=lambda: make.NOON)
        await record.erase_user("ann")
        assert body_of(await exported(record, make)).count(b"\n") == 1  # its end
        report = await imported(record, make, file, sessions=sessions)
        assert sum(report.unchanged.values()) == 0
        assert body_of(await exported(record, make)) == body_of(file)
        assert body_of(await exported(record, make, "bob")) == body_of(other)

    async def test_an_export_gives_back_an_erased_session_and_leaves_the_rest_as_it_is(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await fill(record, make)
        later = make.resource("later", session_id="t", content="said later")
        await record.append([later], user_id="ann")
        file = await exported(record, make)
        scope = ErasureScope(kind=ErasureKind.SESSION, session_id="t")
        async with record.reading(user_id="ann") as unit:
            effects = await plan(unit, "ann", await select(unit, scope))
        async with record.writing(user_id="ann") as unit:
            await apply(unit, effects)
            await unit.commit()
        assert b"said later" not in await exported(record, make)
        assert (await imported(record, make, file)).imported == {ItemType.RESOURCE: 1}
        assert body_of(await exported(record, make)) == body_of(file)


class TestSessions:
    async def test_sessions_that_go_on_come_back_with_their_turns_and_references(self, make: SimpleNamespace) -> None:
        record = await RECORDS["memory"](Path())
        source, target = (InMemorySessions(now=lambda: make.NOON) for _ in range(2))
        await make.save(record, resources=[make.resource("r")])
        await source.append(
            "s",
            user_id="ann",
            turns=[make.turn("她是誰？", "r")],
            mentioned=[entity_id("ann", "Sarah")],
            deixis=["昨天"],
        )
        file = await exported(record, make, sessions=source)
        empty = await RECORDS["memory"](Path())
        result = await imported(empty, make, file, sessions=target)
        assert result.imported == {ItemType.RESOURCE: 1, ItemType.SESSION: 1}
        assert await target.load("s", user_id="ann") == await source.load("s", user_id="ann")
        assert (await imported(empty, make, file, sessions=target)).unchanged[ItemType.SESSION] == 1

    async def test_a_session_that_has_ended_stays_ended(self, make: SimpleNamespace) -> None:
        record = await RECORDS["memory"](Path())
        sessions = InMemorySessions(now=lambda: make.NOON - timedelta(hours=24))
        await make.save(record, resources=[make.resource("r")])
        await sessions.append("s", user_id="ann", turns=[make.turn("hello", "r")])
        file = await exported(record, make, sessions=sessions)
        target = InMemorySessions(now=lambda: make.NOON)
        result = await imported(await RECORDS["memory"](Path()), make, file, sessions=target)
        assert result.unchanged == {ItemType.SESSION: 1}
        assert (await target.load("s", user_id="ann")).turns == ()
