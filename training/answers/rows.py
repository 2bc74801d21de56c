"""Questions with the lines that are shown with them, as the service chooses them."""

import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import lru_cache
from itertools import pairwise

from memory.knowledge.beside_memory import CHUNKS
from memory.language.times import relative_times_in
from memory.ports.models.answer_reading import AnswerReadRequest, DatedLine
from memory.values.text import has_han, to_simplified
from memory.values.understanding.dialogue import Role

from ..corpora.questions import MarkedLines, MarkedQuestion
from .examples import LabelledRequest

SHOWN = 16
"""Lines of conversation that the service shows at most."""
_LONG = 4
_JOINS = {
    True: ("，", "，", "。", " ", "，然後", "，還有", "，另外", "。對了，"),
    False: (". ", ". ", ", and ", ", ", " and ", ". Also ", ". oh and "),
}
"""What people put between two things that they tell in one message, by whether it is Chinese."""
_LAST_MARKS = "。.！!，,；; "
_MOST_MERGED = 4
_LONGEST_MERGED = {True: 110, False: 320}
_WORD = re.compile(r"[a-z']+|\d+|[\u3400-\u9fff]")


def rows_of(blocks: Sequence[MarkedLines]) -> list[LabelledRequest]:
    """All questions as they are measured."""
    return [measured(block, question) for block in blocks for question in block.questions]


def labelled(question: MarkedQuestion, shown: Sequence[int], request: AnswerReadRequest) -> LabelledRequest:
    """A question over the lines of a request, whose first ones are those of these numbers."""
    at = {number: place for place, number in enumerate(shown)}
    return LabelledRequest(
        request,
        question.kind,
        tuple(at[line] for line in question.gold),
        {at[line]: words for line, words in question.words.items()},
        tuple(at[line] for line in question.outdated if line in at),
    )


def measured(block: MarkedLines, question: MarkedQuestion) -> LabelledRequest:
    """A question as it is measured: with the lines of its block, or of a scenario those nearest in words."""
    barred = set(question.without)
    shown = [number for number in range(len(block.lines)) if number not in barred]
    needed = {*question.gold, *question.outdated}
    if block.source.is_document:
        shown = [*sorted(needed), *(number for number in shown if number not in needed)][:CHUNKS]
    else:
        shown = nearest(block, question.question, shown, needed, SHOWN)
    lines = tuple(block.lines[number] for number in shown)
    now = block.now or block.lines[-1].said_at + timedelta(days=1)
    return labelled(question, shown, AnswerReadRequest(question=question.question, lines=lines, now=now))


def nearest(block: MarkedLines, question: str, shown: Sequence[int], needed: set[int], count: int) -> list[int]:
    """The needed lines, and of the others those that share most rare words with the question; in order."""
    if len(shown) <= count:
        return list(shown)
    terms = [terms_of(line.text) for line in block.lines]
    uses = Counter(term for of_line in terms for term in of_line)
    asked = terms_of(question)

    def score(number: int) -> float:
        rare: float = sum(math.log(1 + len(terms) / uses[term]) for term in asked & terms[number])
        return rare / math.sqrt(1 + len(terms[number]))

    others = sorted((number for number in shown if number not in needed), key=score, reverse=True)
    kept = needed | set(others[: max(0, count - len(needed))])
    return [number for number in shown if number in kept]


@lru_cache(maxsize=1 << 16)
def terms_of(text: str) -> frozenset[str]:
    """What texts can share: words of some length, and pairs of Han characters."""
    words = _WORD.findall(to_simplified(text).casefold())
    pairs = {first + second for first, second in pairwise(words) if not first.isascii()}
    return frozenset(pairs | {word for word in words if word.isascii() and len(word) >= _LONG})


def merge_lines(row: LabelledRequest, rng: random.Random) -> LabelledRequest:
    """The row with some lines told together in one message, as people tell several things at once.

    Of what is marked at most one line is in a message, which has its date; lines that say when by the day on which they
    are said stay alone.
    """
    marked = {*row.gold, *row.outdated}
    lines: list[DatedLine] = []
    place_of: dict[int, int] = {}
    moved_by: dict[int, int] = {}
    group: list[int] = []
    most = 0
    for number, line in enumerate(row.request.lines):
        joined = _joined(lines[-1], line, rng) if len(group) < most else None
        if joined is None or (number in marked and not marked.isdisjoint(group)):
            lines.append(line)
            group, most = [number], rng.randint(1, _MOST_MERGED)
            moved_by[number] = 0
        else:
            moved_by[number] = len(joined) - len(line.text)
            said_at = line.said_at if number in marked else lines[-1].said_at
            lines[-1] = line.model_copy(update={"text": joined, "said_at": said_at})
            group.append(number)
        place_of[number] = len(lines) - 1
    words = {
        place_of[number]: (start + moved_by[number], end + moved_by[number])
        for number, (start, end) in row.words.items()
    }
    return LabelledRequest(
        row.request.model_copy(update={"lines": tuple(lines)}),
        row.kind,
        tuple(place_of[number] for number in row.gold),
        words,
        tuple(place_of[number] for number in row.outdated),
    )


def _joined(first: DatedLine, second: DatedLine, rng: random.Random) -> str | None:
    """Both as one message; None where nobody would have told them together."""
    is_chinese = has_han(first.text)
    texts = (first.text, second.text)
    if (
        {first.role, second.role} != {Role.USER}
        or has_han(second.text) != is_chinese
        or any(text.rstrip().endswith(("?", "？")) or relative_times_in(text) for text in texts)
        or len(first.text) + len(second.text) > _LONGEST_MERGED[is_chinese]
    ):
        return None
    join = rng.choice(_JOINS[is_chinese])
    return first.text.rstrip(_LAST_MARKS) + join + second.text
