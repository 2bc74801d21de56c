"""The system of record: raw log, entities, memories, and the outbox that feeds the vector index (DESIGN §7).

A unit of work is bound to one user: nothing in it can name another. What crosses users is in `Backlog`, for the
learner alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from ..entities import Entity
from ..records import Memory, Resource
from .vectors import Collection


class RawLog(ABC):
    """The append-only log of one user."""

    @abstractmethod
    async def append(self, resources: Sequence[Resource]) -> None:
        """Appends in order; an id that is there already is skipped. Survives a power cut once committed."""

    @abstractmethod
    async def get(self, resource_ids: Sequence[str]) -> list[Resource]:
        """The entries that exist, in the order of the ids."""

    @abstractmethod
    async def session(self, session_id: str, *, limit: int, before: int | None = None) -> list[Resource]:
        """The latest `limit` entries of a session (with `sequence < before`, where given), oldest first."""

    @abstractmethod
    async def mark_learned(self, resource_ids: Sequence[str]) -> list[str]:
        """Takes entries off the learner's backlog and returns those that were still on it, so that whoever takes an
        entry first is the only one to learn from it.
        """


class EntityRepository(ABC):
    """The entities of one user."""

    @abstractmethod
    async def get(self, entity_ids: Sequence[str]) -> list[Entity]:
        """The entities that exist, in the order of the ids."""

    @abstractmethod
    async def get_by_value(self, value: str) -> Entity | None:
        """The entity with this name or alias, compared by `memory.text.normalise`."""

    @abstractmethod
    async def found_in(self, text: str) -> list[Entity]:
        """Active entities whose name or an alias occurs in the text, longest name first.

        Compared in normalised form; a name of Latin letters or digits must stand between word borders.
        """

    @abstractmethod
    async def recent(self, *, limit: int) -> list[Entity]:
        """Active entities, latest mentioned first."""

    @abstractmethod
    async def save(self, entities: Sequence[Entity]) -> None:
        """Inserts or replaces, and queues them for the vector index."""


class MemoryRepository(ABC):
    """The memories of one user."""

    @abstractmethod
    async def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        """The memories that exist, in the order of the ids."""

    @abstractmethod
    async def recent(self, *, limit: int, session_id: str | None = None) -> list[Memory]:
        """Latest first, of one session or of all."""

    @abstractmethod
    async def save(self, memories: Sequence[Memory]) -> None:
        """Inserts or replaces, and queues them for the vector index."""


class UnitOfWork(ABC):
    """One transaction in one user's data. Leaving it without `commit` undoes what was written."""

    log: RawLog
    entities: EntityRepository
    memories: MemoryRepository

    @abstractmethod
    async def commit(self) -> None:
        """Makes all of it durable, or none."""


@dataclass(frozen=True)
class OutboxEntry:
    """Something that the vector index has not seen yet: fetch it by its id and project it."""

    sequence: int
    user_id: str
    collection: Collection
    item_id: str


class Backlog(ABC):
    """What is waiting, over all users: for the learner and nobody else."""

    @abstractmethod
    async def unlearned(self, *, limit: int, user_id: str | None = None) -> list[Resource]:
        """Entries of the raw log not yet learned, oldest first, of one user or of all."""

    @abstractmethod
    async def outbox(self, *, limit: int, user_id: str | None = None) -> list[OutboxEntry]:
        """Items not yet in the vector index, oldest first; one entry an item, whatever how often it changed."""

    @abstractmethod
    async def acknowledge(self, entries: Sequence[OutboxEntry]) -> None:
        """Takes entries off the outbox; an item that was saved again meanwhile stays on it."""

    @abstractmethod
    async def counts(self) -> Mapping[str, int]:
        """Totals for the metrics: `resources`, `unlearned`, `entities`, `memories`, `outbox`, `users`, `size_bytes`."""


class SystemOfRecord(ABC):
    """Opens units of work and shows the backlog."""

    backlog: Backlog

    @abstractmethod
    def reading(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        """A consistent view of one user's data; several may be open at once."""

    @abstractmethod
    def writing(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        """A transaction that may write; one at a time, so keep it short and never await a model in it.

        Raises:
            StoreUnavailable: The store cannot be opened or is busy for longer than its deadline.
        """

    @abstractmethod
    async def close(self) -> None:
        """Finishes what is under way and lets go of the files."""
