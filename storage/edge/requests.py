"""Requests to the embedded vector engine, each bound to one user; keywords go through the cipher."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import qdrant_edge as edge

from memory.ports.stores.vectors import Collection, FieldKind, IndexPoint, IndexQuery

from ..shared.encryption import Cipher
from ..shared.index_points import (
    DENSE,
    FINGERPRINT,
    POINT_ID,
    SPARSE,
    USER_ID,
    AnyOf,
    Between,
    Condition,
    Equals,
    conditions,
    indexed_fields,
    payload_of,
    stored_id,
    user_condition,
)

EngineId = int | UUID | str
"""The engine's id of a point."""


class Requests:
    """Builds requests of one index.

    Args:
        cipher: Encrypts the keyword fields of a payload, by which points are found: the same value each time.
    """

    def __init__(self, cipher: Cipher) -> None:
        self._cipher = cipher

    def user_filter(self, user_id: str) -> edge.Filter:
        """The filter that passes the points of one user."""
        return self._filter([user_condition(user_id)])

    def upsert(self, points: Sequence[IndexPoint], collection: Collection, user_id: str) -> edge.UpdateOperation:
        """The operation that adds or replaces a user's points."""
        return edge.UpdateOperation.upsert_points([self._point(point, collection, user_id) for point in points])

    def search(self, query: IndexQuery, user_id: str) -> edge.QueryRequest:
        """The search, bound to a user; its IDF is computed over all points of this user and no others."""
        if query.dense is not None:
            nearest = edge.Query.Nearest(query.dense.tolist(), using=DENSE)
            params = edge.SearchParams(exact=True)
        else:
            terms = query.sparse
            assert terms is not None  # noqa: S101 - check_query saw to it
            nearest = edge.Query.Nearest(edge.SparseVector(list(terms.indices), list(terms.values)), using=SPARSE)
            params = edge.SearchParams(exact=True, idf=edge.IdfParams(corpus=self.user_filter(user_id)))
        return edge.QueryRequest(
            limit=query.limit,
            query=nearest,
            filter=self._filter(conditions(query, user_id)),
            score_threshold=query.threshold,
            params=params,
            with_payload=[POINT_ID],
        )

    def scroll(self, user_id: str, *, after: EngineId | None, limit: int) -> edge.ScrollRequest:
        """One page of a user's points."""
        return edge.ScrollRequest(
            offset=after, limit=limit, filter=self.user_filter(user_id), with_payload=[POINT_ID, FINGERPRINT]
        )

    def owner(self, stored: object) -> str:
        """The user of a stored `user_id`."""
        return self._cipher.open(str(stored), USER_ID)

    def _point(self, point: IndexPoint, collection: Collection, user_id: str) -> edge.Point:
        vectors = {
            DENSE: point.dense.tolist(),
            SPARSE: edge.SparseVector(list(point.sparse.indices), list(point.sparse.values)),
        }
        payload = with_keywords(payload_of(point, collection, user_id), collection, self._cipher.seal_comparable)
        return edge.Point(stored_id(user_id, point.point_id), vectors, payload)

    def _filter(self, must: Iterable[Condition]) -> edge.Filter:
        return edge.Filter(must=[self._condition(condition) for condition in must])

    def _condition(self, condition: Condition) -> edge.FieldCondition:
        seal = self._cipher.seal_comparable
        match condition:
            case Equals(key, value):
                return edge.FieldCondition(key, match=edge.MatchValue(seal(value, key)))
            case AnyOf(key, values):
                return edge.FieldCondition(key, match=edge.MatchAny([seal(value, key) for value in values]))
            case Between(key, low, high):
                return edge.FieldCondition(key, range=edge.RangeFloat(gte=low, lte=high))


def with_keywords(
    payload: Mapping[str, Any], collection: Collection, change: Callable[[str, str], str]
) -> dict[str, Any]:
    """A payload with its keyword fields changed; ids of points, fingerprints, times and numbers stay.

    Args:
        payload: As it is stored, or as it is read.
        collection: Where it is stored.
        change: Gives the new value for a value and the name of its field.
    """
    kinds = indexed_fields(collection)
    changed = dict(payload)
    for name in payload.keys() & {name for name, kind in kinds.items() if kind is FieldKind.KEYWORD}:
        value = payload[name]
        changed[name] = [change(text, name) for text in value] if isinstance(value, list) else change(value, name)
    return changed
