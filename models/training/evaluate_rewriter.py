"""Measures the rewriter beside its baselines.

    python -m models.training.evaluate_rewriter DATA --weights FILE --cache MODELS [--part tune] [--show 20]

FILE is a checkpoint of training, or the file that ships (`models.training.export_rewriter`), whose rule then holds.

Prints one table: for each data set, and each kind of row where there are several, copying the query, the rules
(`memory.coreference`) and the model; then one JSON line with all measures and their 95 % intervals. The rule for
leaving a query alone is chosen on the tuning rows.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from memory.coreference.resolutions import ResolutionRequest
from memory.coreference.resolver import RuleResolver
from memory.dialogue import Role, Turn
from memory.extraction.extractor import RuleExtractor
from models.rewriter.decoding import KeepRule
from models.rewriter.features import FeatureReader
from models.rewriter.inference import Rewritten, rewrite_all
from models.rewriter.network import NetworkShape, RewriterNetwork
from models.rewriter.weights import load_weights, read_settings

from .keeping import choose_rule
from .rewriter import build
from .rewriting_data import Part, RewritingRow, as_traditional, find_sets, load_rows
from .rewriting_metrics import MEASURES, score_rewrites

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_WITH_INTERVAL = ("EM", "BLEU-4", "F1", "unchanged F1")


async def rewrite_by_rules(rows: Sequence[RewritingRow]) -> list[str]:
    """The first version's rewrites: the user speaks at every other turn, the last one the assistant's."""
    resolver = RuleResolver(extractor=RuleExtractor())
    outputs = []
    for row in track(rows, description="rules", console=Console(stderr=True), transient=True):
        roles = [Role.USER if (len(row.turns) - at) % 2 == 0 else Role.ASSISTANT for at in range(len(row.turns))]
        turns = [Turn(role=role, content=text, created_at=_NOW) for role, text in zip(roles, row.turns, strict=True)]
        request = ResolutionRequest(query=row.query, user_id="evaluation", turns=tuple(turns), now=_NOW)
        outputs.append((await resolver.resolve(request)).resolved_query)
    return outputs


def load_shipped(path: Path, cache: Path) -> tuple[RewriterNetwork, FeatureReader, int, KeepRule]:
    """A network with the weights that ship."""
    settings = read_settings(path)
    network, reader, tokenizer = build(cache, list(settings.words), settings.shape)
    load_weights(path, network)
    return network.eval(), reader, tokenizer.pad_id, settings.rule


def load_checkpoint(path: Path, cache: Path) -> tuple[RewriterNetwork, FeatureReader, int]:
    """A network with a checkpoint's averaged weights, in fp32; its reader and the id of padding."""
    import torch

    words = json.loads((path.parent / "words.json").read_text(encoding="utf-8"))

    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    network, reader, tokenizer = build(cache, words, NetworkShape(**state["shape"]))
    named = list(network.named_parameters())
    body = [parameter for name, parameter in named if name.startswith("body.") and "word_embeddings" not in name]
    heads = [parameter for name, parameter in named if not name.startswith("body.")]
    with torch.no_grad():
        for parameter, value in zip([*body, *heads], state["average"], strict=True):
            parameter.copy_(value)
    return network.eval(), reader, tokenizer.pad_id


def measure(rows: Sequence[RewritingRow], outputs: Sequence[str]) -> dict[str, dict[str, float]]:
    """Every measure; some with their interval."""
    scores = score_rewrites([row.query for row in rows], [row.target for row in rows], outputs)
    found: dict[str, dict[str, float]] = {}
    for name in MEASURES:
        if name in _WITH_INTERVAL:
            interval = scores.interval(name)
            found[name] = {"value": interval.value, "low": interval.low, "high": interval.high}
        else:
            found[name] = {"value": scores.value(name)}
    return found


