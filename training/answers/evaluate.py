"""Measures the answer reader: the `answers` of the chat corpus and the questions of its scenarios.

    python -m training.answers.evaluate CORPUS --corpus FOLDER … --weights FILE --cache MODELS [--documents DATA]
        [--part tune] [--show N]

FILE is a checkpoint of training, or the file that ships (`training.answers.export`). With `--part report` only
totals are printed. The last line is JSON.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from memory.ports.models.answer_reading import AnswerReading

from ..corpora.questions import MarkedLines, read_answers, read_scenarios
from ..shared.data_sets import Part
from .examples import LabelledRequest
from .metrics import best_line, is_right, scores
from .networks import load_checkpoint, load_shipped
from .passages import read_passages
from .rows import rows_of

Pair = tuple[LabelledRequest, AnswerReading]


def main() -> None:
    """Prints the tables and, last, one JSON line."""
    arguments = _arguments()
    import torch

    from models.body.gate import has_fast_bf16

    torch.set_num_threads(arguments.threads)
    shipped = arguments.weights.suffix == ".safetensors"
    loaded = (load_shipped if shipped else load_checkpoint)(arguments.weights, arguments.cache)
    if not shipped and has_fast_bf16():
        loaded.network.body.to(torch.bfloat16)
    part, corpora = Part(arguments.part), [arguments.data, *arguments.corpus]
    read = [*read_answers(corpora, part), *read_scenarios(corpora, part)]
    if arguments.documents is not None:
        read += read_passages(arguments.documents, part)
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for name in dict.fromkeys(block.source for block in read):
        blocks_of_set = [block for block in read if block.source is name]
        groups: dict[str, list[Pair]] = {"all": []}
        for language, blocks in _by_language(blocks_of_set).items():
            rows = rows_of(blocks)
            pairs = list(zip(rows, loaded.read([row.request for row in rows]), strict=True))
            groups["all"] += pairs
            groups[language] = pairs
        for kind in sorted({row.kind for row, _ in groups["all"]}):
            groups[kind] = [pair for pair in groups["all"] if pair[0].kind == kind]
        if part is not Part.REPORT:
            _show([pair for pair in groups["all"] if not is_right(*pair)][: arguments.show])
        figures[name] = {
            f"{group} ({len(pairs)})": scores([row for row, _ in pairs], [reading for _, reading in pairs])
            for group, pairs in groups.items()
        }
        _print(f"{name}, {part.value}", figures[name])
    sys.stdout.write(json.dumps({"part": part.value, **figures}, ensure_ascii=False) + "\n")


def _by_language(blocks: Sequence[MarkedLines]) -> dict[str, list[MarkedLines]]:
    languages: dict[str, list[MarkedLines]] = {}
    for block in blocks:
        languages.setdefault(block.language, []).append(block)
    return languages


def _print(title: str, figures: dict[str, dict[str, float]]) -> None:
    measures = next(iter(figures.values()))
    table = Table("questions", *measures, title=f"{title}, %")
    for group, values in figures.items():
        table.add_row(group, *(f"{value:.1f}" for value in values.values()))
    Console(width=140).print(table)


def _show(wrong: Sequence[Pair]) -> None:
    for row, reading in wrong:
        lines, best = row.request.lines, best_line(reading)
        wanted = " / ".join(lines[number].text for number in row.gold) or "nothing"
        sys.stdout.write(
            f"{row.kind}: {row.request.question}\n  wanted {wanted}\n"
            f"  got {lines[best].text} ({reading.lines[best].answers:.2f}), none {reading.unanswered:.2f}\n"
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures the answer reader.")
    parser.add_argument("data", type=Path, help="folder of the chat corpus")
    parser.add_argument("--corpus", type=Path, nargs="*", default=(), help="further folders of chat corpora")
    parser.add_argument("--documents", type=Path, help="folder of data with passages, see passages.py")
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    parser.add_argument("--part", choices=[part.value for part in Part], default=Part.TUNE.value)
    parser.add_argument("--show", type=int, default=0, help="wrong rows to print, never those of the report")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
