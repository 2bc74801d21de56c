"""Kills one process after the other while the service works, and measures its memory."""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.common.killing import SESSION_SERVER, NotRecovered, kill, recovery_s
from deployments.config.settings import AppArgs
from deployments.host.supervisor import Endpoint
from jiyi import service

VICTIMS = (
    *("Retriever", "Embedder", "Extractor", "Resolver", "Learner", "VectorShard", "SessionServer", "Ingress"),
    *(SESSION_SERVER, "ProxyActor", "haproxy", "ServeController"),
)
DOOR = ("Ingress", "ProxyActor", "haproxy", "ServeController")
"""Victims without which a connection may break or nobody listens, until they are back."""
_MEMORY_EVERY_S = 10.0


@dataclass(frozen=True)
class Kill:
    """One `kill -9`.

    Attributes:
        at_s: Seconds since the soak began.
        recovery_s: Until every part answered again; None where it took longer than the limit.
    """

    at_s: float
    victim: str
    recovery_s: float | None


@dataclass
class Killer:
    """Kills a process in each period of a soak.

    Args:
        began: When the soak began (monotonic).
        every_s: Seconds between two kills.
        tell: Told what was killed.
    """

    settings: AppArgs
    endpoint: Endpoint
    began: float
    every_s: float
    tell: Callable[[str], None] = lambda _: None
    victims: Sequence[str] = VICTIMS
    kills: list[Kill] = field(default_factory=list)
    memory_mib: list[tuple[float, dict[str, float]]] = field(default_factory=list)
    """Proportional memory by name of the process, in MiB, and when."""

    async def run(self, seconds: float) -> None:
        """Kills until the soak ends; the last kill leaves half a period to recover."""
        chooser = random.Random(5)
        number = 0
        while (due_s := (number + 0.5 + chooser.uniform(-0.2, 0.2)) * self.every_s) < seconds - self.every_s / 2:
            await asyncio.sleep(max(0.0, self.began + due_s - time.monotonic()))
            await self._kill(self.victims[number % len(self.victims)])
            number += 1

    async def measure_memory(self) -> None:
        """Measures until it is cancelled."""
        while True:
            by_name: defaultdict[str, float] = defaultdict(float)
            for process in await asyncio.to_thread(service.processes, self.settings, self.endpoint):
                by_name[short_name(process.name)] += process.pss_mib
            self.memory_mib.append((time.monotonic() - self.began, dict(by_name)))
            await asyncio.sleep(_MEMORY_EVERY_S)

    async def _kill(self, victim: str) -> None:
        try:
            killed_at = await asyncio.to_thread(kill, self.settings, self.endpoint, victim)
        except LookupError as error:
            self.tell(str(error))
            return
        try:
            took_s: float | None = await asyncio.to_thread(
                recovery_s, self.endpoint.url, killed_at, limit_s=2 * self.every_s
            )
        except NotRecovered:
            took_s = None
        self.kills.append(Kill(killed_at - self.began, victim, took_s))
        self.tell(f"{victim}: " + (f"whole after {took_s:.1f} s" if took_s is not None else "not whole again in time"))


def short_name(process: str) -> str:
    """The deployment of a replica, or the name of a process, without the method that runs in it."""
    name = process.rpartition(":")[2] if "ServeReplica:" in process else process
    return name if name.startswith("deployments.") else name.partition(".")[0].strip()
