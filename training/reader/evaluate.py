"""Measures the reader: the chat corpus by language and category, the public data sets of rewriting and of names.

    python -m training.reader.evaluate DATA --corpus FOLDER … --weights FILE --cache MODELS [--part tune] [--show N]

FILE is a checkpoint of training, or the file that ships (`training.reader.export`). The last line is JSON.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from memory.values.understanding.readings import Intent, Rewrite

from ..names.ner_data import load_sets
from ..names.ner_metrics import marked_labels, marked_names, score_labels, score_names
from ..names.ner_sets import NER_SETS
from ..rewriting.data import DATA_SETS, RewritingRow, load_rows
from ..rewriting.metrics import score_rewrites
from ..shared.data_sets import Part
from .corpus import MarkedMessage, MarkedQuery, read_intents, read_messages, read_queries
from .examples import request_of
from .metrics import is_right, score_messages, score_references, share
from .networks import LoadedReader, load_checkpoint, load_shipped, name_labels

Figures = dict[str, float]


def main() -> None:
    """Prints the tables and, last, one JSON line."""
    arguments = _arguments()
    import torch

    torch.set_num_threads(arguments.threads)
    shipped = arguments.weights.suffix == ".safetensors"
    loaded = (load_shipped if shipped else load_checkpoint)(arguments.weights, arguments.cache)
    if not shipped:
        loaded.network.body.to(torch.bfloat16)
    part = Part(arguments.part)
    figures: dict[str, Figures] = {}
    queries = read_queries(arguments.corpus, part)
    figures["references"] = measure_queries(loaded, queries, arguments.show)
    figures["messages"] = measure_messages(loaded, arguments.corpus, part)
    figures["requests to forget"] = measure_forget_requests(loaded, read_intents(arguments.corpus, part))
    if arguments.data:
        figures["rewriting"] = measure_rewriting(loaded, arguments.data, part, arguments.limit)
        figures["names"] = measure_names(loaded, arguments.data, part, arguments.limit)
    console = Console(width=120)
    for title, values in figures.items():
        table = Table("what", "%", title=f"{title}, {part.value}")
        for name, value in values.items():
            table.add_row(name, f"{value:.1f}")
        console.print(table)
    sys.stdout.write(json.dumps({"part": part.value, **figures}, ensure_ascii=False) + "\n")


def measure_queries(loaded: LoadedReader, queries: Sequence[MarkedQuery], show: int) -> Figures:
    """Right shares by action, language and category."""
    rewrites = [reading.rewrite for reading in loaded.read([request_of(query.query, query.turns) for query in queries])]
    _show([pair for pair in zip(queries, rewrites, strict=True) if not is_right(*pair)][:show])
    counts = score_references(queries, rewrites)
    rows = {f"{kind} ({counts[kind]['rows']})": share(counts, kind) for kind in sorted(counts)}
    return {"all": share(counts, "all"), **rows}


def measure_messages(loaded: LoadedReader, corpus: Sequence[Path], part: Part) -> Figures:
    """Names, intents and facts, in all and by language."""
    messages = read_messages(corpus, part)
    readings = loaded.read([request_of(row.text, row.turns) for row in messages])
    figures = score_messages(messages, readings)
    for language in dict.fromkeys(message.language for message in messages):
        of_language = [pair for pair in zip(messages, readings, strict=True) if pair[0].language == language]
        scores = score_messages([message for message, _ in of_language], [reading for _, reading in of_language])
        figures |= {f"{language}: {name}": scores[name] for name in ("names F1", "intents F1", "facts F1", "facts P")}
    return figures


def measure_forget_requests(loaded: LoadedReader, messages: Sequence[MarkedMessage]) -> Figures:
    """Found requests to forget among messages many of which only look like one."""
    readings = loaded.read([request_of(row.text, row.turns) for row in messages])
    found = [Intent.FORGET in {intent for intent, _ in reading.intents} for reading in readings]
    asked = [Intent.FORGET in message.intents for message in messages]
    right = sum(each and other for each, other in zip(found, asked, strict=True))
    precision, recall = (100.0 * right / max(1, sum(values)) for values in (found, asked))
    return {f"precision ({sum(found)})": round(precision, 1), f"recall ({sum(asked)})": round(recall, 1)}


def measure_rewriting(loaded: LoadedReader, data: Path, part: Part, limit: int | None) -> Figures:
    """Exact match on the public data sets, in all and by their kinds of queries."""
    figures = {}
    for data_set in DATA_SETS:
        rows = load_rows(data / "rewriting", data_set)[part][:limit]
        texts = [reading.rewrite.text for reading in loaded.read([request_of(row.query, row.turns) for row in rows])]
        for kind in ("", *sorted({row.kind for row in rows if row.kind})):
            chosen = [(row, text) for row, text in zip(rows, texts, strict=True) if kind in ("", row.kind)]
            name = f"{data_set.name} {kind}".strip() + f" ({len(chosen)})"
            figures[name] = _exact([row for row, _ in chosen], [text for _, text in chosen])
    return figures


def _exact(rows: Sequence[RewritingRow], texts: Sequence[str]) -> float:
    return round(score_rewrites([row.query for row in rows], [row.target for row in rows], texts).value("EM"), 1)


def measure_names(loaded: LoadedReader, data: Path, part: Part, limit: int | None) -> Figures:
    """F1 of each set's own task (its source told), and of the subtypes with no source told, as in a chat."""
    figures = {}
    parts = load_sets(data / "ner", NER_SETS)
    for data_set in NER_SETS:
        rows = parts[data_set.name][part][:limit]
        texts = [row.text for row in rows]
        if data_set.scored:
            found = name_labels(loaded, texts, data_set.scored, source=data_set.name)
            figures[f"{data_set.name} own labels"] = round(score_labels(marked_labels(rows, data_set), found).f1, 1)
        readings = loaded.read([request_of(text) for text in texts])
        names = [reading.names for reading in readings]
        figures[f"{data_set.name} subtypes"] = round(score_names(marked_names(rows, data_set), names, data_set).f1, 1)
    return figures


def _show(wrong: Sequence[tuple[MarkedQuery, Rewrite]]) -> None:
    for query, rewrite in wrong:
        options = [reference.options for reference in query.references if reference.options]
        offered = [span.text for change in rewrite.replacements for span in (*change.antecedents, *change.alternatives)]
        sys.stdout.write(
            f"{query.id} {query.category} | {' / '.join(query.turns[-4:])} | {query.query}\n"
            f"    wanted {query.action.value}: {options or query.target}\n"
            f"    got {rewrite.action.value} {rewrite.confidence:.2f}: {rewrite.text} {offered}\n"
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures the reader.")
    parser.add_argument("data", type=Path, nargs="?", help="folder of the public data sets; without it the corpus only")
    parser.add_argument("--corpus", type=Path, nargs="+", required=True, help="folders of chat corpora")
    parser.add_argument("--weights", type=Path, required=True, help="a checkpoint, or the file that ships")
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    parser.add_argument("--part", choices=[part.value for part in Part], default=Part.REPORT.value)
    parser.add_argument("--limit", type=int, default=None, help="rows of a public data set, at most")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--show", type=int, default=0, help="print so many queries that come out wrong")
    return parser.parse_args()


if __name__ == "__main__":
    main()
