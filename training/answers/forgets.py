"""Trains the answer reader's head that says which lines a request to forget means, and writes it beside the others.

    python -m training.answers.forgets --corpus FOLDER … --weights FILE.safetensors --cache MODELS [--part tune]

The network has learned to compare a question with lines; a small head on its frozen states takes minutes and changes
nothing else that it finds. With `--part` nothing is trained: the head of the file is measured on that part. The last
line is JSON.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from memory.governance.forget_matches import likely_places
from memory.governance.forget_targets import find_target
from memory.language.keywords import KeywordAnalyzer
from memory.ports.models.answer_reading import MAX_ANSWER_LINES, AnswerReading, AnswerReadRequest, DatedLine
from models.answers.inference import collate
from models.batching.engine import padded_batches
from models.body.network_parts import ScoreHead, evaluating

from ..shared.data_sets import Part
from ..shared.forget_lines import read_forget_lines
from ..shared.heads import head_parser, print_figures, softmax_loss, train_head
from ..shared.weight_files import replace_weights
from .networks import LoadedAnswerReader, load_shipped

_BATCH_TOKENS = 4096
_EPOCHS = 40
_ROWS = 16
_DECAY = 0.02
_ANALYZER = KeywordAnalyzer()


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
    marked = []
    for sent in read_forget_lines(folders, part):
        said: list[DatedLine] = []
        for line in sent:
            if line.meant is None:
                said.append(DatedLine(text=line.text, said_at=line.at))
                continue
            request = AnswerReadRequest(question=line.text, lines=tuple(said[-MAX_ANSWER_LINES:]), now=line.at)
            meant = tuple(line.meant.get(number, 0.0) for number in range(len(said)))
            marked.append(MarkedRequest(line.language, request, meant[-MAX_ANSWER_LINES:]))
    return marked


def main() -> None:
    """Trains and writes the head, or measures it; prints a table and, last, one JSON line."""
    arguments = head_parser("Trains the head that says which lines a request to forget means.").parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.part is None:
        train(arguments.corpus, arguments.weights, arguments.cache)
    part = Part(arguments.part or Part.TUNE)
    figures = measure(load_shipped(arguments.weights, arguments.cache), read_forgets(arguments.corpus, part))
    print_figures(figures, title=f"what requests to forget mean, {part.value}, %")
    sys.stdout.write(json.dumps({"part": part.value, **figures}) + "\n")


def train(corpora: Sequence[Path], weights: Path, cache: Path) -> None:
    """Trains a head on the network of a weight file, and writes it there."""
    loaded = load_shipped(weights, cache)
    marked = read_forgets(corpora, Part.TRAIN)
    inputs = inputs_of(loaded, [row.request for row in marked])
    labels = [torch.tensor(row.meant) for row in marked]
    torch.manual_seed(0)
    head = ScoreHead(loaded.network.shape.hidden, states=5)
    train_head(head, inputs, labels, loss=softmax_loss, epochs=_EPOCHS, batch=_ROWS, decay=_DECAY)
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


if __name__ == "__main__":
    main()
