"""Points and searches in the terms of a Qdrant server. Every request is bound to one user here."""

from collections.abc import Iterable, Mapping

from qdrant_client import models

from memory.ports.stores.vectors import Collection, FieldKind, IndexPoint, IndexQuery

from ..shared.index_points import (
    DENSE,
    POINT_ID,
    SPARSE,
    USER_ID,
    AnyOf,
    Between,
    Condition,
    Equals,
    conditions,
    payload_of,
    stored_id,
    user_condition,
)

_KINDS = {
    FieldKind.KEYWORD: models.PayloadSchemaType.KEYWORD,
    FieldKind.INTEGER: models.PayloadSchemaType.INTEGER,
    FieldKind.FLOAT: models.PayloadSchemaType.FLOAT,
    FieldKind.TIME: models.PayloadSchemaType.DATETIME,
}


def user_filter(user_id: str) -> models.Filter:
    """The filter that passes the points of one user."""
    return _filter([user_condition(user_id)])


def stored_point(point: IndexPoint, collection: Collection, user_id: str) -> models.PointStruct:
    """A user's point as it is stored."""
    sparse = models.SparseVector(indices=list(point.sparse.indices), values=list(point.sparse.values))
    return models.PointStruct(
        id=stored_id(user_id, point.point_id),
        vector={DENSE: point.dense.tolist(), SPARSE: sparse},
        payload=payload_of(point, collection, user_id),
    )


def search_request(query: IndexQuery, user_id: str, *, quantised: bool) -> models.QueryRequest:
    """The search, bound to a user; its IDF is computed over all points of this user and no others.

    Quantised vectors only choose candidates: the scores come from the vectors as they were given.
    """
    params: models.SearchParams | None = None
    if query.dense is not None:
        nearest = models.NearestQuery(nearest=query.dense.tolist())
        if quantised:
            rescored = models.QuantizationSearchParams(rescore=True, oversampling=2.0)
            params = models.SearchParams(quantization=rescored)
    else:
        terms = query.sparse
        assert terms is not None  # noqa: S101 - check_query saw to it
        weights = models.SparseVector(indices=list(terms.indices), values=list(terms.values))
        nearest = models.NearestQuery(nearest=weights)
        params = models.SearchParams(idf=models.IdfCorpusParams(corpus=user_filter(user_id)))
    return models.QueryRequest(
        query=nearest,
        using=DENSE if query.dense is not None else SPARSE,
        filter=_filter(conditions(query, user_id)),
        params=params,
        limit=query.limit,
        score_threshold=query.threshold,
        with_payload=[POINT_ID],
    )


def index_schema(name: str, kind: FieldKind) -> models.PayloadSchemaType | models.KeywordIndexParams:
    """How a payload field is indexed; the owner is the tenant, so that a user's points lie together on disk."""
    if name == USER_ID:
        return models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    return _KINDS[kind]


def vectors_config(dimension: int, *, quantised: bool) -> Mapping[str, models.VectorParams]:
    """Dense vectors of a new collection; in 8 bits as well, kept in memory, where they are quantised."""
    int8 = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
    return {
        DENSE: models.VectorParams(
            size=dimension,
            distance=models.Distance.COSINE,
            quantization_config=models.ScalarQuantization(scalar=int8) if quantised else None,
        )
    }


def _filter(must: Iterable[Condition]) -> models.Filter:
    return models.Filter(must=[_condition(condition) for condition in must])


def _condition(condition: Condition) -> models.FieldCondition:
    match condition:
        case Equals(key, value):
            return models.FieldCondition(key=key, match=models.MatchValue(value=value))
        case AnyOf(key, values):
            return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))
        case Between(key, low, high):
            return models.FieldCondition(key=key, range=models.Range(gte=low, lte=high))
