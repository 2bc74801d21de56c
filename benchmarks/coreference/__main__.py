"""Measures how the service understands references: what is rewritten, left alone and asked back, as served.

    python -m benchmarks.coreference --cache FOLDER [--corpus FOLDER …] [--data DATA] [--part tune] [--show]

Extractor and resolver run in this process as the service joins them, over one reader with its weights. Three kinds of
cases: the suites beside this file (sessions that are read line by line), with `--corpus` the marked queries of
chat corpora by action, language and category, with `--data` the public data sets of query rewriting. The reader alone
is measured by `training.reader.evaluate`. The last line is JSON.
"""

import argparse
import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.coreference.cases import read_cases, share
from benchmarks.coreference.system import System
from memory.coreference.context import reading_context
from memory.coreference.resolver import ReadingResolver
from memory.extraction.extractor import ReadingExtractor
from memory.values.understanding.dialogue import Role, Turn
from memory.values.understanding.readings import Action, ContextSpan, Replacement, Rewrite
from memory.values.understanding.resolutions import CoreferenceResult, ResolutionRequest
from models.assets.weight_files import shipped_weight_file
from models.reader.reader import BatchedReader, TrainedReader
from training.reader.corpus import MarkedQuery, read_queries
from training.reader.metrics import is_right, score_references
from training.reader.metrics import share as share_of
from training.rewriting.data import DATA_SETS, RewritingRow, load_rows
from training.rewriting.metrics import units_of
from training.shared.data_sets import Part

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
Figures = dict[str, float]


class ServedReader:
    """Extractor and resolver over one reader, asked for one query at a time.

    Args:
        reader: With its weights.
        floor: Confidence below which a reference stays unresolved.
    """

    def __init__(self, reader: BatchedReader, *, floor: float) -> None:
        self.extractor = ReadingExtractor(reader)
        self.resolver = ReadingResolver(floor=floor)

    async def resolve(self, turns: Sequence[str], query: str) -> CoreferenceResult:
        """Resolves a query after turns of which the user spoke every other one, the last but one among them."""
        roles = [Role.ASSISTANT if (len(turns) - at) % 2 else Role.USER for at in range(len(turns))]
        said = tuple(
            Turn(role=role, content=text, created_at=_NOW, mentions=None)
            for role, text in zip(roles, turns, strict=True)
        )
        request = ResolutionRequest(query=query, user_id="user", turns=said, now=_NOW)
        [extraction] = await self.extractor.extract([query], contexts=[reading_context(said, ())])
        return await self.resolver.resolve(request, extraction)


async def measure_suites(served: ServedReader, *, show: bool) -> Figures:
    """Right cases of each suite, in percent."""
    system = System(served.extractor, served.resolver)
    cases = track(read_cases(), description="suites", console=Console(stderr=True), transient=True)
    verdicts = [await system.verdict(case) for case in cases]
    for verdict in verdicts:
        if show and not verdict.right:
            case = verdict.case
            print(f"{case.set} {case.type} {case.language}: {' ¦ '.join((*case.turns, case.query))}")
            print(f"   want {case.expected} {list(case.options) or ''}\n   got  {verdict.became}")
    figures = {}
    for name in dict.fromkeys(verdict.case.set for verdict in verdicts):
        of_set = [verdict for verdict in verdicts if verdict.case.set == name]
        figures[f"{name} ({len(of_set)})"] = round(share(verdict.right for verdict in of_set), 1)
        figures[f"{name}: wrong above the floor"] = round(share(verdict.guessed for verdict in of_set), 1)
    return figures


