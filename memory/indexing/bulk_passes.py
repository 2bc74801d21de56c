"""Embeds records with a bulk embedder and writes the vectors to a space (DESIGN §8)."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import groupby

import structlog

from ..ports.stores.generations import BulkEmbedder, EmbeddedItem, Selection, VectorSpace
from ..ports.stores.vectors import Collection
from ..values.errors import StoreUnavailable, Unavailable
from .indexer import Indexer
from .record_pages import Position

ATTEMPTS = 3
"""Passes in a row that may fail without writing a batch."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class WrittenBatch:
    """A batch of a pass that has been written to the index.

    Attributes:
        cursor: Position of its last item, from which the next pass can continue.
        embedded: Number of embedded items of each collection.
        written: Number of written items; an item that changed after it was embedded is not written.
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
    """Embeds a selection with the model of a space; yields after each written batch.

    Args:
        embedder: Computes the vectors.
        indexer: Writes the vectors.
        space: The space to write to.
        selection: The items to embed; only collections that use the model of this space.
        after: Cursor after which the pass starts; None for the whole selection.
        retry_s: Seconds between repetitions of a write while a store is unavailable, which keeps vectors that took long
            to compute; None to end the pass instead.

    Raises:
        Unavailable: The pass failed; continue with `after` set to the last cursor.
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
    """A pass that continues after its last batch, `retry_s` seconds after a failure.

    Raises:
        Unavailable: It failed `ATTEMPTS` times in a row without a batch in between.
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
