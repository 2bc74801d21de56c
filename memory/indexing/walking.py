"""Goes through everything that the vector index is a projection of, in one order, from any place in it (DESIGN §8)."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from more_itertools import chunked

from ..ports.generations import Selection
from ..ports.record import SystemOfRecord
from ..ports.vectors import Collection
from .projection import Projection
from .sources import ITEMS_A_PAGE, Projections, all_users, project_all, project_items


@dataclass(frozen=True)
class Position:
    """Where an item stands: users in the order of their ids, a user's collections, their items in order of ids."""

    user_id: str
    collection: Collection
    item_id: str

    def written(self) -> str:
        """As a cursor: ASCII, whatever the ids hold."""
        return json.dumps([self.user_id, self.collection.value, self.item_id])

    @classmethod
    def read(cls, cursor: str) -> "Position":
        """The position that a cursor says."""
        user_id, collection, item_id = json.loads(cursor)
        return cls(user_id, Collection(collection), item_id)


@dataclass(frozen=True)
class Page:
    """Some items of one user's collection that belong in the index; never none."""

    user_id: str
    collection: Collection
    items: tuple[Projection, ...]


def walk_selected(record: SystemOfRecord, selection: Selection, *, after: str | None = None) -> AsyncIterator[Page]:
    """All pages of what is selected, or those behind a cursor.

    Raises:
        StoreUnavailable: The record cannot be read.
    """
    if selection.waiting is None:
        return walk(record, after=after, collections=selection.collections)
    return _walk_waiting(record, selection.waiting, selection.collections, after=after)


async def walk(
    record: SystemOfRecord, *, after: str | None = None, collections: Sequence[Collection] = tuple(Collection)
) -> AsyncIterator[Page]:
    """All pages of these collections, or those behind a cursor.

    An item that comes, changes or goes meanwhile may be met or not: whoever walks hears of it over the outbox.

    Raises:
        StoreUnavailable: The record cannot be read.
    """
    begin = None if after is None else Position.read(after)
    if begin is not None:
        passed = False
        for collection in collections:
            if passed or collection is begin.collection:
                async for page in _pages(record, begin.user_id, collection, None if passed else begin.item_id):
                    yield page
                passed = True
    async for user_id in all_users(record, after=begin.user_id if begin else None):
        for collection in collections:
            async for page in _pages(record, user_id, collection, None):
                yield page


async def _pages(
    record: SystemOfRecord, user_id: str, collection: Collection, after: str | None
) -> AsyncIterator[Page]:
    async for page in project_all(record, user_id, collection, after=after):
        if items := _indexable(page):
            yield Page(user_id, collection, items)


async def _walk_waiting(
    record: SystemOfRecord, limit: int, collections: Sequence[Collection], *, after: str | None
) -> AsyncIterator[Page]:
    places = {collection: place for place, collection in enumerate(Collection)}

    def order(position: Position) -> tuple[str, int, str]:
        return position.user_id, places[position.collection], position.item_id

    entries = await record.backlog.outbox(limit=limit)
    waiting = [Position(one.user_id, one.collection, one.item_id) for one in entries if one.collection in collections]
    if after is not None:
        begin = order(Position.read(after))
        waiting = [position for position in waiting if order(position) > begin]
    for (user_id, collection), group in groupby(
        sorted(waiting, key=order), key=lambda one: (one.user_id, one.collection)
    ):
        for some in chunked([position.item_id for position in group], ITEMS_A_PAGE):
            async with record.reading(user_id=user_id) as unit:
                found = await project_items(unit, collection, some)
            if items := _indexable({item_id: found[item_id] for item_id in some if item_id in found}):
                yield Page(user_id, collection, items)


def _indexable(page: Projections) -> tuple[Projection, ...]:
    return tuple(item for item in page.values() if item is not None)
