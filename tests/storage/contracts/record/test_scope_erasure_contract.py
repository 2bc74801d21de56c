"""What every system of record does about the erasure of a part: nothing of it is left, and the rest is as it was."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.entities.edits import ChangeContext, add_alias
from memory.entities.merging import merge
from memory.erasure.effects import apply
from memory.erasure.planning import plan
from memory.erasure.selection import select
from memory.ports.stores.record import SystemOfRecord
from memory.values.base import Value
from memory.values.entities import Entity, EntityRelation
from memory.values.governance.changes import ChangeActor, ChangedItem, ChangeKind
from memory.values.governance.erasures import ErasureKind, ErasureScope
from memory.values.ids import entity_id, reply_id
from memory.values.records import Memory, Resource
from tests.memory.erasure.conversations import NOON, Said, everything, learn, shape
from tests.storage.conftest import RECORDS

NAMES = ("Quarzborn", "Feldspat", "Basalt", "Gneis", "Marmor")
EXAMPLES = {"memory": 60, "sqlite": 20, "arango": 4}


async def erase(record: SystemOfRecord, scope: ErasureScope, user_id: str = "ann") -> int:
    """Erases until nothing is left to do; in how many steps."""
    for step in range(20):
        async with record.reading(user_id=user_id) as unit:
            effects = await plan(unit, user_id, await select(unit, scope))
        if effects.is_empty:
            return step
        async with record.writing(user_id=user_id) as unit:
            assert await apply(unit, effects) is not None
            await unit.commit()
    raise AssertionError("it never ends")


def session(name: str) -> ErasureScope:
    return ErasureScope(kind=ErasureKind.SESSION, session_id=name)


def item(name: str, *, messages: bool = False) -> ErasureScope:
    return ErasureScope(kind=ErasureKind.ITEM, item_id=name, messages=messages)


def conversations() -> st.SearchStrategy[list[Said]]:
    message = st.tuples(
        st.sampled_from("st"), st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True).map(tuple)
    )
    return st.lists(message, min_size=1, max_size=6).map(
        lambda messages: [Said(where, minute, names) for minute, (where, names) in enumerate(messages)]
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_left_is_what_would_have_been_learned_without_the_scope(name: str, tmp_path: Path) -> None:
    folders = iter(range(10_000))

    @settings(max_examples=EXAMPLES[name], deadline=None)
    @given(messages=conversations(), by=st.sampled_from(["session", "period", "message"]), data=st.data())
    def check(messages: list[Said], by: str, data: st.DataObject) -> None:
        if by == "session":
            scope, meant = session("s"), [message for message in messages if message.session == "s"]
        elif by == "period":
            first, last = sorted(data.draw(st.tuples(*[st.integers(0, 6)] * 2)))
            since, until = NOON + timedelta(minutes=first), NOON + timedelta(minutes=last + 1)
            scope = ErasureScope(kind=ErasureKind.PERIOD, since=since, until=until)
            meant = [message for message in messages if first <= message.minute <= last]
        else:
            [chosen] = [data.draw(st.sampled_from(messages))]
            scope, meant = item(chosen.resource().resource_id), [chosen]
        folder = tmp_path / str(next(folders))
        folder.mkdir()
        asyncio.run(_compare(name, folder, messages, scope, meant))

    check()


async def _compare(
    name: str, folder: Path, messages: Sequence[Said], scope: ErasureScope, meant: Sequence[Said]
) -> None:
    kept = [message for message in messages if message not in meant]
    record = await RECORDS[name](folder)
    await learn(record, messages)
    await learn(record, messages, "bob")
    others = await everything(record, "bob")
    before = await items(record)
    await erase(record, scope)
    touched = {name for message in meant for name in message.names}
    assert untouched(await items(record), touched, meant) == untouched(before, touched, meant)
    left, found = await shape(record), await everything(record)
    assert await everything(record, "bob") == others
    assert await erase(record, scope) == 0
    await record.close()
    gone = {name for message in meant for name in message.names} - {name for message in kept for name in message.names}
    assert not [text for text in (*gone, *(message.text for message in meant)) if text in found]
    (folder / "other").mkdir()
    alone = await RECORDS[name](folder / "other")
    await learn(alone, kept)
    assert left == await shape(alone)
    await alone.close()


async def items(record: SystemOfRecord) -> list[Value]:
    async with record.reading(user_id="ann") as unit:
        return [
            *await unit.log.page(limit=99),
            *await unit.memories.page(limit=99),
            *await unit.entities.page(limit=99),
            *await unit.relations.page(limit=99),
        ]


def untouched(values: Sequence[Value], names: set[str], gone: Sequence[Said]) -> list[str]:
    """The bytes of what has nothing to do with the scope."""
    texts, ids = {message.text for message in gone}, {message.resource().resource_id for message in gone}

    def is_outside(value: Value) -> bool:
        match value:
            case Entity():
                return value.entity_value not in names
            case EntityRelation():
                return not {value.source_entity_id, value.target_entity_id} <= {*map(partial(entity_id, "ann"), names)}
            case Memory():
                return value.resource_id not in ids and value.context not in texts and value.context is not None
            case Resource():
                return value.resource_id not in ids
        return True

    return [value.model_dump_json() for value in values if is_outside(value)]


async def test_what_other_messages_quote_of_the_erased_is_gone_too(
    record: SystemOfRecord, make: SimpleNamespace
) -> None:
    asked = Said("s", 1, ("Basalt",), resolved="Basalt of Quarzborn at s1.")
    await learn(record, [Said("s", 0, ("Quarzborn",)), asked, Said("s", 2, ("Gneis",), resolved="Gneis at Basalt.")])
    async with record.reading(user_id="ann") as unit:
        before = (await unit.log.page(limit=9))[2:]
        untouched = [memory for memory in await unit.memories.page(limit=9) if memory.text.startswith("Gneis")]
    await erase(record, item("s-0"))
    assert "Quarzborn" not in await everything(record)
    async with record.reading(user_id="ann") as unit:
        assert (await unit.log.page(limit=9))[1:] == before
        found = await unit.memories.get([memory.memory_id for memory in untouched])
    assert found == untouched


async def test_changes_that_quote_what_goes_go_or_lose_that_part(record: SystemOfRecord, make: SimpleNamespace) -> None:
    await learn(record, [Said("s", 0, ("Quarzborn",)), Said("t", 1, ("Basalt",))])
    async with record.reading(user_id="ann") as unit:
        gone, kept = await unit.entities.get([entity_id("ann", name) for name in ("Quarzborn", "Basalt")])
    both = tuple(ChangedItem.of(entity, entity.model_copy(update={"version": 9})) for entity in (gone, kept))
    ids = [gone.entity_id, kept.entity_id]
    async with record.writing(user_id="ann") as unit:
        await unit.changes.append(
            [
                make.change("reviewed", *ids, items=both, kind=ChangeKind.REVIEW),
                make.change("merged", *ids, items=both, kind=ChangeKind.MERGE),
                make.change("said", "s-0", kept.entity_id, reason="said: something", items=both[1:]),
                make.change("named", kept.entity_id, reason="not quarzborn", items=both[1:]),
                make.change("other", kept.entity_id, reason="renamed", items=both[1:]),
            ]
        )
        await unit.commit()
        other = make.change("other", kept.entity_id, reason="renamed", items=both[1:])
    await erase(record, session("s"))
    async with record.reading(user_id="ann") as unit:
        changes = {change.change_id: change.model_copy(update={"sequence": 0}) for change in await unit.changes.list()}
        found = await unit.changes.list(subject=gone.entity_id)
    assert (set(changes), found) == ({"reviewed", "other"}, [])
    assert changes["other"] == other
    assert changes["reviewed"].items == both[1:]
    assert "uarzborn" not in await everything(record)


async def test_facts_their_graph_and_their_categories_go_with_their_message(
    record: SystemOfRecord, make: SimpleNamespace
) -> None:
    facts = [
        make.fact("f", resource_id="s-0", object="Quarzborn", category="stones"),
        make.fact("g", resource_id="t-1", object="Basalt", supersedes="f"),
        make.fact("h", resource_id="s-0", object="Basalt"),
    ]
    edges = [make.edge("我", "喜歡", name) for name in ("Quarzborn", "Basalt")]
    await make.save(
        record,
        resources=[make.resource("s-0"), make.resource("t-1", session_id="t")],
        facts=facts,
        edges=edges,
        categories=[make.category("stones", summary="Quarzborn"), make.category("preferences", summary="Quarzborn?")],
        accesses=[make.access("x", category="stones"), make.access("y")],
    )
    await erase(record, session("s"))
    async with record.reading(user_id="ann") as unit:
        assert await unit.facts.page(limit=9) == [facts[1].model_copy(update={"supersedes": None})]
        assert await unit.graph.list_all() == edges[1:]
        assert [(category.name, category.summary) for category in await unit.categories.list()] == [("preferences", "")]
        assert [access.access_id for access in await unit.category_accesses.list()] == ["y"]
    assert "Quarzborn" not in await everything(record)


async def test_the_reply_to_a_message_goes_with_it(record: SystemOfRecord, make: SimpleNamespace) -> None:
    await learn(record, [Said("s", 0, ("Quarzborn",)), Said("s", 1, ("Basalt",))])
    replies = [
        make.resource(reply_id("ann", "s", f"s-{number}"), role="assistant", learn=False, content=f"Noted: {name}.")
        for number, name in enumerate(("Quarzborn", "Basalt"))
    ]
    await record.append(replies, user_id="ann")
    await erase(record, item("s-0"))
    assert "Quarzborn" not in await everything(record)
    assert (await shape(record))["log"] == ["s-1", replies[1].resource_id]


class TestAnEntity:
    async def test_it_goes_with_all_that_is_about_it_and_its_messages_stay(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await learn(record, [Said("s", 0, ("Quarzborn", "Basalt")), Said("t", 1, ("Basalt",))])
        stone = entity_id("ann", "Quarzborn")
        pets = [make.typed_memory("pet", name) for name in ("quarzborn", "Basalt")]
        facts = [make.fact(name, object=name) for name in ("Quarzborn", "Basalt")]
        await make.save(record, facts=facts, edges=[make.edge("我", "喜歡", "Quarzborn")])
        async with record.writing(user_id="ann") as unit:
            await unit.typed_memories.save([pets[0], pets[1].model_copy(update={"supersedes": (pets[0].memory_id,)})])
            [known] = await unit.entities.get([stone])
            await unit.entities.save([known.model_copy(update={"aliases": ("QB",)})])
            await unit.commit()
            log = None
        async with record.reading(user_id="ann") as unit:
            log = await unit.log.page(limit=9)
        await erase(record, item(stone))
        async with record.reading(user_id="ann") as unit:
            assert await unit.log.page(limit=9) == log
            assert await unit.entities.get([stone]) == []
            assert await unit.entities.get_by_value("QB") is None
            assert await unit.relations.of(entity_id("ann", "Basalt")) == []
            assert [len(memory.entity_ids) for memory in await unit.memories.page(limit=9)] == [1, 1]
            assert await unit.typed_memories.page(limit=9, entity_type="pet") == pets[1:]
            assert {fact.fact_id for fact in await unit.facts.page(limit=9)} == {"Basalt", pets[1].memory_id}
            assert await unit.facts.get_many(["Basalt"]) == facts[1:]
            assert await unit.graph.list_all() == []

    async def test_its_messages_go_too_where_that_is_asked(self, record: SystemOfRecord) -> None:
        messages = [Said("s", 0, ("Quarzborn", "Basalt")), Said("t", 1, ("Basalt",)), Said("t", 2, ("Quarzborn",))]
        await learn(record, messages)
        await erase(record, item(entity_id("ann", "Quarzborn"), messages=True))
        assert "Quarzborn" not in await everything(record)
        assert (await shape(record))["log"] == ["t-1"]

    async def test_one_that_was_entered_by_hand_outlives_the_messages_about_it(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        entered = make.entity("Quarzborn", source="user", mention_count=1)
        await make.save(record, entities=[entered])
        await learn(record, [Said("s", 5, ("Quarzborn",))])
        await erase(record, session("s"))
        async with record.reading(user_id="ann") as unit:
            [left] = await unit.entities.get([entered.entity_id])
        assert (left.entity_value, left.mention_count) == ("Quarzborn", 1)

    async def test_a_name_that_only_erased_messages_say_is_lost_and_another_takes_its_place(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await learn(record, [Said("s", 0, ("Quarzborn",))])
        stone = entity_id("ann", "Quarzborn")
        async with record.writing(user_id="ann") as unit:
            [known] = await unit.entities.get([stone])
            await unit.entities.save([known.model_copy(update={"aliases": ("Boxy",)})])
            await unit.commit()
        await learn(record, [Said("t", 1, ("Boxy",))])
        await erase(record, session("s"))
        async with record.reading(user_id="ann") as unit:
            [left] = await unit.entities.get([stone])
        assert (left.names, left.mention_count, left.first_mentioned) == (("Boxy",), 1, NOON + timedelta(minutes=1))
        assert "uarzborn" not in await everything(record)


async def test_a_name_that_a_merge_brought_goes_with_its_message_and_one_that_a_person_gave_stays(
    record: SystemOfRecord, make: SimpleNamespace
) -> None:
    await learn(record, [Said("s", 0, ("Quarzborn",)), Said("t", 1, ("Basalt",))])
    context = ChangeContext(user_id="ann", at=NOON, actor=ChangeActor.USER, reason="the same")
    async with record.writing(user_id="ann") as unit:
        merged, _ = await merge(unit, entity_id("ann", "Basalt"), entity_id("ann", "Quarzborn"), context)
        named, _ = await add_alias(unit, merged.entity_id, "Boxy", context)
        assert named.names == ("Basalt", "Quarzborn", "Boxy")
        await unit.commit()
    await erase(record, session("s"))
    async with record.reading(user_id="ann") as unit:
        [left] = [entity for entity in await unit.entities.page(limit=99) if entity.mention_count]
    assert (left.names, left.mention_count) == (("Basalt", "Boxy"), 1)
    assert "uarzborn" not in await everything(record)


async def test_nothing_is_written_where_somebody_has_changed_a_value_meanwhile(record: SystemOfRecord) -> None:
    await learn(record, [Said("s", 0, ("Basalt",)), Said("t", 1, ("Basalt",))])
    async with record.reading(user_id="ann") as unit:
        effects = await plan(unit, "ann", await select(unit, session("s")))
    async with record.writing(user_id="ann") as unit:
        await unit.entities.update_mention(entity_id("ann", "Basalt"), at=NOON)
        await unit.commit()
    async with record.writing(user_id="ann") as unit:
        assert await apply(unit, effects) is None
        await unit.rollback()
    async with record.reading(user_id="ann") as unit:
        assert await unit.log.count() == 2


async def test_a_message_that_waits_for_the_learner_takes_no_mention_away(
    record: SystemOfRecord, make: SimpleNamespace
) -> None:
    await learn(record, [Said("t", 1, ("Basalt",))])
    await record.append([Said("s", 2, ("Basalt",)).resource()], user_id="ann")
    async with record.reading(user_id="ann") as unit:
        before = await unit.entities.page(limit=99)
    await erase(record, session("s"))
    async with record.reading(user_id="ann") as unit:
        assert await unit.entities.page(limit=99) == before
        assert await unit.log.list_unextracted() == []


async def test_a_typed_memory_goes_alone_or_with_the_messages_that_name_it(
    record: SystemOfRecord, make: SimpleNamespace
) -> None:
    await learn(record, [Said("s", 0, ("Basalt",)), Said("s", 1, ("Gneis",))])
    stone, pet = [make.typed_memory(kind, "Basalt") for kind in ("stone", "pet")]
    async with record.writing(user_id="ann") as unit:
        await unit.typed_memories.save([stone, pet])
        await unit.commit()
    before = await shape(record)
    await erase(record, item(stone.memory_id))
    assert await shape(record) == before
    await erase(record, item(pet.memory_id, messages=True))
    async with record.reading(user_id="ann") as unit:
        assert await unit.typed_memories.page(limit=9) == []
    assert (await shape(record))["log"] == ["s-1"]


async def test_a_long_session_goes_in_portions(
    record: SystemOfRecord, make: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.erasure.selection.MESSAGES_AT_ONCE", 2)
    await learn(record, [Said("s", minute, ("Quarzborn",)) for minute in range(5)])
    stone = entity_id("ann", "Quarzborn")
    assert await erase(record, item(stone, messages=True)) == 3
    assert "Quarzborn" not in await everything(record)


async def test_a_rewritten_message_waits_for_the_learner_as_before(
    record: SystemOfRecord, make: SimpleNamespace
) -> None:
    await make.save(record, resources=[make.resource("a", resolved="x"), make.resource("b", resolved="y")])
    async with record.writing(user_id="ann") as unit:
        await unit.log.mark_learned(["a"])
        entries = await unit.log.get(["a", "b"])
        await unit.erasure.rewrite(
            messages=[*(entry.model_copy(update={"resolved": None}) for entry in entries), make.resource("unknown")]
        )
        await unit.commit()
    async with record.reading(user_id="ann") as unit:
        assert await unit.log.page(limit=9) == [entry.model_copy(update={"resolved": None}) for entry in entries]
        assert [entry.resource_id for entry in await unit.log.list_unextracted()] == ["b"]
