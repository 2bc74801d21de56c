"""Deterministic encoders with no weights: texts that share words or characters are close, others are not."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from typing_extensions import override

from memory.ports.models.language import Encoder, FloatMatrix, Priority, TextKind
from models.encoder.engine import EncoderEngine
from models.encoder.text_tokenizer import LONE_SURROGATES, TokenizedText

_WORD_OR_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]|[^\W\u3400-\u9fff\uf900-\ufaff]+|[^\w\s]")


class FakeEncoderEngine(EncoderEngine):
    """Hashes words, their three-letter pieces, Han characters and their pairs into signed places of a unit vector.

    Args:
        dimension: Length of a vector.
        model_id: What it calls itself.
    """

    def __init__(self, *, dimension: int = 64, model_id: str = "fake") -> None:
        self._dimension = dimension
        self._model_id = model_id

    @property
    @override
    def model_id(self) -> str:
        return self._model_id

    @property
    @override
    def dimension(self) -> int:
        return self._dimension

    @override
    def prepare(self, texts: Sequence[str], kind: TextKind) -> list[TokenizedText]:
        return [TokenizedText(np.fromiter(map(_hash, _features(text)), np.int64)) for text in texts]

    @override
    def forward(self, batch: Sequence[TokenizedText]) -> FloatMatrix:
        vectors = np.zeros((len(batch), self._dimension), np.float32)
        for vector, text in zip(vectors, batch, strict=True):
            signs = np.where(text.input_ids & 1, 1.0, -1.0)
            np.add.at(vector, (text.input_ids >> 1) % self._dimension, signs)
            if not vector.any():
                vector[0] = 1.0
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


class FakeEncoder(Encoder):
    """The same vectors at once, without threads or queue.

    Args:
        dimension: Length of a vector.
        model_id: What it calls itself.
    """

    def __init__(self, *, dimension: int = 64, model_id: str = "fake") -> None:
        self._engine = FakeEncoderEngine(dimension=dimension, model_id=model_id)

    @property
    @override
    def model_id(self) -> str:
        return self._engine.model_id

    @property
    @override
    def dimension(self) -> int:
        return self._engine.dimension

    @override
    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        return self._engine.encode(texts, kind)


def _features(text: str) -> Iterator[str]:
    folded = unicodedata.normalize("NFKC", LONE_SURROGATES.sub("\ufffd", text)).casefold()
    units = _WORD_OR_HAN.findall(folded)
    yield from units
    for unit in units:
        marked = f"<{unit}>"
        yield from (marked[start : start + 3] for start in range(len(marked) - 2) if len(unit) > 1)
    yield from (first + second for first, second in pairwise(units) if len(first) == len(second) == 1)


def _hash(feature: str) -> int:
    return int.from_bytes(blake2b(feature.encode(), digest_size=7).digest(), "little")
