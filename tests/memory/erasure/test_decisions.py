"""Decisions about memories: what they leave in every store, what they ask for, and what they never touch (004 §7)."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.entities.undo import undo
from memory.erasure.decisions import Deciding
from memory.erasure.requests import Digests
from memory.erasure.service import Erasing
from memory.erasure.tombstones import TombstoneFile
from memory.indexing.record_pages import project_items
from memory.ports.stores.vectors import Collection
from memory.values.errors import Conflict, NotFound, VersionConflict
from memory.values.facts import Fact, FactStatus
from memory.values.governance.changes import ChangeKind
from memory.values.governance.decisions import (
    ANONYMISED_TEXT,
    ANONYMISED_VALUE,
    Decision,
    DecisionRecord,
    DecisionRequest,
)
from memory.values.governance.erasures import ErasureState
from memory.values.ids import derive_id, entity_id, memory_id
from tests.memory.erasure.conversations import NOON, Said, everything, learn
from tests.memory.erasure.fakes import Stores
from tests.memory.erasure.test_scopes import fill, points, turns

FIRST = Said("s", 0, ("Quarzborn", "Basalt"))
OTHERS = (Said("s", 1, ("Basalt",)), Said("t", 2, ("Gneis",)))
M0, M1, M2 = (memory_id("ann", message.resource().resource_id) for message in (FIRST, *OTHERS))
KEPT_KINDS = (Decision.RETAIN, Decision.DELETE, Decision.ANONYMIZE)


def stated(user_id: str, message: Said, object_: str) -> Fact:
    at = message.at
    return Fact(
        fact_id=derive_id("fact", user_id, message.resource().resource_id, object_),
        user_id=user_id,
        resource_id=message.resource().resource_id,
        subject="user",
        predicate="likes",
        object=object_,
        category="preferences",
        recorded_at=at,
        updated_at=at,
    )


async def filled() -> Stores:
    """Two users who said the same, learned and indexed, with a fact for each of their messages."""
    stores = Stores()
    stores.now = NOON + timedelta(hours=1)
    for user_id in ("ann", "bob"):
        await fill(stores, (FIRST, *OTHERS), user_id)
        async with stores.record.writing(user_id=user_id) as unit:
            await unit.facts.create_many([stated(user_id, message, message.names[0]) for message in (FIRST, *OTHERS)])
            await unit.commit()
        waiting = await stores.record.backlog.outbox(limit=999, user_id=user_id)
        await stores.record.backlog.acknowledge(waiting)
    return stores


@pytest.fixture
async def stores() -> Stores:
    return await filled()


def deciding(stores: Stores, erasing: Erasing | None = None) -> Deciding:
    locks: dict[str, asyncio.Lock] = {}
    return Deciding(
        record=stores.record,
        digests=Digests(b"k" * 32),
        lock=lambda user_id: locks.setdefault(user_id, asyncio.Lock()),
        wake=erasing.wake if erasing else lambda: None,
    )


def request(user_id: str = "ann", /, **fields: object) -> DecisionRequest:
    return DecisionRequest.model_validate({"user_id": user_id, "at": NOON + timedelta(hours=1), **fields})


async def decide(stores: Stores, **fields: object) -> DecisionRecord:
    """Decides, and does what the decision asks erasure for."""
    erasing = stores.erasing()
    decided = await deciding(stores, erasing).decide(request(**fields))
    assert await erasing.work()
    for erasure_id in decided.erasures:
        assert (await erasing.get(erasure_id)).state is ErasureState.DONE
    return decided


async def indexed(stores: Stores) -> set[str]:
    """The ids that the index has or is about to have."""
    waiting = await stores.record.backlog.outbox(limit=999, user_id="ann")
    async with stores.record.reading(user_id="ann") as unit:
        wanted = {
            id_
            for collection in Collection
            for id_, projection in (
                await project_items(unit, collection, [e.item_id for e in waiting if e.collection is collection])
            ).items()
            if projection is not None
        }
    return await points(stores) | wanted


async def test_retaining_changes_nothing_and_is_recorded(stores: Stores) -> None:
    before, points_before = await everything(stores.record), await points(stores)
    decided = await decide(stores, decisions={M0: "retain"}, note="looked at it")
    assert (decided.removed, decided.erasures) == ({}, ())
    async with stores.record.reading(user_id="ann") as unit:
        [change] = await unit.changes.list(kind=ChangeKind.DECISION, subject=M0)
    assert (change.decision, change.reason) == (decided, "looked at it")
    added = set((await everything(stores.record)).splitlines()) - set(before.splitlines())
    assert {json.loads(line)["type"] for line in added} == {"change", "end"}
    assert await points(stores) == points_before


async def test_deleting_takes_message_facts_and_what_only_they_taught_out_of_every_store(stores: Stores) -> None:
    decided = await decide(stores, decisions={M0: "delete"})
    assert decided.decided[0].facts == 1
    assert {name: decided.removed[name] for name in ("resources", "memories", "facts", "entities")} == {
        "resources": 1,
        "memories": 1,
        "facts": 1,
        "entities": 1,
    }
    found = await everything(stores.record)
    assert ("Quarzborn" in found, "Basalt" in found) == (False, True)
    gone = {M0, entity_id("ann", "Quarzborn"), stated("ann", FIRST, "Quarzborn").fact_id}
    assert not gone & await indexed(stores)
    assert await turns(stores, "s") == [OTHERS[0].text]
    assert "ann" in stores.replicas.forgotten


async def test_anonymising_leaves_places_kinds_and_times_alone(stores: Stores) -> None:
    async with stores.record.reading(user_id="ann") as unit:
        [before], [logged] = await unit.memories.get([M0]), await unit.log.get([FIRST.resource().resource_id])
    await decide(stores, decisions={M0: "anonymize"})
    async with stores.record.reading(user_id="ann") as unit:
        [memory], [entry] = await unit.memories.get([M0]), await unit.log.get([logged.resource_id])
        fact = await unit.facts.get(stated("ann", FIRST, "Quarzborn").fact_id)
    gone = {"text": ANONYMISED_TEXT, "entity_ids": (), "is_anonymised": True, "version": before.version + 1}
    assert memory == before.model_copy(update=gone)
    assert entry == logged.model_copy(update={"content": ANONYMISED_TEXT, "understanding": None, "learn": False})
    assert fact is not None
    assert (fact.object, fact.status, fact.category) == (ANONYMISED_VALUE, FactStatus.DELETED, "preferences")
    assert "Quarzborn" not in await everything(stores.record)
    assert not {M0, fact.fact_id, entity_id("ann", "Quarzborn")} & await indexed(stores)
    assert await turns(stores, "s") == [OTHERS[0].text]


async def test_the_next_memory_loses_it_as_its_context(stores: Stores) -> None:
    async with stores.record.reading(user_id="ann") as unit:
        assert [memory.context for memory in await unit.memories.get([M1])] == [FIRST.text]
    await decide(stores, decisions={M0: "anonymize"})
    async with stores.record.reading(user_id="ann") as unit:
        assert [(memory.context, memory.version) for memory in await unit.memories.get([M1])] == [(None, 2)]


async def test_decisions_are_made_together(stores: Stores) -> None:
    await decide(stores, decisions={M0: "delete", M1: "anonymize", M2: "retain"})
    found = await everything(stores.record)
    assert [name for name in ("Quarzborn", "Basalt", "Gneis") if name in found] == ["Gneis"]
    async with stores.record.reading(user_id="ann") as unit:
        texts = {memory.memory_id: memory.text for memory in await unit.memories.page(limit=9)}
    assert texts == {M1: ANONYMISED_TEXT, M2: OTHERS[1].text}


async def test_another_version_than_expected_is_named_and_nothing_is_done(stores: Stores) -> None:
    await decide(stores, decisions={M0: "anonymize"})  # M1 has version 2 now
    before = await everything(stores.record)
    with pytest.raises(VersionConflict, match=M1) as raised:
        await decide(stores, decisions={M1: "delete", M2: "delete"}, expected_versions={M1: 1, M2: 1})
    assert raised.value.versions == {M1: 2}
    assert await everything(stores.record) == before
    await decide(stores, decisions={M1: "delete", M2: "delete"}, expected_versions={M1: 2, M2: 1})


async def test_an_unknown_memory_is_named_and_nothing_is_done(stores: Stores) -> None:
    before = await everything(stores.record)
    with pytest.raises(NotFound, match="unknown"):
        await decide(stores, decisions={M0: "delete", "unknown": "delete"})
    assert await everything(stores.record) == before


async def test_a_key_is_carried_out_once_and_for_one_request(stores: Stores) -> None:
    body = {"decisions": {M0: "delete"}, "idempotency_key": "k", "note": "asked"}
    first = await decide(stores, **body)
    after = await everything(stores.record)
    assert await decide(stores, **body, at=NOON + timedelta(hours=2)) == first
    with pytest.raises(Conflict, match="idempotency_key"):
        await decide(stores, **body | {"decisions": {M1: "delete"}})
    assert await everything(stores.record) == after
    theirs = await deciding(stores).decide(request("bob", **body | {"decisions": {memory_id("bob", "s-0"): "retain"}}))
    assert theirs.decision_id != first.decision_id  # a key is the user's own


async def test_the_same_key_at_the_same_time_is_carried_out_once(stores: Stores) -> None:
    service = deciding(stores)
    both = await asyncio.gather(
        *(service.decide(request(decisions={M0: "delete"}, idempotency_key="k")) for _ in range(2))
    )
    assert both[0] == both[1]
    async with stores.record.reading(user_id="ann") as unit:
        assert len(await unit.changes.list(kind=ChangeKind.DECISION)) == 1


async def test_a_request_that_is_sent_again_by_the_transport_is_carried_out_once(stores: Stores) -> None:
    sent = request(decisions={M0: "delete"})
    assert await deciding(stores).decide(sent) == await deciding(stores).decide(sent)


async def test_a_decision_cannot_be_undone(stores: Stores) -> None:
    decided = await decide(stores, decisions={M0: "delete"})
    with pytest.raises(Conflict, match="cannot be undone"):
        await undo(stores.record, decided.decision_id, user_id="ann", at=NOON)


async def test_an_anonymised_memory_can_be_anonymised_again_and_deleted(stores: Stores) -> None:
    for decision in ("anonymize", "anonymize", "delete"):
        await decide(stores, decisions={M0: decision})
    async with stores.record.reading(user_id="ann") as unit:
        assert await unit.memories.get([M0]) == []
        assert await unit.log.get([FIRST.resource().resource_id]) == []
        assert len(await unit.changes.list(kind=ChangeKind.DECISION, subject=M0)) == 3


async def test_a_store_that_is_away_delays_the_erasure_and_not_the_decision(stores: Stores) -> None:
    stores.vectors.away = True
    erasing = stores.erasing()
    decided = await deciding(stores, erasing).decide(request(decisions={M0: "anonymize"}))
    assert not await erasing.work()
    assert "Quarzborn" not in await everything(stores.record)
    stores.vectors.away = False
    later = stores.erasing()  # another process, which has only what was recorded
    assert await later.work()
    done = await later.get(decided.erasures[0])
    assert done.receipt is not None
    assert done.receipt.removed["vectors.points"] > 0
    assert not {M0, entity_id("ann", "Quarzborn")} & await points(stores)


@pytest.mark.parametrize("decision", ["delete", "anonymize"])
async def test_what_a_restored_backup_brings_back_is_decided_again(
    stores: Stores, tmp_path: Path, decision: str
) -> None:
    file = TombstoneFile(tmp_path / "erasures.jsonl")
    erasing = stores.erasing(file=file)
    await deciding(stores, erasing).decide(request(decisions={M0: decision}))
    assert await erasing.work()
    assert await stores.erasing(file=file).replay() == []
    async with stores.record.writing(user_id="ann") as unit:
        await unit.erasure.delete(messages=[FIRST.resource().resource_id])
        await unit.memories.delete([M0])
        await unit.commit()
    await learn(stores.record, [FIRST])
    again = stores.erasing(file=file)
    assert len(await again.replay()) > 0
    assert await again.work()
    assert "Quarzborn" not in await everything(stores.record)
    async with stores.record.reading(user_id="ann") as unit:
        left = [memory.text for memory in await unit.memories.get([M0])]
    assert left == ([ANONYMISED_TEXT] if decision == "anonymize" else [])


async def held_by_bob(stores: Stores) -> tuple[str, set[str], list[str]]:
    return await everything(stores.record, "bob"), await points(stores, "bob"), await turns(stores, "s", "bob")


DECISIONS = st.dictionaries(st.sampled_from([M0, M1, M2]), st.sampled_from(Decision), min_size=1)


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(DECISIONS, min_size=1, max_size=3))
def test_one_user_s_decisions_never_touch_another_s(steps: list[dict[str, Decision]]) -> None:
    async def check() -> None:
        stores = await filled()
        theirs = await held_by_bob(stores)
        for decisions in steps:
            async with stores.record.reading(user_id="ann") as unit:
                left = {memory.memory_id for memory in await unit.memories.get(list(decisions))}
            if there := {id_: decision for id_, decision in decisions.items() if id_ in left}:
                await decide(stores, decisions=there)
        assert await held_by_bob(stores) == theirs
        gone = {id_ for decisions in steps for id_, decision in decisions.items() if decision is not Decision.RETAIN}
        said = {M0: FIRST, M1: OTHERS[0], M2: OTHERS[1]}
        names = {name for id_ in gone for name in said[id_].names}
        names -= {name for id_ in said.keys() - gone for name in said[id_].names}
        found = await everything(stores.record)
        assert not [name for name in (*names, *(said[id_].text for id_ in gone)) if name in found]

    asyncio.run(check())


async def test_the_memories_of_another_user_are_not_there(stores: Stores) -> None:
    before = await everything(stores.record, "bob")
    for decision in KEPT_KINDS:
        with pytest.raises(NotFound):
            await decide(stores, decisions={memory_id("bob", "s-0"): decision})
    assert await everything(stores.record, "bob") == before
