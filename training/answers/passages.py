"""Reads questions about documents: passages of public data sets, each question with the excerpts nearest to it.

A folder of data holds `retrieval/drcd` and `retrieval/cmrc2018` (Chinese questions on paragraphs, with the words that
answer) and `rewriting/canard` (English questions in full, whose answers are quotations of one section; some have none).
Of every eight articles one is trained on, one tuned on and one reported on; more than these take hours on a CPU.
"""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from memory.knowledge.excerpts import find_excerpt
from memory.language.keywords import KeywordAnalyzer
from memory.ports.models.answer_reading import DatedLine

from ..corpora.questions import NONE, MarkedLines, MarkedQuestion, Source, Words
from ..shared.data_sets import Part
from .rows import terms_of

_SQUAD = (
    ("zh-Hant", Path("retrieval", "drcd", "DRCD_dev.json")),
    ("zh-Hans", Path("retrieval", "cmrc2018", "cmrc2018_dev_half.json")),
)
_CANARD = Path("rewriting", "canard", "dev.txt")
_UNKNOWN = "I don't know."
_NEAR = 4
"""Excerpts of other passages with a question: more than are shown, so that they vary."""
_PARTS = (Part.TRAIN, Part.TUNE, Part.REPORT, *[None] * 5)
_ADDED_AT = datetime(2026, 1, 1, tzinfo=UTC)
_READ_AT = datetime(2026, 1, 20, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question about the passage of a number; without words where all of it may answer, without any if None."""

    text: str
    passage: int
    words: Words | None


def read_passages(data: Path, part: Part) -> list[MarkedLines]:
    """The questions of a part, each over excerpts of its own."""
    found: list[MarkedLines] = []
    for language, path in _SQUAD:
        found += _questions(language, path.stem, *_read_squad(data / path, part))
    return found + list(_questions("en", _CANARD.stem, *_read_canard(data / _CANARD, part)))


def _is_of(part: Part, article: int) -> bool:
    return _PARTS[article % len(_PARTS)] is part


def _read_squad(path: Path, part: Part) -> tuple[list[str], list[_Asked]]:
    passages: list[str] = []
    questions: list[_Asked] = []
    for number, article in enumerate(json.loads(path.read_text(encoding="utf-8"))["data"]):
        for paragraph in article["paragraphs"] if _is_of(part, number) else ():
            for asked in paragraph["qas"]:
                start, text = asked["answers"][0]["answer_start"], asked["answers"][0]["text"]
                questions.append(_Asked(asked["question"], len(passages), (start, start + len(text))))
            passages.append(paragraph["context"])
    return passages, questions


def _read_canard(path: Path, part: Part) -> tuple[list[str], list[_Asked]]:
    """The answers about one section are a passage; each but the last row of a dialogue has its answer in the next."""
    dialogues: dict[tuple[str, str], list[list[str]]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        title, section, *turns = line.split("\t")
        dialogues[title, section].append(turns)
    titles = {title: number for number, title in enumerate(dict.fromkeys(title for title, _ in dialogues))}
    passages: list[str] = []
    questions: list[_Asked] = []
    for (title, section), rows in dialogues.items():
        if _is_of(part, titles[title]):
            longest = max(rows, key=len)
            told = list(dict.fromkeys(answer for answer in longest[1:-2:2] if answer != _UNKNOWN))
            passage = " ".join([f"{title}: {section}.", *told])
            for row, following in pairwise(rows):
                answer = following[len(row) - 1] if following[: len(row) - 1] == row[:-1] else ""
                start = passage.find(answer)
                words = (start, start + len(answer)) if answer and start >= 0 else None
                if words or answer == _UNKNOWN:
                    questions.append(_Asked(row[-1], len(passages), words))
            passages.append(passage)
    return passages, questions


def _questions(language: str, name: str, passages: Sequence[str], questions: Sequence[_Asked]) -> Iterator[MarkedLines]:
    """Each question over its excerpt and the nearest others; one whose excerpt lacks the words has no answer."""
    analyzer, near = KeywordAnalyzer(), _Nearest(passages)
    whole_answers = language == "en"  # a quotation, of which nobody marked the words
    for number, asked in enumerate(questions):
        terms = analyzer.content_terms(asked.text)
        chosen = [asked.passage, *near.find(asked.text, _NEAR, without=asked.passage)]
        excerpts = [find_excerpt(passages[at], terms, analyzer) for at in chosen]
        place = _place(passages[asked.passage], excerpts[0], asked.words)
        lines = tuple(DatedLine(text=excerpt, said_at=_ADDED_AT) for excerpt in excerpts)
        marked = MarkedQuestion(f"{name}-{number}", asked.text, NONE)
        if place is not None:
            words = {} if whole_answers else {0: place}
            marked = MarkedQuestion(f"{name}-{number}", asked.text, "single", (0,), words)
        yield MarkedLines(language, lines, (marked,), _READ_AT, Source.ARTICLES)


def _place(passage: str, excerpt: str, words: Words | None) -> Words | None:
    """Where words of a passage stand in its excerpt."""
    if words is None:
        return None
    offset = passage.find(excerpt)
    start, end = words[0] - offset, words[1] - offset
    return (start, end) if start >= 0 and end <= len(excerpt) else None


class _Nearest:
    """Finds the passages that share most rare words with a question."""

    def __init__(self, passages: Sequence[str]) -> None:
        self._terms = [terms_of(passage) for passage in passages]
        self._uses = Counter(term for terms in self._terms for term in terms)

    def find(self, question: str, count: int, *, without: int) -> list[int]:
        rare = {
            term: math.log(1 + len(self._terms) / self._uses[term]) for term in terms_of(question) if term in self._uses
        }
        scores = [
            sum(weight for term, weight in rare.items() if term in terms) if number != without else -1.0
            for number, terms in enumerate(self._terms)
        ]
        return sorted(range(len(scores)), key=lambda number: -scores[number])[: min(count, len(scores) - 1)]
