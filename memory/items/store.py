"""Carries out batches of operations on the items of a user, as LangGraph's `BaseStore` defines them."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta

from typing_extensions import override

from ..ports.models.language import Encoder
from ..ports.stores.items import ItemBatches
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..values.base import utc_now
from ..values.errors import InvalidField
from ..values.items import (
    MAX_OPERATIONS,
    WHOLE,
    FoundItem,
    GetItem,
    ItemCollection,
    ItemOperation,
    ItemOrder,
    ItemPlace,
    ItemResult,
    ListNamespaces,
    PutItem,
    SearchItems,
    StoredItem,
)
from .filters import check_filter, matches
from .meaning import MAX_COMPARED, rank, with_vectors
from .namespaces import select_namespaces
from .texts import check_paths

_PAGE = 256


class ItemStore:
    """Items in the system of record.

    Args:
        record: Stores them.
        encoder: The live model, which finds items of the collection `STORE` by meaning.
        fields: The paths of texts that are embedded where a put names none.
    """

    def __init__(
        self,
        record: SystemOfRecord,
        *,
        encoder: Callable[[], Awaitable[Encoder]],
        fields: Sequence[str] = (WHOLE,),
    ) -> None:
        self._record = record
        self._encoder = encoder
        self._fields = tuple(fields)

    async def batch(
        self,
        operations: Sequence[ItemOperation],
        *,
        user_id: str,
        collection: ItemCollection = ItemCollection.STORE,
        now: datetime,
    ) -> list[ItemResult]:
        """Carries out all operations or none: reads see what was there before the writes.

        Args:
            operations: At most `MAX_OPERATIONS`; of several puts in one place the last counts.
            user_id: Whose items they are.
            collection: In which all of them read and write.
            now: The time.

        Returns:
            What each operation gives, in order.

        Raises:
            InvalidField: An operation cannot be carried out; nothing was written.
            StoreUnavailable: The record is down.
            Unavailable: The model is away; nothing was written.
            Overloaded: The queue of the model is full; nothing was written.
        """
        _check(operations, collection)
        puts = {(op.namespace, op.key): op for op in operations if isinstance(op, PutItem)}
        new = [self._item(op, user_id, collection, now) for op in puts.values() if op.value is not None]
        indexed = [item for item in new if item.index]
        if indexed:
            embedded = {item.place: item for item in await with_vectors(indexed, await self._encoder())}
            new = [embedded.get(item.place, item) for item in new]
        results = await self._read(operations, user_id, collection, now)
        if puts:
            async with self._record.writing(user_id=user_id) as unit:
                await _write(unit, new, [ItemPlace(collection, *place) for place in puts], now)
                await unit.commit()
        await self._prolong(_refreshed(operations, results), user_id=user_id, now=now)
        return results

    async def _read(
        self, operations: Sequence[ItemOperation], user_id: str, collection: ItemCollection, now: datetime
    ) -> list[ItemResult]:
        """What each operation gives, all from one view of the record."""
        if all(isinstance(op, PutItem) for op in operations):
            return [None] * len(operations)
        async with self._record.reading(user_id=user_id) as unit:
            read = [await _read(unit, op, collection, now) for op in operations]
        return [await self._finished(op, found) for op, found in zip(operations, read, strict=True)]

    def _item(self, op: PutItem, user_id: str, collection: ItemCollection, now: datetime) -> StoredItem:
        index = self._fields if op.index is None else op.index or ()
        return StoredItem(
            user_id=user_id,
            collection=collection,
            namespace=op.namespace,
            key=op.key,
            value=op.value or {},
            created_at=now,
            updated_at=now,
            ttl_minutes=op.ttl_minutes,
            expires_at=_expiry(op.ttl_minutes, now),
            session_id=op.session_id,
            index=index if collection is ItemCollection.STORE else (),
        )

    async def _finished(self, op: ItemOperation, found: ItemResult) -> ItemResult:
        """The result of a search by meaning, ordered; of everything else as it was read."""
        if not isinstance(op, SearchItems) or not op.query or not isinstance(found, tuple) or not found:
            return found
        candidates = [entry.item for entry in found if isinstance(entry, FoundItem)]
        ranked = await rank(candidates, op.query, await self._encoder())
        await self._keep_vectors(ranked.embedded)
        return tuple(ranked.found[op.offset : op.offset + op.limit])

    async def _keep_vectors(self, embedded: Sequence[StoredItem]) -> None:
        """Keeps vectors of items that are as they were when they were read."""
        if not embedded:
            return
        async with self._record.writing(user_id=embedded[0].user_id) as unit:
            stored = {item.place: item for item in await unit.items.get([item.place for item in embedded])}
            await unit.items.put(
                [
                    stored[item.place].model_copy(update={"vectors": item.vectors})
                    for item in embedded
                    if item.place in stored and stored[item.place].updated_at == item.updated_at
                ]
            )
            await unit.commit()

    async def _prolong(self, places: Sequence[ItemPlace], *, user_id: str, now: datetime) -> None:
        """Lets items that expire stay as long again, where they are still there."""
        if not places:
            return
        async with self._record.writing(user_id=user_id) as unit:
            stored = [item for item in await unit.items.get(places) if item.is_there(now)]
            await unit.items.put(
                [item.model_copy(update={"expires_at": _expiry(item.ttl_minutes, now)}) for item in stored]
            )
            await unit.commit()


class OwnItems(ItemBatches):
    """The items of one user in one collection of the record.

    Args:
        store: Carries out the batches.
        user_id: Whose items they are.
        collection: The one collection.
        now: The clock.
    """

    def __init__(
        self,
        store: ItemStore,
        *,
        user_id: str,
        collection: ItemCollection,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._store = store
        self._user_id = user_id
        self._collection = collection
        self._now = now

    @override
    async def batch(self, operations: Sequence[ItemOperation]) -> list[ItemResult]:
        return await self._store.batch(operations, user_id=self._user_id, collection=self._collection, now=self._now())


def _check(operations: Sequence[ItemOperation], collection: ItemCollection) -> None:
    if len(operations) > MAX_OPERATIONS:
        raise InvalidField(
            f"operations: {len(operations)} are too many",
            field="operations",
            allowed=f"at most {MAX_OPERATIONS} operations",
        )
    for op in operations:
        if isinstance(op, SearchItems):
            check_filter(op.filter or {})
            if op.query and collection is not ItemCollection.STORE:
                raise InvalidField("query: these items are not searched by meaning", field="query", allowed="no query")
        elif isinstance(op, PutItem) and op.index:
            check_paths(op.index)


async def _read(unit: UnitOfWork, op: ItemOperation, collection: ItemCollection, now: datetime) -> ItemResult:
    match op:
        case GetItem():
            found = await unit.items.get([ItemPlace(collection, op.namespace, op.key)])
            return next((item for item in found if item.is_there(now)), None)
        case SearchItems():
            return await _matching(unit, op, collection, now)
        case ListNamespaces():
            return select_namespaces(await unit.items.namespaces(collection, at=now), op)
        case PutItem():
            return None


async def _matching(
    unit: UnitOfWork, op: SearchItems, collection: ItemCollection, now: datetime
) -> tuple[FoundItem, ...]:
    """The items that a search asks for; for one by meaning all that may be ordered by it."""
    wanted = MAX_COMPARED if op.query else op.offset + op.limit
    order = ItemOrder.LATEST if op.query else op.order
    found: list[FoundItem] = []
    behind = None
    while len(found) < wanted:
        page = await unit.items.page(collection, prefix=op.prefix, order=order, behind=behind, limit=_PAGE)
        found += [FoundItem(item=item) for item in page if item.is_there(now) and matches(item.value, op.filter or {})]
        if len(page) < _PAGE:
            break
        behind = page[-1]
    return tuple(found[:wanted] if op.query else found[op.offset : wanted])


async def _write(unit: UnitOfWork, new: Sequence[StoredItem], places: Sequence[ItemPlace], now: datetime) -> None:
    """Puts the new items, deletes what else was in these places, and what has expired."""
    known = {item.place: item for item in await unit.items.get(places) if item.is_there(now)}
    await unit.items.delete([*{*places} - {item.place for item in new}])
    await unit.items.put(
        [
            item.model_copy(update={"created_at": known[item.place].created_at}) if item.place in known else item
            for item in new
        ]
    )
    await unit.items.delete_expired(at=now)


def _refreshed(operations: Iterable[ItemOperation], results: Iterable[ItemResult]) -> list[ItemPlace]:
    """The places of items that expire and were read by operations that prolong them."""
    read: list[StoredItem] = []
    for op, result in zip(operations, results, strict=True):
        if isinstance(op, GetItem | SearchItems) and op.refresh_ttl:
            if isinstance(result, StoredItem):
                read.append(result)
            elif isinstance(result, tuple):
                read += [entry.item for entry in result if isinstance(entry, FoundItem)]
    return list(dict.fromkeys(item.place for item in read if item.ttl_minutes is not None))


def _expiry(ttl_minutes: float | None, now: datetime) -> datetime | None:
    return None if ttl_minutes is None else now + timedelta(minutes=ttl_minutes)
