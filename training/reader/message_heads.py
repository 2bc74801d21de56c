"""Trains a head of the reader that tells messages of one kind, on the network as it ships, and writes it there.

    python -m training.reader.message_heads KIND --corpus FOLDER … --weights FILE --cache MODELS [--part tune]

What a message is about as a whole is enough for that: a small head on frozen states, which takes minutes and changes
nothing else that the reader finds. With `--part` nothing is trained: the head of the file is measured on that
part. The last line is JSON.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from memory.values.understanding.readings import Intent, Reading, ReadRequest
from models.batching.engine import padded_batches
from models.body.network_parts import ScoreHead, evaluating
from models.reader.decisions import Thresholds

from ..corpora.changes import read_all_changes
from ..corpora.lines import read_forgets
from ..corpora.questions import REQUEST, read_answers, read_scenarios
from ..shared.chat_corpus import files_of, language_of
from ..shared.data_sets import Part
from ..shared.heads import binary_loss, head_parser, percent, train_head, train_or_measure
from ..shared.weight_files import replace_weights
from .corpus import read_intents, read_messages, read_requests_to_forget, read_talks, signed_lines
from .examples import request_of
from .networks import LoadedReader, load_shipped

_BATCH_TOKENS = 4096
_STATEMENTS = 800
"""Messages of the corpora that state something: as many as are drawn."""
_ASKED = 3_000
"""Questions for one thing that do not ask to forget: as many as are drawn."""
_OPEN = frozenset({"several", "aggregate", "preference", REQUEST})
"""Kinds of questions that may ask for an overview, and what is no question."""
_SURELY_TAKEN = 0.0045
"""Share of the tuning messages that do not ask to forget that may be taken for requests which are carried out."""
_MISSED = 0.15
"""Share of the tuning messages that change something which may be missed: what those change that are found is read, so
that others cost time alone."""


class Kind(StrEnum):
    """What a message does; the name of the head in `ReaderNetwork`."""

    OVERVIEW = "overview"
    FORGET = "forget"
    CHANGES = "changes"

    def holds(self, reading: Reading) -> bool:
        """Whether a message was read as doing so."""
        if self is Kind.OVERVIEW:
            return reading.overview
        if self is Kind.CHANGES:
            return reading.may_change
        return any(intent is Intent.FORGET for intent, _ in reading.intents)


_TRAINING: dict[Kind, dict[str, Any]] = {
    Kind.OVERVIEW: {"epochs": 60, "batch": 64, "decay": 0.01},
    Kind.FORGET: {"epochs": 25, "batch": 256, "decay": 0.1},
    Kind.CHANGES: {"epochs": 25, "batch": 64, "decay": 0.1},
}
"""Longer training to forget tells requests as well, and is as sure of what it gets wrong as of the rest."""


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A message, whether it does what it is read for, and what was said before it."""

    language: str
    text: str
    asks: bool
    turns: tuple[str, ...] = ()

    @property
    def request(self) -> ReadRequest:
        """As the reader reads it."""
        return request_of(self.text, self.turns)


def read_marked(folders: Sequence[Path], kind: Kind, part: Part) -> list[MarkedText]:
    """The messages of a part that a head of this kind is trained, tuned or measured on."""
    if kind is Kind.OVERVIEW:
        others = _statements(folders) if part is Part.TRAIN else []
        return [*_overviews(folders, part), *others, *_questions(folders, part)]
    if kind is Kind.CHANGES:
        changed = [line for sent in read_all_changes(folders, part) for line in sent if line.marks is not None]
        return [MarkedText(line.language, line.text, asks=bool(line.marks)) for line in changed]
    overviews = [replace(row, asks=False) for row in _overviews(folders, part) if row.asks]
    messages = [
        MarkedText(row.language, row.text, asks=Intent.FORGET in row.intents)
        for row in (*read_messages(folders, part), *read_intents(folders, part))
    ]
    lines = [
        MarkedText(line.language, line.text, asks=line.marks is not None)
        for sent in read_forgets(folders, part)
        for line in sent
    ]
    questions = _questions(folders, part)
    asked = random.Random(0).sample(questions, min(_ASKED, len(questions)))
    signed = [
        MarkedText(row.language, row.text, bool(row.asks_to_forget), row.turns)
        for row in (*read_requests_to_forget(folders, part), *read_talks(folders, part))
    ]
    return [*signed, *lines, *messages, *overviews, *asked]


def _overviews(folders: Sequence[Path], part: Part) -> list[MarkedText]:
    return [
        MarkedText(language_of(path), text, asks)
        for path in files_of(folders, "overviews", part)
        for text, asks in signed_lines(path)
    ]


def main() -> None:
    """Trains and writes the head, or measures it; prints a table and, last, one JSON line."""
    parser = head_parser("Trains a head of the reader that tells messages of one kind.")
    parser.add_argument("kind", choices=[kind.value for kind in Kind], help="which messages")
    arguments = parser.parse_args()
    kind, files = Kind(arguments.kind), (arguments.weights, arguments.cache)
    train_or_measure(
        arguments,
        train=lambda: train(kind, arguments.corpus, *files),
        measure=lambda part: measure(load_shipped(*files), kind, read_marked(arguments.corpus, kind, part)),
        title=f"messages: {kind}",
        kind=kind.value,
    )


