"""Collects the blocks of a document under their headings."""

import re
from collections.abc import Sequence

from memory.values.documents.knowledge import Block, BlockKind

from .limits import Limits, Unreadable

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f\ud800-\udfff\ufeff\ufffe\uffff]")
_LONGEST_HEADING = 200


class Outline:
    """Blocks in reading order; each stands under the headings that are open when it comes."""

    def __init__(self, limits: Limits) -> None:
        self.blocks: list[Block] = []
        self._open: dict[int, str] = {}
        self._left = limits.characters

    @property
    def title(self) -> str:
        """The first heading under no other; empty where there is none."""
        headings = (block.text for block in self.blocks if block.kind is BlockKind.HEADING and not block.headings)
        return next(headings, "")

    def heading(self, level: int, text: str, page: int | None = None) -> None:
        """Adds a heading and opens it, with its level from 1; a text too long for a heading is a paragraph."""
        shown = " ".join(clean(text).split())
        if len(shown) > _LONGEST_HEADING:
            self.add(text, page=page)
        elif shown:
            self._close(level)
            self.add(shown, BlockKind.HEADING, page=page)
            self._open[level] = shown

    def open(self, level: int, text: str) -> None:
        """Opens a heading that is no text of the document, such as the name of a sheet; an empty one only closes."""
        self._close(level)
        if shown := " ".join(clean(text).split()):
            self._open[level] = shown

    def add(self, text: str, kind: BlockKind = BlockKind.PARAGRAPH, page: int | None = None) -> None:
        """Adds a block under the open headings, if it holds any text.

        Raises:
            Unreadable: The document is too long.
        """
        text = clean(text).strip("\n").rstrip() if kind is BlockKind.CODE else clean(text).strip()
        if not text.strip():
            return
        self._left -= len(text)
        if self._left < 0:
            raise Unreadable("its text is too long")
        headings = tuple(self._open[level] for level in sorted(self._open))
        self.blocks.append(Block(text=text, kind=kind, page=page, headings=headings))

    def table(self, rows: Sequence[Sequence[str]], page: int | None = None) -> None:
        """Adds a table in Markdown, whose first row is its header; one with a single cell is a paragraph."""
        shown = [[" ".join(clean(cell).split()).replace("|", r"\|") for cell in row] for row in rows]
        shown = [row for row in shown if any(row)]
        width = max((number for row in shown for number, cell in enumerate(row, start=1) if cell), default=0)
        if width <= 1:
            self.add("\n".join(row[0] for row in shown).replace(r"\|", "|"), page=page)
            return
        lines = [f"| {' | '.join([*row[:width], *[''] * (width - len(row))])} |" for row in shown]
        self.add("\n".join([lines[0], "|" + " --- |" * width, *lines[1:]]), BlockKind.TABLE, page=page)

    def items(self, items: Sequence[tuple[str, str]], page: int | None = None) -> None:
        """Adds a list of marks (`- `, `2. `, with their indentation) and texts; items without a text are left out."""
        self.add("\n".join(mark + text for mark, text in items if text.strip()), BlockKind.LIST, page)

    def _close(self, level: int) -> None:
        self._open = {known: heading for known, heading in self._open.items() if known < level}


def clean(text: str) -> str:
    """Text without control characters, lone surrogates and byte order marks, and with line feeds alone."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\u00a0", " "))
