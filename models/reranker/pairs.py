"""Network inputs: the tokens of a query and of a passage."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..encoder.text_tokenizer import LONE_SURROGATES

QUERY_TOKENS = 64
"""Tokens of a query that are read, with special tokens."""

PASSAGE_TOKENS = 384
"""Likewise of a passage."""

_CHARACTERS_PER_TOKEN = 64
_QUERY, _PASSAGE = "query: ", "passage: "

Tokens = npt.NDArray[np.int64]


class TextTokenizer(Protocol):
    """The part of `tokenizers.Tokenizer` that is used here."""

    def encode(self, sequence: str) -> "Encoded":
        """Tokenises a text, special tokens around it."""
        ...

    def token_to_id(self, token: str) -> int | None:
        """The id of a token."""
        ...


class Encoded(Protocol):
    """The part of `tokenizers.Encoding` that is used here."""

    @property
    def ids(self) -> list[int]:
        """Token ids."""
        ...


def pad_id_of(tokenizer: TextTokenizer) -> int:
    """The token id of padding.

    Raises:
        ValueError: The tokenizer has none.
    """
    number = tokenizer.token_to_id("<pad>")
    if number is None:
        raise ValueError("The tokenizer has no <pad>.")
    return number


@dataclass(frozen=True, slots=True, eq=False)
class PairTokens:
    """A query and a passage, ready for the network, which reads them separately.

    Attributes:
        query: Shape (tokens,), int64, special tokens and prefix included.
        passage: Likewise.
        asked_from: Index of the query's first token after the prefix; only tokens from there on are matched.
    """

    query: Tokens
    passage: Tokens
    asked_from: int

    @property
    def token_count(self) -> int:
        """The number of tokens that the network reads if neither query nor passage vectors are cached."""
        return len(self.query) + len(self.passage)


class PairReader:
    """Tokenises pairs; safe to share between threads.

    Args:
        tokenizer: The body's tokenizer, which neither pads nor cuts.
    """

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer
        self._asked_from = len(tokenizer.encode(_QUERY.strip()).ids) - 1  # without </s>

    def read(self, query: str, passages: Sequence[str]) -> list[PairTokens]:
        """One query with each of its passages, in order."""
        asked = self._ids(_QUERY, query, QUERY_TOKENS)
        return [
            PairTokens(asked, self._ids(_PASSAGE, passage, PASSAGE_TOKENS), self._asked_from) for passage in passages
        ]

    def _ids(self, prefix: str, text: str, most: int) -> Tokens:
        readable = LONE_SURROGATES.sub("\ufffd", text[: most * _CHARACTERS_PER_TOKEN])
        ids = self._tokenizer.encode(prefix + readable).ids
        return np.array(ids if len(ids) <= most else [*ids[: most - 1], ids[-1]], np.int64)
