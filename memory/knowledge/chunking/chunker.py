"""Cuts a document into chunks (004 §4, §6.5)."""

from collections.abc import Iterator, Sequence

from ...ports.knowledge import SentenceSimilarity
from ...values.documents.knowledge import BlockKind, Chunk, ChunkingConfig, ChunkingStrategy, ParsedDocument
from .cutting import Cutter
from .sections import lay_out
from .subjects import subject_starts


async def chunk_document(
    document: ParsedDocument, config: ChunkingConfig, *, similarity: SentenceSimilarity | None
) -> list[Chunk]:
    """The chunks of a document, in its order.

    Each stands under one path of headings. A table or code block is cut only where it is longer than `chunk_size`:
    between rows, with the header of the table repeated, or between lines. Apart from what chunks repeat and white
    space at their edges, they hold the text of all blocks once.

    Args:
        document: What a parser read.
        config: How it is cut.
        similarity: Asked once for all sentences, by the strategy `semantic` alone.

    Raises:
        ValueError: The strategy is `semantic`, and there is no `similarity`.
        Unavailable: The model behind `similarity` is down.
    """
    exact = config.strategy is ChunkingStrategy.FIXED
    cutters = [
        Cutter(section, chunk_size=config.chunk_size, overlap=config.overlap, exact=exact)
        for section in lay_out(document, config)
    ]
    starts = await _starts_of_all(cutters, config.strategy, similarity)
    chunks = (
        chunk for cutter, of_section in zip(cutters, starts, strict=True) for chunk in _chunks(cutter, of_section)
    )
    return [chunk.model_copy(update={"index": index}) for index, chunk in enumerate(chunks)]


async def _starts_of_all(
    cutters: Sequence[Cutter], strategy: ChunkingStrategy, similarity: SentenceSimilarity | None
) -> list[list[int]]:
    """The starts of each section's chunks; the rows of a long table are packed whatever the strategy."""
    if strategy is ChunkingStrategy.SEMANTIC:
        if similarity is None:
            raise ValueError("the strategy semantic needs a similarity of sentences")
        found = iter(await subject_starts([cutter for cutter in cutters if not cutter.section.lead], similarity))
        return [cutter.recursive_starts() if cutter.section.lead else next(found) for cutter in cutters]
    if strategy is ChunkingStrategy.FIXED:
        return [cutter.recursive_starts() if cutter.section.lead else cutter.fixed_starts() for cutter in cutters]
    return [cutter.recursive_starts() for cutter in cutters]


def _chunks(cutter: Cutter, starts: Sequence[int]) -> Iterator[Chunk]:
    previous = 0
    for start, end in zip(starts, [*starts[1:], len(cutter.section.text)], strict=True):
        if chunk := _chunk(cutter, cutter.overlap_start(start, previous), start, end):
            yield chunk
        previous = start


def _chunk(cutter: Cutter, begin: int, start: int, end: int) -> Chunk | None:
    """The chunk of a span, without white space at its edges; the indentation of code stays."""
    section = cutter.section
    new = section.text[start:end].rstrip()
    if not new:
        return None
    text = section.text[begin:end].rstrip()
    text = text.lstrip("\n" if section.block_at(begin).kind is BlockKind.CODE else None)
    first_new = start + len(new) - len(new.lstrip())
    kinds = {block.kind for block in section.blocks_between(first_new, end)}
    bodies = kinds - {BlockKind.HEADING} or kinds
    repeated = max(0, len(text) - len(new))
    return Chunk(
        text=section.lead + text,
        index=0,
        page=section.block_at(first_new).page,
        headings=section.headings,
        kind=bodies.pop() if len(bodies) == 1 else BlockKind.PARAGRAPH,
        repeated=repeated + len(section.lead) if start else repeated,
    )
