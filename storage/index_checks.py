"""What a vector index refuses, whatever its engine."""

import math
import uuid
from collections.abc import Sequence

import numpy as np

from memory.errors import InvalidField
from memory.ports.vectors import FloatVector, IndexPoint, IndexQuery, SparseVector

_LARGEST_TERM = 2**32 - 1


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


def check_points(points: Sequence[IndexPoint], dimension: int) -> None:
    """Refuses a batch of which any point cannot be stored, before any is.

    Raises:
        InvalidField: A vector, an id or a time is not sound.
    """
    for point in points:
        check_dense(point.dense, dimension)
        check_sparse(point.sparse)
        if not math.isfinite(point.created_at_s):
            raise InvalidField("A point needs a finite time.", field="created_at_s", allowed="seconds since the epoch")
        try:
            uuid.UUID(point.point_id)
        except ValueError:
            raise InvalidField("A point id must be a UUID.", field="point_id", allowed="a UUID") from None


def check_query(query: IndexQuery, dimension: int) -> None:
    """Refuses a search that asks by nothing, by two things, or by an unsound vector.

    Raises:
        InvalidField: See above.
    """
    if (query.dense is None) == (query.sparse is None):
        raise InvalidField("A search goes by `dense` or by `sparse`.", field="dense", allowed="exactly one of them")
    if query.dense is not None:
        check_dense(query.dense, dimension)
    if query.sparse is not None:
        check_sparse(query.sparse)