def main() -> None:
    """Prints the table and, last, one JSON line."""
    arguments = _arguments()
    import torch

    torch.set_num_threads(arguments.threads)
    rule: KeepRule | None = None
    if arguments.weights.suffix == ".safetensors":
        network, reader, pad_id, rule = load_shipped(arguments.weights, arguments.cache)
    else:
        network, reader, pad_id = load_checkpoint(arguments.weights, arguments.cache)
    network.to(arguments.device)
    try:
        chosen = list(find_sets(arguments.sets))
    except ValueError as error:
        sys.exit(str(error))
    parts = {one.name: load_rows(arguments.data, one) for one in chosen}

    def rewrite(rows: Sequence[RewritingRow]) -> list[Rewritten]:
        return rewrite_all(network, [reader.read(row.turns, row.query) for row in rows], pad_id=pad_id)

    if rule is None:
        tuning = [row for one in chosen for row in parts[one.name][Part.TUNE]]
        rule = choose_rule(tuning, rewrite(tuning))
    table = Table("set", "rows", "method", *MEASURES)
    report: dict[str, Any] = {"part": arguments.part, "keep": {"threshold": rule.threshold, "trust": rule.trust}}
    for one in chosen:
        rows = parts[one.name][Part(arguments.part)][: arguments.limit]
        outputs = {"copy": [row.query for row in rows]}
        if not arguments.no_rules:
            outputs["rules"] = asyncio.run(rewrite_by_rules(rows))
        found = rewrite(rows)
        outputs["ours"] = [each.text(rule) for each in found]
        if one.chinese and arguments.traditional:
            rows_t = [as_traditional(row) for row in rows]
            _add(table, report, f"{one.name} (Traditional)", rows_t, {"ours": [r.text(rule) for r in rewrite(rows_t)]})
        _add(table, report, one.name, rows, outputs)
        for kind in sorted({row.kind for row in rows} - {""}):
            mine = [number for number, row in enumerate(rows) if row.kind == kind]
            _add(
                table,
                report,
                f"{one.name}: {kind}",
                [rows[number] for number in mine],
                {method: [texts[number] for number in mine] for method, texts in outputs.items()},
            )
        _show(rows, found, rule, arguments.show)
    Console(width=220).print(table)
    sys.stdout.write(json.dumps(report, ensure_ascii=False) + "\n")


def _add(
    table: Table, report: dict[str, Any], name: str, rows: Sequence[RewritingRow], outputs: dict[str, list[str]]
) -> None:
    report[name] = {"rows": len(rows)}
    for method, texts in outputs.items():
        found = measure(rows, texts)
        cells = [
            f"{one['value']:.1f}" + (f" ±{(one['high'] - one['low']) / 2:.1f}" if "low" in one else "")
            for one in found.values()
        ]
        table.add_row(name, str(len(rows)), method, *cells)
        report[name][method] = {
            measure: {key: round(value, 2) for key, value in one.items()} for measure, one in found.items()
        }


def _show(rows: Sequence[RewritingRow], found: Sequence[Rewritten], rule: KeepRule, count: int) -> None:
    missed = [
        (row, one)
        for row, one in zip(rows, found, strict=True)
        if score_rewrites([row.query], [row.target], [one.text(rule)]).value("EM") == 0
    ]
    for row, one in missed[:count]:
        sys.stdout.write(
            f"{' | '.join(row.turns[-4:])} => {row.query}\n  want {row.target}\n  got  {one.text(rule)}"
            f"  (keep {one.rewrite.keep_probability:.2f}, edits {one.rewrite.log_probability:.2f})\n"
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures the rewriter beside its baselines.")
    parser.add_argument("data", type=Path, help="folder of the query-rewriting data sets")
    parser.add_argument("--weights", type=Path, required=True, help="a checkpoint, or the file that ships")
    parser.add_argument("--cache", type=Path, required=True, help="folder in which prepared models are kept")
    parser.add_argument("--sets", default="all", help="all, open, or names")
    parser.add_argument("--part", choices=[Part.REPORT.value, Part.TUNE.value], default=Part.REPORT.value)
    parser.add_argument("--limit", type=int, default=None, help="rows of a set, at most")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--no-rules", action="store_true", help="leave the first version out")
    parser.add_argument("--traditional", action="store_true", help="also in Traditional characters")
    parser.add_argument("--show", type=int, default=0, help="print this many misses of a set")
    return parser.parse_args()


if __name__ == "__main__":
    main()
