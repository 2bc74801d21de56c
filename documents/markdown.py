"""Reads Markdown (CommonMark with tables) by markdown-it-py."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory.values.documents.knowledge import BlockKind

from .html import add_html
from .limits import Limits
from .outline import Outline

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"\A---[^\S\n]*\n(?P<fields>.*?)\n(?:---|\.\.\.)[^\S\n]*(?:\n|\Z)", re.DOTALL)
_TITLE = re.compile(r"^title:\s*(?P<title>.+?)\s*$", re.MULTILINE)


def read_markdown(text: str, limits: Limits) -> tuple[str, Outline]:
    """The title and the blocks of a text: the title is that of its front matter, which is no block, or empty.

    Emphasis, links and images are read as their text.
    """
    from markdown_it import MarkdownIt

    text = text.replace("\r\n", "\n").replace("\r", "\n")
    title = ""
    if found := _FRONT_MATTER.match(text):
        named = _TITLE.search(found["fields"])
        title = named["title"].strip("\"'") if named else ""
        text = text[found.end() :]
    outline = Outline(limits)
    _Blocks(outline).read(MarkdownIt("commonmark").enable("table").parse(text))
    return title, outline


class _Blocks:
    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._markers: list[str] = []
        self._items: list[tuple[str, str]] = []
        self._rows: list[list[str]] = []

    def read(self, tokens: Sequence["Token"]) -> None:
        heading = 0
        for token in tokens:
            if token.type in ("bullet_list_open", "ordered_list_open"):
                self._markers.append("- " if token.type == "bullet_list_open" else f"{token.attrGet('start') or 1}. ")
            elif token.type in ("bullet_list_close", "ordered_list_close"):
                self._markers.pop()
                if not self._markers:
                    self._end_list()
            elif token.type == "list_item_open":
                marker = f"{token.info}. " if token.info else self._markers[-1]
                self._items.append(("  " * (len(self._markers) - 1) + marker, ""))
            elif token.type == "heading_open":
                heading = int(token.tag[1:])
            elif token.type == "table_open":
                self._rows = []
            elif token.type == "tr_open":
                self._rows.append([])
            elif token.type == "table_close":
                self._end_list()
                self._outline.table(self._rows)
                self._rows = []
            elif token.type == "html_block":
                self._end_list()
                add_html(self._outline, token.content)
            elif token.type in ("fence", "code_block"):
                self._end_list()
                self._outline.add(token.content, BlockKind.CODE)
            elif token.type == "inline":
                self._add_inline(_text(token.children or ()), heading)
                heading = 0

    def _add_inline(self, text: str, heading: int) -> None:
        if self._rows:
            self._rows[-1].append(text)
        elif heading:
            self._end_list()
            self._outline.heading(heading, text)
        elif self._items:
            mark, before = self._items[-1]
            self._items[-1] = mark, f"{before}\n{text}" if before else text
        else:
            self._outline.add(text)

    def _end_list(self) -> None:
        """Adds the items so far; what else an item holds, such as code, is a block of its own."""
        items, self._items = self._items, []
        self._outline.items(items)


def _text(tokens: Sequence["Token"]) -> str:
    parts = []
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif token.type == "image":
            parts.append(_text(token.children or ()))
        elif token.type in ("text", "code_inline", "text_special"):
            parts.append(token.content)
    return "".join(parts)
