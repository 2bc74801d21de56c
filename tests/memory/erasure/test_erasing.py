"""A whole user's erasure: from every store, again until all have done so, with a receipt that tells nobody whose."""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from memory.erasure.guard import ErasureGuard
from memory.erasure.requests import PENDING, RequestLog
from memory.erasure.tombstones import TombstoneFile
from memory.ports.jobs import PipelineRun, RunState
from memory.values.errors import Conflict, NotFound
from memory.values.governance.erasures import WHOLE_USER, ErasureKind, ErasureScope, ErasureState
from tests.memory.erasure.fakes import NOTHING, NOW, Stores


@pytest.fixture
def stores() -> Stores:
    return Stores()


async def test_a_user_is_erased_from_every_store_and_every_model_and_others_stay(stores: Stores) -> None:
    for user_id in ("ann", "bob"):
        await stores.fill(user_id)
    before = await stores.held("bob")
    erasing = stores.erasing()
    requested = await erasing.request(WHOLE_USER, user_id="ann")
    assert requested.state is ErasureState.PENDING
    assert await erasing.work()
    done = await erasing.get(requested.erasure_id)
    assert (done.state, await stores.held("ann"), await stores.held("bob")) == (ErasureState.DONE, NOTHING, before)
    assert done.receipt is not None
    removed = done.receipt.removed
    assert (removed["record.resources"], removed["vectors.points"], removed["sessions"]) == (2, 2, 1)
    assert done.receipt.purged == {"record": True, "sessions": True, "vectors": True}
    assert "ann" in stores.replicas.forgotten


async def test_what_is_kept_of_an_erasure_holds_nothing_personal_and_its_hash_fits(stores: Stores) -> None:
    await stores.fill("ann.lee@example.org")
    erasing = stores.erasing()
    erasure = await erasing.request(WHOLE_USER, user_id="ann.lee@example.org")
    await erasing.work()
    run = await stores.record.runs.get(erasure.erasure_id)
    assert run is not None
    assert "ann.lee" not in run.model_dump_json()
    done = await erasing.get(erasure.erasure_id)
    assert done.receipt is not None
    assert done.receipt.is_sound
    assert not done.receipt.model_copy(update={"removed": {}}).is_sound
    assert json.loads(done.model_dump_json())["user"] == erasure.user


async def test_the_digest_of_a_user_needs_the_key(stores: Stores) -> None:
    erasing = stores.erasing()
    first = await erasing.request(WHOLE_USER, user_id="ann")
    other = await erasing.request(WHOLE_USER, user_id="bob")
    assert first.user != other.user
    assert len(first.user) == 64


@pytest.mark.parametrize("part", ["vectors", "sessions", "replicas"])
async def test_a_store_that_is_away_delays_the_end_and_keeps_no_other_from_erasing(stores: Stores, part: str) -> None:
    await stores.fill("ann")
    getattr(stores, part).away = True
    erasing = stores.erasing()
    erasure = await erasing.request(WHOLE_USER, user_id="ann")
    assert not await erasing.work()
    waiting = await erasing.get(erasure.erasure_id)
    assert (waiting.state, waiting.attempts) == (ErasureState.PENDING, 1)
    assert waiting.waits_for == {"replicas": "ingress"}.get(part, part)
    held = dict(await stores.held("ann"))
    assert held.pop(part, 0) == {"vectors": 2, "sessions": 1, "replicas": 0}[part]
    assert set(held.values()) == {0}

    getattr(stores, part).away = False
    again = stores.erasing()  # after a restart
    assert await again.work()
    assert await stores.held("ann") == NOTHING
    done = await again.get(erasure.erasure_id)
    assert done.receipt is not None
    assert (done.receipt.removed["record.resources"], done.receipt.removed["vectors.points"]) == (2, 2)


