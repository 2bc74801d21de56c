"""Writes to a space what a bulk embedder makes of the record, for all that the pool is used for (DESIGN §8)."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import groupby

import structlog

from ..learning.learner import Learner
from ..ports.generations import BulkEmbedder, EmbeddedItem, Selection, VectorSpace
from ..ports.vectors import Collection
from ..values.errors import StoreUnavailable, Unavailable
from .walking import Position

ATTEMPTS = 3
"""So many passes in a row may end early without a step."""
_log = structlog.get_logger("entity_memory")


@dataclass(frozen=True)
class Step:
    """What one batch of a pass brought.

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
    learner: Learner,
    space: VectorSpace,
    selection: Selection,
    *,
    after: str | None,
    retry_s: float | None = None,
) -> AsyncGenerator[Step, None]:
    """One pass with the model of a space; yields when a batch is written.

    Args:
        embedder: Makes the vectors.
        learner: Writes them.
        space: Where they go.
        selection: What is embedded; collections of this space's own model.
        after: Position of the last item that is done.
        retry_s: How long to wait before a write is repeated while a store is away, as what the vectors cost to compute
            is not to be lost; where it is not given, the pass ends.

    Raises:
        Unavailable: The pass ended early: begin another behind the last step.
    """
    async with aclosing(embedder.embed(space.model, selection, after=after)) as batches:
        async for batch in batches:
            written: Counter[Collection] = Counter()
            for (user_id, collection), group in groupby(batch, key=_owner):
                written[collection] += await _write(learner, space, collection, [*group], user_id, retry_s)
            last = batch[-1]
            yield Step(
                cursor=Position(last.user_id, last.collection, last.item_id).written(),
                embedded=Counter(item.collection for item in batch),
                written=written,
            )


async def whole_pass(
    embedder: BulkEmbedder, learner: Learner, space: VectorSpace, selection: Selection, *, retry_s: float
) -> AsyncGenerator[Step, None]:
    """A pass that goes on behind its last step, `retry_s` seconds after it ended early.

    Raises:
        Unavailable: It ended early `ATTEMPTS` times in a row without a step in between.
    """
    after: str | None = None
    in_vain = 0
    while True:
        begun = after
        try:
            async with aclosing(bulk_pass(embedder, learner, space, selection, after=after)) as steps:
                async for step in steps:
                    after = step.cursor
                    yield step
            return
        except Unavailable as error:
            in_vain = in_vain + 1 if after == begun else 0
            _log.warning("bulk_pass_ended_early", component=error.component, error=error.message, in_vain=in_vain)
            if in_vain == ATTEMPTS:
                raise
            await asyncio.sleep(retry_s)


async def _write(
    learner: Learner,
    space: VectorSpace,
    collection: Collection,
    items: Sequence[EmbeddedItem],
    user_id: str,
    retry_s: float | None,
) -> int:
    while True:
        try:
            return await learner.write_embedded(space, collection, items, user_id=user_id)
        except StoreUnavailable as error:
            if retry_s is None:
                raise
            _log.warning("bulk_pass_waits", component=error.component, error=error.message)
            await asyncio.sleep(retry_s)


def _owner(item: EmbeddedItem) -> tuple[str, Collection]:
    return item.user_id, item.collection
