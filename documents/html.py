"""Reads HTML as browsers do, by Lexbor (selectolax)."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from memory.values.documents.knowledge import BlockKind

from .limits import Limits
from .outline import Outline

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_NO_TEXT = (
    "script, style, noscript, template, svg, math, iframe, object, select, button, textarea, input, nav, "
    "[hidden], [aria-hidden=true], [role=navigation], body > header nav, body > footer, body > aside"
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img",
    "ins", "kbd", "label", "mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub",
    "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip
_LISTS = ("ul", "ol")
_SPACES = re.compile(r"[ \t\r\f\n]+")
_BLANKS = re.compile(r" +")
_SPACED_BREAK = re.compile(r" *\n *")


def read_html(text: str, limits: Limits) -> tuple[str, Outline]:
    """The title and the blocks of a page, without its navigation, forms and scripts.

    Where a page marks its main part (`main`, or one `article`), that alone is read.
    """
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(text)
    title = tree.css_first("title")
    outline = Outline(limits)
    for node in tree.css(_NO_TEXT):
        node.decompose()
    articles = tree.css("article")
    main = tree.css_first("main") or (articles[0] if len(articles) == 1 else None) or tree.body
    if main is not None:
        _Reader(outline).read(main)
    return (" ".join(title.text().split()) if title is not None else ""), outline


def add_html(outline: Outline, text: str) -> None:
    """Adds the blocks of a fragment."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(text)
    for node in tree.css(_NO_TEXT):
        node.decompose()
    if tree.body is not None:
        _Reader(outline).read(tree.body)


def declared_charset(content: bytes) -> str:
    """The encoding that the start of a page names; empty where it names none."""
    found = _CHARSET.search(content[:4096])
    return found[1].decode("ascii") if found else ""


class _Reader:
    """Adds a tree to an outline, without recursion: pages nest as deep as they like."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._text: list[str] = []
        self._items: list[tuple[str, str]] = []
        self._numbers: list[int] = []
        self._heading = 0

    def read(self, root: "LexborNode") -> None:
        open_: list[tuple[LexborNode, bool]] = [(root, False)]
        while open_:
            node, is_end = open_.pop()
            tag = node.tag or ""
            if is_end:
                self._leave(tag)
            elif node.is_text_node:
                self._text.append(_SPACES.sub(" ", node.text_content or ""))
            elif node.is_element_node and not self._take_whole(node, tag):
                self._enter(tag)
                open_.append((node, True))
                open_.extend((child, False) for child in reversed(list(_children(node))))
        self._flush()
        self._end_list()

    def _take_whole(self, node: "LexborNode", tag: str) -> bool:
        """Adds an element that is a block with all it holds."""
        if tag == "pre":
            self._end_block()
            self._outline.add(node.text(deep=True), BlockKind.CODE)
            return True
        rows = _rows(node) if tag == "table" else None
        if rows is None:
            return False
        self._end_block()
        self._outline.table(rows)
        return True

    def _enter(self, tag: str) -> None:
        if tag == "br":
            self._text.append("\n")
        elif tag == "img" or tag in _INLINE:
            return
        else:
            self._flush()
        if tag in _LISTS:
            self._numbers.append(1 if tag == "ol" else 0)
        elif tag == "li" and self._numbers:
            number = self._numbers[-1]
            self._items.append(("  " * (len(self._numbers) - 1) + (f"{number}. " if number else "- "), ""))
            self._numbers[-1] += number > 0
        elif tag in _HEADINGS:
            self._end_list()
            self._heading = _HEADINGS[tag]

    def _leave(self, tag: str) -> None:
        if tag in _INLINE or tag == "br":
            return
        self._flush()
        if tag in _HEADINGS:
            self._heading = 0
        elif tag in _LISTS and self._numbers:
            self._numbers.pop()
            if not self._numbers:
                self._end_list()
        elif tag in ("td", "th", "dt"):
            self._text.append(" ")

    def _flush(self) -> None:
        text = _SPACED_BREAK.sub("\n", _BLANKS.sub(" ", "".join(self._text))).strip()
        self._text = []
        if not text:
            return
        if self._heading:
            self._outline.heading(self._heading, text)
        elif self._numbers and self._items:
            mark, before = self._items[-1]
            self._items[-1] = mark, f"{before} {text}" if before else text
        else:
            self._outline.add(text)

    def _end_block(self) -> None:
        self._flush()
        self._end_list()

    def _end_list(self) -> None:
        items, self._items = self._items, []
        self._outline.items(items)


def _children(node: "LexborNode") -> Iterator["LexborNode"]:
    child = node.first_child
    while child is not None:
        yield child
        child = child.next


def _rows(table: "LexborNode") -> list[list[str]] | None:
    """The cells of a table of data; None of one that only lays a page out: it holds tables, headings or lists."""
    if table.css("table table, h1, h2, h3, h4, pre") or table.attributes.get("role") == "presentation":
        return None
    rows = []
    for row in table.css("tr"):
        cells: list[str] = []
        for cell in _children(row):
            if cell.tag in ("td", "th"):
                cells.append(_cell_text(cell))
                cells += [""] * (_span(cell) - 1)
        rows.append(cells)
    return rows


def _cell_text(cell: "LexborNode") -> str:
    parts: list[str] = []
    for node in cell.traverse(include_text=True):
        if node.is_text_node:
            parts.append(node.text_content or "")
        elif node.tag not in _INLINE:
            parts.append(" ")
    return " ".join("".join(parts).split())


def _span(cell: "LexborNode") -> int:
    value = cell.attributes.get("colspan") or "1"
    return min(int(value), 1000) if value.isascii() and value.isdigit() else 1
