"""Points and search conditions of a vector index, independent of the engine; each engine translates them.

Every condition of a search is built here, and the first is always the user, so that no engine's adapter can forget it.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol
from urllib.parse import quote

import numpy as np

from memory.ports.stores.vectors import (
    PAYLOAD_FIELDS,
    Collection,
    FieldKind,
    IndexPoint,
    IndexQuery,
    ScoredPoint,
    Stored,
    StoredPoint,
)
from memory.values.base import Scalar
from memory.values.ids import derive_id
from memory.values.vectors import SparseVector

from .index_checks import is_point_id

DENSE = "dense"
"""Name of the vectors that are compared by cosine similarity."""
SPARSE = "sparse"
"""Name of the term weights, which the engine multiplies by IDF."""
_SCANNED_USER_POINTS = 1_000_000
_SCANNED_KNOWLEDGE_POINTS = 10_000
POINTS_AT_ONCE = 256
"""Number of points that an engine writes or reads in one call."""
USER_ID = "user_id"
POINT_ID = "point_id"
FINGERPRINT = "fingerprint"

_LONGEST_TOKEN = 64
_FIRST_USERS = 10_000
_COMMON = {
    USER_ID: FieldKind.KEYWORD,
    "session_id": FieldKind.KEYWORD,
    "role": FieldKind.KEYWORD,
    "metadata": FieldKind.KEYWORD,
    "created_at_s": FieldKind.FLOAT,
}


@dataclass(frozen=True)
class Equals:
    """The field has this value, or holds it among several."""

    key: str
    value: str


@dataclass(frozen=True)
class AnyOf:
    """The field has one of these values."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Between:
    """The field lies in this range, both ends included; None is no limit."""

    key: str
    low: float | None
    high: float | None


Condition = Equals | AnyOf | Between


def stored_name(collection: Collection, model_id: str) -> str:
    """The name of a collection's vectors by one model; two models never share one."""
    return f"{collection.value}__{quote(model_id, safe='')}"


def stored_id(user_id: str, point_id: str) -> str:
    """The id under which an engine holds a user's point: two users that send one id own two points."""
    return derive_id("point", user_id, point_id)


def stored_ids(user_id: str, point_ids: Iterable[str]) -> list[str]:
    """Ids under which an engine may hold these points, each once; an invalid one is left out."""
    return [stored_id(user_id, point_id) for point_id in dict.fromkeys(point_ids) if is_point_id(point_id)]


def indexed_fields(collection: Collection) -> dict[str, FieldKind]:
    """Payload fields that an engine must index."""
    return _COMMON | dict(PAYLOAD_FIELDS[collection])


def scanned_points(collection: Collection) -> int:
    """A keyword search reads the points of one owner up to this many; beyond, the engine walks everybody's postings.

    For a user with 10,000 of a million points these would cost 9.7 ms and not 2.1 (benchmarks.stores). Knowledge
    belongs to few apps, so that most of the postings are the owner's: for one with 100,000 chunks they cost 3.5 ms, and
    reading the points 44 (benchmarks.knowledge.scale).
    """
    return _SCANNED_KNOWLEDGE_POINTS if collection is Collection.KNOWLEDGE else _SCANNED_USER_POINTS


def user_condition(user_id: str) -> Condition:
    """Lets through the points of one user."""
    return Equals(USER_ID, user_id)


def conditions(query: IndexQuery, user_id: str) -> list[Condition]:
    """The conditions of a search: the point is this user's and passes the filters of the query."""
    filters = query.filters
    must: list[Condition] = [user_condition(user_id)]
    if filters.session_id is not None:
        must.append(Equals("session_id", filters.session_id))
    if filters.role is not None:
        must.append(Equals("role", filters.role.value))
    if filters.created_from is not None or filters.created_to is not None:
        low = None if filters.created_from is None else filters.created_from.timestamp()
        high = None if filters.created_to is None else filters.created_to.timestamp()
        must.append(Between("created_at_s", low, high))
    for key, value in filters.metadata.items():
        if isinstance(value, list):
            must.append(AnyOf("metadata", tuple(metadata_token(key, alternative) for alternative in value)))
        else:
            must.append(Equals("metadata", metadata_token(key, value)))
    must.extend(Equals(name, value) for name, value in query.where.items())
    return must


