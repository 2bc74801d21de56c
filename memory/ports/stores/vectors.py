"""The vector index: a projection of the system of record that can always be rebuilt (DESIGN §7)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from ...values.hits import SearchFilter
from ...values.vectors import SparseVector

FloatVector = npt.NDArray[np.float32]
"""One embedding: shape (dimension,), float32, length 1."""


Stored = str | int | float
"""The type of a payload field; times are seconds since the epoch."""


class Collection(StrEnum):
    """Base names of the collections (000 §5.1, §8.3, 001 §2.2, 004 §4); a store adds the model id as a suffix."""

    ENTITIES = "ai_box_entity_memory"
    MEMORIES = "ai_box_aam_memory"
    FACTS = "aam_entities"
    KNOWLEDGE = "knowledge"


class FieldKind(StrEnum):
    """How a payload field is indexed."""

    KEYWORD = "keyword"
    INTEGER = "integer"
    FLOAT = "float"
    TIME = "time"


LANGUAGE = "language"
"""The field with the `LanguageGroup` of a text."""
ADDED_LATER = frozenset({LANGUAGE})
"""Fields that points of earlier releases lack until they are written again: a search must do without them."""
PAYLOAD_FIELDS: Mapping[Collection, Mapping[str, FieldKind]] = {
    Collection.ENTITIES: {  # 000 §5.1
        "entity_value": FieldKind.KEYWORD,
        "entity_type": FieldKind.KEYWORD,
        "status": FieldKind.KEYWORD,
        "first_mentioned": FieldKind.TIME,
        "last_mentioned": FieldKind.TIME,
        "mention_count": FieldKind.INTEGER,
    },
    Collection.MEMORIES: {  # 001 §2.2
        "confidence": FieldKind.FLOAT,
        "access_count": FieldKind.INTEGER,
        "created_at": FieldKind.TIME,
        "updated_at": FieldKind.TIME,
        LANGUAGE: FieldKind.KEYWORD,
    },
    Collection.FACTS: {  # 001 §2.2, 002 §3.2
        "category": FieldKind.KEYWORD,
        "entity_type": FieldKind.KEYWORD,
        "entity_value": FieldKind.KEYWORD,
        "confidence": FieldKind.FLOAT,
        "access_count": FieldKind.INTEGER,
        "status": FieldKind.KEYWORD,
        "created_at": FieldKind.TIME,
        "updated_at": FieldKind.TIME,
    },
    Collection.KNOWLEDGE: {  # 004 §4
        "corpus_id": FieldKind.KEYWORD,
        "source_id": FieldKind.KEYWORD,
        "chunk_index": FieldKind.INTEGER,
        LANGUAGE: FieldKind.KEYWORD,
    },
}
"""Indexed payload fields of each collection, besides the owner and what `SearchFilter` compares with."""


@dataclass(frozen=True)
class IndexPoint:
    """One row of the index.

    Args:
        point_id: A UUID: the id of the entity or memory.
        dense: Shape (dimension,), float32, unit length.
        sparse: BM25 term weights; the store multiplies by IDF over this user's points only.
        session_id, role: None for entities.
        created_at_s: Seconds since the epoch.
        metadata: What `SearchFilter.metadata` compares with.
        payload: Values of the collection's `PAYLOAD_FIELDS`; fields may be missing, others are refused.
        fingerprint: A digest of what the point was made from, so that a stale one is recognised.
    """

    point_id: str
    dense: FloatVector
    sparse: SparseVector
    created_at_s: float
    session_id: str | None = None
    role: str | None = None
    metadata: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    payload: Mapping[str, Stored] = field(default_factory=dict)
    fingerprint: str = ""


@dataclass(frozen=True)
class IndexQuery:
    """One nearest-neighbour search: by `dense` or by `sparse`, exactly one of which is given.

    Args:
        threshold: Points with a lower score are left out.
        where: Keyword fields of the collection's `PAYLOAD_FIELDS` and the values that they must have.
    """

    collection: Collection
    limit: int
    dense: FloatVector | None = None
    sparse: SparseVector | None = None
    filters: SearchFilter = field(default_factory=SearchFilter)
    threshold: float | None = None
    where: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StoredPoint:
    """A point of the index, with the fingerprint under which it was stored."""

    point_id: str
    fingerprint: str


@dataclass(frozen=True)
class ScoredPoint:
    """A point that was found: cosine for dense searches, BM25 for sparse ones."""

    point_id: str
    score: float


class VectorIndex(ABC):
    """Dense and sparse nearest neighbours, one user at a time (with `Collection.FACTS`: 002's EmbeddingRepository)."""

    @abstractmethod
    async def upsert(self, collection: Collection, points: Sequence[IndexPoint], *, user_id: str) -> None:
        """Adds points or replaces those with the same id. Durable against a killed process when it returns.

        Raises:
            InvalidField: A vector, an id, a time or a payload field is not sound; nothing is written.
            StoreUnavailable: The index cannot answer; some of the points may have been written.
        """

    @abstractmethod
    async def delete(self, collection: Collection, point_ids: Sequence[str], *, user_id: str) -> None:
        """Removes this user's points; ids of other users and unknown ids are left alone."""

    @abstractmethod
    async def delete_user(self, collection: Collection, *, user_id: str) -> None:
        """Removes all points of this user."""

    @abstractmethod
    async def get(self, collection: Collection, point_ids: Sequence[str], *, user_id: str) -> list[IndexPoint]:
        """This user's points that exist, in the order of the ids; `metadata` is empty in them, since a store keeps
        only what it compares with.
        """

    @abstractmethod
    async def search(self, queries: Sequence[IndexQuery], *, user_id: str) -> list[list[ScoredPoint]]:
        """Runs several searches at once; results in the order of the queries, each best first.

        Raises:
            StoreUnavailable: The index cannot answer.
        """

    @abstractmethod
    async def count(self, collection: Collection, *, user_id: str) -> int:
        """The number of points of this user."""

    @abstractmethod
    async def stored(self, collection: Collection, *, user_id: str) -> list[StoredPoint]:
        """All points of this user, in any order: what verification compares with the system of record."""

    @abstractmethod
    async def users(self, collection: Collection) -> list[str]:
        """Everybody who has points, sorted: for maintenance, which looks for what belongs to nobody."""

    @abstractmethod
    async def ping(self) -> None:
        """Returns when the index answers.

        Raises:
            StoreUnavailable: It does not.
        """

    async def delete_stale(self, collection: Collection, keep: AbstractSet[str], *, user_id: str) -> int:
        """Removes this user's points whose ids are not in `keep`; how many those were (002 §6.2)."""
        stale = [point.point_id for point in await self.stored(collection, user_id=user_id)]
        gone = sorted(set(stale) - keep)
        await self.delete(collection, gone, user_id=user_id)
        return len(gone)
