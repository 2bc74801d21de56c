"""Reads PDF by PDFium, which knows the encodings of Chinese fonts that files do not hold."""

import ctypes
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from .limits import Limits, Unreadable
from .outline import Outline
from .pdf_layout import Line, heading_levels, margins_of, paragraphs, without_running_lines

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

_ONE_AT_A_TIME = Lock()
"""PDFium is not safe for threads."""
_DIVIDED = 0xFFFE
"""Where PDFium made one line of two, whose last word a hyphen divided."""
_NO_TITLE = "untitled"
_MOST_BOOKMARKS = 10_000
_PASSWORD_ERROR = 4


def read_pdf(content: bytes, limits: Limits) -> tuple[str, Outline]:
    """The title and the paragraphs of a PDF, with their pages.

    Headings are the entries of its table of contents, found in the text; where it has none, short lines in letters
    larger than most. Lines that most pages repeat at their top or bottom are left out. A table is read as its lines.
    """
    import pypdfium2

    with _ONE_AT_A_TIME:
        try:
            document = pypdfium2.PdfDocument(content)
        except pypdfium2.PdfiumError as error:
            locked = getattr(error, "err_code", None) == _PASSWORD_ERROR
            raise Unreadable("it is locked by a password" if locked else "it is damaged, or no PDF") from error
        try:
            if len(document) > limits.pages:
                raise Unreadable(f"it has more than {limits.pages} pages")
            pages = list(_pages(document, limits))
            bookmarks = _bookmarks(document)
            title = str(document.get_metadata_value("Title") or "")
        finally:
            document.close()
    if not any(pages):
        raise Unreadable("it holds no text, only images")
    return "" if title.lower() == _NO_TITLE else title, _outline(pages, bookmarks, limits)


def _outline(pages: Sequence[list[Line]], bookmarks: dict[int, list[tuple[int, str]]], limits: Limits) -> Outline:
    outline = Outline(limits)
    sizes = heading_levels(pages)
    pages = without_running_lines(pages, sizes)
    margins = margins_of(pages)
    levels = {} if bookmarks else sizes
    for number, lines in enumerate(pages, start=1):
        waiting = bookmarks.get(number, [])
        named = {_bare(name): level for level, name in waiting}
        shown = {_bare(line.text) for line in lines}
        for level, name in waiting:
            if _bare(name) not in shown:
                outline.open(level, name)
        marked = [named.get(_bare(line.text), levels.get(line.size)) for line in lines]
        for paragraph in paragraphs(lines, marked, margins=margins, long_headings=not bookmarks):
            if paragraph.level is None:
                outline.add(paragraph.text, page=number)
            else:
                outline.heading(paragraph.level, paragraph.text, number)
    return outline


def _pages(document: "PdfDocument", limits: Limits) -> Iterator[list[Line]]:
    left = limits.characters
    for index in range(len(document)):
        page = document[index]
        text = page.get_textpage()
        try:
            left -= text.count_chars()
            if left < 0:
                raise Unreadable("its text is too long")
            yield list(_lines(text))
        finally:
            text.close()
            page.close()


def _lines(text: Any) -> Iterator[Line]:
    """The lines of a page: their text, the height of their letters and where they lie, in points from below."""
    import pypdfium2.raw as pdfium

    box = pdfium.FS_RECTF()
    characters: list[str] = []
    boxes: list[tuple[float, float, float, float]] = []
    for index in range(text.count_chars()):
        code = pdfium.FPDFText_GetUnicode(text.raw, index)
        if code in (0x0A, 0x0D):
            if line := _line(characters, boxes):
                yield line
            characters, boxes = [], []
            continue
        if 0xDC00 <= code <= 0xDFFF and characters and 0xD800 <= ord(characters[-1]) <= 0xDBFF:
            code = 0x10000 + ((ord(characters.pop()) - 0xD800) << 10) + (code - 0xDC00)
        if code == _DIVIDED or pdfium.FPDFText_IsHyphen(text.raw, index) == 1:
            continue
        characters.append(chr(code))
        if not chr(code).isspace() and pdfium.FPDFText_GetLooseCharBox(text.raw, index, ctypes.byref(box)):
            boxes.append((box.left, box.bottom, box.right, box.top))
    if line := _line(characters, boxes):
        yield line


def _line(characters: Sequence[str], boxes: Sequence[tuple[float, float, float, float]]) -> Line | None:
    text = "".join(characters).strip()
    if not text or not boxes:
        return None
    heights = sorted(top - bottom for _, bottom, _, top in boxes)
    return Line(
        text=text,
        size=round(heights[len(heights) // 2] * 2) / 2,
        left=min(box[0] for box in boxes),
        right=max(box[2] for box in boxes),
        first_bottom=boxes[0][1],
        last_bottom=boxes[-1][1],
    )


def _bookmarks(document: "PdfDocument") -> dict[int, list[tuple[int, str]]]:
    """Level and title of the entries of the table of contents, by page."""
    found: dict[int, list[tuple[int, str]]] = {}
    for number, entry in enumerate(document.get_toc(max_depth=9)):
        target = entry.get_dest()
        page = target.get_index() if target is not None else None
        if number >= _MOST_BOOKMARKS:
            break
        if page is not None and page >= 0 and (title := entry.get_title().strip()):
            found.setdefault(page + 1, []).append((entry.level + 1, title))
    return found


def _bare(text: str) -> str:
    return "".join(text.split()).casefold()
