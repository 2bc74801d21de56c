"""Trains the reader's head that tells requests for an overview, on the network as it ships, and writes it there.

    python -m training.reader.overviews --corpus FOLDER … --weights FILE.safetensors --cache MODELS [--part tune]

What a message is about as a whole is enough for that: a small head on frozen states, which takes minutes and changes
nothing else that the reader finds. With `--part` nothing is trained: the head of the file is measured on that
part. The last line is JSON.
"""

import argparse
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor
from torch.nn import functional

from memory.values.understanding.readings import Intent, ReadRequest
from models.batching.engine import padded_batches
from models.body.network_parts import evaluating
from models.reader.network import OverviewHead

from ..shared.chat_corpus import files_of, language_of
from ..shared.data_sets import Part
from ..shared.weight_files import replace_weights
from .corpus import read_messages
from .networks import LoadedReader, load_shipped

_BATCH_TOKENS = 4096
_EPOCHS = 60
_ROWS = 64
_RATE = 1e-3
_DECAY = 0.01
_STATEMENTS = 800
_QUESTIONS = 1500
"""Messages of the corpora that state something, and questions that ask for one thing: as many as are drawn."""
_OPEN = frozenset({"several", "aggregate", "preference"})
"""Kinds of questions that may ask for an overview."""


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A message, and whether it asks for an overview."""

    language: str
    text: str
    asks: bool


def read_overviews(folders: Sequence[Path], part: Part) -> list[MarkedText]:
    """The marked messages of a part, from the `overviews` folders of corpora: `+` asks for one, `-` does not."""
    return [
        MarkedText(language_of(path), line[2:].strip(), asks=line.startswith("+ "))
        for path in files_of(folders, "overviews", part)
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith(("+ ", "- "))
    ]


def main() -> None:
    """Trains and writes the head, or measures it; prints a table and, last, one JSON line."""
    arguments = _arguments()
    torch.set_num_threads(arguments.threads)
    loaded = load_shipped(arguments.weights, arguments.cache)
    if arguments.part is None:
        marked = read_overviews(arguments.corpus, Part.TRAIN)
        texts = [*marked, *_statements(arguments.corpus), *_questions(arguments.corpus, Part.TRAIN)]
        loaded.network.overview = head = OverviewHead(loaded.network.shape.hidden)
        train_head(head, summaries(loaded, [row.text for row in texts]), [row.asks for row in texts])
        tuned = [*read_overviews(arguments.corpus, Part.TUNE), *_questions(arguments.corpus, Part.TUNE)]
        with torch.no_grad():
            scores = head(summaries(loaded, [row.text for row in tuned])).sigmoid().tolist()
        bound = choose_bound(scores, [row.asks for row in tuned])
        thresholds = loaded.settings.thresholds.model_copy(update={"overview": bound})
        loaded = replace(loaded, settings=loaded.settings.model_copy(update={"thresholds": thresholds}))
        parameters = {f"overview.{name}": parameter for name, parameter in head.named_parameters()}
        replace_weights(arguments.weights, parameters, loaded.settings)
    part = Part(arguments.part or Part.TUNE)
    figures = measure(loaded, read_overviews(arguments.corpus, part))
    _print(part, figures)
    sys.stdout.write(json.dumps({"part": part.value, **figures}) + "\n")


def summaries(loaded: LoadedReader, texts: Sequence[str]) -> Tensor:
    """What the network makes of messages as a whole, shape (texts, 2 · hidden); of a long one its beginning."""
    windows = [(number, loaded.reader.read(ReadRequest(text=text))[0]) for number, text in enumerate(texts)]
    rows: dict[int, Tensor] = {}
    with evaluating(loaded.network):
        for batch in padded_batches(windows, lambda item: item[1].token_count, max_tokens=_BATCH_TOKENS):
            made = loaded.network.summary(*loaded.states([window for _, window in batch]))
            rows |= {number: row for (number, _), row in zip(batch, made, strict=True)}
    return torch.stack([rows[number] for number in range(len(texts))])


def train_head(head: OverviewHead, inputs: Tensor, asks: Sequence[bool], *, seed: int = 0) -> None:
    """Trains a head in place.

    Args:
        head: Untrained.
        inputs: From `summaries`.
        asks: Whether each asks for an overview.
        seed: Of the order of rows and of dropout.
    """
    torch.manual_seed(seed)
    labels = torch.tensor(asks, dtype=torch.float32)
    optimiser = torch.optim.AdamW(head.parameters(), lr=_RATE, weight_decay=_DECAY)
    head.train()
    for _ in track(range(_EPOCHS), "epochs", console=Console(stderr=True)):
        for batch in torch.randperm(len(inputs)).split(_ROWS):
            optimiser.zero_grad()
            functional.binary_cross_entropy_with_logits(head(inputs[batch]), labels[batch]).backward()
            optimiser.step()
    head.eval()


def choose_bound(scores: Sequence[float], asks: Sequence[bool]) -> float:
    """The probability from which a message is taken for a request, where F1 is best.

    Args:
        scores: Of tuning messages.
        asks: Whether each asks for an overview.
    """

    def f1(bound: float) -> float:
        right = sum(asked for score, asked in zip(scores, asks, strict=True) if score >= bound)
        return 2 * right / max(1, sum(score >= bound for score in scores) + sum(asks))

    return max((number / 20 for number in range(2, 19)), key=f1)


def measure(loaded: LoadedReader, texts: Sequence[MarkedText]) -> dict[str, dict[str, float]]:
    """Recall and the share of others that are taken for one, in percent, of all and by language."""
    readings = loaded.read([ReadRequest(text=row.text) for row in texts])
    figures = {}
    for language in ("all", *sorted({row.language for row in texts})):
        pairs = [
            (row, reading.overview)
            for row, reading in zip(texts, readings, strict=True)
            if language in ("all", row.language)
        ]
        found = [taken for row, taken in pairs if row.asks]
        wrong = [taken for row, taken in pairs if not row.asks]
        figures[language] = {
            "asks": len(found),
            "found": round(100 * sum(found) / max(1, len(found)), 1),
            "others": len(wrong),
            "taken for one": round(100 * sum(wrong) / max(1, len(wrong)), 1),
        }
    return figures


def _statements(folders: Sequence[Path]) -> list[MarkedText]:
    rows = [
        MarkedText(row.language, row.text, asks=False)
        for row in read_messages(folders, Part.TRAIN)
        if row.intents == (Intent.STATEMENT,)
    ]
    return _drawn(rows, _STATEMENTS)


def _questions(folders: Sequence[Path], part: Part) -> list[MarkedText]:
    rows = []
    for path in (*files_of(folders, "answers", part), *files_of(folders, "scenarios", part)):
        for line in path.read_text(encoding="utf-8").splitlines():
            question, arrow, rest = line.removeprefix("? ").partition(" => ")
            if line.startswith("? ") and arrow and not any(kind in rest for kind in _OPEN):
                rows.append(MarkedText(language_of(path), question.strip(), asks=False))
    return _drawn(rows, _QUESTIONS)


def _drawn(rows: Sequence[MarkedText], count: int) -> list[MarkedText]:
    return random.Random(0).sample(rows, min(count, len(rows)))


def _print(part: Part, figures: dict[str, dict[str, float]]) -> None:
    table = Table("messages", "ask", "found %", "others", "taken for one %", title=f"overviews, {part.value}")
    for group, values in figures.items():
        table.add_row(group, *(f"{value:g}" for value in values.values()))
    Console().print(table)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains the reader's head that tells requests for an overview.")
    parser.add_argument("--corpus", type=Path, nargs="+", required=True, help="folders of chat corpora")
    parser.add_argument("--weights", type=Path, required=True, help="the file that ships; the head is written to it")
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    parser.add_argument("--part", choices=[part.value for part in Part], help="measure this part, and train nothing")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
