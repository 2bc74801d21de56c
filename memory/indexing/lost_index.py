"""Notices an index that was lost, in whole or a collection of it, and queues what it held (DESIGN §7)."""

import structlog

from ..ports.generations import VectorSpace
from ..ports.record import SystemOfRecord
from ..ports.vectors import Collection
from .sources import COUNTED_AS, all_users, project_all, waiting

_log = structlog.get_logger("entity_memory")


async def requeue_lost(record: SystemOfRecord, space: VectorSpace) -> int:
    """Queues what users have of whom a collection of the space holds nothing, though the record does.

    Must come before anything is indexed: one point of a user hides the loss of her others. All that a user has in a
    collection is queued in one step, so that after a crash the next call finds whoever is left.

    Returns:
        How many items were queued.

    Raises:
        Unavailable: A store is down.
    """
    counts = await record.backlog.counts()
    indexed = {
        collection: set(await space.part(collection).index.users(collection))
        for collection, name in COUNTED_AS.items()
        if counts[name]
    }
    queued = 0
    async for user_id in all_users(record):
        for collection, users in indexed.items():
            if user_id not in users:
                queued += await _requeue(record, user_id, collection)
    if queued:
        _log.warning("index_lost", requeued=queued)
    return queued


async def _requeue(record: SystemOfRecord, user_id: str, collection: Collection) -> int:
    ids = [
        item_id
        async for page in project_all(record, user_id, collection)
        for item_id, projection in page.items()
        if projection is not None
    ]
    if ids:
        pending = await waiting(record, user_id, collection)
        ids = [item_id for item_id in ids if item_id not in pending]
    if ids:
        await record.backlog.requeue(collection, ids, user_id=user_id)
    return len(ids)
