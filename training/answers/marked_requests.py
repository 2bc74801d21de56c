"""Reads what messages do to earlier lines: what requests to forget mean, and what changes replace."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from memory.language.keywords import KeywordAnalyzer
from memory.learning.replacements import choose_lines
from memory.ports.models.answer_reading import MAX_ANSWER_LINES, AnswerReadRequest, DatedLine
from memory.values.understanding.dialogue import Role

from ..corpora.changes import read_all_changes
from ..corpora.lines import MarkedClauses, MarkedLine, read_forget_parts, read_forgets
from ..corpora.questions import MarkedLines, read_answers
from ..shared.data_sets import Part

_PLAIN = 3
"""One in so many is learned from of the messages that replace nothing: there are ten times as many as others."""
_ANALYZER = KeywordAnalyzer()


class Kind(StrEnum):
    """What a message does to earlier lines; the name of the head in `AnswerNetwork`."""

    MEANT = "meant"
    REPLACED = "replaced"
    CLAUSE = "clause"
    """Which clauses of one message a request to forget means: each by itself."""


@dataclass(frozen=True, slots=True)
class MarkedRequest:
    """A message after what the user had said.

    Attributes:
        kind: What it does to the lines.
        language: Of `shared.chat_corpus.LANGUAGES`.
        request: The message as the question, and the lines from the oldest to the newest.
        marks: For each line how surely it is meant, or replaced: 1, 0, or 0.5 where it is one of several that may be.
    """

    kind: Kind
    language: str
    request: AnswerReadRequest
    marks: tuple[float, ...]


def read_marked(folders: Sequence[Path], kind: Kind, part: Part) -> list[MarkedRequest]:
    """The marked messages of a part, each with the lines beside it; to learn from, few that replace nothing."""
    if kind is Kind.CLAUSE:
        return [_of_clauses(marked) for marked in read_forget_parts(folders, part)]
    if kind is Kind.MEANT:
        of_parts = read_requests(folders, part, "forget_parts") if part is Part.TRAIN else []
        return [*read_requests(folders, part), *of_parts]
    read = [marked for of_user in read_all_changes(folders, part) for marked in _marked(of_user, kind)]
    if part is not Part.TRAIN:
        return read
    return [marked for number, marked in enumerate(read) if any(marked.marks) or number % _PLAIN == 0]


def read_requests(folders: Sequence[Path], part: Part, folder: str = "forgets") -> list[MarkedRequest]:
    """The requests to forget of a part with what was said before them; of `forget_parts` with whole messages."""
    return [marked for of_user in read_forgets(folders, part, folder) for marked in _marked(of_user, Kind.MEANT)]


def among_others(marked: Sequence[MarkedRequest], folders: Sequence[Path], *, seed: int = 0) -> list[MarkedRequest]:
    """Requests to forget with lines of other users among theirs, so that they are as many as a memory has.

    What was said last stays last, and no line comes in that shares a word with the request or with what it means. Half
    of the requests get as many as are read at once, the others fewer.
    """
    rng = random.Random(seed)
    said = said_by_language(read_answers(folders, Part.TRAIN))
    return [put_among(row, said[row.language], rng) for row in marked]


def said_by_language(blocks: Sequence[MarkedLines]) -> Mapping[str, list[DatedLine]]:
    """What users said, by language; no documents. A language without lines has none."""
    said: dict[str, list[DatedLine]] = defaultdict(list)
    for block in blocks:
        if not block.source.is_document:
            said[block.language] += (line for line in block.lines if line.role is Role.USER)
    return said


def put_among(marked: MarkedRequest, others: Sequence[DatedLine], rng: random.Random) -> MarkedRequest:
    """A request with some of the lines of others among its own, see `among_others`."""
    lines, marks = list(marked.request.lines), list(marked.marks)
    meant = [line.text for line, mark in zip(lines, marks, strict=True) if mark]
    taken = _ANALYZER.content_terms("\n".join([marked.request.question, *meant]))
    room = MAX_ANSWER_LINES - len(lines)
    wanted = room if rng.random() < 0.5 else rng.randint(0, room)
    for other in rng.sample(others, min(2 * wanted, len(others))):
        if len(lines) < len(marked.marks) + wanted and taken.isdisjoint(_ANALYZER.content_terms(other.text)):
            place = rng.randrange(len(lines))
            lines.insert(place, DatedLine(text=other.text, said_at=lines[place].said_at))
            marks.insert(place, 0.0)
    request = marked.request.model_copy(update={"lines": tuple(lines)})
    return replace(marked, request=request, marks=tuple(marks))


def _marked(sent: Sequence[MarkedLine], kind: Kind) -> list[MarkedRequest]:
    """Those of a user; without a message which replaces a line that is not read beside it."""
    said: list[DatedLine] = []
    found = []
    for line in sent:
        if line.marks is not None and said:
            numbers = _beside(line.text, said, kind)
            request = AnswerReadRequest(
                question=line.text, lines=tuple(said[number] for number in numbers), now=line.at
            )
            marks = tuple(line.marks.get(number, 0.0) for number in numbers)
            if kind is Kind.MEANT or sum(marks) == sum(line.marks.values()):
                found.append(MarkedRequest(kind, line.language, request, marks))
        if line.is_said:
            said.append(DatedLine(text=line.text, said_at=line.at))
    return found


def _of_clauses(marked: MarkedClauses) -> MarkedRequest:
    lines = tuple(DatedLine(text=clause, said_at=marked.said_at) for clause in marked.clauses)
    marks = tuple(float(number in marked.meant) for number in range(len(lines)))
    request = AnswerReadRequest(question=marked.request, lines=lines, now=marked.at)
    return MarkedRequest(Kind.CLAUSE, marked.language, request, marks)


def _beside(message: str, said: Sequence[DatedLine], kind: Kind) -> list[int]:
    if kind is Kind.MEANT:
        return list(range(len(said)))[-MAX_ANSWER_LINES:]
    return choose_lines(message, [line.text for line in said], _ANALYZER)
