"""Erasures and decisions in the Learner, and what all replicas of the service forget for them."""

import asyncio
from collections.abc import Sequence

from typing_extensions import override

from memory.ports.decisions import DecisionService
from memory.ports.erasures import Erasures, ErasureService, ReplicaMemory
from memory.values.governance.decisions import DecisionRecord, DecisionRequest
from memory.values.governance.erasures import Erasure, ErasureScope, Tombstone
from memory.values.text_caches import forget_texts

from .handles import Remote

_REPLAY_DEADLINE_S = 600.0


class RemoteErasures(ErasureService):
    """The Learner deployment as an `ErasureService`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    @override
    async def request(self, scope: ErasureScope, *, user_id: str) -> Erasure:
        erasure: Erasure = await self._remote.call("erase", scope, user_id)
        return erasure

    @override
    async def get(self, erasure_id: str) -> Erasure:
        erasure: Erasure = await self._remote.call("erasure", erasure_id)
        return erasure

    @override
    async def list(self, *, limit: int = 100) -> Erasures:
        erasures: Erasures = await self._remote.call("erasures", limit)
        return erasures

    @override
    async def tombstones(self) -> Sequence[Tombstone]:
        tombstones: Sequence[Tombstone] = await self._remote.call("tombstones")
        return tombstones

    @override
    async def replay(self, tombstones: Sequence[Tombstone] = ()) -> Erasures:
        erasures: Erasures = await self._remote.call("replay_erasures", list(tombstones), deadline_s=_REPLAY_DEADLINE_S)
        return erasures


class RemoteDecisions(DecisionService):
    """The Learner deployment as a `DecisionService`; a call may be repeated, since a request has an id."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    @override
    async def decide(self, request: DecisionRequest) -> DecisionRecord:
        record: DecisionRecord = await self._remote.call("decide", request)
        return record


class RemoteReplicaMemory(ReplicaMemory):
    """What all replicas of the service hold in memory.

    Args:
        ingress: Holds sessions while their store is away, and the rest of requests.
        others: The other deployments that read texts; their caches are emptied.
    """

    def __init__(self, *, ingress: Remote, others: Sequence[Remote]) -> None:
        self._ingress = ingress
        self._others = others

    @override
    async def forget(self, user_id: str) -> None:
        calls = [remote.call_each_replica("forget_texts") for remote in self._others]
        await asyncio.gather(
            self._ingress.call_each_replica("forget", user_id), *calls, asyncio.to_thread(forget_texts)
        )
