"""Items in ArangoDB."""

from collections.abc import Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.items import ItemRepository
from memory.values.items import ItemCollection, ItemOrder, ItemPlace, StoredItem, labels_of, path_of

from ...shared.checks import check_aware, check_owner
from ...shared.items import end_of
from ...shared.stored_values import timestamp_us
from ..engine import documents
from ..engine import queries as aql
from ..engine.documents import ArangoRepository
from ..engine.keys import Document, key_of, order_of, text_in_order
from ..engine.transaction import Query

_COLLECTION = "items"
_PAST_ALL = "g"
"""Behind everything that `order_of` gives, which is hexadecimal."""
_LAST_US = 2**60
"""Later than any time that Python has."""


class ArangoItems(ArangoRepository, ItemRepository):
    """The items of one user."""

    @override
    async def get(self, places: Sequence[ItemPlace]) -> list[StoredItem]:
        keys = [_key(self._user_id, place) for place in places]

        def work(query: Query) -> list[StoredItem]:
            bodies = documents.bodies_of(query, _COLLECTION, keys)
            return documents.parse(StoredItem, (bodies[key] for key in keys if key in bodies))

        return await self._transaction.read(work)

    @override
    async def put(self, items: Sequence[StoredItem]) -> None:
        check_owner(items, self._user_id)
        rows = [_document(item) for item in items]
        await self._transaction.write(lambda query: documents.put(query, _COLLECTION, rows))

    @override
    async def delete(self, places: Sequence[ItemPlace]) -> int:
        keys = [_key(self._user_id, place) for place in places]
        return await self._transaction.write(lambda query: documents.remove(query, _COLLECTION, keys))

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
        bind = {
            "kept_by": collection.value,
            "first": order_of(path_of(prefix)),
            "end": order_of(end_of(prefix)) if prefix else _PAST_ALL,
            "limit": max(limit, 0),
        }
        if order is ItemOrder.LATEST:
            at, after = (_LAST_US, "") if behind is None else (timestamp_us(behind.updated_at), _order(behind.place))
            return await self._values(StoredItem, aql.LATEST_ITEMS, at=at, order=after, **bind)
        statement = aql.ITEMS_BY_KEY if order is ItemOrder.KEY else aql.ITEMS_BY_KEY_DESCENDING
        return await self._values(StoredItem, statement, order=None if behind is None else _order(behind.place), **bind)

    @override
    async def namespaces(self, collection: ItemCollection, *, at: datetime) -> list[tuple[str, ...]]:
        at_us = timestamp_us(check_aware(at, "at"))
        paths = await self._transaction.read(lambda query: query(aql.ITEM_PATHS, kept_by=collection.value, at=at_us))
        return [labels_of(text_in_order(path)) for path in paths]

    @override
    async def delete_expired(self, *, at: datetime) -> int:
        at_us = timestamp_us(check_aware(at, "at"))
        return await self._transaction.write(lambda query: len(query(aql.REMOVE_EXPIRED_ITEMS, at=at_us)))


def _key(user_id: str, place: ItemPlace) -> str:
    return key_of(user_id, place.collection.value, path_of(place.namespace), place.key)


def _order(place: ItemPlace) -> str:
    # No label holds NUL, so the path ends where the text says.
    return order_of(f"{path_of(place.namespace)}\x00{place.key}")


def _document(item: StoredItem) -> Document:
    return {
        "_key": _key(item.user_id, item.place),
        "collection": item.collection.value,
        "path": order_of(path_of(item.namespace)),
        "order": _order(item.place),
        "updated_us": timestamp_us(item.updated_at),
        "expires_us": None if item.expires_at is None else timestamp_us(item.expires_at),
        "body": item.model_dump_json(),
    }
