"""Writes to a space what a bulk embedder makes of the record, for all that the pool is used for (DESIGN §8)."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import groupby

import structlog

from ..ports.generations import BulkEmbedder, EmbeddedItem, Selection, VectorSpace
from ..ports.vectors import Collection
from ..values.errors import StoreUnavailable, Unavailable
from .indexer import Indexer
from .record_pages import Position

ATTEMPTS = 3
"""Passes in a row that may end early without a batch written."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class WrittenBatch:
    """One batch of a pass that is in the index.

    Attributes:
        cursor: Position of its last item: a pass that begins behind it meets what is not done.
        embedded: Items of each collection.
        written: Of these, those that still read as they did when they were embedded.
    """

    cursor: str
    embedded: Counter[Collection]
    written: Counter[Collection]


async def bulk_pass(
    embedder: BulkEmbedder,
    indexer: Indexer,
    space: VectorSpace,
    selection: Selection,
    *,
    after: str | None,
    retry_s: float | None = None,
) -> AsyncGenerator[WrittenBatch, None]:
    """One pass with the model of a space; yields when a batch is written.

    Args:
        embedder: Makes the vectors.
        indexer: Writes them.
        space: Where they go.
        selection: What is embedded; collections of this space's own model.
        after: Position of the last item that is done.
        retry_s: How long to wait before a write is repeated while a store is away, as what the vectors cost to compute
            is not to be lost; where it is not given, the pass ends.

    Raises:
        Unavailable: The pass ended early: begin another behind the last batch.
    """
    async with aclosing(embedder.embed(space.model, selection, after=after)) as batches:
        async for batch in batches:
            written: Counter[Collection] = Counter()
            for (user_id, collection), group in groupby(batch, key=_owner):
                written[collection] += await _write(indexer, space, collection, [*group], user_id, retry_s)
            last = batch[-1]
            yield WrittenBatch(
                cursor=Position(last.user_id, last.collection, last.item_id).to_cursor(),
                embedded=Counter(item.collection for item in batch),
                written=written,
            )


async def retried_pass(
    embedder: BulkEmbedder, indexer: Indexer, space: VectorSpace, selection: Selection, *, retry_s: float
) -> AsyncGenerator[WrittenBatch, None]:
    """A pass that goes on behind its last batch, `retry_s` seconds after it ended early.

    Raises:
        Unavailable: It ended early `ATTEMPTS` times in a row without a batch in between.
    """
    after: str | None = None
    attempts = 0
    while True:
        begun = after
        try:
            async with aclosing(bulk_pass(embedder, indexer, space, selection, after=after)) as batches:
                async for batch in batches:
                    after = batch.cursor
                    yield batch
            return
        except Unavailable as error:
            attempts = attempts + 1 if after == begun else 0
            _log.warning("bulk_pass_ended_early", component=error.component, error=error.message, attempts=attempts)
            if attempts == ATTEMPTS:
                raise
            await asyncio.sleep(retry_s)


async def _write(
    indexer: Indexer,
    space: VectorSpace,
    collection: Collection,
    items: Sequence[EmbeddedItem],
    user_id: str,
    retry_s: float | None,
) -> int:
    while True:
        try:
            return await indexer.write_embedded(space, collection, items, user_id=user_id)
        except StoreUnavailable as error:
            if retry_s is None:
                raise
            _log.warning("bulk_pass_waits", component=error.component, error=error.message)
            await asyncio.sleep(retry_s)


def _owner(item: EmbeddedItem) -> tuple[str, Collection]:
    return item.user_id, item.collection
