"""Erasure as a service, what it does to a user's rows, and what the processes of the service hold of users."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from ..values.governance.changes import Change
from ..values.governance.erasures import Erasure, ErasureScope, Tombstone
from ..values.records import Resource
from .jobs import PipelineRun

Erasures = list[Erasure]  # a class with a method `list` cannot spell the type inside


class ErasureService(ABC):
    """Erases what is remembered of users, retried until every store has done so (004 §7.3)."""

    @abstractmethod
    async def request(self, scope: ErasureScope, *, user_id: str) -> Erasure:
        """Records that this is to be erased and returns at once; an equal request that is pending is returned instead.

        Raises:
            StoreUnavailable: The request could not be recorded.
        """

    @abstractmethod
    async def get(self, erasure_id: str) -> Erasure:
        """The erasure of this id.

        Raises:
            NotFound: There is none.
        """

    @abstractmethod
    async def list(self, *, limit: int = 100) -> Erasures:
        """Pending erasures, then those that are done, each latest first."""

    @abstractmethod
    async def tombstones(self) -> Sequence[Tombstone]:
        """The finished erasures, to be kept with backups."""

    @abstractmethod
    async def replay(self, tombstones: Sequence[Tombstone] = ()) -> Erasures:
        """Erases again what finished erasures had erased and a restored backup or an import has brought back.

        Args:
            tombstones: Those that a restored record does not know itself.

        Returns:
            The erasures that were requested for it.
        """


class ErasureRequests(ABC):
    """Requests for erasure that are recorded by the transaction which makes them necessary, so that none is lost."""

    @abstractmethod
    def prepare(self, messages: Sequence[str], *, user_id: str) -> Sequence[PipelineRun]:
        """What asks for the erasure of log entries, to be recorded by `RecordErasure.request`."""

    @abstractmethod
    def wake(self) -> None:
        """Says that requests have been committed."""


class RecordErasure(ABC):
    """What erasure alone does to a user's rows, in the transaction of its unit of work."""

    @abstractmethod
    async def delete(
        self,
        *,
        messages: Sequence[str] = (),
        facts: Sequence[str] = (),
        changes: Sequence[str] = (),
        categories: Sequence[str] = (),
    ) -> Mapping[str, int]:
        """Deletes log entries, facts, changes and categories by id, whatever refers to them.

        Facts are queued, so that the index drops them; with a category go its accesses.

        Returns:
            How many there were, by the names of the arguments.
        """

    @abstractmethod
    async def rewrite(self, *, messages: Sequence[Resource] = (), changes: Sequence[Change] = ()) -> None:
        """Replaces log entries and changes that exist; their places, and what waits for the learner, stay.

        The session, kind and time of an entry, and the kind of a change, are as before.
        """

    @abstractmethod
    async def request(self, requests: Sequence[PipelineRun]) -> None:
        """Inserts or replaces runs among `SystemOfRecord.runs`, where they are seen once this is committed."""


class ReplicaMemory(ABC):
    """What the processes of the service hold of users in memory: caches, sessions while their store is away."""

    @abstractmethod
    async def forget(self, user_id: str) -> None:
        """Drops what every process holds of a user, and all caches of texts.

        Raises:
            Unavailable: A process did not answer.
        """
