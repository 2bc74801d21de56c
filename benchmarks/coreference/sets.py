"""Measures the resolver on query-rewriting data: exact match, and what it leaves alone.

    python -m benchmarks.coreference.sets DATA [--part tune] [--limit 2000] [--show 20]

DATA holds `rewrite_su2019/train.txt`, `camrest676_gecor/CamRest676_annotated.json` and
`restoration200k/valid.txt`. Reported rows are fixed: the last 2,000 of rewrite_su2019 and of restoration200k, and the
second half of the CamRest676 dialogues. Rules may be improved on the others only (`--part tune`).

Theory: a substitution of one reference by one span can reach at most 22.1 % (noun spans, first pronoun) to 79.0 %
(any one context span anywhere) on rewrite_su2019 (PEERS, "Query rewriting, exact match"); the rows without a pronoun
are ellipsis, of which a rule resolver that must not guess resolves few.
"""

import argparse
import asyncio
import json
import re
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from memory.coreference.resolver import RuleResolver
from memory.extraction.extractor import RuleExtractor
from memory.language.han_tokens import cut
from memory.values.dialogue import Role, Turn
from memory.values.resolutions import CoreferenceResult, ResolutionRequest
from memory.values.text import fold_lower
from testing.coreference.cases import share

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_REPORTED = 2000
_PRONOUN_ZH = re.compile(r"[它他她]们?|这[个些]?|那[个些]?")
_PRONOUN_EN = re.compile(r"\b(?:it|its|they|them|their|this|that|these|those|there|one)\b", re.IGNORECASE)
_NOUN_TAGS = ("n", "eng", "j")


@dataclass(frozen=True)
class Row:
    """A query with its context, oldest first, the user speaking at every other turn, and what it should become."""

    context: tuple[tuple[Role, str], ...]
    query: str
    target: str
    pronoun: bool


def load_su2019(folder: Path, part: str) -> list[Row]:
    """rewrite_su2019: two turns of context; every row needs a rewrite."""
    lines = (folder / "rewrite_su2019/train.txt").read_text(encoding="utf-8").splitlines()
    lines = lines[-_REPORTED:] if part == "report" else lines[:-_REPORTED]
    rows = []
    for line in lines:
        first, second, query, target = line.split("\t")
        context = ((Role.USER, first), (Role.ASSISTANT, second))
        rows.append(Row(context, query, target, bool(_PRONOUN_ZH.search(query))))
    return rows


def load_camrest(folder: Path, part: str) -> list[Row]:
    """CamRest676 (GECOR): the coreference variants, with the complete turns before them as context."""
    dialogues = json.loads((folder / "camrest676_gecor/CamRest676_annotated.json").read_text(encoding="utf-8"))
    middle = len(dialogues) // 2
    rows = []
    for dialogue in dialogues[middle:] if part == "report" else dialogues[:middle]:
        context: list[tuple[Role, str]] = []
        for turn in dialogue["dial"]:
            if query := turn["usr"]["transcript_with_coreference"]:
                complete = turn["usr"]["transcript_complete"]
                rows.append(Row(tuple(context), query, complete, bool(_PRONOUN_EN.search(query))))
            context += [(Role.USER, turn["usr"]["transcript_complete"]), (Role.ASSISTANT, turn["sys"]["sent"])]
    return rows


def load_restoration(folder: Path, part: str) -> list[Row]:
    """restoration200k: a forum thread; 41 % of the rows must be left unchanged.

    The fifth column is the utterance that is rewritten and the sixth the reply to it, which a resolver cannot have
    seen; the note beside the data names them otherwise, but the rewrites are of the fifth.
    """
    lines = (folder / "restoration200k/valid.txt").read_text(encoding="utf-8").splitlines()
    rows = []
    for line in lines[-_REPORTED:] if part == "report" else lines[:-_REPORTED]:
        *context, query, _, label, target = line.split("\t")
        turns = tuple((Role.ASSISTANT if at % 2 else Role.USER, text) for at, text in enumerate(context) if text)
        rows.append(Row(turns, query, target if label == "1" else query, bool(_PRONOUN_ZH.search(query))))
    return rows


def key_zh(text: str) -> str:
    """Exact match in Chinese ignores white space."""
    return re.sub(r"\s+", "", text).lower()


def key_en(text: str) -> str:
    """Exact match in English ignores case, punctuation and white space."""
    return " ".join(re.sub(r"[^\w\s]", "", text.lower()).split())


def longest_noun(text: str) -> str:
    """The longest run of nominal words; the whole text where there is none."""
    best = run = ""
    end = 0
    for word in cut(fold_lower(text)):
        nominal = word.tag.startswith(_NOUN_TAGS)
        run = run + word.text if nominal and word.start == end and run else word.text if nominal else ""
        end = word.end
        best = max(best, run, key=len)
    return best or text


def longest_baseline(row: Row) -> str:
    """First pronoun → longest noun span of the first context turn; prepended where there is no pronoun."""
    noun = longest_noun(row.context[0][1]) if row.context else ""
    if _PRONOUN_ZH.search(row.query):
        return _PRONOUN_ZH.sub(noun, row.query, count=1)
    return noun + row.query


def capitalised_baseline(row: Row) -> str:
    """First pronoun → first capitalised span inside the latest turn that has one."""
    for _, text in reversed(row.context):
        spans = re.findall(r"(?:[A-Z][\w'-]+)(?: [A-Z][\w'-]+)*", text)
        if spans:
            return _PRONOUN_EN.sub(str(spans[0]).replace("\\", ""), row.query, count=1)
    return row.query


