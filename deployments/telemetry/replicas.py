"""The reports of the service's replicas, for `/health/detailed` and `/metrics`."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from prometheus_client import Metric

from memory.ports.jobs import RunTotal
from memory.values.errors import Unavailable
from memory.values.text_caches import forget_texts

T = TypeVar("T")
Figures = Mapping[str, float | str]
"""Named figures of a part; `status` and `error` where something is wrong with it."""
_ANSWER_S = 2.0


@dataclass(frozen=True)
class ReplicaReport:
    """The report of a replica of a deployment behind the ingress."""

    replica: str
    figures: Figures


@dataclass(frozen=True)
class IngressReport:
    """What one replica of the ingress reports.

    Attributes:
        replica: Serve's id of it.
        metrics: Everything that it counts and times.
        stores: The figures of each store as this replica reaches it; None for one that does not answer.
        runs: The recorded runs of background work, which are those of the whole service.
    """

    replica: str
    metrics: Sequence[Metric]
    stores: Mapping[str, Figures | None]
    runs: Sequence[RunTotal] = ()


class Reporting(ABC):
    """A deployment class whose replicas report their figures under their own names."""

    @abstractmethod
    async def stats(self) -> Figures:
        """The figures of this replica, at once: an answer also says that the replica is there."""

    async def report(self) -> ReplicaReport:
        """`stats` with the name of the replica."""
        return ReplicaReport(replica_name(), await self.stats())

    async def forget_texts(self) -> None:
        """Empties the caches of texts of this replica."""
        await asyncio.to_thread(forget_texts)


def replica_name() -> str:
    """Serve's id of the replica that this process is; `local` outside Serve."""
    from ray import serve
    from ray.serve.exceptions import RayServeException

    try:
        return str(serve.get_replica_context().replica_id.unique_id)
    except RayServeException:
        return "local"


def add_up(reports: Sequence[ReplicaReport]) -> Figures:
    """The figures of all replicas of one deployment together; their number, where there are several, as `replicas`."""
    total: dict[str, float | str] = {"replicas": len(reports)} if len(reports) > 1 else {}
    for report in reports:
        for name, value in report.figures.items():
            former = total.get(name)
            if isinstance(value, str) or isinstance(former, str):
                total[name] = value if former is None or former == value else f"{former}; {value}"
            else:
                total[name] = value if former is None else former + value
    return total


async def ask_all(probes: Mapping[str, Callable[[], Awaitable[T]]]) -> dict[str, T | Unavailable]:
    """Asks all parts at once; one that does not answer within two seconds counts as down."""
    return dict(zip(probes, await asyncio.gather(*map(ask, probes.values())), strict=True))


async def ask(probe: Callable[[], Awaitable[T]], *, within_s: float = _ANSWER_S) -> T | Unavailable:
    """The answer of a component, or the reason why it gave none."""
    try:
        async with asyncio.timeout(within_s):
            return await probe()
    except TimeoutError:
        return Unavailable(f"no answer within {within_s:g} s")
    except Unavailable as error:
        return error
