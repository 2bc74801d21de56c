"""Where a section may be cut, from the strongest boundary to the weakest."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from enum import IntEnum

from ...language.sentences import sentence_ends
from ...values.documents.knowledge import BlockKind
from .sections import Placed, Section

_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_LINE = re.compile(r"\n")
_CLAUSE = re.compile(r"[，、：,:;—]+[」』”’\"')）\]】》〉]*(?:(?<![,:;])|\s+)")
_WORD = re.compile(r"(?<=\s)(?=\S)|(?<=[\u3400-\u9fff])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[\u3400-\u9fff])")
_SPACE = re.compile(r"\s*")
_JOINER = "\u200d"


class Level(IntEnum):
    """What a cut parts, the strongest first."""

    BLOCK = 0
    PARAGRAPH = 1
    LINE = 2
    SENTENCE = 3
    CLAUSE = 4
    WORD = 5
    CHARACTER = 6
    ANY = 7


class Boundaries:
    """The offsets at which a chunk of a section may start; none lies inside a block that stays whole."""

    def __init__(self, section: Section) -> None:
        self._section = section
        self._by_level: dict[Level, list[int]] = {}

    def between(self, level: Level, start: int, end: int) -> Sequence[int]:
        """Boundaries of a level, and of no other, that lie strictly between two offsets."""
        offsets = self._of(level)
        return offsets[bisect_right(offsets, start) : bisect_left(offsets, end)]

    def parts_shown(self, offset: int) -> bool:
        """Whether a cut would part what is shown as one character: marks, variants and joined emoji."""
        return _is_joined(self._section.text, offset)

    def _of(self, level: Level) -> list[int]:
        if level not in self._by_level:
            found = (offset for block in self._section.blocks for offset in self._in_block(block, level))
            self._by_level[level] = sorted({*found} - {0, len(self._section.text)})
        return self._by_level[level]

    def _in_block(self, block: Placed, level: Level) -> Iterator[int]:
        text = self._section.text
        if level is Level.BLOCK:
            yield block.start
            return
        if block.whole:
            return
        start, end = block.start, block.end
        if level in (Level.PARAGRAPH, Level.LINE, Level.WORD):
            pattern = {Level.PARAGRAPH: _PARAGRAPH, Level.LINE: _LINE, Level.WORD: _WORD}[level]
            yield from (match.end() for match in pattern.finditer(text, start, end))
        elif level is Level.SENTENCE and block.kind is not BlockKind.CODE:
            yield from (_after_space(text, start + offset) for offset in sentence_ends(text[start:end]))
        elif level is Level.CLAUSE and block.kind is not BlockKind.CODE:
            yield from (_after_space(text, match.end()) for match in _CLAUSE.finditer(text, start, end))
        elif level is Level.CHARACTER:
            yield from (offset for offset in range(start + 1, end) if not _is_joined(text, offset))
        elif level is Level.ANY:
            yield from range(start + 1, end)


def _after_space(text: str, offset: int) -> int:
    found = _SPACE.match(text, offset)
    return found.end() if found else offset


def _is_joined(text: str, offset: int) -> bool:
    return text[offset - 1] == _JOINER or text[offset] == _JOINER or unicodedata.category(text[offset])[0] == "M"
