"""Reads plain text and Markdown: paragraphs, headings and code blocks."""

import re
from collections.abc import Iterator

from typing_extensions import override

from ..ports.knowledge import DocumentParser
from ..values.errors import UnreadableDocumentError
from ..values.knowledge import Block, BlockKind, ParsedDocument

_ENDINGS = {"txt": "text/plain", "text": "text/plain", "md": "text/markdown", "markdown": "text/markdown"}
_UNKNOWN = ("", "application/octet-stream")
_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")
_FENCE = "```"
_NOT_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f]")


class PlainTextParser(DocumentParser):
    """Reads UTF-8 of the types `text/plain` and `text/markdown`; a form feed begins a page.

    Markdown headings count in both types: people paste it as text.
    """

    @override
    def parse(self, content: bytes, *, media_type: str, name: str) -> ParsedDocument:
        kind = media_type.partition(";")[0].strip().lower()
        if kind in _UNKNOWN:
            kind = _ENDINGS.get(name.rpartition(".")[2].lower(), kind)
        if kind not in _ENDINGS.values():
            raise _unreadable(name, f"files of the type {kind or 'unknown'} are not read")
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise _unreadable(name, f"byte {error.start} is not UTF-8") from error
        if match := _NOT_TEXT.search(text):
            raise _unreadable(name, f"character U+{ord(match.group()):04X} is not of a text")
        blocks = tuple(_blocks(text))
        title = next((block.text for block in blocks if block.kind is BlockKind.HEADING and not block.headings), "")
        return ParsedDocument(title=title or name, media_type=kind, blocks=blocks)


def _blocks(text: str) -> Iterator[Block]:
    headings: dict[int, str] = {}
    pages = text.split("\f")
    for number, page_text in enumerate(pages, start=1):
        page = number if len(pages) > 1 else None
        for kind, lines in _parts(page_text.splitlines()):
            above = tuple(headings[level] for level in sorted(headings))
            match = _HEADING.match(lines[0]) if kind is BlockKind.HEADING else None
            if match is None:
                yield Block(text="\n".join(lines), kind=kind, page=page, headings=above)
                continue
            level = len(match[1])
            headings = {known: heading for known, heading in headings.items() if known < level}
            yield Block(
                text=match[2], kind=kind, page=page, headings=tuple(headings[known] for known in sorted(headings))
            )
            headings[level] = match[2]


def _parts(lines: list[str]) -> Iterator[tuple[BlockKind, list[str]]]:
    """Runs of lines that belong together."""
    open_: list[str] = []
    in_code = False
    for line in lines:
        is_fence = line.lstrip().startswith(_FENCE)
        if in_code:
            open_.append(line)
            if is_fence:
                yield BlockKind.CODE, open_
                open_, in_code = [], False
        elif is_fence or not line.strip() or _HEADING.match(line):
            if open_:
                yield BlockKind.PARAGRAPH, open_
            open_, in_code = ([line], True) if is_fence else ([], False)
            if _HEADING.match(line):
                yield BlockKind.HEADING, [line]
        else:
            open_.append(line)
    if open_:
        yield (BlockKind.CODE if in_code else BlockKind.PARAGRAPH), open_


def _unreadable(name: str, reason: str) -> UnreadableDocumentError:
    return UnreadableDocumentError(f"{name or 'The text'} cannot be read: {reason}.", name=name, reason=reason)
