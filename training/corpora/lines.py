"""Reads what users said, line by line, with what some lines do to earlier ones: they ask to forget, or replace them.

The formats of the folders `forgets`, `forget_parts` and `changes` are described in the corpus' README.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..shared.chat_corpus import blocks, files_of, language_of
from ..shared.data_sets import Part

_SAID = re.compile(r"(?P<number>\d+) (?P<text>.+)")
_CHANGING = re.compile(r"\d+ (?P<text>.+?)(?:\s*=>\s*(?P<replaced>[\d ,]+))?(?:\s*~\s*[\d ,]+)?$")
_MESSAGE = re.compile(r"\b([1-9]\d*)(?:\.\d+)?")
_BAR = " | "
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class MarkedLine:
    """What a user sent.

    Attributes:
        language: Of `chat_corpus.LANGUAGES`.
        at: When; the lines of a day follow each other by minutes.
        text: The message.
        marks: By the number (from 0) of each line said before that it means or replaces, 1, or 0.5 where it means
            either; None where nothing is known of it.
        is_said: Whether it is one of the lines that later ones may mean; a request to forget is not.
    """

    language: str
    at: datetime
    text: str
    marks: dict[int, float] | None = None
    is_said: bool = True


def read_forgets(folders: Sequence[Path], part: Part, folder: str = "forgets") -> list[list[MarkedLine]]:
    """The lines of each user of `forgets` or `forget_parts`, in the order in which they were sent; requests are marked.

    Of a request that means a part of a message the whole message is marked.
    """
    return [
        list(_forgets(block, language_of(path))) for path in files_of(folders, folder, part) for block in blocks(path)
    ]


@dataclass(frozen=True, slots=True)
class MarkedClauses:
    """A message, clause by clause, with a request to forget all or a part of it.

    Attributes:
        language: Of `chat_corpus.LANGUAGES`.
        at: When the request was sent.
        request: The request.
        said_at: When the message was sent.
        clauses: Of the message.
        meant: Numbers, from 0, of the clauses that the request means; not empty.
    """

    language: str
    at: datetime
    request: str
    said_at: datetime
    clauses: tuple[str, ...]
    meant: frozenset[int]


def read_forget_parts(folders: Sequence[Path], part: Part) -> list[MarkedClauses]:
    """The messages of several clauses of `forget_parts` that requests mean, all or a part of them."""
    return [
        marked
        for path in files_of(folders, "forget_parts", part)
        for block in blocks(path)
        for marked in _forget_parts(block, language_of(path))
    ]


def read_changes(folders: Sequence[Path], part: Part) -> list[list[MarkedLine]]:
    """The lines of each user of `changes`, all marked, in the order in which they were sent."""
    return [
        list(_changes(block, language_of(path)))
        for path in files_of(folders, "changes", part)
        for block in blocks(path)
    ]


def _forgets(block: Sequence[tuple[int, str]], language: str) -> Iterator[MarkedLine]:
    for at, line in _dated(block):
        if line.startswith("R: "):
            text, _, numbers = line[3:].rpartition("=>")
            share = 0.5 if "/" in numbers else 1.0
            yield MarkedLine(language, at, text.strip(), _marks(numbers, share), is_said=False)
        elif found := _SAID.match(line):
            yield MarkedLine(language, at, found["text"].replace(_BAR, " "))


def _forget_parts(block: Sequence[tuple[int, str]], language: str) -> Iterator[MarkedClauses]:
    said: dict[int, tuple[datetime, tuple[str, ...]]] = {}
    for at, line in _dated(block):
        if line.startswith("R: "):
            text, _, numbers = line[3:].rpartition("=>")
            meant: dict[int, set[int]] = {}
            for message, clause in re.findall(r"(\d+)\.(\d+)", numbers):
                meant.setdefault(int(message), set()).add(int(clause) - 1)
            for message, clauses in meant.items():
                said_at, parts = said[message]
                if len(parts) > 1:
                    yield MarkedClauses(language, at, text.strip(), said_at, parts, frozenset(clauses))
        elif found := _SAID.match(line):
            said[int(found["number"])] = at, tuple(part.strip() for part in found["text"].split(_BAR))


def _changes(block: Sequence[tuple[int, str]], language: str) -> Iterator[MarkedLine]:
    for at, line in _dated(block):
        if found := _CHANGING.match(line):
            yield MarkedLine(language, at, found["text"], _marks(found["replaced"] or ""))


def _dated(block: Sequence[tuple[int, str]]) -> Iterator[tuple[datetime, str]]:
    at = datetime.min.replace(tzinfo=UTC)
    for _, line in block:
        if line.startswith("@ "):
            at = datetime.strptime(line[2:].strip(), "%Y-%m-%d").replace(tzinfo=UTC, hour=12)
        else:
            yield at, line
        at += _MINUTE


def _marks(numbers: str, share: float = 1.0) -> dict[int, float]:
    return {int(number) - 1: share for number in _MESSAGE.findall(numbers)}
