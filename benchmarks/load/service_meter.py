"""Measures a service on this machine: CPU seconds by deployment, and tokens that the Embedder has read."""

import asyncio
import json
import re
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.load.http import HttpCaller
from deployments.host.cluster import members

_REPLICA = re.compile(r"ray::ServeReplica:[^:]+:(\w+)")
_TOKENS = re.compile(r'^jiyi_part\{figure="tokens",part="embedder",replica="\w+"\} (\S+)', re.MULTILINE)
_QUIET_LOOKS, _LOOK_S = 3, 0.5
OTHER = "cluster"
"""The processes that are not replicas: proxy, controller, raylet, session server, supervisor."""


@dataclass(frozen=True)
class Reading:
    """Counters at one moment.

    Attributes:
        cpu_s: CPU seconds so far, by deployment; empty where the service's home is not known.
        machine_busy_s: CPU seconds of all processes of the machine.
        tokens: Read by the Embedder so far.
    """

    at_s: float
    cpu_s: Mapping[str, float]
    machine_busy_s: float
    tokens: float


@dataclass(frozen=True)
class Spent:
    """The differences between two readings."""

    seconds: float
    cpu_s: dict[str, float]
    machine_busy_s: float
    tokens: float


def spent(before: Reading, after: Reading) -> Spent:
    """The difference; a deployment that was started anew counts from its start."""
    return Spent(
        seconds=after.at_s - before.at_s,
        cpu_s={name: max(0.0, value - before.cpu_s.get(name, 0.0)) for name, value in after.cpu_s.items()},
        machine_busy_s=after.machine_busy_s - before.machine_busy_s,
        tokens=after.tokens - before.tokens,
    )


class ServiceMeter:
    """Reads a running service.

    Args:
        caller: Open.
        home: The service's home, where it runs on this machine; CPU seconds are only known with it.
    """

    def __init__(self, caller: HttpCaller, home: Path | None) -> None:
        self._caller = caller
        self._processes = [] if home is None else members(home.expanduser().absolute())

    async def read(self) -> Reading:
        """The counters now."""
        metrics = (await self._caller.fetch("GET", "/metrics")).decode()
        cpu: defaultdict[str, float] = defaultdict(float)
        for process in self._processes:
            try:
                name = _REPLICA.match((process.cmdline() or [""])[0])
                times = process.cpu_times()
            except (psutil.NoSuchProcess, psutil.ZombieProcess):
                continue  # a replica that was replaced
            cpu[name[1] if name else OTHER] += times.user + times.system
        machine = psutil.cpu_times()
        return Reading(
            at_s=time.monotonic(),
            cpu_s=cpu,
            machine_busy_s=machine.user + machine.system + machine.nice,
            tokens=sum(map(float, _TOKENS.findall(metrics))),
        )

    async def wait_until_learned(self, limit_s: float) -> float:
        """Waits until the backlog of the learner and of the index stays empty; returns the seconds until it first was.

        It gives up after `limit_s`: a service that cannot keep up is a finding, and what waits shows in the next stage.
        """
        begin, quiet, learned_s = time.monotonic(), 0, 0.0
        while quiet < _QUIET_LOOKS and learned_s < limit_s:
            health = json.loads(await self._caller.fetch("GET", "/health/detailed"))
            record = health["parts"]["record"]
            waiting = record.get("unlearned", 0) + record.get("outbox", 0)
            if waiting or not quiet:
                learned_s = time.monotonic() - begin
            quiet = 0 if waiting else quiet + 1
            await asyncio.sleep(_LOOK_S)
        return learned_s
