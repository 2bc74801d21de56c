"""Reads DOCX by python-docx."""

import re
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any

from memory.values.documents.knowledge import BlockKind

from .limits import Limits
from .outline import Outline
from .packages import check_package

if TYPE_CHECKING:
    from docx.document import Document

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_REPEATED = (_FALLBACK, f"{_W}moveFrom")
"""What is said again elsewhere: text for older programs, and text at the place that it was moved from."""
_HEADING = re.compile(r"heading ([1-9])$")
_CODE = re.compile(r"\b(?:code|preformatted|source)\b")
_TITLE_LEVEL = 0


def read_word(content: bytes, limits: Limits) -> tuple[str, Outline]:
    """The title and the blocks of a document, with what was inserted and without what was deleted under review.

    Pages are those at which Word last broke the text, else at the author's page breaks; None where there is neither.
    Headers, footers, notes and comments are not read.
    """
    from docx import Document

    check_package(content, "word/document.xml", limits)
    document = Document(BytesIO(content))
    outline = Outline(limits)
    _Reader(document, outline).read()
    return document.core_properties.title or "", outline


class _Reader:
    def __init__(self, document: "Document", outline: Outline) -> None:
        self._outline = outline
        self._body: Any = document.element.body
        self._styles = {style.style_id: style for style in document.styles}
        rendered = next(self._body.iter(f"{_W}lastRenderedPageBreak"), None) is not None
        self._breaks = rendered
        authored = any(node.get(f"{_W}type") == "page" for node in self._body.iter(f"{_W}br"))
        self._page: int | None = 1 if rendered or authored else None
        self._items: list[tuple[str, str]] = []
        self._code: list[str] = []
        self._run_page: int | None = None

    def read(self) -> None:
        for node in _blocks(self._body):
            if node.tag == f"{_W}p":
                self._add_paragraph(node)
            else:
                self._end_run()
                page = self._page
                rows = [[_text(cell) for cell in _cells(row)] for row in _rows(node)]
                self._outline.table(rows, page=page)
                self._count_breaks(node)
        self._end_run()

    def _add_paragraph(self, node: Any) -> None:
        text = _text(node)
        name, level = self._style(node)
        page = self._page if self._begins_before_break(node) else (self._page or 0) + 1
        self._count_breaks(node)
        is_item = level is None and (node.find(f"{_W}pPr/{_W}numPr") is not None or name.startswith("list "))
        is_code = level is None and not is_item and _CODE.search(name) is not None
        self._end_run(items=not is_item, code=not is_code)
        if is_item or is_code:
            if not self._items and not self._code:
                self._run_page = page
            if is_item:
                self._items.append(("  " * _depth(node) + "- ", text.strip()))
            else:
                self._code.append(text)
        elif level is not None:
            self._outline.heading(level, text, page)
        else:
            self._outline.add(text, page=page)

    def _end_run(self, *, items: bool = True, code: bool = True) -> None:
        if items and self._items:
            self._outline.items(self._items, self._run_page)
            self._items = []
        if code and self._code:
            self._outline.add("\n".join(self._code), BlockKind.CODE, self._run_page)
            self._code = []

    def _style(self, node: Any) -> tuple[str, int | None]:
        """The name of a paragraph's style in lower case, and its level as a heading; 0 is the title's."""
        own = node.find(f"{_W}pPr/{_W}outlineLvl")
        style_id = node.find(f"{_W}pPr/{_W}pStyle")
        style: Any = self._styles.get(style_id.get(f"{_W}val")) if style_id is not None else None
        name = (style.name or "").lower() if style is not None else ""
        level = None if own is None else int(own.get(f"{_W}val", "9"))
        seen = 0
        while level is None and style is not None and seen < len(self._styles):
            found = _HEADING.match((style.name or "").lower())
            if found or (style.name or "").lower() == "title":
                return name, int(found[1]) if found else _TITLE_LEVEL
            outlined = style.element.find(f"{_W}pPr/{_W}outlineLvl")
            level = None if outlined is None else int(outlined.get(f"{_W}val", "9"))
            style = getattr(style, "base_style", None)
            seen += 1
        return name, level + 1 if level is not None and level < 9 else None

    def _count_breaks(self, node: Any) -> None:
        if self._page is not None:
            self._page += sum(1 for _ in self._page_breaks(node))

    def _page_breaks(self, node: Any) -> Iterator[Any]:
        if self._breaks:
            yield from node.iter(f"{_W}lastRenderedPageBreak")
        else:
            yield from (found for found in node.iter(f"{_W}br") if found.get(f"{_W}type") == "page")

    def _begins_before_break(self, node: Any) -> bool:
        """Whether a paragraph has text before its first page break, or no page break."""
        first = next(self._page_breaks(node), None)
        if first is None:
            return True
        for inner in node.iter():
            if inner is first:
                return False
            if inner.tag == f"{_W}t" and (inner.text or "").strip():
                return True
        return True


def _blocks(parent: Any) -> Iterator[Any]:
    """Paragraphs and tables in their order, in content controls and insertions too."""
    open_ = list(reversed(parent))
    while open_:
        node = open_.pop()
        if node.tag in (f"{_W}p", f"{_W}tbl"):
            yield node
        elif node.tag not in (f"{_W}del", f"{_W}sectPr", f"{_W}sdtPr", *_REPEATED):
            open_.extend(reversed(node))


def _rows(table: Any) -> Iterator[Any]:
    yield from (node for node in table.iter(f"{_W}tr") if next(node.iterancestors(f"{_W}tbl")) is table)


def _cells(row: Any) -> Iterator[Any]:
    """A row's cells; None for each further column that a merged cell takes."""
    for cell in (node for node in row.iter(f"{_W}tc") if next(node.iterancestors(f"{_W}tr")) is row):
        merged = cell.find(f"{_W}tcPr/{_W}vMerge")
        yield None if merged is not None and merged.get(f"{_W}val") != "restart" else cell
        span = cell.find(f"{_W}tcPr/{_W}gridSpan")
        width = int(span.get(f"{_W}val", "1")) if span is not None else 1
        yield from [None] * (min(width, 1000) - 1)


def _text(node: Any) -> str:
    """The text of an element, its paragraphs on lines of their own."""
    if node is None:
        return ""
    parts: list[str] = []
    for inner in node.iter(f"{_W}t", f"{_W}tab", f"{_W}br", f"{_W}cr", f"{_W}noBreakHyphen", f"{_W}p"):
        if any(ancestor.tag in _REPEATED for ancestor in inner.iterancestors()):
            continue
        if inner.tag == f"{_W}t":
            parts.append(inner.text or "")
        elif inner.tag == f"{_W}noBreakHyphen":
            parts.append("-")
        elif inner.tag == f"{_W}tab":
            parts.append("\t" if inner.getparent().tag == f"{_W}r" else "")
        else:
            parts.append("\n")
    return "".join(parts).strip("\n")


def _depth(node: Any) -> int:
    level = node.find(f"{_W}pPr/{_W}numPr/{_W}ilvl")
    return min(int(level.get(f"{_W}val", "0")), 8) if level is not None else 0
