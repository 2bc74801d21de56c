"""The system of record: units of work, and the backlog that the learner and the vector index are fed from (DESIGN §7).

A unit of work is bound to one user: nothing in it can name another. What crosses users is in `Backlog`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from ...values.documents.corpora import SourceVersion
from ...values.errors import Conflict
from ...values.facts import FactStatus
from ...values.records import Resource
from ..erasures import RecordErasure
from ..jobs import RunLog
from .corpora import CorpusRepository, KnowledgeRepository, SourceRepository
from .facts import CategoryAccessRepository, CategoryRepository, FactRepository, GraphRepository
from .graphs import KnowledgeGraphRepository
from .items import ItemRepository
from .keys import KeyStore
from .policies import PolicyRepository
from .repositories import (
    ChangeLog,
    EntityRepository,
    MemoryRepository,
    RawLog,
    RelationRepository,
)
from .typed_memories import TypedMemories
from .vectors import Collection


class UnitOfWork(ABC):
    """One transaction on one user's data (002 §6.3), or on an app's knowledge (004 §4).

    Leaving its block without `commit` undoes the changes.
    """

    log: RawLog
    entities: EntityRepository
    relations: RelationRepository
    memories: MemoryRepository
    facts: FactRepository
    categories: CategoryRepository
    category_accesses: CategoryAccessRepository
    graph: GraphRepository
    changes: ChangeLog
    policies: PolicyRepository
    corpora: CorpusRepository
    sources: SourceRepository
    knowledge: KnowledgeRepository
    knowledge_graph: KnowledgeGraphRepository
    items: ItemRepository
    erasure: RecordErasure

    @property
    def typed_memories(self) -> TypedMemories:
        """The facts as document 001 shows them."""
        return TypedMemories(self.facts)

    @abstractmethod
    async def commit(self) -> None:
        """Makes all changes durable, or none; the unit of work is over."""

    @abstractmethod
    async def rollback(self) -> None:
        """Undoes all changes; the unit of work is over."""


@dataclass(frozen=True)
class OutboxEntry:
    """An item that the vector index has not seen yet, to be read by its id and projected."""

    sequence: int
    user_id: str
    collection: Collection
    item_id: str


@dataclass(frozen=True)
class FactTotal:
    """The facts of all users that have a status and a category: how many, and their mean confidence."""

    status: FactStatus
    category: str
    count: int
    confidence: float


class Backlog(ABC):
    """What crosses users: their waiting work and who they are; for the learner, for maintenance, and for calls that may
    act for any user of their app.
    """

    @abstractmethod
    async def unlearned(self, *, limit: int, user_id: str | None = None) -> list[Resource]:
        """Entries of the raw log not yet learned, oldest first, of one user or of all."""

    @abstractmethod
    async def outbox(self, *, limit: int, user_id: str | None = None) -> list[OutboxEntry]:
        """Items not yet in the vector index, oldest first; one entry for each item, however often it changed."""

    @abstractmethod
    async def acknowledge(self, entries: Sequence[OutboxEntry]) -> None:
        """Removes entries from the outbox; an item that was saved again meanwhile stays."""

    @abstractmethod
    async def requeue(self, collection: Collection, item_ids: Sequence[str], *, user_id: str) -> None:
        """Puts items on the outbox again, whether or not they exist: what is gone is taken out of the index."""

    @abstractmethod
    async def users(self, *, after: str | None = None, limit: int) -> list[str]:
        """Owners of any data, sorted by code point, from the first greater than `after`: users, and apps that have
        knowledge (`memory.values.access.identity.app_owner`).
        """

    @abstractmethod
    async def owners(self, memory_id: str) -> list[str]:
        """The users who have a memory of this id, sorted by code point, for callers that name a memory and no user.

        Ids are derived from the user, so there is one at most, unless an import gave one to two users.
        """

    @abstractmethod
    async def pending_sources(self, *, limit: int) -> list[SourceVersion]:
        """The versions of sources that are to be ingested, of all apps, those first that were queued first."""

    @abstractmethod
    async def counts(self) -> Mapping[str, int]:
        """Totals for the metrics: `resources`, `unlearned`, `entities`, `preloaded` (those of them that no user
        has mentioned), `relations`, `memories`, `facts`, `corpora`, `knowledge` (chunks), `outbox`, `users` (without
        apps), `size_bytes`.
        """

    @abstractmethod
    async def fact_totals(self) -> list[FactTotal]:
        """The facts of all users, by status and category (002 §8.4)."""


def check_same_content(resources: Sequence[Resource], kept: Sequence[Resource]) -> None:
    """Compares entries with those that are kept under the same ids.

    Raises:
        Conflict: The content of one is another.
    """
    contents = {resource.resource_id: resource.content for resource in kept}
    for resource in resources:
        if contents.get(resource.resource_id, resource.content) != resource.content:
            raise Conflict("turn_id: the session has another text with this id; repeat that text, or use another id")


class SystemOfRecord(ABC):
    """Opens units of work and shows the backlog, the runs of jobs and the API keys."""

    backlog: Backlog
    runs: RunLog
    keys: KeyStore

    @abstractmethod
    def reading(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        """A consistent view of one user's data; several may be open at once."""

    @abstractmethod
    def writing(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        """A transaction that may write; one at a time for a user, so keep it short and never await a model in it.

        Raises:
            StoreUnavailable: The store cannot be opened or is busy for longer than its deadline.
        """

    async def append(self, resources: Sequence[Resource], *, user_id: str, named: Sequence[str] = ()) -> bool:
        """Appends to the raw log in a transaction of its own: the one write on the chat path (DESIGN §3.5).

        Args:
            resources: The entries; one whose id exists already is skipped.
            user_id: Whose they are.
            named: Ids that the caller chose; an entry that has one of them already must have the same content.

        Returns:
            Whether it can be read back now; False where it is as safe, and waits elsewhere for the record to return.

        Raises:
            Conflict: An id of `named` belongs to another content; nothing is written.
            StoreUnavailable: It is not written, or it is not known whether it is; a repetition does no harm.
        """
        async with self.writing(user_id=user_id) as unit:
            await unit.log.append(resources)
            if named:
                check_same_content(resources, await unit.log.get(named))
            await unit.commit()
        return True

    @abstractmethod
    async def erase_user(self, user_id: str) -> Mapping[str, int]:
        """Deletes everything of a user, the waiting work included; how many rows there were, by what they hold.

        Raises:
            StoreUnavailable: Some of it may be gone; call again.
        """

    @abstractmethod
    async def purge(self) -> bool:
        """Removes what deleted rows left in files; whether that is certain, or left to a server that does so in time.

        Raises:
            StoreUnavailable: It could not be done now.
        """

    @abstractmethod
    async def ping(self) -> None:
        """Returns when the record can be read and, where it is kept by this process, written.

        Raises:
            StoreUnavailable: It cannot.
        """

    @abstractmethod
    def figures(self) -> Mapping[str, float | str]:
        """State and totals for `/health/detailed`, without asking the store; `status` where it is not ok."""

    @abstractmethod
    async def close(self) -> None:
        """Finishes current work and closes the files or connections."""
