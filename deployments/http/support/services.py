"""What the routes need, in one place: the use cases of the domain and the parts that operations look at."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Protocol

from fastapi import Depends, Request

from memory.chat.additions import MemoryAdditions
from memory.chat.turn import ChatTurn
from memory.indexing.spaces import PerSpace
from memory.ports.coordination import RateLimiter
from memory.ports.generations import ReembeddingService
from memory.ports.jobs import IndexMaintenance, ReviewService
from memory.ports.language import Extractor, FloatMatrix, Priority, Resolver, TextKind
from memory.ports.record import SystemOfRecord
from memory.ports.services import Retriever
from memory.ports.sessions import SessionStore
from memory.typed_memories.manager import TypedMemoryManager
from memory.values.errors import Unavailable

from ...telemetry.metrics import ServiceMetrics
from ...telemetry.replicas import Figures, IngressReport, ReplicaReport, ask_all, replica_name


class Embed(Protocol):
    """Encodes texts and counts their tokens."""

    async def __call__(self, texts: Sequence[str], *, kind: TextKind, priority: Priority) -> tuple[FloatMatrix, int]:
        """Returns an array of shape (texts, dimension) and the number of tokens read."""
        ...


@dataclass(frozen=True)
class Embedding:
    """The model that `/v1/embeddings` offers: the one that is live.

    Args:
        model_ids: Names under which it is known; the first is the one it answers with.
        dimension: Length of a vector.
        embed: Encodes.
    """

    model_ids: tuple[str, ...]
    dimension: int
    embed: Embed


Probe = Callable[[], Awaitable[Figures]]
"""Asks a store how it is: returns its figures, or raises `Unavailable`."""


@dataclass(frozen=True)
class Governance:
    """What the routes of protection and review call.

    Args:
        protections: One a model, with that model's bands: its encoder and its index are never another's.
        reviews: The review.
    """

    protections: PerSpace[TypedMemoryManager]
    reviews: ReviewService

    async def protection(self) -> TypedMemoryManager:
        """That of the live model.

        Raises:
            StoreUnavailable: Which one is live cannot be told.
        """
        return await self.protections.current()


@dataclass(frozen=True)
class Services:
    """All that the HTTP surface calls.

    Args:
        embeddings: One a model.
        probes: One a store.
        parts: The deployments behind the ingress: each gives a report of every replica, or raises `Unavailable`.
        ingress_reports: Gives a report of every ingress replica; None where there is only this one.
        required: Parts without which the service is not ready.
    """

    chat: ChatTurn
    additions: MemoryAdditions
    record: SystemOfRecord
    sessions: SessionStore
    limiter: RateLimiter | None
    extractor: Extractor
    resolver: Resolver
    retriever: Retriever
    index: IndexMaintenance
    governance: Governance
    reembedding: ReembeddingService
    embeddings: PerSpace[Embedding]
    metrics: ServiceMetrics
    probes: Mapping[str, Probe] = field(default_factory=dict)
    parts: Mapping[str, Callable[[], Awaitable[Sequence[ReplicaReport]]]] = field(default_factory=dict)
    ingress_reports: Callable[[], Awaitable[Sequence[IngressReport]]] | None = None
    required: frozenset[str] = frozenset()

    async def admit(self, user_id: str) -> None:
        """Counts a request against what this user may ask for.

        Raises:
            Overloaded: The user has sent too many; says when to come back.
        """
        if self.limiter is not None:
            await self.limiter.take(user_id=user_id)

    async def report(self) -> IngressReport:
        """What this ingress replica counts, and how it reaches the stores."""
        stores = await ask_all(self.probes)
        answers = {name: None if isinstance(figures, Unavailable) else figures for name, figures in stores.items()}
        return IngressReport(replica_name(), self.metrics.collect(), answers)

    async def ingress(self) -> Sequence[IngressReport]:
        """A report of every ingress replica.

        Raises:
            Unavailable: They do not answer.
        """
        return [await self.report()] if self.ingress_reports is None else await self.ingress_reports()

    def count_degraded(self, parts: Sequence[str]) -> None:
        """Counts a reply that had to do without these parts."""
        for part in parts:
            self.metrics.degraded.labels(part).inc()


def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


ServicesDep = Annotated[Services, Depends(_services)]
"""Route parameter: the services of this app."""
