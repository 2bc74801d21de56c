"""Trains the answer reader's head that says which lines a request to forget means, and writes it beside the others.

    python -m training.answers.forgets --corpus FOLDER … --weights FILE.safetensors --cache MODELS [--part tune]

The network has learned to compare a question with lines; a small head on its frozen states takes minutes and changes
nothing else that it finds. With `--part` nothing is trained: the head of the file is measured on that part. The last
line is JSON.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from memory.governance.forget_matches import likely_places
from memory.governance.forget_targets import find_target
from memory.language.keywords import KeywordAnalyzer
from memory.ports.models.answer_reading import MAX_ANSWER_LINES, AnswerReading, AnswerReadRequest, DatedLine
from models.answers.inference import collate
from models.answers.network import MeantHead
from models.batching.engine import padded_batches
from models.body.network_parts import evaluating

from ..shared.chat_corpus import blocks, files_of, language_of
from ..shared.data_sets import Part
from ..shared.heads import one_of_each, train_head
from ..shared.weight_files import replace_weights
from .networks import LoadedAnswerReader, load_shipped

_BATCH_TOKENS = 4096
_EPOCHS = 40
_ROWS = 16
_DECAY = 0.02
_ANALYZER = KeywordAnalyzer()
_LINE = re.compile(r"\d+ (.+)")
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class MarkedRequest:
    """A request to forget after what the user had said.

    Attributes:
        language: Of `shared.chat_corpus.LANGUAGES`.
        request: The request as the question, and the lines from the oldest to the newest.
        meant: For each line how surely it is meant: 1, 0, or 0.5 where it is one of several that may be.
    """

    language: str
    request: AnswerReadRequest
    meant: tuple[float, ...]


def read_forgets(folders: Sequence[Path], part: Part) -> list[MarkedRequest]:
    """The marked requests of a part, from the `forgets` folders of corpora, over the latest lines before each."""
    return [
        request
        for path in files_of(folders, "forgets", part)
        for block in blocks(path)
        for request in _requests(block, language_of(path))
    ]


def _requests(block: Sequence[tuple[int, str]], language: str) -> Iterator[MarkedRequest]:
    at = datetime.min.replace(tzinfo=UTC)
    lines: list[DatedLine] = []
    for _, line in block:
        if line.startswith("@ "):
            at = datetime.strptime(line[2:].strip(), "%Y-%m-%d").replace(tzinfo=UTC, hour=12)
        elif line.startswith("R: "):
            text, _, numbers = line[3:].rpartition("=>")
            share = 0.5 if "/" in numbers else 1.0
            meant = [0.0] * len(lines)
            for number in map(int, re.findall(r"[1-9]\d*", numbers)):
                meant[number - 1] = share
            read = AnswerReadRequest(question=text.strip(), lines=tuple(lines[-MAX_ANSWER_LINES:]), now=at)
            yield MarkedRequest(language, read, tuple(meant[-MAX_ANSWER_LINES:]))
        elif found := _LINE.match(line):
            lines.append(DatedLine(text=found.group(1), said_at=at))
        at += _MINUTE


def main() -> None:
    """Trains and writes the head, or measures it; prints a table and, last, one JSON line."""
    arguments = _arguments()
    torch.set_num_threads(arguments.threads)
    if arguments.part is None:
        train(arguments.corpus, arguments.weights, arguments.cache)
    part = Part(arguments.part or Part.TUNE)
    figures = measure(load_shipped(arguments.weights, arguments.cache), read_forgets(arguments.corpus, part))
    _print(part, figures)
    sys.stdout.write(json.dumps({"part": part.value, **figures}) + "\n")


def train(corpora: Sequence[Path], weights: Path, cache: Path) -> None:
    """Trains a head on the network of a weight file, and writes it there."""
    loaded = load_shipped(weights, cache)
    marked = read_forgets(corpora, Part.TRAIN)
    torch.manual_seed(0)
    head = MeantHead(loaded.network.shape.hidden)
    inputs = inputs_of(loaded, [row.request for row in marked])
    labels = [torch.tensor(row.meant) for row in marked]
    train_head(head, inputs, labels, loss=one_of_each, epochs=_EPOCHS, batch=_ROWS, decay=_DECAY)
    shape = loaded.settings.shape.model_copy(update={"meant": True})
    parameters = {f"meant.{name}": parameter for name, parameter in head.named_parameters()}
    replace_weights(weights, parameters, loaded.settings.model_copy(update={"shape": shape}))


def inputs_of(loaded: LoadedAnswerReader, requests: Sequence[AnswerReadRequest]) -> list[Tensor]:
    """What the network makes of each line of each request, from the oldest to the newest: (lines, 5 · hidden)."""
    features = list(enumerate(map(loaded.reader.read, requests)))
    made: dict[int, Tensor] = {}
    with evaluating(loaded.network):
        for batch in padded_batches(features, lambda item: item[1].token_count, max_tokens=_BATCH_TOKENS):
            tensors = collate([row for _, row in batch], pad_id=loaded.pad_id)
            inputs, _ = loaded.network.line_inputs(loaded.network.states(tensors), tensors)
            made |= {number: rows[: len(row.order)] for (number, row), rows in zip(batch, inputs, strict=True)}
    return [made[number] for number in range(len(requests))]


def measure(loaded: LoadedAnswerReader, marked: Sequence[MarkedRequest]) -> dict[str, dict[str, float]]:
    """What would become of the requests that mean something, in percent, of all and by language."""
    readings = loaded.read([row.request for row in marked])
    outcomes = [(row.language, _outcome(row, reading)) for row, reading in zip(marked, readings, strict=True)]
    figures = {}
    for language in ("all", *sorted({row.language for row in marked})):
        of_group = [outcome for of, outcome in outcomes if outcome and language in ("all", of)]
        count = max(1, len(of_group))
        figures[language] = {"requests": len(of_group)} | {
            name: round(100 * of_group.count(name) / count, 1) for name in ("right", "wrong", "asked", "not found")
        }
    return figures


def _outcome(marked: MarkedRequest, reading: AnswerReading) -> str | None:
    """What becomes of a request by its reading alone; None where it is not clear what it means."""
    if max(marked.meant, default=0.0) != 1.0:
        return None
    everything = find_target(marked.request.question, _ANALYZER).everything
    likely, is_sure = likely_places([line.meant for line in reading.lines], everything=everything)
    if not is_sure:
        return "asked" if likely else "not found"
    return "right" if likely == [number for number, share in enumerate(marked.meant) if share] else "wrong"


def _print(part: Part, figures: dict[str, dict[str, float]]) -> None:
    table = Table("requests to forget", *figures["all"], title=f"what they mean, {part.value}, %")
    for group, values in figures.items():
        table.add_row(group, *(f"{value:g}" for value in values.values()))
    Console().print(table)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains the head that says which lines a request to forget means.")
    parser.add_argument("--corpus", type=Path, nargs="+", required=True, help="folders of chat corpora")
    parser.add_argument("--weights", type=Path, required=True, help="the file that ships; the head is written to it")
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    parser.add_argument("--part", choices=[part.value for part in Part], help="measure this part, and train nothing")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
