"""Items: JSON documents of a user by namespace and key, in collections that never meet."""

import json
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field, JsonValue, StringConstraints

from .base import SessionId, Timestamp, UserId, Value

MAX_LABELS = 32
MAX_LABEL_CHARACTERS = 512
MAX_KEY_CHARACTERS = 1_024
MAX_ITEMS_LISTED = 1_000
"""So many items or namespaces are given at once."""
MAX_OPERATIONS = 1_000
"""So many operations belong to a batch."""
WHOLE = "$"
"""The path of a whole document."""

Label = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_LABEL_CHARACTERS, pattern=r"^[^.\x00]+$", strict=True)
]
"""A part of a namespace: not empty, without a dot, which separates labels where they are written as one text."""
Labels = Annotated[tuple[Label, ...], Field(max_length=MAX_LABELS)]
Namespace = Annotated[tuple[Label, ...], Field(min_length=1, max_length=MAX_LABELS)]
ItemKey = Annotated[str, StringConstraints(max_length=MAX_KEY_CHARACTERS, pattern=r"^[^\x00]*$", strict=True)]
TtlMinutes = Annotated[float, Field(gt=0, le=52_560_000, allow_inf_nan=False)]
"""Minutes until an item expires; at most a hundred years."""
TextPath = Annotated[str, StringConstraints(min_length=1, max_length=512)]
Limit = Annotated[int, Field(ge=0, le=MAX_ITEMS_LISTED)]
Offset = Annotated[int, Field(ge=0, le=2**31)]


def _writable(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        raise ValueError("must be JSON in UTF-8: no NaN, no infinity, no half of a surrogate pair") from None
    return value


Document = Annotated[dict[str, JsonValue], AfterValidator(_writable)]
"""A JSON object that can be written."""


class ItemCollection(StrEnum):
    """Whose items they are: no operation names more than one collection, so what is in two of them never meets."""

    STORE = "store"
    """What callers keep (`/store`); the one collection that is searched by meaning."""
    CHECKPOINTS = "checkpoints"
    """States of callers' own graphs; their values are bytes that only the caller can read."""
    CONVERSATIONS = "conversations"
    """Conversations of the OpenAI door."""
    PERSONAS = "personas"
    """Who the assistant is for the user, and what conversation has told of it (`memory.values.personas`)."""
    DIALOGUE = "dialogue"
    """States of the service's own dialogue graph. An import can write here too: they are loaded as plain data."""


OPAQUE_COLLECTIONS = frozenset({ItemCollection.CHECKPOINTS, ItemCollection.DIALOGUE})
"""Collections of which erasure cannot read the texts: their items go with any message of their session."""


class ItemPlace(NamedTuple):
    """Where an item of a user is; each place holds one item."""

    collection: ItemCollection
    namespace: tuple[str, ...]
    key: str


class ItemOrder(StrEnum):
    """The order of a list of items."""

    LATEST = "latest"
    """By the time of writing, latest first, then by namespace and key."""
    KEY = "key"
    """By namespace, then by key; by code point."""
    KEY_DESCENDING = "key_descending"
    """The reverse of `KEY`."""


class ItemVectors(Value):
    """Vectors of the texts of an item, by one model.

    Args:
        model_id: The model; its vectors are compared with no other's.
        count: The number of vectors.
        packed: The vectors one after another: float32, little endian, in base64.
    """

    model_id: str
    count: int
    packed: str


class StoredItem(Value):
    """A JSON document of a user.

    Args:
        namespace: Labels from the outermost to the innermost.
        key: Its name in the namespace.
        value: The document.
        created_at: When something was first put in this place.
        updated_at: When this value was put.
        ttl_minutes: How long it stays after it was put, or read by a call that prolongs it; None for ever.
        expires_at: From when on it is not there any more.
        session_id: The session whose text it repeats, with which it is erased.
        index: Paths of the texts by whose meaning it is found; none where it is not found by meaning.
        vectors: Of these texts; None until they are embedded.
    """

    user_id: UserId
    collection: ItemCollection
    namespace: Namespace
    key: ItemKey
    value: dict[str, JsonValue]
    created_at: Timestamp
    updated_at: Timestamp
    ttl_minutes: TtlMinutes | None = None
    expires_at: Timestamp | None = None
    session_id: SessionId | None = None
    index: tuple[TextPath, ...] = ()
    vectors: ItemVectors | None = None

    @property
    def place(self) -> ItemPlace:
        """Where it is."""
        return ItemPlace(self.collection, self.namespace, self.key)

    @property
    def item_id(self) -> str:
        """The place as one text."""
        return json.dumps([self.collection.value, self.namespace, self.key], ensure_ascii=False)

    def is_there(self, now: datetime) -> bool:
        """Whether it has not expired."""
        return self.expires_at is None or now < self.expires_at


class PutItem(Value):
    """Puts a whole value in place of what was there, or deletes what is there.

    Args:
        value: The document; None deletes.
        index: Paths of the texts by whose meaning it can be found; None for those of the service, False for none.
        ttl_minutes: How long it stays; None for ever.
        session_id: The session whose text it repeats.
    """

    op: Literal["put"] = "put"
    namespace: Namespace
    key: ItemKey
    value: Document | None
    index: Literal[False] | tuple[TextPath, ...] | None = None
    ttl_minutes: TtlMinutes | None = None
    session_id: SessionId | None = None


class GetItem(Value):
    """Gets one item.

    Args:
        refresh_ttl: Whether an item that expires stays as long again from now on.
    """

    op: Literal["get"] = "get"
    namespace: Namespace
    key: ItemKey
    refresh_ttl: bool = True


class SearchItems(Value):
    """Finds items in the namespaces that begin with these labels.

    Args:
        prefix: Whole labels, compared exactly; none for every namespace.
        filter: What the members of a value must be: `memory.items.filters`.
        query: Orders them by meaning; without it the latest come first.
        refresh_ttl: Whether found items that expire stay as long again from now on.
        order: Their order without a query.
    """

    op: Literal["search"] = "search"
    prefix: Labels = ()
    filter: dict[str, JsonValue] | None = None
    query: str | None = None
    limit: Limit = 10
    offset: Offset = 0
    refresh_ttl: bool = True
    order: ItemOrder = ItemOrder.LATEST


class ListNamespaces(Value):
    """Lists the namespaces that hold items, by label.

    Args:
        prefix: Labels with which they begin; `*` stands for any label.
        suffix: Labels with which they end; `*` stands for any label.
        max_depth: They are cut to so many labels, and each is given once.
    """

    op: Literal["list_namespaces"] = "list_namespaces"
    prefix: Labels = ()
    suffix: Labels = ()
    max_depth: Annotated[int, Field(ge=1)] | None = None
    limit: Limit = 100
    offset: Offset = 0


ItemOperation = Annotated[PutItem | GetItem | SearchItems | ListNamespaces, Field(discriminator="op")]


class FoundItem(Value):
    """An item that was found; `score` is the cosine of the query and the nearest of its texts, None without one."""

    item: StoredItem
    score: float | None = None


ItemResult = StoredItem | tuple[FoundItem, ...] | tuple[tuple[str, ...], ...] | None
"""What an operation of a batch gives: the item, or None where there is none; items; namespaces; None of a put."""


def path_of(labels: Sequence[str]) -> str:
    """The labels as one text in which a prefix of whole labels is a prefix of the text."""
    return "".join(f"{label}." for label in labels)


def labels_of(path: str) -> tuple[str, ...]:
    """The labels that `path_of` wrote."""
    return tuple(path.split(".")[:-1])
