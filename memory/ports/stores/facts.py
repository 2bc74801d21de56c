"""The repositories of facts, categories and their graph (002 §6.2), each bound to one user by its unit of work.

002's EmbeddingRepository is `VectorIndex` with `Collection.FACTS`: embeddings are a projection that the outbox feeds,
never part of the transaction.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime

from ...values.facts import Category, CategoryAccess, Fact, FactStatus, GraphEdge
from .places import Place
from .repositories import Access

# A class with a method `list` cannot spell the type inside.
Facts = list[Fact]
Categories = list[Category]
Accesses = list[CategoryAccess]
Strings = list[str]


class FactRepository(ABC):
    """The facts of one user (002's ItemRepository). Lists are ordered by `recorded_at`, latest first, then by id."""

    @abstractmethod
    async def get(self, fact_id: str) -> Fact | None:
        """One fact, whatever its status."""

    @abstractmethod
    async def get_many(self, fact_ids: Sequence[str]) -> Facts:
        """The facts that exist, in the order of the ids."""

    @abstractmethod
    async def create_many(self, facts: Sequence[Fact]) -> Strings:
        """Adds facts and queues them for the vector index; a fact whose id exists already is left unchanged, so that
        a repeated call changes nothing. Returns the ids in the order given.
        """

    @abstractmethod
    async def update(self, fact: Fact) -> None:
        """Replaces a fact and queues it for the vector index.

        Raises:
            NotFound: This user has no such fact.
        """

    @abstractmethod
    async def update_status(self, fact_id: str, status: FactStatus, *, now: datetime) -> bool:
        """Sets status and `updated_at`, and queues the fact for the vector index; whether there is such a fact."""

    @abstractmethod
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        """Adds to `access_count` and moves `accessed_at`; see `Access`."""

    @abstractmethod
    async def list(
        self,
        *,
        category: str | None = None,
        status: FactStatus | None = FactStatus.ACTIVE,
        behind: Place | None = None,
        limit: int = 100,
    ) -> Facts:
        """Facts of a category, or of all; of a status, or of any; behind a place, whether or not a fact is there."""

    @abstractmethod
    async def page(self, *, after: str | None = None, limit: int) -> Facts:
        """Facts of any status in the order of their ids, from the first id greater than `after`."""

    @abstractmethod
    async def count(self, *, category: str | None = None, status: FactStatus | None = FactStatus.ACTIVE) -> int:
        """The number of facts."""

    @abstractmethod
    async def find_potential_conflicts(self, subject: str, predicate: str, *, exclude_id: str | None = None) -> Facts:
        """Active facts with this subject and predicate, compared in normalised form."""

    @abstractmethod
    async def history(self, subject: str, predicate: str, *, limit: int | None = None) -> Facts:
        """The facts of any status but deleted with this subject and predicate, compared in normalised form.

        With a limit the latest.
        """

    @abstractmethod
    async def stating(self, subject: str, predicate: str, objects: Sequence[str]) -> Facts:
        """Those of `history` that have one of these objects, compared in normalised form."""

    @abstractmethod
    async def stated_in(self, resource_ids: Sequence[str]) -> Facts:
        """The facts of any status but deleted that one of these log entries stated first."""

    @abstractmethod
    async def list_duplicates(self) -> Sequence[tuple[Fact, ...]]:
        """Groups of two or more active facts that say the same: equal subject, predicate and object in normalised
        form. Each group oldest first; groups by the id of their first fact.
        """

    @abstractmethod
    async def list_distinct_categories(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> Strings:
        """Names of the categories that facts of this status have, sorted."""

    @abstractmethod
    async def list_old_low_confidence(self, *, recorded_before: datetime, below: float) -> Facts:
        """Active facts that were recorded before then and have a confidence below this."""

    @abstractmethod
    async def get_stats_by_status(self) -> Mapping[FactStatus, int]:
        """The number of facts of each status; 0 for statuses without facts."""

    @abstractmethod
    async def get_avg_confidence(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> float | None:
        """The mean confidence; None where there is no fact."""

    @abstractmethod
    async def list_all_ids(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> Strings:
        """The ids of the facts of a status, sorted."""


class CategoryRepository(ABC):
    """The categories of one user; names are compared as they are written."""

    @abstractmethod
    async def create(self, category: Category) -> bool:
        """Adds a category; False, and nothing changes, where the name or the id is taken."""

    @abstractmethod
    async def upsert(self, category: Category) -> None:
        """Adds the category, or replaces the one of this name, whose id is then kept."""

    @abstractmethod
    async def list(self) -> Categories:
        """The categories in the order of their names."""

    @abstractmethod
    async def count_items_per_category(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> Mapping[str, int]:
        """The number of facts by category, for categories with facts, also where no `Category` of the name exists."""


class CategoryAccessRepository(ABC):
    """When the categories of one user were used."""

    @abstractmethod
    async def create_many(self, accesses: Sequence[CategoryAccess]) -> None:
        """Adds accesses; one whose id is there already is skipped."""

    @abstractmethod
    async def list(self) -> Accesses:
        """The accesses in the order of their ids."""

    @abstractmethod
    async def count_since(self, since: datetime) -> Mapping[str, int]:
        """The number of uses of each category at or after `since`; unused categories are left out."""

    @abstractmethod
    async def last_accessed(self) -> Mapping[str, datetime]:
        """When each category was used last."""

    @abstractmethod
    async def prune(self, *, before: datetime) -> int:
        """Deletes the uses before then, but each category's last one; returns how many."""


class GraphRepository(ABC):
    """The graph of one user's facts. Vertices are names in normalised form; edges come in the order of their ids."""

    @abstractmethod
    async def create_many(self, edges: Sequence[GraphEdge]) -> list[str]:
        """Adds edges; where the user has one of the same subject, predicate and object, that one stays as it is.
        Returns the ids under which they are kept, in the order given.
        """

    @abstractmethod
    async def list_all(self) -> list[GraphEdge]:
        """The edges of the graph."""

    @abstractmethod
    async def delete_all(self) -> int:
        """Deletes all edges of this user; how many those were."""

    @abstractmethod
    async def count(self) -> int:
        """The number of edges."""
