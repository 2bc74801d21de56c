"""The erasure of a part: from every store, again until all have done so, and again after a restored backup."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue

from memory.erasure.tombstones import TombstoneFile
from memory.ports.jobs import PipelineRun, RunState
from memory.ports.stores.vectors import Collection, IndexPoint
from memory.values.governance.erasures import Erasure, ErasureKind, ErasureScope, ErasureState
from memory.values.ids import entity_id, memory_id
from memory.values.understanding.dialogue import Role, Turn
from storage.inmemory.record import InMemoryRecord
from tests.memory.erasure.conversations import NOON, Said, everything, learn
from tests.memory.erasure.fakes import MODEL, OLD_MODEL, Stores

SESSION = ErasureScope(kind=ErasureKind.SESSION, session_id="s")
FIRST = Said("s", 0, ("Quarzborn", "Basalt"))
OTHERS = (Said("t", 1, ("Basalt",)), Said("t", 2, ("Gneis",)))


@pytest.fixture
async def stores() -> Stores:
    """Two sessions of a user, and of another one, learned and indexed by two models."""
    stores = Stores()
    stores.now = NOON + timedelta(hours=1)
    for user_id in ("ann", "bob"):
        await fill(stores, (FIRST, *OTHERS), user_id)
    return stores


async def fill(stores: Stores, messages: Sequence[Said], user_id: str = "ann") -> None:
    await learn(stores.record, messages, user_id)
    for message in messages:
        turn = Turn(role=Role.USER, content=message.text, created_at=message.at, turn_id=message.resource().resource_id)
        await stores.sessions.append(message.session, user_id=user_id, turns=[turn], deixis=["then"])
    async with stores.record.reading(user_id=user_id) as unit:
        memories = [memory.memory_id for memory in await unit.memories.page(limit=99)]
        entities = [entity.entity_id for entity in await unit.entities.page(limit=99) if entity.mention_count]
    for model in (MODEL, OLD_MODEL):
        for collection, ids in ((Collection.MEMORIES, memories), (Collection.ENTITIES, entities)):
            await stores.vectors.index(model).upsert(collection, [point(stores, id_) for id_ in ids], user_id=user_id)
    await stores.record.backlog.acknowledge(await stores.record.backlog.outbox(limit=999, user_id=user_id))


def point(stores: Stores, id_: str) -> IndexPoint:
    made = stores.point("ann")
    return IndexPoint(id_, made.dense, made.sparse, made.created_at_s)


async def points(stores: Stores, user_id: str = "ann") -> set[str]:
    """The ids in the index, which are the same by each model."""
    found = []
    for model in (MODEL, OLD_MODEL):
        index = stores.vectors.index(model)
        stored = [await index.stored(collection, user_id=user_id) for collection in Collection]
        found.append({entry.point_id for entries in stored for entry in entries})
    assert found[0] == found[1]
    return found[0]


async def turns(stores: Stores, session_id: str, user_id: str = "ann") -> list[str]:
    return [turn.content for turn in (await stores.sessions.load(session_id, user_id=user_id)).turns]


async def erase(stores: Stores, scope: ErasureScope, *, file: TombstoneFile | None = None) -> Erasure:
    erasing = stores.erasing(file=file)
    requested = await erasing.request(scope, user_id="ann")
    assert await erasing.work()
    return await erasing.get(requested.erasure_id)


async def test_a_session_is_erased_from_every_store_and_the_rest_is_as_it_was(stores: Stores) -> None:
    before, others = await everything(stores.record, "bob"), await points(stores, "bob")
    kept = await stores.sessions.load("t", user_id="ann")
    done = await erase(stores, SESSION)
    assert done.receipt is not None
    assert done.receipt.is_sound
    removed = done.receipt.removed
    assert (removed["record.resources"], removed["record.memories"], removed["record.entities"]) == (1, 1, 1)
    assert (removed["record.relations"], removed["vectors.points"], removed["sessions"]) == (1, 6, 1)
    assert done.receipt.purged == {"record": True, "sessions": True, "vectors": True}
    assert "Quarzborn" not in await everything(stores.record)
    gone = {memory_id("ann", "s-0"), entity_id("ann", "Quarzborn")}
    waiting = {entry.item_id for entry in await stores.record.backlog.outbox(limit=99, user_id="ann")}
    assert not gone & (await points(stores) | waiting)
    assert entity_id("ann", "Basalt") in waiting  # it is mentioned less often now
    assert (await turns(stores, "s"), await stores.sessions.load("t", user_id="ann")) == ([], kept)
    assert (await everything(stores.record, "bob"), await points(stores, "bob")) == (before, others)
    assert await turns(stores, "s", "bob") == [FIRST.text]
    assert "ann" in stores.replicas.forgotten


async def test_a_period_takes_the_turns_in_it_out_of_sessions(stores: Stores) -> None:
    until = NOON + timedelta(minutes=2)
    await erase(stores, ErasureScope(kind=ErasureKind.PERIOD, until=until))
    assert (await turns(stores, "s"), await turns(stores, "t")) == ([], [OTHERS[1].text])
    assert (await stores.sessions.load("t", user_id="ann")).context.deixis == ()
    found = await everything(stores.record)
    assert not [name for name in ("Quarzborn", "Basalt") if name in found]
    assert "Gneis" in found


async def test_an_open_period_ends_with_the_request(stores: Stores) -> None:
    erasing = stores.erasing()
    await erasing.request(ErasureScope(kind=ErasureKind.PERIOD, since=NOON), user_id="ann")
    late = stores.resource("ann", "late", created_at=stores.now + timedelta(hours=1))
    await stores.record.append([late], user_id="ann")
    assert await erasing.work()
    async with stores.record.reading(user_id="ann") as unit:
        assert [entry.resource_id for entry in await unit.log.page(limit=9)] == ["late"]


async def test_what_is_kept_of_an_erasure_says_nothing_of_the_part(stores: Stores) -> None:
    done = await erase(stores, ErasureScope(kind=ErasureKind.ITEM, item_id=entity_id("ann", "Quarzborn")))
    run = await stores.record.runs.get(done.erasure_id)
    assert run is not None
    assert not [text for text in (entity_id("ann", "Quarzborn"), memory_id("ann", "s-0")) if text in str(run)]


@pytest.mark.parametrize("part", ["vectors", "replicas"])
async def test_a_store_that_is_away_is_asked_again_for_what_the_record_has_forgotten(stores: Stores, part: str) -> None:
    getattr(stores, part).away = True
    erasing = stores.erasing()
    erasure = await erasing.request(SESSION, user_id="ann")
    assert not await erasing.work()
    assert (await erasing.get(erasure.erasure_id)).state is ErasureState.PENDING
    assert "Quarzborn" not in await everything(stores.record)
    getattr(stores, part).away = False
    again = stores.erasing()  # after a restart
    assert await again.work()
    assert memory_id("ann", "s-0") not in await points(stores)
    done = await again.get(erasure.erasure_id)
    assert done.receipt is not None
    assert (done.receipt.removed["record.resources"], done.receipt.removed["vectors.points"]) == (1, 6)


async def test_a_crash_after_the_record_leaves_what_other_stores_have_to_erase(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def crash(point_ids: Sequence[str], *, user_id: str) -> int:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(stores.vectors, "erase_points", crash)
        erasing = stores.erasing()
        await erasing.request(ErasureScope(kind=ErasureKind.ITEM, item_id="s-0"), user_id="ann")
        with pytest.raises(RuntimeError):
            await erasing.work()
    assert await stores.erasing().work()
    assert memory_id("ann", "s-0") not in await points(stores)
    assert await turns(stores, "s") == []


async def test_turns_in_the_journal_go_too(stores: Stores) -> None:
    journal = InMemoryRecord()
    entries = [
        stores.resource("ann", "w", session_id="s"),
        stores.resource("ann", "v", session_id="t", content="Quarzborn too"),
        stores.resource("ann", "u", session_id="t", content="Basalt"),
    ]
    await journal.append(entries, user_id="ann")
    stores.journal = journal
    await erase(stores, SESSION)
    async with journal.reading(user_id="ann") as unit:
        assert [entry.resource_id for entry in await unit.log.page(limit=9)] == ["v", "u"]
    await erase(stores, ErasureScope(kind=ErasureKind.ITEM, item_id=entity_id("ann", "Basalt"), messages=True))
    async with journal.reading(user_id="ann") as unit:
        assert [entry.resource_id for entry in await unit.log.page(limit=9)] == ["v"]


async def test_runs_of_reviews_do_not_name_what_is_erased(stores: Stores) -> None:
    items: list[JsonValue] = [
        {"user_id": user_id, "item_id": entity_id("ann", name), "value": name}
        for user_id in ("ann", "bob")
        for name in ("Quarzborn", "Gneis")
    ]
    run = PipelineRun(
        run_id="1",
        pipeline="memory_review",
        state=RunState.DONE,
        input={"user_id": "ann"},
        output={"items": [*items], "kept": 3},
        started_at=NOON,
        updated_at=NOON,
    )
    await stores.record.runs.save(run)
    await erase(stores, SESSION)
    kept = await stores.record.runs.get("1")
    assert kept == run.model_copy(update={"output": {"items": items[1:], "kept": 3}})


async def test_messages_that_go_together_are_one_erasure(stores: Stores) -> None:
    scope = ErasureScope(kind=ErasureKind.ITEM, item_id="s-0", more=("t-1", "t-2"))
    done = await erase(stores, scope)
    assert done.receipt
    assert done.receipt.removed["record.resources"] == 3
    assert not [name for name in ("Quarzborn", "Basalt", "Gneis") if name in await everything(stores.record)]


async def test_an_unknown_part_is_done_at_once(stores: Stores) -> None:
    before = await everything(stores.record)
    done = await erase(stores, ErasureScope(kind=ErasureKind.ITEM, item_id="unknown", messages=True))
    assert done.receipt is not None
    assert not any(done.receipt.removed.values())
    assert await everything(stores.record) == before


@pytest.mark.parametrize(
    "scope",
    [
        SESSION,
        ErasureScope(kind=ErasureKind.ITEM, item_id=entity_id("ann", "Quarzborn"), messages=True),
        ErasureScope(kind=ErasureKind.ITEM, item_id=memory_id("ann", "s-0")),
        ErasureScope(kind=ErasureKind.PERIOD, until=NOON + timedelta(minutes=1)),
        ErasureScope(kind=ErasureKind.ITEM, item_id="unknown", more=("s-0",)),
    ],
    ids=lambda scope: scope.kind.value,
)
async def test_what_a_restored_backup_brings_back_is_erased_again(
    stores: Stores, tmp_path: Path, scope: ErasureScope
) -> None:
    file = TombstoneFile(tmp_path / "erasures.jsonl")
    await erase(stores, scope, file=file)
    assert await stores.erasing(file=file).replay() == []
    assert not [text for text in ("Quarzborn", entity_id("ann", "Quarzborn")) if text in file.path.read_text()]
    await learn(stores.record, [Said("s", 300, ("Marmor",))])  # begun anew
    assert await stores.erasing(file=file).replay() == []
    restored = Stores()
    restored.now = stores.now
    for user_id in ("ann", "bob"):
        await fill(restored, (FIRST, *OTHERS), user_id)
    again = restored.erasing(file=file)
    assert len(await again.replay()) == 1
    assert await again.work()
    assert "Quarzborn" not in await everything(restored.record)
    assert "Quarzborn" in await everything(restored.record, "bob")
    assert await again.replay() == []
