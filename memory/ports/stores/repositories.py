"""The repositories of one user besides facts (000 §5.4, 001, 002 §6.2): the raw log, entities and their relations,
memories, and the log of changes.

Each repository is bound to one user by the unit of work that it belongs to.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from ...values.entities import Entity, EntityRelation
from ...values.governance.changes import Change, ChangeKind
from ...values.records import Memory, Resource, ResourceKind
from .places import Place

Resources = list[Resource]  # a class with a method `list` cannot spell the type inside
Strings = list[str]
Changes = list[Change]
T = TypeVar("T")


async def read_pages(
    read: Callable[..., Awaitable[list[T]]], cursor: Callable[[T], Any], *, limit: int
) -> AsyncIterator[list[T]]:
    """The pages of a repository's method; `cursor` is what the next one begins behind."""
    after = None
    while page := await read(after=after, limit=limit):
        yield page
        after = cursor(page[-1])


MAX_DEPTH = 3
"""The largest number of hops between entities."""


@dataclass(frozen=True)
class Access:
    """The retrievals of an item since the last count, and the time of the latest (001 §1.3, hotness).

    A repository that counts accesses changes nothing else of the item, `version` included, skips items that do not
    exist, and does not queue the item for the vector index, whose copy of the count may lag.
    """

    item_id: str
    count: int
    at: datetime


class RawLog(ABC):
    """The append-only log of one user (002's ResourceRepository; `append` is its `create`)."""

    @abstractmethod
    async def append(self, resources: Sequence[Resource]) -> None:
        """Appends in order; an id that exists already is skipped. Survives a power cut once committed."""

    @abstractmethod
    async def get(self, resource_ids: Sequence[str]) -> Resources:
        """The entries that exist, in the order of the ids."""

    @abstractmethod
    async def session(self, session_id: str, *, limit: int, before: int | None = None) -> Resources:
        """The latest `limit` entries of a session (with `sequence < before`, where given), oldest first."""

    @abstractmethod
    async def list(
        self, *, kind: ResourceKind | None = None, since: datetime | None = None, limit: int = 100
    ) -> Resources:
        """The latest entries, of one kind (002's `source`) or of all, created at or after `since`, latest first."""

    @abstractmethod
    async def count(self) -> int:
        """The number of entries."""

    @abstractmethod
    async def page(self, *, after: int | None = None, limit: int) -> Resources:
        """Entries in order, from the first with a `sequence` greater than `after`."""

    @abstractmethod
    async def list_unextracted(self, *, after: int | None = None, limit: int = 100) -> Resources:
        """Entries that the learner has not learned from yet, oldest first, with a `sequence` greater than `after`."""

    @abstractmethod
    async def mark_learned(self, resource_ids: Sequence[str]) -> Strings:
        """Removes entries from the learner's backlog and returns those that were still on it, so that only one process
        learns from an entry.
        """

    @abstractmethod
    async def delete_orphaned(self, *, created_before: datetime) -> int:
        """Deletes entries older than this that nothing was made of: learned, and no memory or fact comes from them.
        Returns how many. Besides erasure, this is the only thing that shortens the log (002 §5.2, the weekly job).
        """


class EntityRepository(ABC):
    """The entities of one user."""

    @abstractmethod
    async def get(self, entity_ids: Sequence[str]) -> list[Entity]:
        """The entities that exist, in the order of the ids."""

    @abstractmethod
    async def get_by_value(self, value: str) -> Entity | None:
        """The entity with this name or alias, compared by `memory.values.text.normalise`."""

    @abstractmethod
    async def found_in(self, text: str) -> list[Entity]:
        """Entities, but archived ones, whose name or an alias occurs in the text, longest name first.

        Compared in normalised form; a name of Latin letters or digits must stand between word borders.
        """

    @abstractmethod
    async def recent(self, *, limit: int) -> list[Entity]:
        """Entities, but archived ones, latest mentioned first; of one moment, the one saved first comes last."""

    @abstractmethod
    async def page(self, *, after: str | None = None, limit: int) -> list[Entity]:
        """Entities of any status in the order of their ids, from the first id greater than `after`."""

    @abstractmethod
    async def oldest(self, *, after: str | None = None, limit: int) -> list[Entity]:
        """Entities of any status in the reverse of the order of `recent`, from the first behind the entity `after`."""

    @abstractmethod
    async def save(self, entities: Sequence[Entity]) -> None:
        """Inserts or replaces, and queues them for the vector index."""

    @abstractmethod
    async def update_mention(self, entity_id: str, *, at: datetime) -> bool:
        """Counts one more mention at this time (000 §5.4): the times widen, the count and the version grow by one, and
        the entity is queued for the vector index. Whether there is such an entity.
        """

    @abstractmethod
    async def delete(self, entity_ids: Sequence[str]) -> int:
        """Deletes entities and their names, queues them so that the index drops them, and returns their number.
        Their relations stay, but are not followed; the caller may delete them.
        """

    @abstractmethod
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        """Adds to `access_count` and moves `accessed_at`; see `Access`."""


