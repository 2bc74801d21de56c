"""Carries out decisions about memories: retain, delete, anonymise (004 §7.3, §7.4)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

import structlog
from typing_extensions import override

from ..ports.decisions import DecisionService
from ..ports.jobs import PipelineRun
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..values.errors import Conflict, NotFound, VersionConflict
from ..values.governance.changes import Change, ChangeActor, ChangeKind, new_change
from ..values.governance.decisions import DecidedMemory, Decision, DecisionRecord, DecisionRequest
from ..values.governance.erasures import ErasureKind, ErasureScope
from ..values.ids import derive_id, reply_id
from ..values.records import Memory, Resource
from .effects import Effects, apply
from .eraser import forget_in_runs
from .planning import plan
from .requests import Digests, Request, new_request, run_of
from .selection import Selection

_log = structlog.get_logger(__name__)


class Deciding(DecisionService):
    """Changes the record at once, and asks erasure for the rest: vectors, sessions, caches, files.

    Args:
        record: The system of record.
        digests: Digests of ids, for the erasures.
        lock: The lock of a user's learning and indexing.
        wake: Says that erasures have been committed.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        digests: Digests,
        lock: Callable[[str], asyncio.Lock],
        wake: Callable[[], None],
    ) -> None:
        self._record = record
        self._digests = digests
        self._lock = lock
        self._wake = wake

    @override
    async def decide(self, request: DecisionRequest) -> DecisionRecord:
        async with self._lock(request.user_id):
            decided = None
            while decided is None:  # again where somebody else has changed what follows from it
                decided = await self._attempt(request)
        self._wake()
        return decided

    async def _attempt(self, request: DecisionRequest) -> DecisionRecord | None:
        user_id = request.user_id
        async with self._record.reading(user_id=user_id) as unit:
            if known := await _recorded(unit, request):
                return known
            memories = await _memories(unit, request)
            selection = await _select(unit, request, memories)
            effects = await plan(unit, user_id, selection) if selection.messages or selection.items else Effects()
            facts = await unit.facts.stated_in([memory.resource_id for memory in memories])
        touched = effects.gone | {id_ for ids in effects.points.values() for id_ in ids}
        if touched:
            await forget_in_runs(self._record.runs, user_id, items=touched)
        async with self._record.writing(user_id=user_id) as unit:
            if known := await _recorded(unit, request):
                return known
            if await _memories(unit, request) != memories or (removed := await apply(unit, effects)) is None:
                return None
            erasures = self._erasures(request, memories, selection, effects, removed)
            stated = [fact.resource_id for fact in facts]
            record = DecisionRecord(
                decision_id=_change_id(request),
                at=request.at,
                decided=tuple(
                    DecidedMemory(
                        memory_id=memory.memory_id,
                        decision=request.decisions[memory.memory_id],
                        version=memory.version,
                        facts=stated.count(memory.resource_id),
                    )
                    for memory in memories
                ),
                note=request.note,
                removed={name: count for name, count in sorted(removed.items()) if count},
                erasures=tuple(erasure.erasure_id for erasure in erasures),
                idempotency_key=request.idempotency_key,
                digest=request.digest,
            )
            await unit.changes.append([_change(user_id, record)])
            await unit.erasure.request(_runs(erasures, request))
            await unit.commit()
        made = list(request.decisions.values())
        counts = {decision.value: made.count(decision) for decision in Decision}
        _log.info("memories_decided", decision_id=record.decision_id, **counts)
        return record

    def _erasures(
        self,
        request: DecisionRequest,
        memories: Sequence[Memory],
        selection: Selection,
        effects: Effects,
        removed: Mapping[str, int],
    ) -> list[Request]:
        """What erasure has to do afterwards, deleted and anonymised messages apart; what was found is in the first."""
        names: dict[Decision, list[str]] = {Decision.DELETE: [], Decision.ANONYMIZE: []}
        for id_, message in selection.messages.items():
            kind = Decision.ANONYMIZE if id_ in selection.placeholders else Decision.DELETE
            names[kind].append(message.resource_id)
        for memory in memories:
            decision = request.decisions[memory.memory_id]
            if decision in names and memory.resource_id not in selection.messages:
                names[decision].append(memory.memory_id)
        requests = [
            new_request(
                ErasureScope(
                    kind=ErasureKind.ITEM,
                    item_id=ids[0],
                    more=tuple(ids[1:]),
                    anonymise=decision is Decision.ANONYMIZE,
                ),
                user_id=request.user_id,
                digests=self._digests,
                now=request.at,
            )
            for decision, ids in names.items()
            if ids
        ]
        if requests:
            found = {
                "points": {collection.value: ids for collection, ids in effects.points.items() if ids},
                "sessions": effects.sessions,
                "removed": {f"record.{name}": count for name, count in removed.items() if count},
            }
            requests[0] = requests[0].model_copy(update=found)
        return requests


