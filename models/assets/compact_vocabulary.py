"""A unigram tokenizer for single words, in mapped files: what the trained models need of the body's tokenizer.

The library's own object takes 290 MB of every process for a vocabulary of 250,000 pieces. Here the pieces lie in one
hash table on disk, made once, whose pages all processes share; in return a whole text would take a hundred times as
long, so this is for words that are remembered and for runs of Han characters, of which few pieces begin at any
(`edit_units.EditUnitTokenizer`).
"""

import json
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from memory.values.errors import ModelUnavailable

from .cache_folders import open_folder, sha256_of

_FORMAT = 1
"""Raised whenever the files are written differently, so that older ones are written again."""

_ARRAYS = ("slots", "starts", "scores", "pieces")
_SPACE = "▁"
_LONGEST_IN_RUN = 6
"""Characters of the longest piece inside a run; longer pieces of the vocabulary are no words."""
_UNKNOWN_PENALTY = 10.0
"""As in SentencePiece and in `tokenizers`: an unknown character scores so much less than the rarest piece."""


@dataclass(frozen=True, slots=True)
class PieceIds:
    """The part of `tokenizers.Encoding` that callers use."""

    ids: list[int]


def open_vocabulary(prepared: Path, cache: Path) -> "CompactVocabulary":
    """The vocabulary of a prepared model, written into the cache first where it is not there.

    Args:
        prepared: The model's folder, with a `tokenizer.json` that holds a unigram model behind a metaspace.
        cache: The folder of prepared models.

    Raises:
        ModelUnavailable: The tokenizer is missing, broken or of another kind.
    """
    source = prepared / "tokenizer.json"
    try:
        checksum = sha256_of(source)
        folder = open_folder(
            cache / "trained" / f"vocabulary-{checksum[:12]}",
            origin={"format": _FORMAT, "tokenizer": checksum},
            build=lambda folder: _write(source, folder),
        )
        return CompactVocabulary(folder)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelUnavailable(f"The tokenizer {source} cannot be read: {error}.", component="encoder") from error


class CompactVocabulary:
    """Tokenises words as the tokenizer that it was made from does.

    Args:
        folder: As `open_vocabulary` writes it.
    """

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        slots, starts, scores, pieces = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS)
        self._slots, self._starts = memoryview(slots), memoryview(starts)
        self._scores, self._pieces = memoryview(scores), memoryview(pieces)
        self._mask = len(self._slots) - 1
        settings = json.loads((folder / "vocabulary.json").read_text(encoding="utf-8"))
        self._unknown_id = int(settings["unknown_id"])
        self._unknown_score = float(settings["lowest_score"]) - _UNKNOWN_PENALTY
        self._longest = int(settings["longest"])
        self._normalizer = Tokenizer.from_str(json.dumps(settings["tokenizer"])).normalizer

    def token_to_id(self, token: str) -> int | None:
        """The id of a piece."""
        key = token.encode("utf-8", "surrogatepass")
        slot = zlib.crc32(key) & self._mask
        while number := self._slots[slot]:
            if self._pieces[self._starts[number - 1] : self._starts[number]] == key:
                return int(number) - 1
            slot = (slot + 1) & self._mask
        return None

    def encode(self, sequence: str, *, add_special_tokens: bool = False) -> PieceIds:
        """The pieces of a word, without special tokens.

        Raises:
            ValueError: `add_special_tokens` is asked for.
        """
        if add_special_tokens:
            raise ValueError("this tokenizer adds no special tokens")
        written = self._normalizer.normalize_str(sequence) if self._normalizer else sequence
        if not written:
            return PieceIds([])
        words = (_SPACE + written.replace(" ", _SPACE).removeprefix(_SPACE)).split(_SPACE)[1:]
        return PieceIds([number for word in words for number in self._fused(_SPACE + word)])

    def segment(self, run: str) -> list[tuple[int, int]]:
        """The most probable pieces inside a text without spaces: the id and the length of each, in characters."""
        return [(number, end - start) for start, end, number in self._best(run, _LONGEST_IN_RUN)]

    def _best(self, word: str, longest: int) -> list[tuple[int, int, int]]:
        """The most probable pieces in order: start, end and id."""
        scores = [0.0, *[-math.inf] * len(word)]
        last: list[tuple[int, int]] = [(0, self._unknown_id)] * (len(word) + 1)  # start and id of the piece that ends
        for start in range(len(word)):
            is_known = False
            for end in range(start + 1, min(len(word), start + longest) + 1):
                number = self.token_to_id(word[start:end])
                if number is None:
                    continue
                is_known = is_known or end == start + 1
                if (score := scores[start] + self._scores[number]) > scores[end]:
                    scores[end], last[end] = score, (start, number)
            if not is_known and (score := scores[start] + self._unknown_score) > scores[start + 1]:
                scores[start + 1], last[start + 1] = score, (start, self._unknown_id)
        return list(_backwards(last))[::-1]

    def _fused(self, word: str) -> list[int]:
        """The most probable pieces of a word; unknown characters beside each other are one."""
        numbers: list[int] = []
        for _, _, number in self._best(word, self._longest):
            if number != self._unknown_id or numbers[-1:] != [self._unknown_id]:
                numbers.append(number)
        return numbers


def _backwards(last: list[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    end = len(last) - 1
    while end:
        start, number = last[end]
        yield start, end, number
        end = start


def _write(source: Path, folder: Path) -> None:
    tokenizer = json.loads(source.read_text(encoding="utf-8"))
    model = tokenizer["model"]
    if model["type"] != "Unigram" or tokenizer["pre_tokenizer"]["type"] != "Metaspace" or model.get("byte_fallback"):
        raise ValueError("it is no unigram model behind a metaspace")
    pieces = [piece.encode("utf-8") for piece, _ in model["vocab"]]
    scores = np.array([score for _, score in model["vocab"]], np.float64)
    size = 1 << (2 * len(pieces)).bit_length()
    slots = np.zeros(size, np.uint32)
    for number, piece in enumerate(pieces, start=1):
        slot = zlib.crc32(piece) & (size - 1)
        while slots[slot]:
            slot = (slot + 1) & (size - 1)
        slots[slot] = number
    arrays: dict[str, Any] = {
        "slots": slots,
        "starts": np.cumsum([0, *map(len, pieces)], dtype=np.uint32),
        "scores": scores,
        "pieces": np.frombuffer(b"".join(pieces), np.uint8),
    }
    for name in _ARRAYS:
        np.save(folder / f"{name}.npy", arrays[name])
    unknown_id = int(model["unk_id"])
    small = {**model, "vocab": [model["vocab"][unknown_id]], "unk_id": 0}
    (folder / "vocabulary.json").write_text(
        json.dumps(
            {
                "unknown_id": unknown_id,
                "lowest_score": float(scores.min()),
                "longest": max(len(piece) for piece, _ in model["vocab"]),
                "tokenizer": {**tokenizer, "model": small, "added_tokens": [], "post_processor": None},
            },
            ensure_ascii=False,
        ),
        encoding="utf-8",
    )
