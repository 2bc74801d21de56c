"""Trains the head that says how facts hold (past, planned, negated …), on the network as it ships, and writes it there.

    python -m training.reader.qualifiers --corpus FOLDER … --weights FILE.safetensors --cache MODELS [--part tune]

It reads the marked facts of messages from frozen states, in minutes, and changes nothing else that the reader finds.
With `--part` nothing is trained: the head of the file is measured on the marked facts of that part. The last line is
JSON.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from memory.values.understanding.readings import OVER, Qualifier
from models.batching.engine import padded_batches
from models.body.network_parts import MultiScoreHead, evaluating
from models.reader.decisions import Thresholds
from models.reader.fact_decoding import decide_qualifiers, over_probability

from ..shared.data_sets import Part
from ..shared.heads import binary_loss, head_parser, train_head, train_or_measure
from ..shared.weight_files import replace_weights
from .corpus import read_messages
from .examples import FactLabel, facts_example
from .losses import collate_examples
from .metrics import share_of_f1
from .networks import LoadedReader, load_shipped

_BATCH_TOKENS = 4096
_BOUNDS = {"over": 0.6, "over_beside": 0.15, "over_surely": 0.8}
"""Chosen by halves of the training part, each read by a head that learned from the other: F1 of what is over is flat
from 0.3 to 0.6, and what is wrongly over is lost."""


@dataclass(frozen=True, slots=True)
class FactRow:
    """A marked fact.

    Attributes:
        language: Of its message.
        group: What it shares with other values of the same that the message states: message, predicate and subject.
        states: What the head reads, shape (4 · hidden,).
        qualifiers: 1 for each that is marked, in the order of `Qualifier`.
    """

    language: str
    group: tuple[object, ...]
    states: Tensor
    qualifiers: Tensor

    @property
    def marked(self) -> frozenset[Qualifier]:
        """The qualifiers that are marked."""
        return frozenset(name for name, value in zip(Qualifier, self.qualifiers.tolist(), strict=True) if value)


def main() -> None:
    """Trains and writes the head, or measures it; prints a table and, last, one JSON line."""
    arguments = head_parser("Trains the head that says how facts hold.").parse_args()
    files = (arguments.weights, arguments.cache)

    def train_and_write() -> None:
        loaded = load_shipped(*files)
        head = train(read_facts(loaded, arguments.corpus, Part.TRAIN))
        parameters = {f"facts.qualifiers.{name}": parameter for name, parameter in head.named_parameters()}
        thresholds = Thresholds.model_validate(loaded.settings.thresholds.model_dump() | _BOUNDS)
        replace_weights(arguments.weights, parameters, loaded.settings.model_copy(update={"thresholds": thresholds}))

    def measure_part(part: Part) -> dict[str, dict[str, float]]:
        loaded = load_shipped(*files)
        facts = read_facts(loaded, arguments.corpus, part)
        return measure(loaded.network.facts.qualifiers, facts, loaded.settings.thresholds)

    train_or_measure(arguments, train=train_and_write, measure=measure_part, title="how facts hold")


def train(facts: Sequence[FactRow]) -> MultiScoreHead:
    """A head for marked facts; the sizes and the length of the training were chosen on the tuning part."""
    torch.manual_seed(0)
    hidden = len(facts[0].states) // 4
    head = MultiScoreHead(hidden, states=4, width=hidden, scores=len(Qualifier))
    inputs = torch.stack([fact.states for fact in facts]).split(1)
    labels = torch.stack([fact.qualifiers for fact in facts]).split(1)
    train_head(head, inputs, labels, loss=binary_loss, epochs=25, batch=256, decay=0.05)
    return head


def read_facts(loaded: LoadedReader, folders: Sequence[Path], part: Part) -> list[FactRow]:
    """The marked facts of the messages of a part, as the network reads them."""
    network = loaded.network
    examples = [
        (message, example)
        for message in read_messages(folders, part)
        if (example := facts_example(message, loaded.reader, network.shape)).facts
    ]
    rows: list[FactRow] = []
    with evaluating(network):
        for batch in padded_batches(examples, lambda pair: pair[1].token_count, max_tokens=_BATCH_TOKENS):
            tensors = collate_examples([example for _, example in batch], pad_id=loaded.pad_id, shape=network.shape)
            states = network.facts.encode(network.states(tensors), tensors["all_tokens"], tensors["all_spans"])
            at, predicates = tensors["facts"].unbind(1)
            objects = tensors["objects"][:, :3]
            vectors = network.facts.objects(states, *objects.unbind(1))
            read = network.facts.qualifier_states(
                states, objects[at], network.facts.with_predicates(vectors[at], predicates)
            )
            for place, predicate, of_fact, marked in zip(
                objects[at].tolist(), predicates.tolist(), read, tensors["fact_qualifiers"], strict=True
            ):
                message, example = batch[place[0]]
                subjects = _subjects(example.facts or (), (place[1], place[2]), predicate)
                rows.append(FactRow(message.language, (message.id, predicate, subjects), of_fact, marked))
    return rows


def _subjects(labels: Iterable[FactLabel], place: tuple[int, int], predicate: int) -> frozenset[object]:
    """The subjects of a fact."""
    of_fact = [label for label in labels if label.object == place and label.predicate == predicate]
    return frozenset((label.is_of_speaker, label.subjects) for label in of_fact)


def measure(head: MultiScoreHead, facts: Sequence[FactRow], thresholds: Thresholds) -> dict[str, dict[str, float]]:
    """By language: F1 of what is over and of every other qualifier, in percent.

    Beside them, of messages that state several values of the same, the share in which all are decided rightly: where
    some are over and others not, and where none is.
    """
    with torch.inference_mode():
        probabilities = head(torch.stack([fact.states for fact in facts])).sigmoid().tolist()
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for number, fact in enumerate(facts):
        groups[fact.group].append(number)
    pairs = [(frozenset[Qualifier](), frozenset[Qualifier]())] * len(facts)
    for numbers in groups.values():
        beside = [over_probability(probabilities[number]) for number in numbers]
        for number in numbers:
            decided = decide_qualifiers(probabilities[number], beside, thresholds)
            pairs[number] = (_over_as_one(facts[number].marked), _over_as_one(decided))
    figures = {}
    for language in ("all", *sorted({fact.language for fact in facts})):
        chosen = [pair for fact, pair in zip(facts, pairs, strict=True) if language in ("all", fact.language)]
        several = [
            [
                (Qualifier.PAST in marked, Qualifier.PAST in decided)
                for marked, decided in map(pairs.__getitem__, numbers)
            ]
            for numbers in groups.values()
            if len(numbers) > 1 and language in ("all", facts[numbers[0]].language)
        ]
        figures[language] = {
            "facts": len(chosen),
            "over": sum(Qualifier.PAST in marked for marked, _ in chosen),
            "over, F1": _f1(chosen, Qualifier.PAST),
            "one of several over": _right([group for group in several if len({is_over for is_over, _ in group}) == 2]),
            "several hold": _right([group for group in several if not any(is_over for is_over, _ in group)]),
        } | {f"{name}, F1": _f1(chosen, name) for name in Qualifier if name not in OVER}
    return figures


def _over_as_one(qualifiers: Iterable[Qualifier]) -> frozenset[Qualifier]:
    """The qualifiers with PAST for ENDED, too."""
    return frozenset(Qualifier.PAST if qualifier in OVER else qualifier for qualifier in qualifiers)


def _f1(pairs: Sequence[tuple[frozenset[Qualifier], frozenset[Qualifier]]], name: Qualifier) -> float:
    return share_of_f1((marked & {name}, decided & {name}) for marked, decided in pairs)


def _right(groups: Sequence[Sequence[tuple[bool, bool]]]) -> float:
    return round(100 * sum(all(a == b for a, b in pairs) for pairs in groups) / max(1, len(groups)), 1)


if __name__ == "__main__":
    main()
