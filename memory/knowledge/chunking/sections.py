"""Lays the blocks of a document out as texts that chunks are cut from."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...values.documents.knowledge import Block, BlockKind, ChunkingConfig, ParsedDocument
from ...values.text import is_han

_BREAK = re.compile(r"[^\S\n]*\n\s*")
_RULE = re.compile(r"[\s|:-]*-[\s|:-]*")
_WHOLE = (BlockKind.TABLE, BlockKind.CODE)


@dataclass(frozen=True, slots=True)
class Placed:
    """A block in the text of a section: half-open offsets; `whole` where it may not be cut."""

    start: int
    end: int
    kind: BlockKind
    page: int | None
    whole: bool


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks that follow each other under one path of headings, with these headings.

    Args:
        lead: What every chunk of the section begins with: the header of a table that is longer than a chunk.
    """

    text: str
    blocks: tuple[Placed, ...]
    headings: tuple[str, ...]
    lead: str = ""

    def block_at(self, offset: int) -> Placed:
        """The block that covers an offset, or the one before the gap that does."""
        return self.blocks[self._place(offset)]

    def blocks_between(self, start: int, end: int) -> Sequence[Placed]:
        """The blocks that have text between two offsets."""
        found = self.blocks[self._place(start) : self._place(end - 1) + 1]
        return [block for block in found if block.end > start]

    def _place(self, offset: int) -> int:
        return max(0, bisect_right(self.blocks, offset, key=_start) - 1)


def _start(block: Placed) -> int:
    return block.start


def lay_out(document: ParsedDocument, config: ChunkingConfig) -> list[Section]:
    """The sections of a document, in order; blank blocks are left out, and nothing else."""
    sections: list[Section] = []
    for blocks in _groups(_cleaned(document.blocks, config)):
        headings = _path(blocks[-1])
        run: list[Block] = []
        for block in blocks:
            if block.kind is BlockKind.TABLE and len(block.text) > config.chunk_size:
                sections += [_joined(run, headings, config)] if run else []
                sections.append(_long_table(block, headings, config))
                run = []
            else:
                run.append(block)
        sections += [_joined(run, headings, config)] if run else []
    return sections


def _cleaned(blocks: Iterable[Block], config: ChunkingConfig) -> Iterator[Block]:
    for block in blocks:
        text = block.text.replace("\r\n", "\n").replace("\r", "\n")
        if block.kind in _WHOLE:
            text = text.strip("\n").rstrip()
        else:
            text = text.strip() if config.preserve_newlines else _on_one_line(text.strip())
        if text.strip():
            yield block.model_copy(update={"text": text})


def _on_one_line(text: str) -> str:
    """Line breaks become spaces, and nothing between two Han characters."""

    def space(match: re.Match[str]) -> str:
        return "" if is_han(text[match.start() - 1]) and is_han(text[match.end()]) else " "

    return _BREAK.sub(space, text)


def _groups(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Blocks of one path; headings without a text of their own go with the first text below them."""
    group: list[Block] = []
    for block in blocks:
        only_headings = bool(group) and group[-1].kind is BlockKind.HEADING
        joins = block.headings == _path(group[-1]) if group else True
        if block.kind is BlockKind.HEADING:
            joins = joins and (only_headings or not group)
        if not joins:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _path(block: Block) -> tuple[str, ...]:
    return (*block.headings, block.text) if block.kind is BlockKind.HEADING else block.headings


def _joined(blocks: Sequence[Block], headings: tuple[str, ...], config: ChunkingConfig) -> Section:
    parts: list[str] = []
    placed: list[Placed] = []
    length = 0
    for number, block in enumerate(blocks):
        if number:
            on_lines = config.preserve_newlines or block.kind in _WHOLE or blocks[number - 1].kind in _WHOLE
            parts.append("\n\n" if on_lines else " ")
            length += len(parts[-1])
        whole = block.kind in _WHOLE and len(block.text) <= config.chunk_size
        placed.append(Placed(length, length + len(block.text), block.kind, block.page, whole))
        parts.append(block.text)
        length += len(block.text)
    return Section("".join(parts), tuple(placed), headings)


def _long_table(block: Block, headings: tuple[str, ...], config: ChunkingConfig) -> Section:
    """A table as its rows, with its header as the lead, unless that takes more than half of a chunk."""
    header, _, rows = block.text.partition("\n")
    rule, _, body = rows.partition("\n")
    if _RULE.fullmatch(rule):
        header, rows = f"{header}\n{rule}", body
    lead = f"{header}\n"
    if 2 * len(lead) > config.chunk_size or not rows.strip():
        lead, rows = "", block.text
    return Section(rows, (Placed(0, len(rows), block.kind, block.page, False),), headings, lead)
