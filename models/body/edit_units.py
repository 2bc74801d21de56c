"""Edit units, the smallest pieces of text that an edit keeps, deletes or copies: Han characters and Latin words."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol

from memory.values.text import fold_compatible, to_simplified
from memory.values.text_caches import clear_with_texts

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_UNIT = re.compile(
    rf"[{_HAN}]"
    r"|(?<=\w)['’](?:s|re|ve|ll|d|m|t)\b"
    rf"|[^\W\d_{_HAN}]+"
    r"|\d+(?:[.,:]\d+)*"
    r"|\S",
    re.IGNORECASE,
)
_HAN_CHARACTER = re.compile(rf"[{_HAN}]")
_HAN_RUN = re.compile(rf"[{_HAN}]{{2,}}")
_LONE_SURROGATES = re.compile(r"[\ud800-\udfff]")
_MAX_PIECES = 8
"""Tokens read of one unit: longer words are codes or links, which their beginning identifies."""


@dataclass(frozen=True, slots=True)
class EditUnit:
    """One unit of a text.

    Attributes:
        start: Code-point offset of its first character.
        end: Its end offset, exclusive.
        key: Its text with width, case and script folded, for comparison.
    """

    start: int
    end: int
    key: str


def split_edit_units(text: str) -> list[EditUnit]:
    """The units of a text in order, without white space."""
    return [EditUnit(match.start(), match.end(), fold_edit_unit(match.group())) for match in _UNIT.finditer(text)]


def fold_edit_unit(surface: str) -> str:
    """The key of a unit; not `memory.values.text.fold`, since the shipped models were trained on units of this form."""
    return fold_compatible(surface).replace("’", "'")


class Place(IntEnum):
    """The place of a unit in its vocabulary piece."""

    ALONE = 0
    FIRST = 1
    INSIDE = 2
    LAST = 3


class Cover(NamedTuple):
    """The vocabulary piece that contains a unit, in the most probable segmentation of the text.

    Attributes:
        piece: Token id; unused for the place `ALONE`.
        place: Place of the unit in the piece.
    """

    piece: int
    place: Place


ALONE = Cover(0, Place.ALONE)


class Vocabulary(Protocol):
    """The methods of `compact_vocabulary.CompactVocabulary` that are used here."""

    def token_to_id(self, token: str) -> int | None:
        """The id of a piece."""
        ...

    def encode(self, sequence: str, *, add_special_tokens: bool = False) -> "Encoding":
        """Tokenises a word."""
        ...

    def segment(self, run: str) -> Sequence[tuple[int, int]]:
        """The most probable pieces of a text without spaces: ids, and lengths in characters."""
        ...


class Encoding(Protocol):
    """The attributes of `compact_vocabulary.PieceIds` that are used here."""

    @property
    def ids(self) -> list[int]:
        """Token ids."""
        ...


class EditUnitTokenizer:
    """Converts units to token ids, with a cache of the first `_REMEMBERED` surfaces.

    Args:
        tokenizer: The body's tokenizer.
        simplified: Whether Traditional characters are converted to Simplified ones.
    """

    _REMEMBERED = 100_000

    def __init__(self, tokenizer: Vocabulary, *, simplified: bool = False) -> None:
        self._tokenizer = tokenizer
        self._simplified = simplified
        self._ids: dict[str, tuple[int, ...]] = {}
        clear_with_texts(self._forget)
        self.start_id = self._special("<s>")
        self.pad_id = self._special("<pad>")
        self.separator_id = self._special("</s>")
        self.unknown_id = self._special("<unk>")

    def _special(self, token: str) -> int:
        number = self._tokenizer.token_to_id(token)
        if number is None:
            raise ValueError(f"The tokenizer has no {token}.")
        return number

    def ids(self, text: str, units: Sequence[EditUnit]) -> list[tuple[int, ...]]:
        """The token ids of each unit, at least one."""
        text = self._read(text)
        return [self._of(text[unit.start : unit.end]) for unit in units]

    def covers(self, text: str, units: Sequence[EditUnit]) -> list[Cover]:
        """The piece of two or more Han characters that contains each unit, or `ALONE`."""
        covering: dict[int, Cover] = {}
        for run in _HAN_RUN.finditer(self._read(text)):
            start = run.start()
            for piece, length in self._tokenizer.segment(run.group()):
                if length > 1:
                    last = start + length - 1
                    covering |= {at: Cover(piece, Place.INSIDE) for at in range(start, last)}
                    covering[start], covering[last] = Cover(piece, Place.FIRST), Cover(piece, Place.LAST)
                start += length
        return [covering.get(unit.start, ALONE) for unit in units]

    def _read(self, text: str) -> str:
        text = _LONE_SURROGATES.sub("\ufffd", text)
        return to_simplified(text) if self._simplified else text

    def _of(self, surface: str) -> tuple[int, ...]:
        known = self._ids.get(surface)
        if known is None:
            known = self._tokenize(surface)
            if len(self._ids) < self._REMEMBERED:
                self._ids[surface] = known
        return known

    def _forget(self) -> None:
        self._ids = {}

    def _tokenize(self, surface: str) -> tuple[int, ...]:
        if len(surface) == 1:  # without the word-start mark, as inside running text
            number = self._tokenizer.token_to_id(unicodedata.normalize("NFKC", surface))
            if number is None and _HAN_CHARACTER.match(surface):
                number = self._tokenizer.token_to_id(to_simplified(surface))
            if number is not None:
                return (number,)
        return tuple(self._tokenizer.encode(surface, add_special_tokens=False).ids[:_MAX_PIECES]) or (self.unknown_id,)
