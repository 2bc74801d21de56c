"""Points and searches in the terms of the embedded vector engine. Every request is bound to one user here."""

from collections.abc import Sequence

import qdrant_edge as edge

from memory.identity import derive_id
from memory.ports.vectors import IndexPoint, IndexQuery
from memory.retrieval.hits import SearchFilter

from .edge_shards import DENSE, SPARSE
from .metadata_tokens import metadata_token, metadata_tokens

POINT_ID = "point_id"


def stored_id(user_id: str, point_id: str) -> str:
    """The id under which the engine holds a user's point: two users that send one id own two points."""
    return derive_id("point", user_id, point_id)


def of_user(user_id: str) -> edge.Filter:
    """Lets through the points of one user."""
    return edge.Filter(must=[_equals("user_id", user_id)])


def upserting(points: Sequence[IndexPoint], user_id: str) -> edge.UpdateOperation:
    """The operation that adds or replaces a user's points."""
    return edge.UpdateOperation.upsert_points([_point(point, user_id) for point in points])


def deleting(point_ids: Sequence[str], user_id: str) -> edge.UpdateOperation:
    """The operation that removes a user's points."""
    return edge.UpdateOperation.delete_points([stored_id(user_id, point_id) for point_id in point_ids])


def searching(query: IndexQuery, user_id: str) -> edge.QueryRequest:
    """The search, bound to a user; its IDF is computed over all points of this user and no others."""
    if query.dense is not None:
        nearest = edge.Query.Nearest(query.dense.tolist(), using=DENSE)
        params = edge.SearchParams(exact=True)
    else:
        terms = query.sparse
        assert terms is not None  # noqa: S101 - check_query saw to it
        nearest = edge.Query.Nearest(edge.SparseVector(list(terms.indices), list(terms.values)), using=SPARSE)
        params = edge.SearchParams(exact=True, idf=edge.IdfParams(corpus=of_user(user_id)))
    return edge.QueryRequest(
        limit=query.limit,
        query=nearest,
        filter=_filter(query.filters, user_id),
        params=params,
        with_payload=[POINT_ID],
    )


def can_match(query: IndexQuery) -> bool:
    """Whether a search may find anything: a filter by any of no values lets nothing through."""
    nothing_asked = query.sparse is not None and not query.sparse.indices
    return query.limit > 0 and not nothing_asked and [] not in query.filters.metadata.values()


def _point(point: IndexPoint, user_id: str) -> edge.Point:
    payload: dict[str, object] = {
        "user_id": user_id,
        POINT_ID: point.point_id,
        "created_at_s": float(point.created_at_s),
        "metadata": metadata_tokens(point.metadata),
    }
    if point.session_id is not None:
        payload["session_id"] = point.session_id
    if point.role is not None:
        payload["role"] = point.role
    vectors = {
        DENSE: point.dense.tolist(),
        SPARSE: edge.SparseVector(list(point.sparse.indices), list(point.sparse.values)),
    }
    return edge.Point(stored_id(user_id, point.point_id), vectors, payload)


def _equals(key: str, value: str) -> edge.FieldCondition:
    return edge.FieldCondition(key, match=edge.MatchValue(value))


def _filter(filters: SearchFilter, user_id: str) -> edge.Filter:
    must: list[edge.ConditionType] = [_equals("user_id", user_id)]
    if filters.session_id is not None:
        must.append(_equals("session_id", filters.session_id))
    if filters.role is not None:
        must.append(_equals("role", filters.role.value))
    if filters.created_from is not None or filters.created_to is not None:
        limits = edge.RangeFloat(
            gte=None if filters.created_from is None else filters.created_from.timestamp(),
            lte=None if filters.created_to is None else filters.created_to.timestamp(),
        )
        must.append(edge.FieldCondition("created_at_s", range=limits))
    for key, wanted in filters.metadata.items():
        if isinstance(wanted, list):
            tokens = [metadata_token(key, value) for value in wanted]
            must.append(edge.FieldCondition("metadata", match=edge.MatchAny(tokens)))
        else:
            must.append(_equals("metadata", metadata_token(key, wanted)))
    return edge.Filter(must=must)
