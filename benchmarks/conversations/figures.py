"""What is counted over judged replies: verdicts, the totals, evidence, the risk of answering, and latencies."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from .judge import Verdict, leaves_open
from .scenarios import Expected, Kind, Question, Scenario
from .systems import Answered, user_lines

RISK = 0.10
"""The risk at which coverage is stated."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A question of a scenario with what a system answered; `number` is its place among those of the scenario."""

    system: str
    scenario: Scenario
    number: int
    question: Question
    answered: Answered
    verdict: Verdict

    @property
    def finds_evidence(self) -> tuple[bool, ...]:
        """Of each line from which the answer follows, whether it was found; empty where none is or may be."""
        if self.question.expected not in (Expected.VALUE, Expected.DOUBT):
            return ()
        said = [line for session in self.scenario.sessions for line in user_lines(session.lines)]
        found = {line.text for line in self.answered.found}
        return tuple(said[number - 1] in found for number in self.question.evidence)


@dataclass(frozen=True, slots=True)
class RiskCurve:
    """What happens when only the replies of highest confidence are given.

    Attributes:
        coverage: Shares of all questions that are answered, rising; replies that leave a question open answer nothing.
        risk: For each, the share of these replies that is not right.
    """

    coverage: tuple[float, ...]
    risk: tuple[float, ...]

    @property
    def area(self) -> float:
        """The mean risk over the coverage that is reached (Geifman and El-Yaniv, 2017, there up to 1)."""
        before = (0.0, self.risk[0])
        area = 0.0
        for point in zip(self.coverage, self.risk, strict=True):
            area += (point[0] - before[0]) * (point[1] + before[1]) / 2
            before = point
        return area / self.coverage[-1]

    def coverage_at(self, risk: float) -> float:
        """The highest coverage with at most this risk; 0 where there is none."""
        return max((c for c, r in zip(self.coverage, self.risk, strict=True) if r <= risk), default=0.0)


def risk_curve(judged: Sequence[Judged]) -> RiskCurve | None:
    """The curve over the confidences of replies; None where no reply that answers has one.

    Replies of equal confidence are given together, and those that have none ("I have removed that") first.
    """
    given = [row for row in judged if not leaves_open(row.answered.reply)]
    sure = [(row.answered.reply.confidence, row.verdict is Verdict.RIGHT) for row in given]
    if all(confidence is None for confidence, _ in sure):
        return None
    at_confidence: dict[float, list[bool]] = {}
    for confidence, is_right in sure:
        at_confidence.setdefault(1.0 if confidence is None else confidence, []).append(is_right)
    coverage, risk, answers, errors = [], [], 0, 0
    for confidence in sorted(at_confidence, reverse=True):
        answers += len(at_confidence[confidence])
        errors += at_confidence[confidence].count(False)
        coverage.append(answers / len(judged))
        risk.append(errors / answers)
    return RiskCurve(tuple(coverage), tuple(risk))


def count_verdicts(judged: Iterable[Judged]) -> dict[str, dict[str, dict[str, int]]]:
    """Verdicts by type and language; `all` stands for every type and every language."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    for row in judged:
        for kind, language in _cells(row):
            counts.setdefault(kind, {}).setdefault(language, Counter())[row.verdict.value] += 1
    return _plain(counts)


def count_evidence(judged: Iterable[Judged]) -> dict[str, dict[str, dict[str, int]]]:
    """Questions with evidence, `asked`, and those whose evidence was all found, `found`; by type and language."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    for row in judged:
        if not row.finds_evidence:
            continue
        for kind, language in _cells(row):
            counts.setdefault(kind, {}).setdefault(language, Counter()).update(asked=1, found=all(row.finds_evidence))
    return _plain(counts)


def totals(judged: Sequence[Judged]) -> dict[str, float | None]:
    """The figures that are published, in percent.

    Right replies to what can be answered, to what cannot (nothing answers it, or it was forgotten), to updates and
    corrections, to what hangs on a change, to what is not for memory, and to all; the questions whose evidence was all
    found, or some of it; and, of the prompts for what nothing answers and what is not for memory, those with a memory,
    which is beside the matter whatever it says, and those with anything at all, names included.
    """
    groups = {
        "answerable": [row for row in judged if row.question.expected is Expected.VALUE],
        "unanswerable": [row for row in judged if row.question.expected is Expected.NONE],
        "changed": [row for row in judged if row.question.kind in (Kind.UPDATE, Kind.CORRECTION)],
        "dependent": [row for row in judged if row.question.expected is Expected.DOUBT],
        "not_for_memory": [row for row in judged if row.question.expected is Expected.REPLY],
        "all": judged,
    }
    shares = {name: _percent([row.verdict is Verdict.RIGHT for row in rows]) for name, rows in groups.items()}
    evidence = [row.finds_evidence for row in judged if row.finds_evidence]
    prompts = [row.answered.prompt for row in judged if row.answered.prompt is not None]
    return shares | {
        "evidence": _percent([all(found) for found in evidence]),
        "some_evidence": _percent([any(found) for found in evidence]),
        "prompts_with_memories": _percent([bool(prompt.memories) for prompt in prompts]),
        "prompts_with_any": _percent([bool(prompt.memories or prompt.names) for prompt in prompts]),
    }


def summarise(judged: Sequence[Judged]) -> dict[str, Any]:
    """All figures of one system."""
    curve = risk_curve([row for row in judged if row.question.expected is not Expected.REPLY])
    took_ms = sorted(1000 * row.answered.took_s for row in judged)
    return {
        "questions": len(judged),
        "totals": totals(judged),
        "verdicts": count_verdicts(judged),
        "evidence": count_evidence(judged),
        "risk_coverage": curve
        and {
            "area": round(curve.area, 3),
            f"coverage_at_{RISK:.0%}_risk": round(curve.coverage_at(RISK), 3),
            "coverage": round(curve.coverage[-1], 3),
            "risk": round(curve.risk[-1], 3),
        },
        "latency_ms": {"median": round(median(took_ms), 1), "p95": round(took_ms[int(0.95 * (len(took_ms) - 1))], 1)},
    }


def _cells(row: Judged) -> list[tuple[str, str]]:
    return [
        (kind, language) for kind in (row.question.kind.value, "all") for language in (row.scenario.language, "all")
    ]


def _plain(counts: dict[str, dict[str, Counter[str]]]) -> dict[str, dict[str, dict[str, int]]]:
    return {kind: {language: dict(counted) for language, counted in row.items()} for kind, row in counts.items()}


def _percent(hits: Sequence[bool]) -> float | None:
    return round(100 * sum(hits) / len(hits), 1) if hits else None
