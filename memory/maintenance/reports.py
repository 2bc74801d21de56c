"""What the jobs over facts did, with counts before and after (002 §5)."""

from typing import Self

from typing_extensions import override

from ..jobs.user_job import JobReport
from ..ports.stores.record import UnitOfWork
from ..values.base import Value
from ..values.facts import FactStatus


class FactCounts(Value):
    """The facts of one user or of several. `confidence` is the mean of the active ones, None where there is none."""

    active: int = 0
    archived: int = 0
    deleted: int = 0
    categories: int = 0
    edges: int = 0
    log_entries: int = 0
    confidence: float | None = None

    def plus(self, other: "FactCounts") -> "FactCounts":
        """The counts of both."""
        active = self.active + other.active
        total = self.active * (self.confidence or 0.0) + other.active * (other.confidence or 0.0)
        return FactCounts(
            active=active,
            archived=self.archived + other.archived,
            deleted=self.deleted + other.deleted,
            categories=self.categories + other.categories,
            edges=self.edges + other.edges,
            log_entries=self.log_entries + other.log_entries,
            confidence=total / active if active else None,
        )


class MaintenanceReport(JobReport):
    """What a job did to the facts of its users; what it has nothing to do with stays 0.

    Args:
        merged: Facts archived because another says the same (nightly).
        promoted: Facts whose confidence uses have raised (nightly).
        summaries: Category summaries that have changed (nightly).
        decayed: Facts whose confidence age has lowered (weekly).
        archived: Old facts of low confidence that were archived (weekly).
        compressed: Facts archived because another says about the same (weekly).
        orphans: Log entries deleted because nothing was made of them (weekly).
        uses: Uses of categories deleted because they count no longer (weekly).
        embeddings: Facts queued to be embedded again (monthly).
        edges: Edges of the graph that was built again (monthly).
        traits: Traits of personas that were joined or had faded (nightly, 003 §2.1).
        before: Counts of the users done, each before the job came to it.
        after: The same after it.
    """

    merged: int = 0
    promoted: int = 0
    summaries: int = 0
    decayed: int = 0
    archived: int = 0
    compressed: int = 0
    orphans: int = 0
    uses: int = 0
    embeddings: int = 0
    edges: int = 0
    traits: int = 0
    before: FactCounts = FactCounts()
    after: FactCounts = FactCounts()

    @property
    @override
    def is_change(self) -> bool:
        return any(self._counts().values())

    @override
    def plus(self, other: Self) -> "MaintenanceReport":
        return MaintenanceReport(
            users=self.users + other.users,
            **{name: count + getattr(other, name) for name, count in self._counts().items()},
            before=self.before.plus(other.before),
            after=self.after.plus(other.after),
        )

    def _counts(self) -> dict[str, int]:
        return self.model_dump(exclude={"users", "before", "after"})


COUNTED = tuple(sorted(MaintenanceReport.model_fields.keys() - {"users", "before", "after"}))
"""The names of what a report counts."""


async def count_facts(unit: UnitOfWork) -> FactCounts:
    """The facts of the unit's user as they are now."""
    by_status = await unit.facts.get_stats_by_status()
    return FactCounts(
        active=by_status[FactStatus.ACTIVE],
        archived=by_status[FactStatus.ARCHIVED],
        deleted=by_status[FactStatus.DELETED],
        categories=len(await unit.facts.list_distinct_categories()),
        edges=await unit.graph.count(),
        log_entries=await unit.log.count(),
        confidence=await unit.facts.get_avg_confidence(),
    )
