"""Trains the head of the reader that tells for what a message is, on the network as it ships, and writes it there.

    python -m training.reader.kinds --corpus FOLDER … --weights FILE --cache MODELS [--part report]

With `--part` nothing is trained: the head of the file is measured on that part. The last line is JSON.
"""

import random
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from memory.values.understanding.readings import Intent, MessageKind
from models.reader.decisions import Thresholds
from models.reader.network import kinds_head
from models.reader.reader import kind_of

from ..corpora.questions import REQUEST, read_answers, read_scenarios
from ..shared.data_sets import Part
from ..shared.heads import head_parser, percent, train_head, train_or_measure
from ..shared.weight_files import replace_weights
from .corpus import SignedMessage, read_kinds, read_messages, read_talks
from .examples import request_of
from .message_heads import summaries
from .networks import LoadedReader, load_shipped

_DRAWN = {Part.TRAIN: (3_000, 1_500), Part.TUNE: (400, 200)}
"""Questions and statements of the other corpora, which are for memory: as many as are drawn of a part. Where the bound
is chosen, two messages of three are for memory."""
_BOUNDS = [number / 20 for number in range(6, 20)]
_KINDS = tuple(MessageKind)


def read_for_memory(folders: Sequence[Path], part: Part) -> list[SignedMessage]:
    """Messages of the other corpora, which are for memory: questions and what is told.

    Not requests for an overview: another head tells of these, whatever their kind.
    """
    questions = [
        (of_user.language, question.question)
        for of_user in (*read_answers(folders, part), *read_scenarios(folders, part))
        for question in of_user.questions
        if question.kind != REQUEST
    ]
    told = [
        (row.language, row.text)
        for row in read_messages(folders, part)
        if {Intent.STATEMENT, Intent.REMEMBER, Intent.FORGET, Intent.CORRECTION}.intersection(row.intents)
    ]
    draw = random.Random(0)
    drawn = []
    for rows, most in zip((questions, told), _DRAWN[part], strict=True):
        drawn += draw.sample(rows, min(most, len(rows)))
    return [SignedMessage(language, (), text, kind=MessageKind.MEMORY) for language, text in drawn]


def main() -> None:
    """Trains and writes the head, or measures it; prints a table and, last, one JSON line."""
    arguments = head_parser("Trains the head that tells for what a message is.").parse_args()
    files = (arguments.weights, arguments.cache)
    train_or_measure(
        arguments,
        train=lambda: train(arguments.corpus, *files),
        measure=lambda part: _figures(load_shipped(*files), arguments.corpus, part),
        title="kinds of messages",
    )


def train(corpora: Sequence[Path], weights: Path, cache: Path) -> None:
    """Trains the head on the network of a weight file, chooses its bound on the tuning part, and writes both there."""
    loaded = load_shipped(weights, cache)
    marked, tuned = (
        [*read_kinds(corpora, part), *read_talks(corpora, part), *read_for_memory(corpora, part)]
        for part in (Part.TRAIN, Part.TUNE)
    )
    torch.manual_seed(0)
    head = kinds_head(loaded.network.shape.hidden)
    inputs = summaries(loaded, [request_of(row.text, row.turns) for row in marked])
    labels = torch.tensor([_KINDS.index(_kind(row)) for row in marked]).split(1)
    mean, deviation = inputs.mean(0), inputs.std(0)
    train_head(head, ((inputs - mean) / deviation).split(1), labels, loss=_loss, epochs=30, batch=64, decay=0.01)
    fold_scaling(head.hidden, mean, deviation)
    with torch.no_grad():
        probabilities = head(summaries(loaded, [request_of(row.text, row.turns) for row in tuned])).softmax(-1)
    bound = choose_bound(probabilities, [_kind(row) for row in tuned])
    thresholds = Thresholds.model_validate(loaded.settings.thresholds.model_dump() | {"kind": bound})
    parameters = {f"kinds.{name}": parameter for name, parameter in head.named_parameters()}
    replace_weights(weights, parameters, loaded.settings.model_copy(update={"thresholds": thresholds}))


def _kind(message: SignedMessage) -> MessageKind:
    if message.kind is None:
        raise ValueError(f"{message.text!r}: its kind is not marked.")
    return message.kind


def fold_scaling(layer: nn.Linear, mean: Tensor, deviation: Tensor) -> None:
    """Folds the scaling of its inputs, `(x - mean) / deviation`, into a layer that has learned from them; in place."""
    with torch.no_grad():
        layer.weight.copy_(layer.weight / deviation)
        layer.bias.copy_(layer.bias - layer.weight @ mean)


def _loss(scores: Sequence[Tensor], labels: Sequence[Tensor]) -> Tensor:
    return functional.cross_entropy(torch.cat([*scores]), torch.cat([*labels]))


def choose_bound(probabilities: Tensor, kinds: Sequence[MessageKind]) -> float:
    """From which probability on a message is of a kind and not for memory: where fewest are taken for another.

    What is for memory may be taken for a question about the world: it is answered from memory as well.

    Args:
        probabilities: Of each kind, in order; shape (messages, kinds).
        kinds: What the messages are for.
    """
    rows: list[list[float]] = probabilities.tolist()

    def cost(bound: float) -> int:
        read = [kind_of(row, bound) for row in rows]
        return sum(
            right is not taken and (right, taken) != (MessageKind.MEMORY, MessageKind.GENERAL)
            for right, taken in zip(kinds, read, strict=True)
        )

    return min(_BOUNDS, key=cost)


def _figures(loaded: LoadedReader, corpora: Sequence[Path], part: Part) -> dict[str, dict[str, float]]:
    """Those of `kinds`, and of messages in their talks."""
    talks = measure(loaded, read_talks(corpora, part))
    return measure(loaded, read_kinds(corpora, part)) | {"in talks": talks["all"]}


def measure(loaded: LoadedReader, messages: Sequence[SignedMessage]) -> dict[str, dict[str, float]]:
    """Messages of each kind, the share that is taken for it, and that of those taken for it that are; in percent."""
    readings = loaded.read([request_of(row.text, row.turns) for row in messages])
    pairs = [(row, reading.kind) for row, reading in zip(messages, readings, strict=True)]
    figures = {}
    for kind in MessageKind:
        of_kind = [taken for row, taken in pairs if row.kind is kind]
        taken_for = [row.kind for row, taken in pairs if taken is kind]
        figures[kind.value] = {
            "messages": len(of_kind),
            "found": percent(of_kind.count(kind), len(of_kind)),
            "of those taken for it": percent(taken_for.count(kind), len(taken_for)),
        }
    for language in ("all", *sorted({row.language for row in messages})):
        right = [row.kind is taken for row, taken in pairs if language in ("all", row.language)]
        figures[language] = {"messages": len(right), "found": percent(sum(right), len(right))}
    return figures


if __name__ == "__main__":
    main()