def can_match(query: IndexQuery) -> bool:
    """Whether a search may find anything: a filter by any of no values lets nothing through."""
    no_terms = query.sparse is not None and not query.sparse.indices
    return query.limit > 0 and not no_terms and [] not in query.filters.metadata.values()


def payload_of(point: IndexPoint, collection: Collection, user_id: str) -> dict[str, object]:
    """The payload of a point; times as RFC 3339, to the microsecond (000 §5.1)."""
    kinds = PAYLOAD_FIELDS[collection]
    payload: dict[str, object] = {name: _as_stored(value, kinds[name]) for name, value in point.payload.items()}
    payload |= {
        USER_ID: user_id,
        POINT_ID: point.point_id,
        FINGERPRINT: point.fingerprint,
        "created_at_s": float(point.created_at_s),
        "metadata": metadata_tokens(point.metadata),
    }
    if point.session_id is not None:
        payload["session_id"] = point.session_id
    if point.role is not None:
        payload["role"] = point.role
    return payload


def read_point(payload: Mapping[str, Any], vectors: Any, collection: Collection) -> IndexPoint:
    """The point that was stored, terms in rising order, without its metadata.

    Args:
        payload: What was stored beside the vectors.
        vectors: The vectors by name, as they were written; the engines spell their types differently.
        collection: Where it was stored.
    """
    kinds = PAYLOAD_FIELDS[collection]
    sparse = vectors[SPARSE]
    terms = sorted(zip(sparse.indices, sparse.values, strict=True))
    return IndexPoint(
        point_id=payload[POINT_ID],
        dense=np.asarray(vectors[DENSE], dtype=np.float32),
        sparse=SparseVector(tuple(term for term, _ in terms), tuple(weight for _, weight in terms)),
        created_at_s=payload["created_at_s"],
        session_id=payload.get("session_id"),
        role=payload.get("role"),
        payload={name: _as_given(payload[name], kind) for name, kind in kinds.items() if name in payload},
        fingerprint=payload.get(FINGERPRINT, ""),  # points of the first release have none
    )


def read_stored(payload: Mapping[str, Any]) -> StoredPoint:
    """The id and fingerprint in a payload."""
    return StoredPoint(payload[POINT_ID], payload.get(FINGERPRINT, ""))


def metadata_token(key: str, value: Scalar) -> str:
    """The token of one key with one value.

    Numbers are equal as numbers (1 and 1.0 share a token, 1 and true do not). A token is the JSON of the pair, which
    begins with `[`; a long one is replaced by its digest, which begins with `#`.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    token = json.dumps([key, value], separators=(",", ":"))
    if len(token) <= _LONGEST_TOKEN:
        return token
    return f"#{hashlib.blake2b(token.encode(), digest_size=20).hexdigest()}"


def metadata_tokens(metadata: Mapping[str, Scalar]) -> list[str]:
    """The tokens of all pairs, in the order of their keys."""
    return [metadata_token(key, metadata[key]) for key in sorted(metadata)]


class FacetHit(Protocol):
    """One row of a facet: a value of a payload field and how many points have it."""

    @property
    def value(self) -> str | int | bool:
        """The value of the field."""

    @property
    def count(self) -> int:
        """The number of points with the value."""


def rank(hits: Iterable[ScoredPoint]) -> list[ScoredPoint]:
    """Hits with the best first; equal scores are ordered by id."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.point_id))


async def list_owners(
    facet: Callable[[int], Awaitable[Sequence[FacetHit]]], owner: Callable[[object], str] = str
) -> list[str]:
    """The users who have points, sorted.

    Args:
        facet: Users and their numbers of points, largest first, at most as many as its argument.
        owner: The user of a stored value.
    """
    limit = _FIRST_USERS
    while True:
        hits = await facet(limit)
        if len(hits) < limit:
            return sorted(owner(hit.value) for hit in hits if hit.count)
        limit *= 10  # a facet has no pages; users whose points were deleted come last, with a count of 0


def _as_stored(value: Stored, kind: FieldKind) -> Stored:
    if kind is FieldKind.TIME:
        return datetime.fromtimestamp(float(value), UTC).isoformat()
    return float(value) if kind is FieldKind.FLOAT else value


def _as_given(value: Any, kind: FieldKind) -> Stored:
    if kind is FieldKind.TIME:
        return datetime.fromisoformat(value).timestamp()
    stored: Stored = value
    return stored
