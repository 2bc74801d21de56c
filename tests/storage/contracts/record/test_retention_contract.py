"""What every system of record does with timelines, policies of retention and decisions (004 §7, §11.3)."""

import asyncio
import json
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest

from memory.erasure.decisions import Deciding
from memory.erasure.requests import PENDING, Digests
from memory.ports.stores.record import SystemOfRecord
from memory.values.access.identity import app_owner
from memory.values.errors import InvalidField, VersionConflict
from memory.values.governance.changes import ChangeKind
from memory.values.governance.decisions import DecisionRecord, DecisionRequest
from memory.values.governance.retention import RetentionPolicy
from memory.values.ids import memory_id
from storage.inmemory.record import InMemoryRecord
from tests.memory.erasure.conversations import NOON, Said, everything, learn

TAIPEI = timezone(timedelta(hours=8))
SAID = (Said("s", 0, ("Quarzborn", "Basalt")), Said("s", 1, ("Basalt",)), Said("t", 2, ("Gneis",)))
M0, M1, M2 = (memory_id("ann", message.resource().resource_id) for message in SAID)


class TestTimeline:
    async def test_it_is_latest_first_then_by_id_page_by_page(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        times = {"c": 1, "a": 1, "b": 1, "z": 0, "早": 2}
        memories = [make.memory(name, created_at=make.at(seconds)) for name, seconds in times.items()]
        await make.save(record, memories=memories)
        await make.save(record, user_id="bob", memories=[make.memory("b1", user_id="bob", created_at=make.at(1))])
        async with record.reading(user_id="ann") as unit:
            assert await unit.memories.timeline(limit=0) == []
            pages, behind = [], None
            while page := await unit.memories.timeline(limit=2, behind=behind):
                pages.append([memory.memory_id for memory in page])
                behind = page[-1].created_at.astimezone(TAIPEI), page[-1].memory_id
            assert pages == [["早", "a"], ["b", "c"], ["z"]]
            after_what_is_gone = await unit.memories.timeline(limit=9, behind=(make.at(1), "aa"))
            assert [memory.memory_id for memory in after_what_is_gone] == ["b", "c", "z"]

    async def test_a_time_has_its_begin_and_not_its_end(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await make.save(record, memories=[make.memory(str(n), created_at=make.at(n)) for n in range(4)])
        far = (datetime.min.replace(tzinfo=TAIPEI), datetime.max.replace(tzinfo=TAIPEI))
        async with record.reading(user_id="ann") as unit:
            for since, until, wanted in (
                (make.at(1), make.at(3), ["2", "1"]),
                (make.at(1).astimezone(TAIPEI), None, ["3", "2", "1"]),
                (None, make.at(0.000001), ["0"]),
                (make.at(2), make.at(2), []),
                (*far, ["3", "2", "1", "0"]),
            ):
                found = await unit.memories.timeline(since=since, until=until, limit=9)
                assert [memory.memory_id for memory in found] == wanted

    @pytest.mark.parametrize("name", ["since", "until", "behind"])
    async def test_a_time_without_a_zone_is_refused(self, record: SystemOfRecord, name: str) -> None:
        naive: Any = datetime(2026, 3, 1)
        given: dict[str, Any] = {name: (naive, "a") if name == "behind" else naive}
        async with record.reading(user_id="ann") as unit:
            with pytest.raises(InvalidField):
                await unit.memories.timeline(limit=1, **given)


class TestPolicies:
    async def test_each_user_and_app_has_its_own(self, record: SystemOfRecord) -> None:
        owners = ["ann", "Ann", "default", app_owner("default"), app_owner("shop"), "é", "e\u0301", "' OR 1=1 --"]
        for number, owner in enumerate(owners):
            async with record.writing(user_id=owner) as unit:
                assert await unit.policies.get() is None
                for rate in (9.0, 0.1 * number):
                    await unit.policies.save(RetentionPolicy(decay_rate=rate))
                await unit.commit()
        for number, owner in enumerate(owners):
            async with record.writing(user_id=owner) as unit:
                assert await unit.policies.get() == RetentionPolicy(decay_rate=0.1 * number)
                assert (await unit.policies.delete(), await unit.policies.delete()) == (True, False)
                await unit.commit()
        async with record.reading(user_id="ann") as unit:
            assert await unit.policies.get() is None

    async def test_what_is_not_committed_is_not_kept(self, record: SystemOfRecord) -> None:
        async with record.writing(user_id="ann") as unit:
            await unit.policies.save(RetentionPolicy())
        async with record.reading(user_id="ann") as unit:
            assert await unit.policies.get() is None

    async def test_a_user_s_goes_with_the_user_and_makes_nobody_a_user(self, record: SystemOfRecord) -> None:
        for owner in ("ann", "bob", app_owner("default")):
            async with record.writing(user_id=owner) as unit:
                await unit.policies.save(RetentionPolicy())
                await unit.commit()
        assert await record.backlog.users(limit=9) == []
        assert (await record.erase_user("ann"))["retention_policies"] == 1
        for owner, is_there in (("ann", False), ("bob", True), (app_owner("default"), True)):
            async with record.reading(user_id=owner) as unit:
                assert (await unit.policies.get() is not None) == is_there


class TestDecisions:
    async def test_they_leave_what_they_leave_in_memory(self, record: SystemOfRecord) -> None:
        decisions = {M0: "anonymize", M1: "delete", M2: "retain"}
        outcomes = []
        for each in (InMemoryRecord(), record):
            await learn(each, SAID)
            await learn(each, SAID, "bob")
            others = await everything(each, "bob")
            await decide(each, decisions=decisions, note="看過了")
            assert await everything(each, "bob") == others
            outcomes.append(comparable(await everything(each)))
        assert outcomes[0] == outcomes[1]
        assert [name for name in ("Quarzborn", "Basalt", "Gneis") if name in str(outcomes[1])] == ["Gneis"]

    async def test_the_audit_entry_and_what_it_asks_for_are_in_the_same_transaction(
        self, record: SystemOfRecord
    ) -> None:
        await learn(record, SAID)
        decided = await decide(record, decisions={M0: "delete", M2: "anonymize"}, idempotency_key="k")
        async with record.reading(user_id="ann") as unit:
            for memory in (M0, M2):
                [change] = await unit.changes.list(kind=ChangeKind.DECISION, subject=memory)
                assert change.decision == decided
        pending = {run.run_id for run in await record.runs.latest(PENDING, limit=9)}
        assert pending == set(decided.erasures)
        assert len(pending) == 2
        assert await decide(record, decisions={M0: "delete", M2: "anonymize"}, idempotency_key="k") == decided

    async def test_another_version_changes_nothing(self, record: SystemOfRecord) -> None:
        await learn(record, SAID)
        before = await everything(record)
        with pytest.raises(VersionConflict, match=M0):
            await decide(record, decisions={M0: "delete", M1: "delete"}, expected_versions={M0: 2})
        assert await everything(record) == before
        assert await record.runs.latest(PENDING, limit=9) == []


async def decide(record: SystemOfRecord, **fields: Any) -> DecisionRecord:
    lock = asyncio.Lock()
    service = Deciding(record=record, digests=Digests(b"k" * 32), lock=lambda _: lock, wake=lambda: None)
    return await service.decide(DecisionRequest(user_id="ann", at=NOON + timedelta(hours=1), **fields))


def comparable(exported: str) -> list[Any]:
    """The lines of an export and what waits, without ids of their own and places in the log."""
    lines = []
    for line in exported.splitlines():
        if not line.startswith("{"):
            lines.append(line)
            continue
        value = json.loads(line)
        item = value.get("value", value)
        for name in ("sequence", "change_id", "sha256", "digest", "decision_id", "erasures"):
            item.pop(name, None)
        if item.get("decision"):
            item["decision"] = {**item["decision"], "decision_id": "", "erasures": len(item["decision"]["erasures"])}
        lines.append(json.dumps(value, sort_keys=True))
    return sorted(lines)