async def test_pending_erasures_are_worked_on_in_the_background_until_they_are_done(stores: Stores) -> None:
    await stores.fill("ann")
    stores.vectors.away = True
    erasing = stores.erasing()
    erasing.begin()
    erasure = await erasing.request(WHOLE_USER, user_id="ann")
    while (await erasing.get(erasure.erasure_id)).attempts < 2:
        await asyncio.sleep(0.005)
    assert erasing.figures()["erasures_wait_for"] == "vectors"
    stores.vectors.away = False
    while (await erasing.get(erasure.erasure_id)).state is not ErasureState.DONE:
        await asyncio.sleep(0.005)
    await erasing.close()
    assert await stores.held("ann") == NOTHING
    assert erasing.figures() == {"erasures_pending": 0, "erasures_done": 1}


async def test_the_same_request_is_the_same_erasure_while_it_is_pending_and_another_one_afterwards(
    stores: Stores,
) -> None:
    erasing = stores.erasing()
    first = await erasing.request(WHOLE_USER, user_id="ann")
    assert (await erasing.request(WHOLE_USER, user_id="ann")).erasure_id == first.erasure_id
    assert (await erasing.request(WHOLE_USER, user_id="bob")).erasure_id != first.erasure_id
    await erasing.work()
    assert (await erasing.request(WHOLE_USER, user_id="ann")).erasure_id != first.erasure_id
    assert [erasure.state for erasure in await erasing.list()] == [ErasureState.PENDING, *[ErasureState.DONE] * 2]


async def test_a_user_who_is_being_erased_is_refused_and_may_come_back_afterwards(stores: Stores) -> None:
    guard = ErasureGuard(stores.record.runs, refresh_s=0)
    erasing = stores.erasing()
    await erasing.request(WHOLE_USER, user_id="ann")
    with pytest.raises(Conflict, match="being erased"):
        await guard.check("ann")
    await guard.check("bob")
    await erasing.work()
    await guard.check("ann")


