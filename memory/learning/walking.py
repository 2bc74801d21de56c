"""Goes through everything that the vector index is a projection of, in one order, from any place in it (DESIGN §8)."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from ..ports.record import SystemOfRecord
from ..ports.vectors import Collection
from .projection import Projection
from .sources import all_users, project_all


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
        if items := tuple(item for item in page.values() if item is not None):
            yield Page(user_id, collection, items)