def train(kind: Kind, corpora: Sequence[Path], weights: Path, cache: Path) -> None:
    """Trains a head on the network of a weight file, chooses its bounds on the tuning part, and writes both there."""
    loaded = load_shipped(weights, cache)
    marked, tuned = (read_marked(corpora, kind, part) for part in (Part.TRAIN, Part.TUNE))
    torch.manual_seed(0)
    head = ScoreHead(loaded.network.shape.hidden, states=2)
    inputs = summaries(loaded, [row.request for row in marked]).split(1)
    labels = torch.tensor([float(row.asks) for row in marked]).split(1)
    train_head(head, inputs, labels, loss=binary_loss, **_TRAINING[kind])
    with torch.no_grad():
        scores = head(summaries(loaded, [row.request for row in tuned])).sigmoid().tolist()
    bounds = choose_bounds(kind, scores, [row.asks for row in tuned])
    thresholds = Thresholds.model_validate(loaded.settings.thresholds.model_dump() | bounds)
    parameters = {f"{kind}.{name}": parameter for name, parameter in head.named_parameters()}
    replace_weights(weights, parameters, loaded.settings.model_copy(update={"thresholds": thresholds}))


def summaries(loaded: LoadedReader, requests: Sequence[ReadRequest]) -> Tensor:
    """What the network makes of messages as a whole, shape (requests, 2 · hidden); of a long one its beginning."""
    windows = [(number, loaded.reader.read(request)[0]) for number, request in enumerate(requests)]
    rows: dict[int, Tensor] = {}
    with evaluating(loaded.network):
        for batch in padded_batches(windows, lambda item: item[1].token_count, max_tokens=_BATCH_TOKENS):
            made = loaded.network.summary(*loaded.states([window for _, window in batch]))
            rows |= {number: row for (number, _), row in zip(batch, made, strict=True)}
    return torch.stack([rows[number] for number in range(len(requests))])


def choose_bounds(kind: Kind, scores: Sequence[float], asks: Sequence[bool]) -> dict[str, float]:
    """The thresholds of a kind by their names in `Thresholds`.

    A message is taken for a request from where F1 is best, and for one that changes something from where few are missed
    (`_MISSED`); a request to forget is carried out without asking from where few others are taken for one
    (`_SURELY_TAKEN`).

    Args:
        kind: The kind.
        scores: Probabilities of tuning messages.
        asks: Whether each makes the request.
    """
    rows = list(zip(scores, asks, strict=True))
    if kind is Kind.CHANGES:
        asked = sorted(score for score, asks in rows if asks)
        return {"changes": round(asked[int(_MISSED * len(asked))], 2)}

    def f1(bound: float) -> float:
        right = sum(asked for score, asked in rows if score >= bound)
        return 2 * right / max(1, sum(score >= bound for score in scores) + sum(asks))

    def is_sure(bound: float) -> bool:
        return sum(score >= bound for score, asked in rows if not asked) <= _SURELY_TAKEN * (len(rows) - sum(asks))

    bounds = [number / 20 for number in range(2, 20)]
    best = max(bounds, key=f1)
    if kind is Kind.OVERVIEW:
        return {"overview": best}
    return {"forget": best, "forget_surely": next((bound for bound in bounds if bound >= best and is_sure(bound)), 1.0)}


def measure(loaded: LoadedReader, kind: Kind, texts: Sequence[MarkedText]) -> dict[str, dict[str, float]]:
    """Recall and the share of others that are taken for one, in percent, of all and by language."""
    readings = loaded.read([row.request for row in texts])
    figures = {}
    for language in ("all", *sorted({row.language for row in texts})):
        pairs = [
            (row, kind.holds(reading), reading.forgets_surely)
            for row, reading in zip(texts, readings, strict=True)
            if language in ("all", row.language)
        ]
        found = [(taken, surely) for row, taken, surely in pairs if row.asks]
        wrong = [(taken, surely) for row, taken, surely in pairs if not row.asks]
        figures[language] = {
            "asks": len(found),
            "found": _share(taken for taken, _ in found),
            "others": len(wrong),
            "taken for one": _share(taken for taken, _ in wrong),
        }
        if kind is Kind.FORGET:
            figures[language] |= {
                "surely": _share(surely for _, surely in found),
                "others surely": _share(surely for _, surely in wrong),
            }
    return figures


def _share(holds: Iterable[bool]) -> float:
    values = list(holds)
    return percent(sum(values), len(values))


def _statements(folders: Sequence[Path]) -> list[MarkedText]:
    rows = [
        MarkedText(row.language, row.text, asks=False)
        for row in read_messages(folders, Part.TRAIN)
        if row.intents == (Intent.STATEMENT,)
    ]
    return random.Random(0).sample(rows, min(_STATEMENTS, len(rows)))


def _questions(folders: Sequence[Path], part: Part) -> list[MarkedText]:
    """All questions of the corpora that ask for one thing."""
    return [
        MarkedText(of_user.language, question.question, asks=False)
        for of_user in (*read_answers(folders, part), *read_scenarios(folders, part))
        for question in of_user.questions
        if question.kind not in _OPEN
    ]


if __name__ == "__main__":
    main()