async def test_what_is_written_meanwhile_is_erased_too(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    await stores.fill("ann")
    late = [stores.resource("ann", "late")]
    erase = stores.vectors.erase_user

    async def erase_and_write(user_id: str) -> int:
        if late:
            await stores.record.append([late.pop()], user_id="ann")
        return await erase(user_id)

    monkeypatch.setattr(stores.vectors, "erase_user", erase_and_write)
    erasing = stores.erasing()
    await erasing.request(WHOLE_USER, user_id="ann")
    assert await erasing.work()
    assert await stores.held("ann") == NOTHING


async def test_the_runs_of_jobs_do_not_name_the_user_any_more(stores: Stores) -> None:
    items: list[JsonValue] = [{"user_id": user_id, "value": f"secret of {user_id}"} for user_id in ("ann", "bob")]
    run = PipelineRun(
        run_id="1",
        pipeline="memory_review",
        state=RunState.DONE,
        input={"user_id": "ann"},
        output={"items": [*items], "kept": 3},
        cursor="ann",
        started_at=NOW,
        updated_at=NOW,
    )
    await stores.record.runs.save(run)
    erasing = stores.erasing()
    await erasing.request(WHOLE_USER, user_id="ann")
    assert await erasing.work()
    kept = await stores.record.runs.get("1")
    assert kept == run.model_copy(
        update={
            "input": {"user_id": None, "erased_user": True},
            "output": {"items": items[1:], "kept": 3},
            "cursor": None,
        }
    )


async def test_an_unknown_erasure_and_the_run_of_another_job_are_not_found(stores: Stores) -> None:
    other = PipelineRun(run_id="other", pipeline="memory_review", started_at=NOW, updated_at=NOW)
    await stores.record.runs.save(other)
    for name in ("unknown", "other"):
        with pytest.raises(NotFound):
            await stores.erasing().get(name)


async def test_a_crash_before_the_purge_repeats_the_purge_alone(stores: Stores) -> None:
    await stores.fill("ann")
    erasing = stores.erasing()
    erasure = await erasing.request(WHOLE_USER, user_id="ann")
    [request] = await RequestLog(stores.record.runs).pending()
    await RequestLog(stores.record.runs).save(request.model_copy(update={"target": None}), now=NOW)
    assert await stores.erasing().work()
    assert (await erasing.get(erasure.erasure_id)).state is ErasureState.DONE
    assert (await stores.held("ann"))["record"] == 2  # the stores are not asked again
    assert await stores.record.runs.latest(PENDING) == []


@settings(max_examples=30, deadline=None)
@given(users=st.lists(st.text("abAé\u0301界 :{}", min_size=1, max_size=4), min_size=2, max_size=4, unique=True))
async def test_erasing_one_user_never_touches_another(users: list[str]) -> None:
    stores = Stores()
    for user_id in users:
        await stores.fill(user_id)
    before = {user_id: await stores.held(user_id) for user_id in users[1:]}
    erasing = stores.erasing()
    await erasing.request(WHOLE_USER, user_id=users[0])
    assert await erasing.work()
    assert await stores.held(users[0]) == NOTHING
    assert {user_id: await stores.held(user_id) for user_id in users[1:]} == before


class TestReplay:
    async def test_a_user_whom_a_restored_backup_brings_back_is_erased_again_and_a_returned_one_stays(
        self, stores: Stores, tmp_path: Path
    ) -> None:
        file = TombstoneFile(tmp_path / "erasures.jsonl")
        for user_id in ("ann", "bob", "cid"):
            await stores.fill(user_id)
        erasing = stores.erasing(file=file)
        for user_id in ("ann", "cid"):
            await erasing.request(WHOLE_USER, user_id=user_id)
        assert await erasing.work()
        assert not {"ann", "cid"} & set(file.path.read_text().split('"'))

        restored = Stores()  # the record of before, with nothing of the erasures in it
        restored.now = stores.now
        for user_id in ("ann", "bob"):
            await restored.fill(user_id)
        new = restored.resource("cid", "new", created_at=stores.now)
        await restored.record.append([new], user_id="cid")
        again = restored.erasing(file=file)
        assert len(await again.tombstones()) == 2
        assert len(await again.replay()) == 1
        assert await again.work()
        assert await restored.held("ann") == NOTHING
        assert [(await restored.held(user_id))["record"] for user_id in ("bob", "cid")] == [2, 1]
        assert await again.replay() == []

    async def test_tombstones_may_be_given_and_are_of_no_use_with_another_key(self, stores: Stores) -> None:
        await stores.fill("ann")
        erasing = stores.erasing()
        await erasing.request(WHOLE_USER, user_id="ann")
        assert await erasing.work()
        marks = await erasing.tombstones()
        restored = Stores()
        await restored.fill("ann")
        assert await restored.erasing(key=b"another key").replay(marks) == []
        assert len(await restored.erasing().replay(marks)) == 1

    async def test_a_line_that_a_crash_cut_off_hides_no_other(self, stores: Stores, tmp_path: Path) -> None:
        file = TombstoneFile(tmp_path / "erasures.jsonl")
        erasing = stores.erasing(file=file)
        file.path.write_text('{"erasure_id": "cut o')
        await erasing.request(WHOLE_USER, user_id="ann")
        assert await erasing.work()
        assert len(file.read()) == 1


class TestScope:
    def test_each_kind_has_its_own_fields(self) -> None:
        ErasureScope(kind=ErasureKind.SESSION, session_id="s")
        ErasureScope(kind=ErasureKind.ITEM, item_id="i")
        ErasureScope(kind=ErasureKind.PERIOD, until=NOW)
        for fields in (
            {"kind": "session"},
            {"kind": "item"},
            {"kind": "period"},
            {"kind": "user", "session_id": "s"},
            {"kind": "session", "session_id": "s", "until": NOW},
            {"kind": "period", "since": NOW, "until": NOW},
        ):
            with pytest.raises(ValueError, match=r"needs|later"):
                ErasureScope.model_validate(fields)
