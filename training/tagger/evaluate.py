"""Measures the tagger beside the rules.

    python -m training.tagger.evaluate DATA --weights FILE --cache MODELS --chat-names FILE [--part tune]

FILE is a checkpoint of training, or the file that ships (`training.tagger.export`).

Prints one table: each set's own task (F1 over offsets and label, the network told the source), its subtypes as in a
chat (no source told) for the model and for the rules (`memory.extraction`), and the hand-labelled chat set; then one
JSON line with all of it and the 95 % intervals.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from memory.extraction.extractor import RuleExtractor
from memory.values.mentions import EntitySubtype, MentionLevel, TaggedSpan
from models.tagger.labels import SUBTYPES

from ..shared.data_sets import Part
from .ner_data import find_ner_sets, load_sets
from .ner_files import MarkedText, read_chat_names
from .ner_metrics import Key, SpanScores, covered_subtypes, marked_labels, marked_names, score_labels, score_names
from .ner_sets import NER_SETS, NerSet
from .networks import LoadedTagger, load_tagger

_CHAT_SCRIPTS = ("zh-Hant", "zh-Hans", "en")


@dataclass(slots=True)
class Report:
    """Collects the scores as a table and as JSON."""

    table: Table = field(
        default_factory=lambda: Table("set", "texts", "task", "method", "P", "R", "F1 [95 %]", "published")
    )
    figures: dict[str, Any] = field(default_factory=dict)

    def add(self, name: str, task: str, method: str, scores: SpanScores, published: str = "") -> None:
        """Adds a row to the table and the JSON."""
        interval = scores.interval()
        row = (f"{scores.precision:.1f}", f"{scores.recall:.1f}", str(interval), published)
        self.table.add_row(name, str(len(scores.counts)), task, method, *row)
        self.figures.setdefault(name, {}).setdefault(task, {})[method] = {
            "P": round(scores.precision, 2),
            "R": round(scores.recall, 2),
            "F1": round(interval.value, 2),
            "low": round(interval.low, 2),
            "high": round(interval.high, 2),
        }


def tag_by_rules(texts: Sequence[str]) -> list[list[TaggedSpan]]:
    """Names that the first version keeps for the long term."""
    rules = RuleExtractor()
    return [
        [
            TaggedSpan(
                start=mention.start,
                end=mention.end,
                label=mention.source,
                subtype=mention.subtype,
                score=mention.confidence,
            )
            for mention in rules.extract_one(text).mentions
            if mention.level is MentionLevel.LONG_TERM
        ]
        for text in texts
    ]


def main() -> None:
    """Prints the table and, last, one JSON line."""
    arguments = _arguments()
    import torch

    torch.set_num_threads(arguments.threads)
    loaded = load_tagger(arguments.weights, arguments.cache)
    loaded.network.to(arguments.device)
    if arguments.bf16:
        loaded.network.body.to(torch.bfloat16)
    try:
        chosen = list(find_ner_sets(arguments.sets))
    except ValueError as error:
        sys.exit(str(error))
    report = Report()
    report.figures["part"] = arguments.part
    parts = load_sets(arguments.data, NER_SETS)
    for data_set in chosen:
        rows = parts[data_set.name][Part(arguments.part)][: arguments.limit]
        measure_set(report, loaded, data_set, rows, arguments.show)
    measure_chat(report, loaded, read_chat_names(arguments.chat_names), arguments.show)
    Console(width=200).print(report.table)
    sys.stdout.write(json.dumps(report.figures, ensure_ascii=False) + "\n")


def measure_set(report: Report, loaded: LoadedTagger, data_set: NerSet, rows: Sequence[MarkedText], show: int) -> None:
    """Measures the task of a data set, and its subtypes by the model and by the rules."""
    texts = [row.text for row in rows]
    if data_set.scored:
        marked = marked_labels(rows, data_set)
        spans = loaded.labels(texts, data_set.scored, source=data_set.name)
        report.add(data_set.name, "own labels", "ours", score_labels(marked, spans), data_set.published)
        _show(rows, marked, [{(s.start, s.end, s.label) for s in found} for found in spans], show)
    if covered_subtypes(data_set):
        names = marked_names(rows, data_set)
        report.add(data_set.name, "subtypes", "rules", score_names(names, tag_by_rules(texts), data_set))
        report.add(
            data_set.name, "subtypes", "ours, source not told", score_names(names, loaded.names(texts), data_set)
        )


def measure_chat(report: Report, loaded: LoadedTagger, rows: Sequence[MarkedText], show: int) -> None:
    """Measures the hand-labelled chat sentences: products, all subtypes, and offsets alone; also by script."""
    texts = [row.text for row in rows]
    marked: list[set[Key]] = [{(span.start, span.end, span.label) for span in row.spans} for row in rows]
    ours = [_keys(spans) for spans in loaded.names(texts)]
    for method, found in (("rules", [_keys(spans) for spans in tag_by_rules(texts)]), ("ours", ours)):
        for task, counted in (("products", frozenset({EntitySubtype.PRODUCT})), ("subtypes", frozenset(SUBTYPES))):
            report.add("chat", task, method, SpanScores.of(_of(marked, counted), _of(found, counted)))
        untyped = SpanScores.of([_untyped(keys) for keys in marked], [_untyped(keys) for keys in found])
        report.add("chat", "offsets", method, untyped)
        for script in _CHAT_SCRIPTS:
            numbers = [number for number, text in enumerate(texts) if script_of(text) == script]
            counted = frozenset({EntitySubtype.PRODUCT})
            scores = SpanScores.of(
                _of([marked[number] for number in numbers], counted),
                _of([found[number] for number in numbers], counted),
            )
            report.add(f"chat {script}", "products", method, scores)
    _show(rows, marked, ours, show)


def script_of(text: str) -> str:
    """`zh-Hant`, `zh-Hans` or `en`; what holds no character that tells the scripts apart counts as Simplified."""
    from memory.values.text import has_han, is_traditional

    return "en" if not has_han(text) else "zh-Hant" if is_traditional(text) else "zh-Hans"


def _keys(spans: Sequence[TaggedSpan]) -> set[Key]:
    return {(span.start, span.end, span.subtype.value if span.subtype else "") for span in spans}


def _of(keys: Sequence[set[Key]], subtypes: frozenset[EntitySubtype]) -> list[set[Key]]:
    return [{key for key in row if key[2] in subtypes} for row in keys]


def _untyped(keys: set[Key]) -> set[Key]:
    return {(start, end, "") for start, end, _ in keys}


def _show(rows: Sequence[MarkedText], marked: Sequence[set[Key]], found: Sequence[set[Key]], count: int) -> None:
    missed = [
        (row, expected, predicted)
        for row, expected, predicted in zip(rows, marked, found, strict=True)
        if expected != predicted
    ]
    for row, wanted, given in missed[:count]:
        sys.stdout.write(f"{row.text}\n")
        for title, keys in (("missed", wanted - given), ("found ", given - wanted)):
            listed = "、".join(f"{row.text[start:end]} ({label})" for start, end, label in sorted(keys))
            sys.stdout.write(f"  {title} {listed}\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures the tagger beside the rules.")
    parser.add_argument("data", type=Path, help="folder of the data sets of names")
    parser.add_argument("--weights", type=Path, required=True, help="a checkpoint, or the file that ships")
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    parser.add_argument("--chat-names", type=Path, required=True, help="the hand-labelled chat set")
    parser.add_argument("--sets", default="all", help="all, open, or names")
    parser.add_argument("--part", choices=[Part.REPORT.value, Part.TUNE.value], default=Part.REPORT.value)
    parser.add_argument("--limit", type=int, default=None, help="texts of a set, at most")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--bf16", action="store_true", help="compute the body as it is served where bf16 is fast")
    parser.add_argument("--show", type=int, default=0, help="print this many texts with a miss of a set")
    return parser.parse_args()


if __name__ == "__main__":
    main()
