"""Bodies and replies of `/store` and `/checkpoints`: the fields of LangGraph's server, as its SDK sends them."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from memory.values.items import (
    MAX_OPERATIONS,
    Document,
    FoundItem,
    ItemKey,
    ItemOperation,
    ItemResult,
    Labels,
    Limit,
    Namespace,
    Offset,
    StoredItem,
    TextPath,
    TtlMinutes,
)

from ..fields import Flag, RequestModel, examples
from ..users import User

MAX_PATHS = 64


class PutItemBody(RequestModel):
    """`PUT /store/items`; `index`: false for an item that is not found by meaning, or the paths of its texts."""

    model_config = examples(
        {"user_id": "ann", "namespace": ["notes", "food"], "key": "tea", "value": {"text": "Likes oolong, no milk."}}
    )

    user_id: User
    namespace: Namespace
    key: ItemKey
    value: Document
    index: Literal[False] | Annotated[tuple[TextPath, ...], Field(max_length=MAX_PATHS)] | None = None
    ttl: TtlMinutes | None = Field(default=None, description="Minutes until it expires.")


class DeleteItemBody(RequestModel):
    """`DELETE /store/items`."""

    model_config = examples({"user_id": "ann", "namespace": ["notes", "food"], "key": "tea"})

    user_id: User
    namespace: Namespace
    key: ItemKey


class SearchItemsBody(RequestModel):
    """`POST /store/items/search`."""

    model_config = examples(
        {"user_id": "ann", "namespace_prefix": ["notes"], "query": "What does she drink?", "limit": 3},
        {"user_id": "ann", "namespace_prefix": [], "filter": {"stars": {"$gte": 4}}},
    )

    user_id: User
    namespace_prefix: Labels = ()
    filter: dict[str, JsonValue] | None = None
    query: Annotated[str, Field(max_length=32_768)] | None = None
    limit: Limit = 10
    offset: Offset = 0
    refresh_ttl: Flag = True


class NamespacesBody(RequestModel):
    """`POST /store/namespaces`; `*` in a prefix or suffix stands for any label."""

    model_config = examples({"user_id": "ann", "prefix": ["notes"], "max_depth": 2})

    user_id: User
    prefix: Labels = ()
    suffix: Labels = ()
    max_depth: Annotated[int, Field(ge=1, le=1_000)] | None = None
    limit: Limit = 100
    offset: Offset = 0


class BatchBody(RequestModel):
    """`POST /store/batch` and `POST /store/checkpoints/batch`."""

    model_config = examples(
        {
            "user_id": "ann",
            "operations": [
                {"op": "get", "namespace": ["notes", "food"], "key": "tea"},
                {"op": "put", "namespace": ["notes", "food"], "key": "tea", "value": {"text": "Likes oolong."}},
            ],
        }
    )

    user_id: User
    operations: Annotated[tuple[ItemOperation, ...], Field(max_length=MAX_OPERATIONS)]


class ItemReply(RequestModel):
    """An item."""

    namespace: tuple[str, ...]
    key: str
    value: dict[str, JsonValue]
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, item: StoredItem) -> "ItemReply":
        """Of a stored item."""
        return cls(**{name: getattr(item, name) for name in ItemReply.model_fields})


class FoundItemReply(ItemReply):
    """An item that was found; `score` is the cosine of the query and the nearest of its texts."""

    score: float | None


class SearchItemsReply(RequestModel):
    """Items in order."""

    items: tuple[FoundItemReply, ...]


class NamespacesReply(RequestModel):
    """Namespaces in the order of their labels."""

    namespaces: tuple[tuple[str, ...], ...]


class BatchReply(RequestModel):
    """What each operation gives, in order: an item or null; found items; namespaces; null of a put."""

    results: tuple[StoredItem | tuple[FoundItem, ...] | tuple[tuple[str, ...], ...] | None, ...]


def found_item(found: FoundItem) -> FoundItemReply:
    """The reply for a found item."""
    return FoundItemReply(**dict(ItemReply.of(found.item)), score=found.score)


def without_vectors(result: ItemResult) -> ItemResult:
    """The result without what only the service reads."""
    if isinstance(result, StoredItem):
        return result.model_copy(update={"vectors": None})
    if isinstance(result, tuple):
        return tuple(
            entry.model_copy(update={"item": entry.item.model_copy(update={"vectors": None})})
            if isinstance(entry, FoundItem)
            else entry
            for entry in result
        )  # type: ignore[return-value]  # a tuple of one kind stays one
    return result
