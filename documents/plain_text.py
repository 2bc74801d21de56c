"""Reads plain text: paragraphs between blank lines; a form feed begins a page."""

import re

from .limits import Limits
from .outline import Outline

_BLANK_LINES = re.compile(r"\n[^\S\n]*\n")


def read_plain_text(text: str, limits: Limits) -> Outline:
    """The paragraphs of a text."""
    outline = Outline(limits)
    pages = text.replace("\r\n", "\n").replace("\r", "\n").split("\f")
    for number, page in enumerate(pages, start=1):
        for paragraph in _BLANK_LINES.split(page):
            outline.add(paragraph.strip("\n"), page=number if len(pages) > 1 else None)
    return outline
