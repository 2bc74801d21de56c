"""A parser of documents that are plain text, with pages and headings, deterministic."""

from typing_extensions import override

from memory.ports.knowledge import DocumentParser
from memory.values.documents.knowledge import Block, BlockKind, ParsedDocument
from memory.values.errors import UnreadableDocumentError

PAGE_BREAK = "\f"


class FakeParser(DocumentParser):
    """Reads UTF-8: paragraphs between blank lines, `# ` before a heading, a form feed between pages.

    Bytes that are not UTF-8 are a file that cannot be read.
    """

    @override
    def parse(self, content: bytes, *, media_type: str, name: str) -> ParsedDocument:
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            raise UnreadableDocumentError(f"{name} is not UTF-8", name=name, reason="not UTF-8") from error
        blocks: list[Block] = []
        headings: tuple[str, ...] = ()
        for page, part in enumerate(text.split(PAGE_BREAK), start=1):
            for paragraph in filter(None, map(str.strip, part.split("\n\n"))):
                kind = BlockKind.PARAGRAPH
                if paragraph.startswith("# "):
                    headings, kind = (), BlockKind.HEADING
                    paragraph = paragraph.removeprefix("# ")
                blocks.append(Block(text=paragraph, kind=kind, page=page, headings=headings))
                if kind is BlockKind.HEADING:
                    headings = (paragraph,)
        return ParsedDocument(title=name, media_type=media_type, blocks=tuple(blocks))
