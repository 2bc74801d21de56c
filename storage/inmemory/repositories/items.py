"""Items in memory."""

from collections.abc import Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.items import ItemRepository
from memory.values.items import ItemCollection, ItemOrder, ItemPlace, StoredItem, path_of

from ...shared.checks import check_aware, check_owner
from ...shared.stored_values import timestamp_us
from .state import InMemoryRepository, delete_by_id


class InMemoryItems(InMemoryRepository, ItemRepository):
    """The items of one user."""

    @override
    async def get(self, places: Sequence[ItemPlace]) -> list[StoredItem]:
        items = self._state.readable.items
        return [items[place] for place in places if place in items]

    @override
    async def put(self, items: Sequence[StoredItem]) -> None:
        check_owner(items, self._state.user_id)
        self._state.writable.items.update({item.place: item for item in items})

    @override
    async def delete(self, places: Sequence[ItemPlace]) -> int:
        return len(delete_by_id(self._state.writable.items, places))

    @override
    async def page(
        self,
        collection: ItemCollection,
        *,
        prefix: Sequence[str] = (),
        order: ItemOrder = ItemOrder.KEY,
        behind: StoredItem | None = None,
        limit: int,
    ) -> list[StoredItem]:
        begin = path_of(prefix)
        found = [item for item in self._of(collection) if path_of(item.namespace).startswith(begin)]
        if order is ItemOrder.LATEST:
            ordered = sorted(found, key=_latest)
            after = [item for item in ordered if behind is None or _latest(item) > _latest(behind)]
        elif order is ItemOrder.KEY:
            ordered = sorted(found, key=_name)
            after = [item for item in ordered if behind is None or _name(item) > _name(behind)]
        else:
            ordered = sorted(found, key=_name, reverse=True)
            after = [item for item in ordered if behind is None or _name(item) < _name(behind)]
        return after[: max(limit, 0)]

    @override
    async def namespaces(self, collection: ItemCollection, *, at: datetime) -> list[tuple[str, ...]]:
        check_aware(at, "at")
        return sorted({item.namespace for item in self._of(collection) if item.is_there(at)}, key=path_of)

    @override
    async def delete_expired(self, *, at: datetime) -> int:
        check_aware(at, "at")
        items = self._state.writable.items
        return len(delete_by_id(items, [place for place, item in items.items() if not item.is_there(at)]))

    def _of(self, collection: ItemCollection) -> list[StoredItem]:
        return [item for item in self._state.readable.items.values() if item.collection is collection]


def _name(item: StoredItem) -> tuple[str, str]:
    return path_of(item.namespace), item.key


def _latest(item: StoredItem) -> tuple[int, tuple[str, str]]:
    return -timestamp_us(item.updated_at), _name(item)
