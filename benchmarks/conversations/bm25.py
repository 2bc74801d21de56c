"""The baseline: BM25 over the lines of a user."""

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from typing_extensions import override

from memory.language.keywords import KeywordAnalyzer

from .systems import AT_ONCE, Found, LineSearch

LEAST_SCORES = {"zh-Hant": 0.191, "zh-Hans": 0.175, "en": 0.387}
"""By language, chosen on the scenarios `*-s1` and `*-t1` of the chat corpus, by `--choose-least-scores`."""
_K1 = 1.2
_B = 0.75


@dataclass(slots=True)
class _Lines:
    found: list[Found] = field(default_factory=list)
    counts: list[Counter[str]] = field(default_factory=list)
    having: Counter[str] = field(default_factory=Counter)
    terms: int = 0


class Bm25(LineSearch):
    """BM25 (Robertson and others, TREC-3) with IDF and mean length over the lines of the user.

    A score is divided by that of a line of mean length that has each term of the question once, so that it is a share
    of the question, comparable between users; above 1 it may go where terms are repeated.
    """

    def __init__(self) -> None:
        self._analyzer = KeywordAnalyzer()
        self._users: dict[str, _Lines] = {}

    @override
    def add(self, line: str, at: datetime, *, user_id: str) -> None:
        lines = self._users.setdefault(user_id, _Lines())
        counts = Counter(self._analyzer.terms(line))
        lines.found.append(Found(line, 0.0, f"{at:%Y-%m-%d}"))
        lines.counts.append(counts)
        lines.having.update(counts.keys())
        lines.terms += counts.total()

    @override
    def search(self, question: str, *, user_id: str) -> list[Found]:
        lines = self._users.get(user_id, _Lines())
        size = len(lines.found)
        weights = {
            term: math.log(1 + (size - lines.having[term] + 0.5) / (lines.having[term] + 0.5))
            for term in set(self._analyzer.terms(question))
        }
        most = sum(weights.values()) or 1.0
        mean = lines.terms / size if size else 1.0
        scored = []
        for found, counts in zip(lines.found, lines.counts, strict=True):
            norm = _K1 * (1 - _B + _B * counts.total() / (mean or 1.0))
            score = sum(
                weight * counts[term] * (_K1 + 1) / (counts[term] + norm)
                for term, weight in weights.items()
                if counts[term]
            )
            if score > 0:
                scored.append(Found(found.text, score / most, found.date))
        return sorted(scored, key=lambda found: -found.score)[:AT_ONCE]
