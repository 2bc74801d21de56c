"""Compares items with a query by meaning: vectors kept beside each item, compared in this process.

The vector index is not used: a namespace holds a few thousand items at most, which are compared in milliseconds, and a
value is found by the call after the one that put it. Each is kept with its model's id and compared with no other's.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..ports.models.language import Encoder, FloatMatrix, TextKind
from ..values.items import FoundItem, ItemVectors, StoredItem
from .texts import texts_of

MAX_COMPARED = 10_000
"""So many items, the latest, are compared with a query."""
_MAX_EMBEDDED = 512
"""So many items that have no vectors of the model are embedded by a search; the next search goes on."""
_TEXTS_AT_ONCE = 64


@dataclass(frozen=True)
class Ranked:
    """Items by their nearness to a query, nearest first, and those of them that got vectors by the way."""

    found: list[FoundItem]
    embedded: list[StoredItem]


async def with_vectors(items: Sequence[StoredItem], encoder: Encoder) -> list[StoredItem]:
    """The items with vectors of their texts by this model; those without a text have none.

    Raises:
        InvalidField: An item has too many texts.
        Unavailable: The model is away.
        Overloaded: Its queue is full.
    """
    texts = [texts_of(item.value, item.index) for item in items]
    flat = [text for own in texts for text in own]
    matrices = [
        await encoder.encode(flat[start : start + _TEXTS_AT_ONCE], kind=TextKind.PASSAGE)
        for start in range(0, len(flat), _TEXTS_AT_ONCE)
    ]
    matrix = np.concatenate(matrices) if matrices else np.empty((0, encoder.dimension), dtype=np.float32)
    placed = []
    begin = 0
    for item, own in zip(items, texts, strict=True):
        vectors = _packed(matrix[begin : begin + len(own)], encoder.model_id)
        placed.append(item.model_copy(update={"vectors": vectors}))
        begin += len(own)
    return placed


async def rank(items: Sequence[StoredItem], query: str, encoder: Encoder) -> Ranked:
    """Orders items by the cosine of the query and the nearest of their texts; those without one come last.

    Raises:
        Unavailable: The model is away.
        Overloaded: Its queue is full.
    """
    stale = [item for item in items if item.index and not _has_vectors_of(item, encoder)][:_MAX_EMBEDDED]
    embedded = await with_vectors(stale, encoder)
    fresh = {item.place: item for item in embedded}
    [asked] = await encoder.encode([query], kind=TextKind.QUERY)
    scored: list[FoundItem] = []
    others: list[FoundItem] = []
    for item in (fresh.get(item.place, item) for item in items):
        if item.vectors is not None and item.vectors.count and _has_vectors_of(item, encoder):
            scored.append(FoundItem(item=item, score=float(np.max(_unpacked(item.vectors) @ asked))))
        else:
            others.append(FoundItem(item=item))
    scored.sort(key=lambda found: -(found.score or 0.0))
    return Ranked([*scored, *others], embedded)


def _has_vectors_of(item: StoredItem, encoder: Encoder) -> bool:
    return item.vectors is not None and item.vectors.model_id == encoder.model_id


def _packed(matrix: FloatMatrix, model_id: str) -> ItemVectors:
    packed = base64.b64encode(np.ascontiguousarray(matrix, dtype="<f4").tobytes()).decode()
    return ItemVectors(model_id=model_id, count=len(matrix), packed=packed)


def _unpacked(vectors: ItemVectors) -> FloatMatrix:
    flat = np.frombuffer(base64.b64decode(vectors.packed), dtype="<f4")
    return flat.reshape(vectors.count, -1).astype(np.float32, copy=False)  # shape (texts, dimension)
