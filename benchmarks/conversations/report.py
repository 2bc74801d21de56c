"""Tables of the figures, on the terminal and in Markdown, and what was said, for reading."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from .figures import RISK, Judged
from .judge import Verdict
from .scenarios import Kind

Summaries = Mapping[str, Mapping[str, Any]]
"""By system, what `figures.summarise` returns."""
_TOTALS = {
    "answerable": "answerable, right %",
    "unanswerable": "abstain and forget, right %",
    "changed": "update and correction, right %",
    "dependent": "in doubt since a change, right %",
    "not_for_memory": "not for memory, right %",
    "all": "all, right %",
    "evidence": "all evidence in ten lines, %",
    "some_evidence": "some evidence in ten lines, %",
    "prompts_with_memories": "prompts with a memory where none answers, %",
    "prompts_with_any": "prompts with anything where nothing answers, %",
}


def tables(summaries: Summaries) -> list[Table]:
    """The totals of all systems, all beside each other by type and language, and a table by type of each."""
    shown = [_rich("Totals", *_totals(summaries)), _rich("Right %", *_beside(summaries))]
    return shown + [_rich(system, *_by_type(summary)) for system, summary in summaries.items()]


def markdown(summaries: Summaries, *, about: str) -> str:
    """The same tables as a page's section."""
    parts = [about, _piped(*_totals(summaries)), _piped(*_beside(summaries))]
    for system, summary in summaries.items():
        parts += [f"### {system}", _piped(*_by_type(summary))]
    return "\n\n".join(parts) + "\n"


def row_of(judged: Judged) -> dict[str, Any]:
    """A reply as a line of JSON, with the texts."""
    question, answered = judged.question, judged.answered
    return {
        "system": judged.system,
        "scenario": judged.scenario.id,
        "language": judged.scenario.language,
        "number": judged.number,
        "type": question.kind,
        "question": question.text,
        "expected": question.expected,
        "values": question.parts,
        "untrue": question.untrue,
        "reply": answered.reply.text,
        "asks": answered.reply.asks,
        "confidence": answered.reply.confidence,
        "verdict": judged.verdict,
        "found": [line.text for line in answered.found],
        "prompt": answered.prompt and asdict(answered.prompt),
        "finds_evidence": judged.finds_evidence,
        "took_ms": round(1000 * answered.took_s, 1),
    }


def missed(judged: Iterable[Judged]) -> Iterable[str]:
    """What was not right, with its texts."""
    for row in judged:
        if row.verdict is not Verdict.RIGHT:
            question = row.question
            wanted = " & ".join(" / ".join(part) for part in question.parts)
            yield f"{row.system} {row.scenario.id} {question.kind} {row.verdict}: {question.text}"
            yield f"   want {question.expected} {wanted} not {list(question.untrue)}"
            yield f"   got  {row.answered.reply.text!r}"


def _totals(summaries: Summaries) -> tuple[list[str], list[list[str]]]:
    rows = [[label, *(_cell(of["totals"][name]) for of in summaries.values())] for name, label in _TOTALS.items()]
    curves = [of["risk_coverage"] or {} for of in summaries.values()]
    names = {"area": "risk–coverage, area", f"coverage_at_{RISK:.0%}_risk": f"coverage at {RISK:.0%} risk, %"}
    for name, label in names.items():
        scale = 1 if name == "area" else 100
        rows.append([label, *(_cell(scale * curve[name] if curve else None, exact=scale == 1) for curve in curves)])
    latencies = [of["latency_ms"] for of in summaries.values()]
    rows.append(["a question, median and p95 ms", *(f"{each['median']}, {each['p95']}" for each in latencies)])
    return ["", *summaries], rows


def _beside(summaries: Summaries) -> tuple[list[str], list[list[str]]]:
    """The right share by type, of each system that was played in all and by language."""
    by_system = [summary["verdicts"] for summary in summaries.values()]
    languages = sorted({language for counts in by_system for language in counts["all"]} - {"all"})
    columns = ["all", *languages]
    rows = []
    for kind in (*Kind, "all"):
        cells = [counts.get(str(kind), {}) for counts in by_system]
        if any(cells):
            asked = max(sum(cell.get("all", {}).values()) for cell in cells)
            shares = [" / ".join(_share(cell.get(column, {})) for column in columns) for cell in cells]
            rows.append([str(kind), str(asked), *shares])
    return ["type", "questions", *(f"{system}: {' / '.join(columns)}" for system in summaries)], rows


def _by_type(summary: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    verdicts, evidence = summary["verdicts"], summary["evidence"]
    languages = [language for language in verdicts["all"] if language != "all"]
    heads = ["type", "questions", "right %", *Verdict, *(f"{language} %" for language in languages), "evidence %"]
    heads.append("evidence %: " + " / ".join(languages))
    rows = []
    for kind in (*Kind, "all"):
        if (of_kind := verdicts.get(str(kind))) is None:
            continue
        counts = of_kind["all"]
        shares = [_share(of_kind.get(language, {})) for language in languages]
        found = [_found(evidence.get(str(kind), {}).get(language)) for language in ("all", *languages)]
        rows.append(
            [
                str(kind),
                str(sum(counts.values())),
                _share(counts),
                *(str(counts.get(verdict, 0)) for verdict in Verdict),
                *shares,
                found[0],
                " / ".join(found[1:]),
            ]
        )
    return heads, rows


def _share(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    return f"{100 * counts.get(Verdict.RIGHT, 0) / total:.0f}" if total else "–"


def _found(counts: Mapping[str, int] | None) -> str:
    return _cell(100 * counts["found"] / counts["asked"] if counts else None)


def _cell(value: float | None, *, exact: bool = False) -> str:
    return "–" if value is None else f"{value:.2f}" if exact else f"{value:.0f}"


def _rich(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    shown = Table(title=title, title_justify="left")
    for place, head in enumerate(heads):
        shown.add_column(head, justify="right" if place else "left")
    for row in rows:
        shown.add_row(*row)
    return shown


def _piped(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows))
