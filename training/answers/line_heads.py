"""Trains a head of the answer reader that says what a message does to earlier lines, and writes it beside the others.

    python -m training.answers.line_heads KIND --corpus FOLDER … --weights FILE.safetensors --cache MODELS [--part tune]

KIND is `meant`, which lines a request to forget means, `clause`, which clauses of a message it means, or `replaced`,
which lines hold no longer after a message. The network has learned to compare a question with lines; a small head on
its frozen states takes minutes and changes nothing else that it finds. With `--part` nothing is trained: the head of
the file is measured on that part. The last line is JSON.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from memory.governance.forget_matches import likely_places
from memory.governance.forget_parts import meant_clauses
from memory.governance.forget_targets import find_target
from memory.language.keywords import KeywordAnalyzer
from memory.learning.replacements import REPLACED_FROM
from memory.ports.models.answer_reading import AnswerReading, AnswerReadRequest
from models.answers.inference import collate
from models.batching.engine import padded_batches
from models.body.network_parts import ScoreHead, evaluating

from ..shared.data_sets import Part
from ..shared.heads import binary_loss, head_parser, percent, softmax_loss, train_head, train_or_measure
from ..shared.weight_files import replace_weights
from .marked_requests import Kind, MarkedRequest, among_others, read_marked, read_requests
from .networks import LoadedAnswerReader, load_shipped

_BATCH_TOKENS = 4096
_EPOCHS = {Kind.MEANT: 40, Kind.REPLACED: 40, Kind.CLAUSE: 15}
_ROWS = 16
_DECAY = 0.02
_ANALYZER = KeywordAnalyzer()


def main() -> None:
    """Trains and writes the head, or measures it; prints a table and, last, one JSON line."""
    parser = head_parser("Trains a head that says what a message does to earlier lines.")
    parser.add_argument("kind", choices=[kind.value for kind in Kind], help="what it does to them")
    arguments = parser.parse_args()
    kind, files = Kind(arguments.kind), (arguments.weights, arguments.cache)
    train_or_measure(
        arguments,
        train=lambda: train(kind, arguments.corpus, *files),
        measure=lambda part: _figures(load_shipped(*files), kind, arguments.corpus, part),
        title=f"lines that are {kind}",
        kind=kind.value,
    )


def train(kind: Kind, corpora: Sequence[Path], weights: Path, cache: Path) -> None:
    """Trains a head on the network of a weight file, and writes it there."""
    loaded = load_shipped(weights, cache)
    marked = read_marked(corpora, kind, Part.TRAIN)
    if kind is Kind.MEANT:
        marked = among_others(marked, corpora)
    inputs = inputs_of(loaded, [row.request for row in marked])
    labels = [torch.tensor(row.marks) for row in marked]
    torch.manual_seed(0)
    head = ScoreHead(loaded.network.shape.hidden, states=5)
    loss = binary_loss if kind is Kind.CLAUSE else softmax_loss
    train_head(head, inputs, labels, loss=loss, epochs=_EPOCHS[kind], batch=_ROWS, decay=_DECAY)
    shape = loaded.settings.shape.model_copy(update={kind.value: True})
    parameters = {f"{kind}.{name}": parameter for name, parameter in head.named_parameters()}
    replace_weights(weights, parameters, loaded.settings.model_copy(update={"shape": shape}))


def _figures(
    loaded: LoadedAnswerReader, kind: Kind, corpora: Sequence[Path], part: Part
) -> dict[str, dict[str, float]]:
    """Those of a part; of requests to forget also among as many lines as they were trained on, and of those that mean
    parts of messages, which message they mean.
    """
    marked = read_marked(corpora, kind, part)
    figures = measure(loaded, kind, marked)
    if kind is Kind.MEANT:
        figures["among others"] = measure(loaded, kind, among_others(marked, corpora))["all"]
        figures["in part"] = measure(loaded, kind, read_requests(corpora, part, "forget_parts"))["all"]
    return figures


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


def measure(loaded: LoadedAnswerReader, kind: Kind, marked: Sequence[MarkedRequest]) -> dict[str, dict[str, float]]:
    """What would become of the messages, in percent, of all and by language."""
    readings = loaded.read([row.request for row in marked])
    of_kind = {Kind.MEANT: _forgotten, Kind.REPLACED: _replaced, Kind.CLAUSE: count_parts}[kind]
    figures = {}
    for language in ("all", *sorted({row.language for row in marked})):
        figures[language] = of_kind(
            [pair for pair in zip(marked, readings, strict=True) if language in ("all", pair[0].language)]
        )
    return figures


def _forgotten(read: Sequence[tuple[MarkedRequest, AnswerReading]]) -> dict[str, float]:
    """Of the requests that mean something, how many remove just that, something else, are asked about, or nothing."""
    outcomes = [outcome for row, reading in read if (outcome := _outcome(row, reading))]
    return {"requests": len(outcomes)} | {
        name: percent(outcomes.count(name), len(outcomes)) for name in ("right", "wrong", "asked", "not found")
    }


def _outcome(marked: MarkedRequest, reading: AnswerReading) -> str | None:
    """What becomes of a request by its reading alone; None where it is not clear what it means."""
    if max(marked.marks, default=0.0) != 1.0:
        return None
    everything = find_target(marked.request.question, _ANALYZER).everything
    likely, is_sure = likely_places([line.meant for line in reading.lines], everything=everything)
    if not is_sure:
        return "asked" if likely else "not found"
    return "right" if likely == [number for number, share in enumerate(marked.marks) if share] else "wrong"


def count_parts(read: Sequence[tuple[MarkedRequest, AnswerReading]]) -> dict[str, float]:
    """Of messages meant in part how many would lose just that, more, or not all of it; of others what would stay."""
    outcomes = [
        ([bool(mark) for mark in row.marks], meant_clauses([line.clause for line in reading.lines]))
        for row, reading in read
    ]
    parts = [(meant, gone) for meant, gone in outcomes if not all(meant)]
    whole = [gone for meant, gone in outcomes if all(meant)]
    left = [any(m and not g for m, g in zip(meant, gone, strict=True)) for meant, gone in parts]
    lost = [any(g and not m for m, g in zip(meant, gone, strict=True)) for meant, gone in parts]
    return {
        "meant in part": len(parts),
        "right": percent(sum(meant == gone for meant, gone in parts), len(parts)),
        "more goes": percent(sum(lost), len(parts)),
        "all goes": percent(sum(all(gone) for _, gone in parts), len(parts)),
        "something stays": percent(sum(left), len(parts)),
        "meant whole": len(whole),
        "of these something stays": percent(sum(not all(gone) for gone in whole), len(whole)),
    }


def _replaced(read: Sequence[tuple[MarkedRequest, AnswerReading]]) -> dict[str, float]:
    """Of the lines that are replaced, how many are found; of those that are found, how many are."""
    pairs = [
        (mark, line.replaced >= REPLACED_FROM)
        for row, reading in read
        for mark, line in zip(row.marks, reading.lines, strict=True)
    ]
    right = sum(1 for mark, found in pairs if mark and found)
    others = [reading for row, reading in read if not any(row.marks)]
    disturbed = sum(any(line.replaced >= REPLACED_FROM for line in reading.lines) for reading in others)
    return {
        "messages": len(read),
        "lines replaced": sum(1 for mark, _ in pairs if mark),
        "found": percent(right, sum(1 for mark, _ in pairs if mark)),
        "of found right": percent(right, sum(found for _, found in pairs)),
        "others that replace": percent(disturbed, len(others)),
    }


if __name__ == "__main__":
    main()
