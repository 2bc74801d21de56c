"""Reads the hand-labelled chat set: a sentence a line, names as `[name|subtype]`, `#` before a comment."""

import re
from pathlib import Path

from memory.values.mentions import EntitySubtype

from .ner_files import MarkedText, NamedSpan

_NAME = re.compile(r"\[([^\[\]|]+)\|(\w+)\]")


def read_chat_names(path: Path) -> list[MarkedText]:
    """The sentences.

    Raises:
        ValueError: A subtype does not exist.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_read(line) for line in lines if line.strip() and not line.startswith("#")]


def _read(line: str) -> MarkedText:
    text = ""
    spans = []
    at = 0
    for found in _NAME.finditer(line):
        text += line[at : found.start()]
        spans.append(NamedSpan(len(text), len(text) + len(found.group(1)), EntitySubtype(found.group(2)).value))
        text += found.group(1)
        at = found.end()
    return MarkedText(text + line[at:], tuple(spans))
