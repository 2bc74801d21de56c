"""The steps of the jobs over one user's facts; each is safe to repeat (002 §5)."""

from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta

from ..ports.stores.record import SystemOfRecord
from ..ports.stores.vectors import Collection
from ..values.facts import Fact, FactStatus, GraphEdge
from ..values.ids import edge_id
from .decay import MaintenanceRules

_PAGE = 256


async def change_confidence(record: SystemOfRecord, user_id: str, change: Callable[[Fact], Fact]) -> int:
    """Replaces the active facts that a function changes, one transaction a page; returns how many.

    Raises:
        StoreUnavailable: The record is down; finished pages stay changed.
    """
    changed = 0
    async for page in _pages(record, user_id):
        ids = [fact.fact_id for fact in page if change(fact) != fact]
        if not ids:
            continue
        async with record.writing(user_id=user_id) as unit:
            for fact in await unit.facts.get_many(ids):  # one may have been used since its page was read
                if (result := change(fact)) != fact:
                    await unit.facts.update(result)
                    changed += 1
            await unit.commit()
    return changed


async def archive_decayed(record: SystemOfRecord, user_id: str, *, rules: MaintenanceRules, now: datetime) -> int:
    """Archives old facts of low confidence; returns how many.

    Raises:
        StoreUnavailable: The record is down.
    """
    before = now - timedelta(days=rules.archive_after_days)
    archived = 0
    async with record.writing(user_id=user_id) as unit:
        for fact in await unit.facts.list_old_low_confidence(recorded_before=before, below=rules.archive_below):
            if rules.is_archived(fact, now):
                await unit.facts.update_status(fact.fact_id, FactStatus.ARCHIVED, now=now)
                archived += 1
        await unit.commit()
    return archived


async def delete_orphans(record: SystemOfRecord, user_id: str, *, rules: MaintenanceRules, now: datetime) -> int:
    """Deletes old entries of the log that nothing was made of; returns how many.

    Raises:
        StoreUnavailable: The record is down.
    """
    async with record.writing(user_id=user_id) as unit:
        deleted = await unit.log.delete_orphaned(created_before=now - timedelta(days=rules.orphans_after_days))
        await unit.commit()
    return deleted


async def prune_uses(record: SystemOfRecord, user_id: str, *, rules: MaintenanceRules, now: datetime) -> int:
    """Deletes uses of categories that count no longer, but the last of each; returns how many.

    Raises:
        StoreUnavailable: The record is down.
    """
    async with record.writing(user_id=user_id) as unit:
        deleted = await unit.category_accesses.prune(before=now - timedelta(days=rules.usage_window_days))
        await unit.commit()
    return deleted


async def queue_embeddings(record: SystemOfRecord, user_id: str) -> int:
    """Queues all active facts for the vector index, which embeds them again; returns how many.

    Raises:
        StoreUnavailable: The record is down.
    """
    async with record.reading(user_id=user_id) as unit:
        ids = await unit.facts.list_all_ids()
    await record.backlog.requeue(Collection.FACTS, ids, user_id=user_id)
    return len(ids)


async def rebuild_graph(record: SystemOfRecord, user_id: str, *, now: datetime) -> int:
    """Builds the graph anew, in one transaction, from active facts that say what is so; returns the number of edges.

    The weight of an edge is the confidence of the surest fact that says it; an edge that stays keeps its time.

    Raises:
        StoreUnavailable: The record is down; the graph is as it was.
    """
    edges: dict[str, GraphEdge] = {}
    async for page in _pages(record, user_id):
        for fact in page:
            if fact.is_negated or fact.is_planned:
                continue
            edge = GraphEdge(
                edge_id=edge_id(user_id, fact.subject, fact.predicate, fact.object),
                user_id=user_id,
                subject=fact.subject,
                predicate=fact.predicate,
                object=fact.object,
                weight=fact.confidence,
                created_at=now,
            )
            known = edges.get(edge.edge_id)
            if known is None or known.weight < edge.weight:
                edges[edge.edge_id] = edge
    async with record.writing(user_id=user_id) as unit:
        times = {edge.edge_id: edge.created_at for edge in await unit.graph.list_all()}
        await unit.graph.delete_all()
        await unit.graph.create_many(
            [edge.model_copy(update={"created_at": times.get(edge.edge_id, now)}) for edge in edges.values()]
        )
        await unit.commit()
    return len(edges)


async def _pages(record: SystemOfRecord, user_id: str) -> AsyncIterator[list[Fact]]:
    """The active facts, in pages by id."""
    after = None
    while True:
        async with record.reading(user_id=user_id) as unit:
            page = await unit.facts.page(after=after, limit=_PAGE)
        if not page:
            return
        yield [fact for fact in page if fact.status is FactStatus.ACTIVE]
        after = page[-1].fact_id
