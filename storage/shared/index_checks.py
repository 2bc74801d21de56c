"""Arguments that every vector index refuses, and the error of an index that cannot answer."""

import math
import uuid
from collections.abc import Mapping, Sequence

import numpy as np

from memory.ports.stores.vectors import (
    PAYLOAD_FIELDS,
    Collection,
    FieldKind,
    FloatVector,
    IndexPoint,
    IndexQuery,
    Stored,
)
from memory.values.errors import InvalidField, StoreUnavailable
from memory.values.vectors import SparseVector

_LARGEST_TERM = 2**32 - 1
_INTEGERS = range(-(2**63), 2**63)
# The years 1 to 9999, in seconds since the epoch: what RFC 3339 can write.
_TIMES = (-62_135_596_800, 253_402_300_799)
_ALLOWED = {
    FieldKind.KEYWORD: "a text",
    FieldKind.INTEGER: "a 64-bit integer",
    FieldKind.FLOAT: "a finite number",
    FieldKind.TIME: "seconds since the epoch, in the years 1 to 9999",
}


def unavailable(reason: object) -> StoreUnavailable:
    """The error that says why the vector index cannot answer."""
    return StoreUnavailable(f"The vector index cannot answer: {reason}.", component="vectors")


def check_dense(vector: FloatVector, dimension: int) -> FloatVector:
    """The vector as float32 of shape (dimension,).

    Raises:
        InvalidField: It has another shape, or numbers that are not finite.
    """
    array = np.asarray(vector, dtype=np.float32)
    allowed = f"{dimension} finite numbers"
    if array.shape != (dimension,):
        message = f"The index holds vectors of shape ({dimension},), this one has {array.shape}: is it another model's?"
        raise InvalidField(message, field="dense", allowed=allowed)
    if not np.isfinite(array).all():
        raise InvalidField("A vector holds numbers that are not finite.", field="dense", allowed=allowed)
    return array


def check_sparse(vector: SparseVector) -> SparseVector:
    """The term weights.

    Raises:
        InvalidField: Ids repeat or do not fit 32 bits, weights are missing or not finite.
    """
    ids = vector.indices
    sound = (
        len(ids) == len(vector.values)
        and len(set(ids)) == len(ids)
        and all(0 <= term <= _LARGEST_TERM for term in ids)
        and all(math.isfinite(weight) for weight in vector.values)
    )
    if not sound:
        allowed = "distinct unsigned 32-bit term ids with one finite weight each"
        raise InvalidField(f"Term weights must be {allowed}.", field="sparse", allowed=allowed)
    return vector


def check_points(points: Sequence[IndexPoint], collection: Collection, dimension: int) -> None:
    """Refuses a batch of which any point cannot be stored, before any is.

    Raises:
        InvalidField: A vector, an id, a time, a text or a payload field is invalid.
    """
    for point in points:
        check_dense(point.dense, dimension)
        check_sparse(point.sparse)
        if not math.isfinite(point.created_at_s):
            raise InvalidField("A point needs a finite time.", field="created_at_s", allowed="seconds since the epoch")
        if not is_point_id(point.point_id):
            raise InvalidField("A point id must be a UUID.", field="point_id", allowed="a UUID")
        for field, text in (
            ("session_id", point.session_id or ""),
            ("role", point.role or ""),
            ("fingerprint", point.fingerprint),
        ):
            _check_text(field, text)
        _check_payload(point.payload, collection)


def is_point_id(point_id: str) -> bool:
    """Whether this is a valid id of a point."""
    try:
        uuid.UUID(point_id)
    except ValueError:
        return False
    return True


def check_query(query: IndexQuery, dimension: int) -> None:
    """Refuses a search with neither or both of `dense` and `sparse`, or with invalid values.

    Raises:
        InvalidField: See above.
    """
    if (query.dense is None) == (query.sparse is None):
        raise InvalidField("A search goes by `dense` or by `sparse`.", field="dense", allowed="exactly one of them")
    if query.dense is not None:
        check_dense(query.dense, dimension)
    if query.sparse is not None:
        check_sparse(query.sparse)
    if query.threshold is not None and not math.isfinite(query.threshold):
        raise InvalidField("A threshold must be finite.", field="threshold", allowed="a finite score")
    kinds = PAYLOAD_FIELDS[query.collection]
    keywords = [name for name, kind in kinds.items() if kind is FieldKind.KEYWORD]
    for name, value in query.where.items():
        if name not in keywords:
            allowed = ", ".join(keywords) or "nothing in this collection"
            raise InvalidField(f"`where` cannot compare {name!r}; it can: {allowed}.", field="where", allowed=allowed)
        _check_value(name, value, FieldKind.KEYWORD)


def _check_payload(payload: Mapping[str, Stored], collection: Collection) -> None:
    kinds = PAYLOAD_FIELDS[collection]
    for name, value in payload.items():
        if name not in kinds:
            allowed = ", ".join(kinds)
            message = f"{collection.value} has no payload field {name!r}; it has: {allowed}."
            raise InvalidField(message, field="payload", allowed=allowed)
        _check_value(name, value, kinds[name])


def _check_value(name: str, value: Stored, kind: FieldKind) -> None:
    allowed = _ALLOWED[kind]
    if isinstance(value, bool) or not _is_sound(value, kind):
        raise InvalidField(f"{name} must be {allowed}.", field=name, allowed=allowed)
    if isinstance(value, str):
        _check_text(name, value)


def _is_sound(value: Stored, kind: FieldKind) -> bool:
    if isinstance(value, str):
        return kind is FieldKind.KEYWORD
    match kind:
        case FieldKind.KEYWORD:
            return False
        case FieldKind.INTEGER:
            return isinstance(value, int) and value in _INTEGERS
        case FieldKind.FLOAT:
            return math.isfinite(value)
        case FieldKind.TIME:
            return _TIMES[0] <= value <= _TIMES[1]


def _check_text(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidField(f"{name} is not valid Unicode.", field=name, allowed="no lone surrogates") from None
