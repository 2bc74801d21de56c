"""Questions with the lines that are shown with them, as the service chooses them."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import lru_cache
from itertools import pairwise

from memory.knowledge.beside_memory import CHUNKS
from memory.ports.models.answer_reading import AnswerReadRequest
from memory.values.text import to_simplified

from ..corpora.questions import MarkedLines, MarkedQuestion
from .examples import LabelledRequest

SHOWN = 16
"""Lines of conversation that the service shows at most."""
_LONG = 4
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
