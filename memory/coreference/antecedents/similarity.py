"""Measures by the encoder which of a few candidates a query is about."""

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...ports.language import Encoder, TextKind

_GAIN = 4.0  # cosines of e5 lie close together (DESIGN §6): only their difference from the mean is informative


class Similarity:
    """Compares short texts by their vectors, with a cache of the latest.

    Args:
        encoder: Encodes the texts that are not cached.
        size: Vectors in the cache.
    """

    def __init__(self, encoder: Encoder, *, size: int = 2048) -> None:
        self._encoder = encoder
        self._size = size
        self._vectors: OrderedDict[str, npt.NDArray[np.float32]] = OrderedDict()

    async def compare(self, query: str, texts: Sequence[str]) -> list[float]:
        """Similarity of each text to the query relative to the others: 0–1, 0.5 for the mean."""
        vectors = await self._encode([query, *texts])
        cosines = np.asarray([float(vectors[0] @ vector) for vector in vectors[1:]])
        return [float(value) for value in np.clip(0.5 + _GAIN * (cosines - cosines.mean()), 0.0, 1.0)]

    async def _encode(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        missing = list(dict.fromkeys(text for text in texts if text not in self._vectors))
        fresh = (
            dict(zip(missing, await self._encoder.encode(missing, kind=TextKind.QUERY), strict=True)) if missing else {}
        )
        found = [fresh[text] if text in fresh else self._vectors[text] for text in texts]
        for text, vector in zip(texts, found, strict=True):
            self._vectors[text] = vector
            self._vectors.move_to_end(text)
        while len(self._vectors) > self._size:
            self._vectors.popitem(last=False)
        return found
