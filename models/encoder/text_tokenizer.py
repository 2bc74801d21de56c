"""Texts to token ids for an embedding model: prefix, limit, and characters that no tokenizer reads."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory.ports.models.language import TextKind

from ..assets.catalog import ModelEntry
from ..assets.piece_tokenizer import BatchTokenizer

LONE_SURROGATES = re.compile(r"[\ud800-\udfff]")
"""Code points that a Python string can hold and no tokenizer can read."""

_CHARACTERS_PER_TOKEN = 64
"""Longer than any token, so that cutting characters before the tokenizer reads them loses no token that would stay."""

_MAX_TOKENS = 512
"""The limit where neither the entry nor the model has one."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenizedText:
    """A text ready for the model.

    Attributes:
        input_ids: Shape (tokens,), int64, special tokens included, cut at the model's limit.
    """

    input_ids: npt.NDArray[np.int64]

    @property
    def token_count(self) -> int:
        """The number of tokens that the model reads."""
        return len(self.input_ids)


class TextTokenizer:
    """Tokenises for one model; safe to call from several threads at once.

    Args:
        tokenizer: Of the model; it is changed, so nothing else may use it.
        entry: Has the prefixes and, perhaps, the limit of tokens.
        max_tokens: Limit of the model; None if it has none.
    """

    def __init__(self, tokenizer: BatchTokenizer, entry: ModelEntry, max_tokens: int | None) -> None:
        self._entry = entry
        self._max_tokens = min((limit for limit in (entry.max_tokens, max_tokens) if limit), default=_MAX_TOKENS)
        self._tokenizer = tokenizer
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self._max_tokens)

    def prepare(self, texts: Sequence[str], kind: TextKind) -> list[TokenizedText]:
        """Token ids of texts in order, with the prefix of their kind."""
        prefix = self._entry.prefix(kind)
        limit = self._max_tokens * _CHARACTERS_PER_TOKEN
        readable = [prefix + LONE_SURROGATES.sub("\ufffd", text[:limit]) for text in texts]
        encodings = self._tokenizer.encode_batch_fast(readable)
        return [TokenizedText(np.array(encoding.ids, np.int64)) for encoding in encodings]
