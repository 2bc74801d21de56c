"""Makes paragraphs of the lines of a PDF, which knows only where letters stand."""

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from memory.values.text import is_han

_LARGER = 1.15
_LONGEST_HEADING = 80
_MOST_LEVELS = 6
_FULL_LINE = 0.9
_GAP = 1.6
_RUNNING_SHARE = 0.5
_FEWEST_RUNNING = 3
_DIGITS = re.compile(r"\d+")
_SENTENCE_END = re.compile(r"[。！？.!?:：；;][」』”’\"')）]*$")
_ITEM = re.compile(
    r"(?:[•·▪●○◦*–-]|\d{1,3}[.)、]|[(（][\d一二三四五六七八九十]{1,3}[)）]|[一二三四五六七八九十]{1,3}、)\s*\S"
)
_CJK = re.compile(r"[\u3000-\u303f\uff00-\uffef]")

Margins = tuple[float, float]
"""The left and the right one."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page, or two that one word divides.

    Args:
        size: The height of its letters, in points as all lengths.
        first_bottom: Where its first letter stands, from below.
        last_bottom: Where its last letter stands.
    """

    text: str
    size: float
    left: float
    right: float
    first_bottom: float
    last_bottom: float


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines that belong together, as one; `level` is that of a heading."""

    text: str
    level: int | None


def margins_of(pages: Sequence[Sequence[Line]]) -> Margins:
    """Where the lines of a document begin and end."""
    lines = [line for page in pages for line in page]
    return min((line.left for line in lines), default=0.0), max((line.right for line in lines), default=0.0)


def heading_levels(pages: Sequence[Sequence[Line]]) -> dict[float, int]:
    """The levels of headings by the height of their letters, the largest first: those larger than most of the text."""
    letters: Counter[float] = Counter()
    lines: dict[float, list[Line]] = {}
    for line in (line for page in pages for line in page):
        letters[line.size] += len(line.text)
        lines.setdefault(line.size, []).append(line)
    if not letters:
        return {}
    [(body, _)] = letters.most_common(1)
    larger = [
        size
        for size in sorted(letters, reverse=True)
        if size >= body * _LARGER and all(len(line.text) <= _LONGEST_HEADING for line in lines[size])
    ]
    return {size: level for level, size in enumerate(larger[:_MOST_LEVELS], start=1)}


def without_running_lines(pages: Sequence[list[Line]], kept_sizes: Container[float]) -> list[list[Line]]:
    """Pages without the first and last lines that at least half of them share, numbers aside: heads and feet.

    Lines in letters of `kept_sizes`, those of headings, stay.
    """
    edges = Counter(key for page in pages for key in {_running(line) for line in (*page[:1], *page[-1:])})
    least = max(_FEWEST_RUNNING, len(pages) * _RUNNING_SHARE)
    running = {key for key, count in edges.items() if count >= least}
    kept = []
    for page in pages:
        drops = [line.size not in kept_sizes and _running(line) in running for line in page]
        first = 1 if drops[:1] == [True] else 0
        last = len(page) - (1 if len(page) > first and drops[-1] else 0)
        kept.append(page[first:last])
    return kept if any(kept) else list(pages)


def paragraphs(
    lines: Sequence[Line], levels: Sequence[int | None], *, margins: Margins, long_headings: bool
) -> Iterator[Paragraph]:
    """The paragraphs of a page.

    A line begins one after a gap, a heading, an item's mark, or a sentence that ended before the right margin.

    Args:
        lines: All lines of the page, in reading order.
        levels: The level of each line that is a heading, None of the others.
        margins: Of the document.
        long_headings: Whether a heading may go on in the next line.
    """
    text = ""
    before: Line | None = None
    level_before: int | None = None
    for line, level in zip(lines, levels, strict=True):
        if before is not None:
            if level is None and level_before is None:
                begins = _begins(line, before, margins)
            else:
                begins = not (long_headings and level == level_before and _is_next(line, before))
            if begins:
                yield Paragraph(text, level_before)
                text = ""
        text = joined(text, line.text)
        before, level_before = line, level
    if before is not None:
        yield Paragraph(text, level_before)


def joined(text: str, line: str) -> str:
    """A text and its next line: nothing beside Chinese characters, and a divided English word made whole."""
    if not text or not line:
        return text or line
    last, first = text[-1], line[0]
    if last in "-\u00ad\u2010" and len(text) > 1 and text[-2].isalpha() and first.islower():
        return text[:-1] + line
    if _is_cjk(last) or _is_cjk(first):
        return text + line
    return f"{text} {line}"


def _begins(line: Line, before: Line, margins: Margins) -> bool:
    """Whether a line begins a paragraph after another."""
    distance = before.last_bottom - line.first_bottom
    if distance < 0 or distance > _GAP * max(line.size, before.size) or abs(line.size - before.size) > 1:
        return True
    left, right = margins
    is_full = before.right - left >= _FULL_LINE * (right - left)
    return (not is_full and _SENTENCE_END.search(before.text) is not None) or _ITEM.match(line.text) is not None


def _is_next(line: Line, before: Line) -> bool:
    return line.size == before.size and 0 < before.last_bottom - line.first_bottom <= _GAP * line.size


def _is_cjk(character: str) -> bool:
    return is_han(character) or _CJK.match(character) is not None


def _running(line: Line) -> str:
    return _DIGITS.sub("0", line.text)
