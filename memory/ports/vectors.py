"""The vector index: a projection of the system of record that can always be rebuilt (DESIGN §7)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from ..retrieval.hits import SearchFilter

FloatVector = npt.NDArray[np.float32]
"""One embedding: shape (dimension,), float32, length 1."""


class Collection(StrEnum):
    """Base names of the collections (000 §5.1, §8.3); a store adds the model id as a suffix."""

    ENTITIES = "ai_box_entity_memory"
    MEMORIES = "ai_box_aam_memory"


@dataclass(frozen=True)
class SparseVector:
    """Term weights: distinct unsigned 32-bit term ids and their weights, of equal length."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


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
    """

    point_id: str
    dense: FloatVector
    sparse: SparseVector
    created_at_s: float
    session_id: str | None = None
    role: str | None = None
    metadata: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)


@dataclass(frozen=True)
class IndexQuery:
    """One nearest-neighbour search: by `dense` or by `sparse`, exactly one of which is given."""

    collection: Collection
    limit: int
    dense: FloatVector | None = None
    sparse: SparseVector | None = None
    filters: SearchFilter = field(default_factory=SearchFilter)


@dataclass(frozen=True)
class ScoredPoint:
    """A point that was found: cosine for dense searches, BM25 for sparse ones."""

    point_id: str
    score: float


class VectorIndex(ABC):
    """Dense and sparse nearest neighbours, one user at a time."""

    @abstractmethod
    async def upsert(self, collection: Collection, points: Sequence[IndexPoint], *, user_id: str) -> None:
        """Adds points or replaces those with the same id. Durable against a killed process when it returns."""

    @abstractmethod
    async def delete(self, collection: Collection, point_ids: Sequence[str], *, user_id: str) -> None:
        """Removes this user's points; ids of other users and unknown ids are left alone."""

    @abstractmethod
    async def search(self, queries: Sequence[IndexQuery], *, user_id: str) -> list[list[ScoredPoint]]:
        """Runs several searches at once; results in the order of the queries, each best first.

        Raises:
            StoreUnavailable: The index cannot answer.
        """

    @abstractmethod
    async def count(self, collection: Collection, *, user_id: str) -> int:
        """How many points this user has."""