class RelationRepository(ABC):
    """The relations between one user's entities; those of a deleted, archived or unknown entity are never walked."""

    @abstractmethod
    async def store(self, relations: Sequence[EntityRelation]) -> None:
        """Inserts or replaces by `relation_id`.

        Raises:
            InvalidField: An end of a relation is not an entity of this user. Nothing is stored.
        """

    @abstractmethod
    async def get(self, relation_ids: Sequence[str]) -> list[EntityRelation]:
        """The relations that exist, in the order of the ids."""

    @abstractmethod
    async def of(self, entity_id: str, *, limit: int = 100) -> list[EntityRelation]:
        """Relations that start or end at this entity, surest first, then by id."""

    @abstractmethod
    async def related(
        self, entity_id: str, *, depth: int = 1, limit: int = 100, min_confidence: float = 0.0
    ) -> Mapping[str, int]:
        """Ids of entities that can be reached over relations in either direction, with the number of hops.

        Nearest first, then by id; the start is not among them, and archived entities are neither found nor walked
        through. `depth` is 1 to `MAX_DEPTH`. Only
        relations at least this sure are walked.

        Raises:
            InvalidField: Another depth.
        """

    @abstractmethod
    async def delete(self, relation_ids: Sequence[str]) -> int:
        """Deletes relations; how many there were."""

    @abstractmethod
    async def page(self, *, after: str | None = None, limit: int) -> list[EntityRelation]:
        """Relations in the order of their ids, from the first id greater than `after`; also those never walked."""

    @abstractmethod
    async def count(self) -> int:
        """The number of relations."""


class MemoryRepository(ABC):
    """The memories of one user."""

    @abstractmethod
    async def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        """The memories that exist, in the order of the ids."""

    @abstractmethod
    async def recent(self, *, limit: int, session_id: str | None = None) -> list[Memory]:
        """Latest first, of one session or of all; of one moment, the one that was saved first comes last."""

    @abstractmethod
    async def previous(self, memory_ids: Sequence[str]) -> Mapping[str, str]:
        """For each of these memories the id of the one before it in its session, in the order of `recent`; the first of
        a session is left out, and so is what does not exist.
        """

    @abstractmethod
    async def mentioning(self, entity_id: str) -> list[Memory]:
        """The memories that mention an entity, in the order of their ids."""

    @abstractmethod
    async def page(self, *, after: str | None = None, limit: int) -> list[Memory]:
        """Memories in the order of their ids, from the first id greater than `after`."""

    @abstractmethod
    async def oldest(self, *, after: str | None = None, limit: int) -> list[Memory]:
        """Memories in the reverse of the order of `recent`, from the first behind the memory `after`."""

    @abstractmethod
    async def timeline(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        behind: Place | None = None,
        limit: int,
    ) -> list[Memory]:
        """Memories of a time (`until` does not belong to it) by `created_at`, latest first, then by id; from the first
        behind a place, whether or not a memory is there.
        """

    @abstractmethod
    async def save(self, memories: Sequence[Memory]) -> None:
        """Inserts or replaces, and queues them for the vector index."""

    @abstractmethod
    async def delete(self, memory_ids: Sequence[str]) -> int:
        """Deletes memories, queues them so that the index drops them, and returns their number. The raw log stays."""

    @abstractmethod
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        """Adds to `access_count` and moves `last_accessed_at`; see `Access`."""


class ChangeLog(ABC):
    """Changes are appended in the transaction that makes them, and never changed but for `undone_at`."""

    @abstractmethod
    async def append(self, changes: Sequence[Change]) -> None:
        """Appends in order; an id that is there already is skipped."""

    @abstractmethod
    async def get(self, change_ids: Sequence[str]) -> Changes:
        """The changes that exist, in the order of the ids."""

    @abstractmethod
    async def list(
        self,
        *,
        limit: int = 100,
        before: int | None = None,
        subject: str | None = None,
        kind: ChangeKind | None = None,
    ) -> Changes:
        """The latest changes (with `sequence < before`, where given), of a subject, of a kind or all; latest first."""

    @abstractmethod
    async def page(self, *, after: int | None = None, limit: int) -> Changes:
        """Changes in order, from the first with a `sequence` greater than `after`."""

    @abstractmethod
    async def mark_undone(self, change_id: str, *, at: datetime | None) -> bool:
        """Sets `undone_at`, or clears it where a change is done again; whether there is such a change."""
