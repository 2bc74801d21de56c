"""Measures the rewriter beside its baselines.

    python -m training.rewriter.evaluate DATA --weights FILE --cache MODELS [--part tune] [--show 20]

FILE is a training checkpoint, or the shipped file (`training.rewriter.export`), which contains its rule.

Prints one table: for each data set, and each kind of row where there are several, copying the query, the rules
(`memory.coreference`) and the model; then one JSON line with all measures and their 95 % intervals. The rule for
keeping a query unchanged is chosen on the tuning rows unless FILE contains it.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from models.rewriter.decisions import KeepRule
from models.rewriter.inference import Rewritten, rewrite_all
from models.rewriter.rewriter import result_of, turns_of

from ..shared.data_sets import Part
from .data import RewritingRow, as_traditional, find_sets, load_rows
from .keeping import choose_rule, deciding, edit_log_probability, is_complete, is_restored, reliability
from .metrics import MEASURES, score_rewrites
from .networks import LoadedRewriter, load_checkpoint, load_shipped
from .resolvers import KnownRewrites, joined, resolve_rows, rules

_WITH_INTERVAL = ("EM", "BLEU-4", "F1", "unchanged F1")


def measure(rows: Sequence[RewritingRow], outputs: Sequence[str]) -> dict[str, dict[str, float]]:
    """Every measure of some rewrites, in percent; those of `_WITH_INTERVAL` with their 95 % interval."""
    scores = score_rewrites([row.query for row in rows], [row.target for row in rows], outputs)
    figures: dict[str, dict[str, float]] = {}
    for name in MEASURES:
        if name in _WITH_INTERVAL:
            interval = scores.interval(name)
            figures[name] = {"value": interval.value, "low": interval.low, "high": interval.high}
        else:
            figures[name] = {"value": scores.value(name)}
    return figures


def main() -> None:
    """Prints the table and, last, one JSON line."""
    arguments = _arguments()
    import torch

    torch.set_num_threads(arguments.threads)
    if arguments.weights.suffix == ".safetensors":
        rewriter = load_shipped(arguments.weights, arguments.cache, arguments.device)
    else:
        rewriter = load_checkpoint(arguments.weights, arguments.cache)
        rewriter.network.to(arguments.device)
        if arguments.bf16:
            rewriter.network.body.to(torch.bfloat16)
    try:
        chosen = list(find_sets(arguments.sets))
    except ValueError as error:
        sys.exit(str(error))
    parts = {data_set.name: load_rows(arguments.data, data_set) for data_set in chosen}

    rule = rewriter.rule
    if rule is None:
        tuning = [row for data_set in chosen for row in parts[data_set.name][Part.TUNE]]
        rule = choose_rule(tuning, rewriter.rewrite(tuning))
    table = Table("set", "rows", "method", *MEASURES)
    report: dict[str, Any] = {"part": arguments.part, "rule": asdict(rule)}
    decided: list[tuple[RewritingRow, Rewritten]] = []
    for data_set in chosen:
        rows = parts[data_set.name][Part(arguments.part)][: arguments.limit]
        outputs = {"copy": [row.query for row in rows]}
        if not arguments.no_rules:
            outputs["rules"] = resolve_rows(rules(), rows, "rules")
        rewritten = rewriter.rewrite(rows)
        outputs["ours"] = [rewrite.text(rule) for rewrite in rewritten]
        if arguments.joined:
            outputs["ours with rules"] = _rewrite_jointly(rewriter, rows, rule)
        decided += zip(rows, rewritten, strict=True)
        if data_set.chinese and arguments.traditional:
            converted = [as_traditional(row) for row in rows]
            texts = [rewrite.text(rule) for rewrite in rewriter.rewrite(converted)]
            _add(table, report, f"{data_set.name} (Traditional)", converted, {"ours": texts})
        _add(table, report, data_set.name, rows, outputs)
        for kind in sorted({row.kind for row in rows} - {""}):
            numbers = [number for number, row in enumerate(rows) if row.kind == kind]
            _add(
                table,
                report,
                f"{data_set.name}: {kind}",
                [rows[number] for number in numbers],
                {method: [texts[number] for number in numbers] for method, texts in outputs.items()},
            )
        _show(rows, rewritten, rule, arguments.show)
    Console(width=220).print(table)
    report["reliability"] = _reliability(decided, rule)
    sys.stdout.write(json.dumps(report, ensure_ascii=False) + "\n")


def _rewrite_jointly(rewriter: LoadedRewriter, rows: Sequence[RewritingRow], rule: KeepRule) -> list[str]:
    """Rewrites of the rewriter joined with the rules, as in the service."""
    requests = KnownRewrites()
    resolve_rows(joined(requests), rows, "requests")  # of the last turns only: see RewritingResolver
    features = [rewriter.reader.read(turns_of(request), request.query) for request in requests.missed]
    rewritten = rewrite_all(rewriter.network, features, pad_id=rewriter.pad_id)
    rewrites = {
        request: result_of(request, rewrite, rule) for request, rewrite in zip(requests.missed, rewritten, strict=True)
    }
    return resolve_rows(joined(KnownRewrites(rewrites)), rows, "joined")


def _add(
    table: Table, report: dict[str, Any], name: str, rows: Sequence[RewritingRow], outputs: dict[str, list[str]]
) -> None:
    report[name] = {"rows": len(rows)}
    for method, texts in outputs.items():
        measured = measure(rows, texts)
        cells = [
            f"{figures['value']:.1f}" + (f" ±{(figures['high'] - figures['low']) / 2:.1f}" if "low" in figures else "")
            for figures in measured.values()
        ]
        table.add_row(name, str(len(rows)), method, *cells)
        report[name][method] = {
            measure: {key: round(value, 2) for key, value in figures.items()} for measure, figures in measured.items()
        }


def _reliability(decided: Sequence[tuple[RewritingRow, Rewritten]], rule: KeepRule) -> dict[str, Any]:
    """Measures the reliability of decisions to keep a query (sets with both kinds) and of edits (where needed)."""
    rows, rewrites = [row for row, _ in decided], [rewritten for _, rewritten in decided]
    complete, restored = is_complete(rows), is_restored(rows, rewrites)
    deciding_rows = list(deciding(rows))
    incomplete = [number for number in range(len(rows)) if not complete[number]]
    raw = [rewrites[number].rewrite.keep_probability for number in deciding_rows]
    keep = [rule.keep_probability(rewrites[number].rewrite) for number in deciding_rows]
    right = [rule.right_probability(edit_log_probability(rewrites[number])) for number in incomplete]
    return {
        "keep, as the network says it": asdict(reliability(raw, complete[deciding_rows])),
        "keep": asdict(reliability(keep, complete[deciding_rows])),
        "edit": asdict(reliability(right, restored[incomplete])),
    }


def _show(rows: Sequence[RewritingRow], rewrites: Sequence[Rewritten], rule: KeepRule, count: int) -> None:
    missed = [
        (row, rewritten)
        for row, rewritten in zip(rows, rewrites, strict=True)
        if score_rewrites([row.query], [row.target], [rewritten.text(rule)]).value("EM") == 0
    ]
    for row, rewritten in missed[:count]:
        sys.stdout.write(
            f"{' | '.join(row.turns[-4:])} => {row.query}\n  want {row.target}\n  got  {rewritten.text(rule)}"
            f"  (keep {rewritten.rewrite.keep_probability:.2f}, edits {rewritten.rewrite.log_probability:.2f})\n"
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures the rewriter beside its baselines.")
    parser.add_argument("data", type=Path, help="folder of the query-rewriting data sets")
    parser.add_argument("--weights", type=Path, required=True, help="a checkpoint, or the file that ships")
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    parser.add_argument("--sets", default="all", help="all, open, or names")
    parser.add_argument("--part", choices=[Part.REPORT.value, Part.TUNE.value], default=Part.REPORT.value)
    parser.add_argument("--limit", type=int, default=None, help="rows of a set, at most")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--bf16", action="store_true", help="a checkpoint's body computes in bf16")
    parser.add_argument("--joined", action="store_true", help="also the rewriter joined with the rules")
    parser.add_argument("--no-rules", action="store_true", help="leave the rules out")
    parser.add_argument("--traditional", action="store_true", help="also in Traditional characters")
    parser.add_argument("--show", type=int, default=0, help="print this many misses of a set")
    return parser.parse_args()


if __name__ == "__main__":
    main()
