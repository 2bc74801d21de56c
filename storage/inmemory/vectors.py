"""The vector index in memory: brute force over numpy arrays, deterministic, for tests and trials."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from typing_extensions import override

from memory.ports.stores.generations import GenerationStore, VectorModel
from memory.ports.stores.vectors import Collection, IndexPoint, IndexQuery, ScoredPoint, StoredPoint, VectorIndex
from memory.values.base import Scalar
from memory.values.hits import SearchFilter
from memory.values.vectors import SparseVector

from ..shared.checks import check_user
from ..shared.index_checks import check_points, check_query


class InMemoryVectors(VectorIndex):
    """Exact search over one dictionary for each user and collection.

    Args:
        dimension: Length of the dense vectors.
    """

    def __init__(self, *, dimension: int) -> None:
        self._dimension = dimension
        self._points: dict[tuple[Collection, str], dict[str, IndexPoint]] = {}

    @override
    async def upsert(self, collection: Collection, points: Sequence[IndexPoint], *, user_id: str) -> None:
        check_user(user_id)
        check_points(points, collection, self._dimension)
        self._points.setdefault((collection, user_id), {}).update({point.point_id: point for point in points})

    @override
    async def delete(self, collection: Collection, point_ids: Sequence[str], *, user_id: str) -> None:
        points = self._points.get((collection, check_user(user_id)), {})
        for point_id in point_ids:
            points.pop(point_id, None)

    @override
    async def delete_user(self, collection: Collection, *, user_id: str) -> None:
        self._points.pop((collection, check_user(user_id)), None)

    @override
    async def get(self, collection: Collection, point_ids: Sequence[str], *, user_id: str) -> list[IndexPoint]:
        points = self._points.get((collection, check_user(user_id)), {})
        return [_without_metadata(points[point_id]) for point_id in point_ids if point_id in points]

    @override
    async def search(self, queries: Sequence[IndexQuery], *, user_id: str) -> list[list[ScoredPoint]]:
        check_user(user_id)
        for query in queries:
            check_query(query, self._dimension)
        return [self._search(query, self._points.get((query.collection, user_id), {})) for query in queries]

    @override
    async def count(self, collection: Collection, *, user_id: str) -> int:
        return len(self._points.get((collection, check_user(user_id)), {}))

    @override
    async def stored(self, collection: Collection, *, user_id: str) -> list[StoredPoint]:
        points = self._points.get((collection, check_user(user_id)), {})
        return [StoredPoint(point.point_id, point.fingerprint) for point in points.values()]

    @override
    async def users(self, collection: Collection) -> list[str]:
        return sorted(user for (where, user), points in self._points.items() if where is collection and points)

    @override
    async def ping(self) -> None:
        """Always answers."""

    def clear(self) -> None:
        """Forgets everything."""
        self._points.clear()

    def _search(self, query: IndexQuery, points: dict[str, IndexPoint]) -> list[ScoredPoint]:
        candidates = [
            point
            for point in points.values()
            if _passes(point, query.filters) and query.where.items() <= point.payload.items()
        ]
        if query.dense is not None:
            scored = [ScoredPoint(point.point_id, _cosine(query.dense, point.dense)) for point in candidates]
        else:
            assert query.sparse is not None  # noqa: S101 - check_query saw to it
            idf = _idf(query.sparse.indices, points.values())
            weights = {term: weight * idf[term] for term, weight in _pairs(query.sparse)}
            scored = [
                ScoredPoint(point.point_id, sum(weights[t] * w for t, w in _pairs(point.sparse) if t in weights))
                for point in candidates
                if not weights.keys().isdisjoint(point.sparse.indices)
            ]
        if query.threshold is not None:
            scored = [hit for hit in scored if hit.score >= query.threshold]
        return sorted(scored, key=lambda hit: (-hit.score, hit.point_id))[: max(query.limit, 0)]


class InMemoryGenerations(GenerationStore):
    """One index per model; `live` is the name of the one that was made live last."""

    def __init__(self) -> None:
        self._indexes: dict[str, InMemoryVectors] = {}
        self.live: str | None = None

    @override
    def index(self, model: VectorModel) -> InMemoryVectors:
        return self._indexes.setdefault(model.model_id, InMemoryVectors(dimension=model.dimension))

    @override
    async def make_live(self, model: VectorModel) -> None:
        self.live = model.model_id

    @override
    async def drop(self, model: VectorModel) -> None:
        """Empties a model's index; those who still hold it see that."""
        if dropped := self._indexes.pop(model.model_id, None):
            dropped.clear()

    @override
    async def erase_user(self, user_id: str) -> int:
        erased = 0
        for index in self._indexes.values():
            for collection in Collection:
                erased += await index.count(collection, user_id=user_id)
                await index.delete_user(collection, user_id=user_id)
        return erased

    @override
    async def erase_points(self, point_ids: Sequence[str], *, user_id: str) -> int:
        erased = 0
        for index in self._indexes.values():
            for collection in Collection:
                erased += len(await index.get(collection, point_ids, user_id=user_id))
                await index.delete(collection, point_ids, user_id=user_id)
        return erased

    @override
    async def purge(self) -> bool:
        return True


def _without_metadata(point: IndexPoint) -> IndexPoint:
    terms = sorted(_pairs(point.sparse))
    sparse = SparseVector(tuple(term for term, _ in terms), tuple(weight for _, weight in terms))
    return replace(point, sparse=sparse, metadata={})


def _pairs(vector: SparseVector) -> Iterable[tuple[int, float]]:
    return zip(vector.indices, vector.values, strict=True)


def _cosine(left: np.ndarray, right: np.ndarray) -> float:
    norm = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / norm if norm else 0.0


def _idf(terms: Iterable[int], points: Iterable[IndexPoint]) -> dict[int, float]:
    """`ln((N - n + 0.5) / (n + 0.5) + 1)` over N points, n of which hold the term (Qdrant's IDF modifier)."""
    documents = [set(point.sparse.indices) for point in points]
    total = len(documents)
    holding = {term: sum(term in document for document in documents) for term in terms}
    return {term: math.log((total - n + 0.5) / (n + 0.5) + 1.0) for term, n in holding.items()}


def _passes(point: IndexPoint, filters: SearchFilter) -> bool:
    if filters.session_id is not None and point.session_id != filters.session_id:
        return False
    if filters.role is not None and point.role != filters.role.value:
        return False
    if filters.created_from is not None and point.created_at_s < filters.created_from.timestamp():
        return False
    if filters.created_to is not None and point.created_at_s > filters.created_to.timestamp():
        return False
    return all(
        key in point.metadata and any(_same(point.metadata[key], value) for value in _as_list(expected))
        for key, expected in filters.metadata.items()
    )


def _as_list(expected: Scalar | list[Scalar]) -> list[Scalar]:
    return expected if isinstance(expected, list) else [expected]


def _same(left: Scalar, right: Scalar) -> bool:
    """Numbers are equal as numbers; true is not 1."""
    return left == right and isinstance(left, bool) == isinstance(right, bool)
