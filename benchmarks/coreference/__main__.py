"""Measures the resolver on the coreference suite: accuracy by type and language, and what it surely answers wrongly.

    python -m benchmarks.coreference [--cache FOLDER] [--show] [--floor 0.5]

Two systems: `rules` is the rules alone, with the extractor that knows no names; `joined`, where the folder of prepared
weights is given, is what the service runs: the tagger reads the turns, rules and trained rewriter are joined, the
encoder is asked where candidates are close. The sets are told apart: the rules were made on `tuned`, and on `held_out`
and `held_out_2` once their first figures had been taken (`first_figures.json`: `first_run` and, of the second,
`second_first_run`): only those are held out. The last line is JSON.
"""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from memory.coreference.rewriting_resolver import RewritingResolver
from memory.extraction.trained_extractor import TrainedExtractor
from rich.console import Console
from rich.progress import track
from rich.table import Table

from memory.coreference.resolver import RuleResolver
from memory.extraction.extractor import RuleExtractor
from testing.coreference.cases import Case, Verdict, read_cases, share
from testing.coreference.system import System


@asynccontextmanager
async def joined_system(cache: Path, *, floor: float) -> AsyncIterator[System]:
    """What the service runs, in this process: tagger, rewriter and encoder from prepared weights."""
    from models.rewriter.rewriter import BatchedRewriter, TrainedRewriter
    from models.tagger.tagger import BatchedTagger, TrainedTagger

    from models.assets.catalog import DEFAULT_MODEL, get_model
    from models.assets.prepare import prepare_model
    from models.assets.weight_files import shipped_weight_file
    from models.encoder.batched_encoder import BatchedEncoder
    from models.encoder.sentence_transformer_engine import SentenceTransformerEngine

    tagger = BatchedTagger(TrainedTagger(shipped_weight_file("tagger"), cache, threads=1))
    rewriter = BatchedRewriter(TrainedRewriter(shipped_weight_file("rewriter"), cache, threads=1))
    folder = prepare_model(DEFAULT_MODEL, cache)
    encoder = BatchedEncoder(SentenceTransformerEngine(get_model(DEFAULT_MODEL), folder, threads=1))
    rules = RuleResolver(extractor=RuleExtractor(), encoder=encoder, floor=floor)
    yield System(
        RewritingResolver(rules, rewriter=rewriter, floor=floor),
        TrainedExtractor(tagger=tagger, rules=RuleExtractor()),
    )
    for model in (tagger.model, rewriter.model, encoder):
        await model.close()


def figures(verdicts: Sequence[Verdict]) -> dict[str, float | int]:
    """How many cases, the share answered right, and the share answered wrongly with confidence above the floor."""
    return {
        "cases": len(verdicts),
        "accuracy": round(share(verdict.right for verdict in verdicts), 1),
        "wrong_above_floor": round(share(verdict.guessed for verdict in verdicts), 1),
    }


def report(verdicts: Sequence[Verdict]) -> dict[str, object]:
    """The figures of a system on one set: of all cases, by type and by language."""

    def by(key: Callable[[Case], str]) -> dict[str, object]:
        names = dict.fromkeys(key(verdict.case) for verdict in verdicts)
        return {name: figures([verdict for verdict in verdicts if key(verdict.case) == name]) for name in names}

    return {"all": figures(verdicts), "types": by(lambda case: case.type), "languages": by(lambda case: case.language)}


async def measure(system: System, name: str) -> list[Verdict]:
    """All cases, each on its own."""
    shown = track(read_cases(), description=name, console=Console(stderr=True), transient=True)
    return [await system.verdict(case) for case in shown]


def show(name: str, verdicts: Sequence[Verdict]) -> None:
    """What went wrong, for the person who improves the rules."""
    for verdict in verdicts:
        if not verdict.right:
            case = verdict.case
            print(f"{name} {case.set} {case.type} {case.language}: {' ¦ '.join((*case.turns, case.query))}")
            print(f"   want {case.expected} {list(case.options) or ''}")
            print(f"   got  {verdict.became}  ({verdict.confidence:.2f})")


async def main() -> None:
    """Measures both systems on both sets; prints a table and, last, one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cache", type=Path, help="folder of prepared weights; without it only the rules are measured")
    parser.add_argument("--floor", type=float, default=0.5)
    parser.add_argument("--show", action="store_true", help="print every miss")
    arguments = parser.parse_args()
    found = {"rules": await measure(System(RuleResolver(extractor=RuleExtractor(), floor=arguments.floor)), "rules")}
    if arguments.cache:
        async with joined_system(arguments.cache, floor=arguments.floor) as system:
            found["joined"] = await measure(system, "joined")
    table = Table("system", "set", "of", "cases", "accuracy", "wrong above the floor")
    result: dict[str, object] = {"floor": arguments.floor}
    for name, verdicts in found.items():
        if arguments.show:
            show(name, verdicts)
        sets = {}
        for chosen in dict.fromkeys(verdict.case.set for verdict in verdicts):
            sets[chosen] = report([verdict for verdict in verdicts if verdict.case.set == chosen])
            _rows(table, name, chosen, sets[chosen])
        result[name] = sets
    Console(width=100).print(table)
    print(json.dumps(result, ensure_ascii=False))


def _rows(table: Table, system: str, chosen: str, reported: dict[str, object]) -> None:
    groups: dict[str, dict[str, float | int]] = {"all": reported["all"]}  # type: ignore[dict-item]
    groups |= reported["types"] | reported["languages"]  # type: ignore[operator]
    for name, values in groups.items():
        table.add_row(system, chosen, name, *(str(value) for value in values.values()))


if __name__ == "__main__":
    asyncio.run(main())