def request_of(row: Row) -> ResolutionRequest:
    """A row as the resolver sees it."""
    turns = tuple(Turn(role=role, content=text, created_at=_NOW) for role, text in row.context)
    return ResolutionRequest(query=row.query, user_id="benchmark", turns=turns, now=_NOW)


def score(rows: Sequence[Row], outputs: Sequence[str], key: Callable[[str], str]) -> dict[str, float]:
    """Exact match overall and on rows with a pronoun, and how well rows that need nothing are left alone."""
    hit = [key(output) == key(row.target) for row, output in zip(rows, outputs, strict=True)]
    still = [key(output) == key(row.query) for row, output in zip(rows, outputs, strict=True)]
    complete = [key(row.target) == key(row.query) for row in rows]
    both = sum(left and right for left, right in zip(still, complete, strict=True))
    precision = both / sum(still) if any(still) else 0.0
    recall = both / sum(complete) if any(complete) else 0.0
    return {
        "em": share(hit),
        "em_pronoun": share(right for right, row in zip(hit, rows, strict=True) if row.pronoun),
        "em_changed": share(right for right, left in zip(hit, still, strict=True) if not left),
        "changed": share(not left for left in still),
        "unchanged_precision": 100 * precision,
        "unchanged_recall": 100 * recall,
        "unchanged_f1": 200 * precision * recall / (precision + recall) if precision + recall else 0.0,
    }


def antecedents_right(rows: Sequence[Row], results: Sequence[CoreferenceResult]) -> float:
    """Of the rows that were changed, the share in which the target holds every antecedent that was written.

    Exact match also asks for the wording of the annotators ("the address of NAME", never "NAME's address").
    """
    changed = [(row, result) for row, result in zip(rows, results, strict=True) if result.resolutions]
    return share(
        all(key_en(resolution.resolved_text) in key_en(row.target) for resolution in result.resolutions)
        for row, result in changed
    )


async def resolve_all(resolver: RuleResolver, rows: Sequence[Row], name: str) -> tuple[list[CoreferenceResult], float]:
    """Every row in order; also the median time of one, in ms."""
    results, times_ms = [], []
    for row in track(rows, description=name, console=Console(stderr=True), transient=True):
        started = time.perf_counter()
        results.append(await resolver.resolve(request_of(row)))
        times_ms.append(1000 * (time.perf_counter() - started))
    return results, statistics.median(times_ms)


def show(row: Row, result: CoreferenceResult) -> None:
    """A miss, for the person who improves the rules."""
    print(" | ".join(text for _, text in row.context[-2:]), "=>", row.query)
    print("   want", row.target)
    written = [(resolution.resolved_text, round(resolution.confidence, 2)) for resolution in result.resolutions]
    left = [(open_.original_text, [other.text for other in open_.alternatives]) for open_ in result.unresolved]
    print("   got ", result.resolved_query, written, left)


async def main() -> None:
    """Measures all three sets, prints a table and, last, one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", type=Path)
    parser.add_argument("--part", choices=("report", "tune"), default="report")
    parser.add_argument("--limit", type=int, default=_REPORTED, help="rows a set, at most")
    parser.add_argument("--floor", type=float, default=0.5)
    parser.add_argument("--show", type=int, default=0, help="print this many misses a set")
    arguments = parser.parse_args()
    resolver = RuleResolver(extractor=RuleExtractor(), floor=arguments.floor)
    await resolver.resolve(request_of(Row(((Role.USER, "你好"),), "它好嗎", "", pronoun=True)))  # dictionaries load
    sets = (
        ("rewrite_su2019", load_su2019, key_zh, longest_baseline),
        ("camrest676_gecor", load_camrest, key_en, capitalised_baseline),
        ("restoration200k", load_restoration, key_zh, longest_baseline),
    )
    table = Table(
        "set",
        "rows",
        "method",
        "EM",
        "EM pronoun",
        "EM changed",
        "changed",
        "keep P",
        "keep R",
        "keep F1",
        "antecedent",
    )
    report: dict[str, object] = {"part": arguments.part, "floor": arguments.floor}
    for name, load, key, baseline in sets:
        rows = load(arguments.data, arguments.part)[: arguments.limit]
        results, median_ms = await resolve_all(resolver, rows, name)
        outputs = [result.resolved_query for result in results]
        scores = {
            "copy": score(rows, [row.query for row in rows], key),
            baseline.__name__.removesuffix("_baseline"): score(rows, [baseline(row) for row in rows], key),
            "rules": score(rows, outputs, key),
        }
        right = antecedents_right(rows, results)
        for method, values in scores.items():
            table.add_row(name, str(len(rows)), method, *(f"{value:.1f}" for value in values.values()),
                          f"{right:.1f}" if method == "rules" else "")  # fmt: skip
        report[name] = {"rows": len(rows), "median_ms": round(median_ms, 2), "antecedent": round(right, 2)} | {
            method: {metric: round(value, 2) for metric, value in values.items()} for method, values in scores.items()
        }
        missed = [
            (row, result)
            for row, result in zip(rows, results, strict=True)
            if (row.pronoun or result.resolutions) and key(result.resolved_query) != key(row.target)
        ]
        for row, result in missed[: arguments.show]:
            show(row, result)
    Console().print(table)
    print(json.dumps(report, ensure_ascii=False))


if __name__ == "__main__":
    asyncio.run(main())
