"""Where items are stored: JSON documents of a user by collection, namespace and key."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from ...values.items import ItemCollection, ItemOperation, ItemOrder, ItemPlace, ItemResult, StoredItem


class ItemRepository(ABC):
    """The items of one user. It knows no clock: an item that has expired is there until it is deleted."""

    @abstractmethod
    async def get(self, places: Sequence[ItemPlace]) -> list[StoredItem]:
        """The items that exist, in the order of the places."""

    @abstractmethod
    async def put(self, items: Sequence[StoredItem]) -> None:
        """Inserts or replaces by place; of several in one place the last counts."""

    @abstractmethod
    async def delete(self, places: Sequence[ItemPlace]) -> int:
        """Deletes items; how many there were."""

    @abstractmethod
    async def page(
        self,
        collection: ItemCollection,
        *,
        prefix: Sequence[str] = (),
        order: ItemOrder = ItemOrder.KEY,
        behind: StoredItem | None = None,
        limit: int,
    ) -> list[StoredItem]:
        """Items of the namespaces that begin with these labels.

        Args:
            collection: Where to look.
            prefix: Whole labels, compared as they are written.
            order: The order of the list.
            behind: The last item of the page before, whether or not it is still there.
            limit: How many at most.
        """

    @abstractmethod
    async def namespaces(self, collection: ItemCollection, *, at: datetime) -> list[tuple[str, ...]]:
        """The namespaces that hold items which have not expired at a time, each once, by code point."""

    @abstractmethod
    async def delete_expired(self, *, at: datetime) -> int:
        """Deletes the items of all collections that have expired at a time; how many."""


class ItemBatches(ABC):
    """The items of one user in one collection, in this process or behind HTTP."""

    @abstractmethod
    async def batch(self, operations: Sequence[ItemOperation]) -> list[ItemResult]:
        """Carries out all operations or none; see `memory.items.store.ItemStore.batch`."""


async def item_pages(
    items: ItemRepository, collection: ItemCollection, *, limit: int
) -> AsyncIterator[list[StoredItem]]:
    """All items of a collection in pages, by namespace and key; what has expired among them."""
    behind = None
    while page := await items.page(collection, behind=behind, limit=limit):
        yield page
        behind = page[-1]