def _change_id(request: DecisionRequest) -> str:
    key = request.idempotency_key
    return request.request_id if key is None else derive_id("decision", request.user_id, key)


async def _recorded(unit: UnitOfWork, request: DecisionRequest) -> DecisionRecord | None:
    """What was decided by the same request, or by the same key.

    Raises:
        Conflict: It was another request.
    """
    for change in await unit.changes.get([_change_id(request)]):
        if change.decision is not None:
            if change.decision.digest != request.digest:
                raise Conflict("idempotency_key: another request was made with this key")
            return change.decision
    return None


async def _memories(unit: UnitOfWork, request: DecisionRequest) -> list[Memory]:
    """The memories that are decided on.

    Raises:
        NotFound: One is not there.
        VersionConflict: One has another version than was expected.
    """
    memories = await unit.memories.get(list(request.decisions))
    found = {memory.memory_id: memory.version for memory in memories}
    if missing := [id_ for id_ in request.decisions if id_ not in found]:
        raise NotFound(f"decisions: there is no memory {', '.join(map(repr, missing))}.")
    others = {id_: found[id_] for id_, version in request.expected_versions.items() if found[id_] != version}
    if others:
        raise VersionConflict(
            "; ".join(
                f"the memory {id_} has version {version}, not {request.expected_versions[id_]}"
                for id_, version in others.items()
            ),
            versions=others,
        )
    return memories


async def _select(unit: UnitOfWork, request: DecisionRequest, memories: Sequence[Memory]) -> Selection:
    """The messages of what is deleted or anonymised, with Jiyi's replies to them, its facts, and the memories."""
    chosen = [memory for memory in memories if request.decisions[memory.memory_id] is not Decision.RETAIN]
    anonymised = [memory for memory in chosen if request.decisions[memory.memory_id] is Decision.ANONYMIZE]
    if not chosen:
        return Selection(ErasureScope(kind=ErasureKind.ITEM, item_id=memories[0].memory_id))
    facts = await unit.facts.stated_in([memory.resource_id for memory in chosen])

    async def with_replies(of: Sequence[Memory]) -> dict[str, Resource]:
        messages = await unit.log.get([memory.resource_id for memory in of])
        replies = [reply_id(message.user_id, message.session_id, message.resource_id) for message in messages]
        return {message.resource_id: message for message in (*messages, *await unit.log.get(replies))}

    anonymised_sources = {memory.resource_id for memory in anonymised}
    selection = Selection(
        ErasureScope(kind=ErasureKind.ITEM, item_id=chosen[0].memory_id),
        messages=await with_replies(anonymised),
        items={memory.memory_id for memory in anonymised}
        | {fact.fact_id for fact in facts if fact.resource_id in anonymised_sources},
    )
    selection.leave_placeholders()
    kept = [memory for memory in chosen if memory not in anonymised]
    selection.messages |= await with_replies(kept)
    selection.items |= {memory.memory_id for memory in kept} | {fact.fact_id for fact in facts}
    return selection


def _change(user_id: str, record: DecisionRecord) -> Change:
    change = new_change(
        ChangeKind.DECISION,
        user_id=user_id,
        at=record.at,
        actor=ChangeActor.USER,
        reason=record.note,
        items=[],
        about=[decided.memory_id for decided in record.decided],
    )
    return change.model_copy(update={"change_id": record.decision_id, "decision": record})


def _runs(erasures: Sequence[Request], request: DecisionRequest) -> list[PipelineRun]:
    return [run_of(erasure, now=request.at) for erasure in erasures]
