"""`/store`: documents that callers keep for a user, as LangGraph's SDK, its stores and its savers send them."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AfterValidator, TypeAdapter

from memory.values.base import utc_now
from memory.values.items import (
    MAX_KEY_CHARACTERS,
    MAX_LABEL_CHARACTERS,
    MAX_LABELS,
    FoundItem,
    GetItem,
    ItemCollection,
    ListNamespaces,
    Namespace,
    PutItem,
    SearchItems,
    StoredItem,
    labels_of,
)

from ...schemas.memory.items import (
    BatchBody,
    BatchReply,
    DeleteItemBody,
    ItemReply,
    NamespacesBody,
    NamespacesReply,
    PutItemBody,
    SearchItemsBody,
    SearchItemsReply,
    found_item,
    without_vectors,
)
from ...schemas.users import UserQuery
from ...support.service_route import ServiceRoute
from ...support.services import Services, ServicesDep

router = APIRouter(tags=["store"], route_class=ServiceRoute)

_LABELS: TypeAdapter[tuple[str, ...]] = TypeAdapter(Namespace)


def _labelled(namespace: str) -> str:
    _LABELS.validate_python(labels_of(f"{namespace}."))
    return namespace


NamespaceQuery = Annotated[
    str,
    Query(max_length=MAX_LABELS * (MAX_LABEL_CHARACTERS + 1), pattern=r"^[^.\x00]+(\.[^.\x00]+)*$"),
    AfterValidator(_labelled),
]
KeyQuery = Annotated[str, Query(max_length=MAX_KEY_CHARACTERS, pattern=r"^[^\x00]*$")]


@router.put("/store/items", status_code=204)
async def put_item(body: PutItemBody, services: ServicesDep) -> None:
    """Puts a document in place of what was there; a search by meaning finds it at once."""
    put = PutItem(namespace=body.namespace, key=body.key, value=body.value, index=body.index, ttl_minutes=body.ttl)
    await services.items.batch([put], user_id=body.user_id, now=utc_now())


@router.get("/store/items")
async def get_item(
    namespace: NamespaceQuery,
    key: KeyQuery,
    user_id: UserQuery,
    services: ServicesDep,
    refresh_ttl: bool = True,
) -> ItemReply | None:
    """A document; null where there is none. One that expires stays as long again, unless `refresh_ttl` is false."""
    get = GetItem(namespace=labels_of(f"{namespace}."), key=key, refresh_ttl=refresh_ttl)
    [found] = await services.items.batch([get], user_id=user_id, now=utc_now())
    return ItemReply.of(found) if isinstance(found, StoredItem) else None


@router.delete("/store/items", status_code=204)
async def delete_item(body: DeleteItemBody, services: ServicesDep) -> None:
    """Deletes a document, where there is one."""
    delete = PutItem(namespace=body.namespace, key=body.key, value=None)
    await services.items.batch([delete], user_id=body.user_id, now=utc_now())


@router.post("/store/items/search")
async def search_items(body: SearchItemsBody, services: ServicesDep) -> SearchItemsReply:
    """Finds documents in the namespaces that begin with these labels.

    With a `query` the nearest in meaning come first; without one the latest. A `filter` names members of the value, and
    the value that each must be equal to, or an object of `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`.
    """
    search = SearchItems(
        prefix=body.namespace_prefix,
        filter=body.filter,
        query=body.query,
        limit=body.limit,
        offset=body.offset,
        refresh_ttl=body.refresh_ttl,
    )
    [found] = await services.items.batch([search], user_id=body.user_id, now=utc_now())
    entries = found if isinstance(found, tuple) else ()
    return SearchItemsReply(items=tuple(found_item(entry) for entry in entries if isinstance(entry, FoundItem)))


@router.post("/store/namespaces")
async def list_namespaces(body: NamespacesBody, services: ServicesDep) -> NamespacesReply:
    """Lists the namespaces that hold documents."""
    listing = ListNamespaces(**body.model_dump(exclude={"user_id"}))
    [found] = await services.items.batch([listing], user_id=body.user_id, now=utc_now())
    return NamespacesReply.model_validate({"namespaces": found})


@router.post("/store/batch")
async def batch_items(body: BatchBody, services: ServicesDep) -> BatchReply:
    """Carries out operations on documents, all or none: reads see what was there before the writes."""
    return await _batch(body, services, ItemCollection.STORE)


@router.post("/store/checkpoints/batch")
async def batch_checkpoints(body: BatchBody, services: ServicesDep) -> BatchReply:
    """The same on the states of graphs that a LangGraph saver keeps; `/store` never shows them."""
    return await _batch(body, services, ItemCollection.CHECKPOINTS)


async def _batch(body: BatchBody, services: Services, collection: ItemCollection) -> BatchReply:
    results = await services.items.batch(body.operations, user_id=body.user_id, collection=collection, now=utc_now())
    return BatchReply(results=tuple(map(without_vectors, results)))