async def measure_corpus(served: ServedReader, queries: Sequence[MarkedQuery], *, show: bool) -> Figures:
    """Right shares by action, language and category."""
    shown = track(queries, description="corpus", console=Console(stderr=True), transient=True)
    rewrites = [as_rewrite(await served.resolve(query.turns, query.query)) for query in shown]
    for query, rewrite in zip(queries, rewrites, strict=True):
        if show and not is_right(query, rewrite):
            options = [option for reference in query.references for option in reference.options]
            offered = [
                span.text for change in rewrite.replacements for span in (*change.antecedents, *change.alternatives)
            ]
            print(f"{query.id} {query.category}: {' ¦ '.join((*query.turns, query.query))}")
            print(f"   want {query.action.value} {query.target} {options or ''}")
            print(f"   got  {rewrite.action.value} {rewrite.text} {offered or ''} ({rewrite.confidence:.2f})")
    counts = score_references(queries, rewrites)
    return {f"{kind} ({counts[kind]['rows']})": share_of(counts, kind) for kind in sorted(counts)}


async def measure_sets(served: ServedReader, data: Path, part: Part, limit: int | None) -> Figures:
    """Exact match on the public data sets, in all and by their kinds of queries."""
    figures = {}
    for data_set in DATA_SETS:
        rows = load_rows(data / "rewriting", data_set)[part][:limit]
        shown = track(rows, description=data_set.name, console=Console(stderr=True), transient=True)
        outputs = [(row, (await served.resolve(row.turns, row.query)).resolved_query) for row in shown]
        for kind in ("", *sorted({row.kind for row in rows if row.kind})):
            chosen = [_is_exact(row, text) for row, text in outputs if kind in ("", row.kind)]
            figures[f"{data_set.name} {kind}".strip() + f" ({len(chosen)})"] = round(share(chosen), 1)
    return figures


def as_rewrite(result: CoreferenceResult) -> Rewrite:
    """What the service made of a query, in the form in which the reader is judged."""
    question = result.clarification
    if question is not None:
        spans = [
            ContextSpan(text=option.text, turn=None, start=0, end=0, probability=option.score)
            for option in question.options
        ]
        asked = Replacement(
            start=question.start,
            end=question.end,
            written="",
            antecedents=tuple(spans[:1]),
            confidence=result.confidence,
            alternatives=tuple(spans[1:]),
        )
        return Rewrite(
            action=Action.ASK, text=result.resolved_query, replacements=(asked,), confidence=result.confidence
        )
    action = Action.REWRITE if result.resolutions else Action.KEEP
    return Rewrite(action=action, text=result.resolved_query, confidence=result.confidence)


def _is_exact(row: RewritingRow, text: str) -> bool:
    return units_of(row.target) == units_of(text)


async def main() -> None:
    """Prints a table and, last, one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    parser.add_argument("--weights", type=Path, default=shipped_weight_file("reader"))
    parser.add_argument("--corpus", type=Path, nargs="*", default=[], help="folders of chat corpora")
    parser.add_argument("--data", type=Path, help="folder of the public data sets")
    parser.add_argument("--part", choices=[part.value for part in Part], default=Part.REPORT.value)
    parser.add_argument("--limit", type=int, default=None, help="rows of a public data set, at most")
    parser.add_argument("--floor", type=float, default=0.2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="print every miss of suites and corpus")
    arguments = parser.parse_args()
    part = Part(arguments.part)
    reader = BatchedReader(TrainedReader(arguments.weights, arguments.cache, threads=arguments.threads))
    served = ServedReader(reader, floor=arguments.floor)
    figures = {"suites": await measure_suites(served, show=arguments.show)}
    if arguments.corpus:
        queries = read_queries(arguments.corpus, part)
        figures["corpus"] = await measure_corpus(served, queries, show=arguments.show)
    if arguments.data:
        figures["sets"] = await measure_sets(served, arguments.data, part, arguments.limit)
    await reader.model.close()
    table = Table("kind", "what", "%", title=f"as served, floor {arguments.floor}, {part.value}")
    for kind, values in figures.items():
        for name, value in values.items():
            table.add_row(kind, name, f"{value:.1f}")
    Console(width=110).print(table)
    print(json.dumps({"floor": arguments.floor, "part": part.value, **figures}, ensure_ascii=False))


if __name__ == "__main__":
    asyncio.run(main())
