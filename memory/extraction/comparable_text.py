"""Finds names in any width, case, script and spacing."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from ..values.text import fold_compatible, is_han, normalise
from ..values.text_caches import text_cache

_normalise = text_cache(maxsize=65_536)(normalise)
_is_han = text_cache(maxsize=65_536)(is_han)
_JOINTS = "-_."
_UNEVEN = re.compile(r"\s\s|[^\S ]")


@text_cache(maxsize=65_536)
def _comparable(cluster: str) -> str:
    return fold_compatible(cluster)


def _compare(text: str) -> tuple[str, list[int], list[int]]:
    """The comparable form of a text, and the original start and end of each of its characters."""
    starts: list[int] = []
    ends: list[int] = []
    characters: list[str] = []
    position = 0
    while position < len(text):
        end = position + 1
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        for folded in _comparable(text[position:end]):
            character = " " if folded.isspace() else folded
            if character == " ":
                # a run of white space becomes one space, and none beside a Han character
                if not characters or characters[-1] == " " or _is_han(characters[-1]):
                    continue
            elif _is_han(character) and characters and characters[-1] == " ":
                characters.pop()
                starts.pop()
                ends.pop()
            characters.append(character)
            starts.append(position)
            ends.append(end)
        position = end
    return "".join(characters), starts, ends


class ComparableText:
    """A text in the form of `memory.values.text.normalise`, with its original offsets."""

    def __init__(self, text: str) -> None:
        self._starts: Sequence[int]
        self._ends: Sequence[int]
        if text.isascii() and not _UNEVEN.search(text):
            self.text, self._starts, self._ends = text.lower(), range(len(text)), range(1, len(text) + 1)
        else:
            self.text, self._starts, self._ends = _compare(text)

    def find(self, name: str) -> Iterator[tuple[int, int]]:
        """Original spans of every occurrence of a name as a whole word."""
        needle = _normalise(name)
        place = self.text.find(needle) if needle else -1
        while place >= 0:
            after = place + len(needle)
            if self._is_whole(place, after):
                yield self._starts[place], self._ends[after - 1]
            place = self.text.find(needle, after)

    def _is_whole(self, start: int, end: int) -> bool:
        return not (self._joined(start, -1) or self._joined(end - 1, +1))

    def _joined(self, edge: int, step: int) -> bool:
        """Whether the word at `edge` continues beyond it: `AI` in `AI-Box`, `Ana` in `Anan`."""
        if not _is_word_character(self.text[edge]):
            return False
        beyond = self._character(edge + step)
        return _is_word_character(beyond) or (
            beyond in _JOINTS and beyond != "" and _is_word_character(self._character(edge + 2 * step))
        )

    def _character(self, place: int) -> str:
        return self.text[place] if 0 <= place < len(self.text) else ""


def _is_word_character(character: str) -> bool:
    return character.isalnum() and not _is_han(character)
