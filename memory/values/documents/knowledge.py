"""Documents as parsers read them, and the chunks that they are cut into (004 §4, §6.5)."""

from enum import StrEnum
from typing import Any, Self

from pydantic import Field, StrictBool, model_validator

from ..base import Value, Whole
from ..errors import InvalidChunkSize

MAX_CHUNK_SIZE = 100_000
MAX_OVERLAP_SHARE = 0.5


class BlockKind(StrEnum):
    """What a block of a document is."""

    PARAGRAPH = "paragraph"
    HEADING = "heading"
    TABLE = "table"
    CODE = "code"
    LIST = "list"


class Block(Value):
    """A part of a document that its author set apart.

    Args:
        text: A table is in Markdown, one row a line, after a header and a line of dashes; a list has one item a line.
        page: From 1; a slide of a presentation, a sheet of a workbook. None where the format has no pages.
        headings: The headings above the block, outermost first, without itself.
    """

    text: str
    kind: BlockKind = BlockKind.PARAGRAPH
    page: int | None = None
    headings: tuple[str, ...] = ()


class ParsedDocument(Value):
    """A document as its blocks, in reading order; `title` is the file's name where the document names none."""

    title: str = ""
    media_type: str
    blocks: tuple[Block, ...] = ()


class ChunkingStrategy(StrEnum):
    """Where a document is cut: at a fixed length, at the strongest boundary that fits, or where the subject changes."""

    FIXED = "fixed"
    RECURSIVE = "recursive"
    SEMANTIC = "semantic"


def _default_overlap(fields: dict[str, Any]) -> int:
    return int(fields.get("chunk_size", 0)) // 10


class ChunkingConfig(Value):
    """How documents of a corpus are cut (004 §6.5).

    Args:
        chunk_size: The most characters of a chunk, with what it repeats.
        overlap: The most characters that a chunk repeats of the one before; a tenth of `chunk_size` where not given.
        preserve_newlines: Whether line breaks of prose are kept; those of code and tables always are.

    Raises:
        InvalidChunkSize: `chunk_size` or `overlap` is out of its range.
    """

    strategy: ChunkingStrategy = ChunkingStrategy.RECURSIVE
    chunk_size: Whole = Field(default=500, json_schema_extra={"minimum": 1, "maximum": MAX_CHUNK_SIZE})
    overlap: Whole = Field(default_factory=_default_overlap, json_schema_extra={"minimum": 0})
    preserve_newlines: StrictBool = True

    @model_validator(mode="after")
    def _check_ranges(self) -> Self:
        if not 1 <= self.chunk_size <= MAX_CHUNK_SIZE:
            raise _out_of_range("chunk_size", self.chunk_size, f"1 to {MAX_CHUNK_SIZE}")
        if not 0 <= self.overlap <= self.chunk_size * MAX_OVERLAP_SHARE:
            most = int(self.chunk_size * MAX_OVERLAP_SHARE)
            raise _out_of_range("overlap", self.overlap, f"0 to {most}, half of chunk_size")
        return self


def _out_of_range(field: str, value: int, allowed: str) -> InvalidChunkSize:
    return InvalidChunkSize(f"{field} is {value}, and must be {allowed}", field=field, allowed=allowed)


class Chunk(Value):
    """A part of a document that is embedded and found as one.

    Args:
        index: From 0, in the order of the document.
        page: That of the first character that is not repeated.
        headings: The headings that it stands under, outermost first.
        kind: What all its blocks are, headings aside; `paragraph` where they differ.
        repeated: How many characters at its start the chunks before have too: the overlap, or the header of a table.
    """

    text: str
    index: int
    page: int | None = None
    headings: tuple[str, ...] = ()
    kind: BlockKind = BlockKind.PARAGRAPH
    repeated: int = 0
