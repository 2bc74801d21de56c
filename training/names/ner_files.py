"""Reads the formats in which data sets of names are published; offsets are code points."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memory.values.understanding.mentions import EntitySubtype

_TEXT_COMMENT = "# text = "
_DOCUMENT_MARK = "-DOCSTART-"
_CHAT_NAME = re.compile(r"\[([^\[\]|]+)\|(\w+)\]")


@dataclass(frozen=True, slots=True, order=True)
class NamedSpan:
    """A marked span, half open, with its type as the source calls it or as it was mapped."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text with what its source marks in it, in text order."""

    text: str
    spans: tuple[NamedSpan, ...]


def read_cluener(path: Path) -> Iterator[MarkedText]:
    """JSON lines: `{"text", "label": {type: {surface: [[first, last], …]}}}`."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        spans = {
            NamedSpan(first, last + 1, label)
            for label, surfaces in row["label"].items()
            for places in surfaces.values()
            for first, last in places
        }
        yield MarkedText(row["text"], tuple(sorted(spans)))


def read_columns(path: Path, *, joint: str = "", token: int = 0, tag: int = -1) -> Iterator[MarkedText]:
    """A token and its tag a line, texts apart by an empty line.

    Args:
        path: Path of the file.
        joint: What is put between tokens: nothing between Han characters, a space between words.
        token: Column of the token.
        tag: Column of the tag.
    """
    for lines in _paragraphs(path):
        rows = [line.split() for line in lines]
        # a line of one column marks a token that is white space itself
        tokens = [row[token] if len(row) > 1 else " " for row in rows]
        if tokens != [_DOCUMENT_MARK]:
            yield _joined(tokens, [row[tag] for row in rows], joint)


def read_weibo(path: Path) -> Iterator[MarkedText]:
    """Columns whose characters carry the number of their place in a word."""
    for lines in _paragraphs(path):
        rows = [line.split() for line in lines]
        yield _joined([row[0][:-1] or " " for row in rows], [row[-1] for row in rows], "")


def read_wikiann(path: Path) -> Iterator[MarkedText]:
    """Columns whose tokens carry their language."""
    for lines in _paragraphs(path):
        rows = [line.split() for line in lines]
        yield _joined([row[0].partition(":")[2] for row in rows], [row[-1] for row in rows], " ")


def read_uner(path: Path) -> Iterator[MarkedText]:
    """Columns (number, token, tag) under a comment that holds the text itself."""
    for lines in _paragraphs(path):
        text = next(line.removeprefix(_TEXT_COMMENT) for line in lines if line.startswith(_TEXT_COMMENT))
        rows = [line.split("\t") for line in lines if not line.startswith("#")]
        places = []
        at = 0
        for row in rows:
            at = text.index(row[1], at)
            places.append((at, at + len(row[1])))
            at += len(row[1])
        yield MarkedText(text, _spans(places, [row[2] for row in rows]))


def read_pairs(sentences: Path, tags: Path) -> Iterator[MarkedText]:
    """Two files, a text a line: characters and their tags, spaces between."""
    lines = zip(sentences.read_text("utf-8").splitlines(), tags.read_text("utf-8").splitlines(), strict=True)
    for characters, marks in lines:
        yield _joined(characters.split(), marks.split(), "")


def read_chat_names(path: Path) -> list[MarkedText]:
    """The hand-labelled chat set: a sentence a line, names as `[name|subtype]`, `#` before a comment.

    Raises:
        ValueError: A subtype does not exist.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_chat_sentence(line) for line in lines if line.strip() and not line.startswith("#")]


def _chat_sentence(line: str) -> MarkedText:
    text = ""
    spans = []
    at = 0
    for match in _CHAT_NAME.finditer(line):
        text += line[at : match.start()]
        spans.append(NamedSpan(len(text), len(text) + len(match[1]), EntitySubtype(match[2]).value))
        text += match[1]
        at = match.end()
    return MarkedText(text + line[at:], tuple(spans))


def _paragraphs(path: Path) -> Iterator[list[str]]:
    for block in re.split(r"\n[ \t\r]*\n", path.read_text(encoding="utf-8")):
        lines = [line for line in block.split("\n") if line.strip()]
        if lines:
            yield lines


def _joined(tokens: Sequence[str], tags: Sequence[str], joint: str) -> MarkedText:
    places = []
    at = 0
    for token in tokens:
        places.append((at, at + len(token)))
        at += len(token) + len(joint)
    return MarkedText(joint.join(tokens), _spans(places, tags))


def _spans(places: Iterable[tuple[int, int]], tags: Iterable[str]) -> tuple[NamedSpan, ...]:
    """Spans of BIO or BMES tags; an inside tag without a beginning begins one."""
    spans: list[NamedSpan] = []
    is_open = False
    for (start, end), tag in zip(places, tags, strict=True):
        mark, _, label = tag.partition("-")
        if not label:
            is_open = False
        elif is_open and mark in "IME" and spans[-1].label == label:
            spans[-1] = NamedSpan(spans[-1].start, end, label)
        else:
            spans.append(NamedSpan(start, end, label))
            is_open = True
        is_open = is_open and mark not in ("E", "S")
    return tuple(spans)
