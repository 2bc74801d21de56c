"""Requests to the embedded vector engine, each bound to one user."""

from collections.abc import Iterable, Sequence
from uuid import UUID

import qdrant_edge as edge

from memory.ports.vectors import Collection, IndexPoint, IndexQuery

from ..shared.index_points import (
    DENSE,
    FINGERPRINT,
    POINT_ID,
    SPARSE,
    AnyOf,
    Between,
    Condition,
    Equals,
    conditions,
    payload_of,
    stored_id,
    user_condition,
)

EngineId = int | UUID | str
"""The engine's id of a point."""


def user_filter(user_id: str) -> edge.Filter:
    """The filter that passes the points of one user."""
    return _filter([user_condition(user_id)])


def upsert_operation(points: Sequence[IndexPoint], collection: Collection, user_id: str) -> edge.UpdateOperation:
    """The operation that adds or replaces a user's points."""
    return edge.UpdateOperation.upsert_points([_point(point, collection, user_id) for point in points])


def search_request(query: IndexQuery, user_id: str) -> edge.QueryRequest:
    """The search, bound to a user; its IDF is computed over all points of this user and no others."""
    if query.dense is not None:
        nearest = edge.Query.Nearest(query.dense.tolist(), using=DENSE)
        params = edge.SearchParams(exact=True)
    else:
        terms = query.sparse
        assert terms is not None  # noqa: S101 - check_query saw to it
        nearest = edge.Query.Nearest(edge.SparseVector(list(terms.indices), list(terms.values)), using=SPARSE)
        params = edge.SearchParams(exact=True, idf=edge.IdfParams(corpus=user_filter(user_id)))
    return edge.QueryRequest(
        limit=query.limit,
        query=nearest,
        filter=_filter(conditions(query, user_id)),
        score_threshold=query.threshold,
        params=params,
        with_payload=[POINT_ID],
    )


def scroll_request(user_id: str, *, after: EngineId | None, limit: int) -> edge.ScrollRequest:
    """One page of a user's points."""
    return edge.ScrollRequest(
        offset=after, limit=limit, filter=user_filter(user_id), with_payload=[POINT_ID, FINGERPRINT]
    )


def _point(point: IndexPoint, collection: Collection, user_id: str) -> edge.Point:
    vectors = {
        DENSE: point.dense.tolist(),
        SPARSE: edge.SparseVector(list(point.sparse.indices), list(point.sparse.values)),
    }
    return edge.Point(stored_id(user_id, point.point_id), vectors, payload_of(point, collection, user_id))


def _filter(must: Iterable[Condition]) -> edge.Filter:
    return edge.Filter(must=[_condition(condition) for condition in must])


def _condition(condition: Condition) -> edge.FieldCondition:
    match condition:
        case Equals(key, value):
            return edge.FieldCondition(key, match=edge.MatchValue(value))
        case AnyOf(key, values):
            return edge.FieldCondition(key, match=edge.MatchAny(list(values)))
        case Between(key, low, high):
            return edge.FieldCondition(key, range=edge.RangeFloat(gte=low, lte=high))
