"""Turns the scores of the head for facts into facts.

This module imports torch: it is imported where a network is built, never with its package.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from memory.values.predicates import PREDICATES
from memory.values.understanding.readings import OVER, Qualifier

from .decisions import Thresholds
from .facts_head import FactsHead, FactStates
from .features import Features

_MOST_OBJECTS = 24
_LEAST = 0.2
"""Least probability of an object, and of a predicate of one, to be looked at."""
_MOST_SUBJECTS = 3
_QUALIFIERS = tuple(Qualifier)
UnitSpan = tuple[int, int]
"""First and last unit, counted over context and message together."""


@dataclass(frozen=True, slots=True)
class DecodedFact:
    """A fact over units.

    Attributes:
        subject: None for the speaker.
        predicate: Its name.
        object: In the message.
        qualifiers: How it holds.
        time: In the message or its context; None without one.
        probability: Of object, predicate and subject together.
    """

    subject: UnitSpan | None
    predicate: str
    object: UnitSpan
    qualifiers: tuple[Qualifier, ...]
    time: UnitSpan | None
    probability: float


def decode_facts(
    head: FactsHead, states: Tensor, batch: Mapping[str, Tensor], rows: Sequence[Features], thresholds: Thresholds
) -> list[list[DecodedFact]]:
    """The facts of each row of a batch, in the order of their objects.

    Args:
        head: Without dropout (`eval`).
        states: Shape (batch, tokens, hidden).
        batch: See `inference.collate`.
        rows: Of the batch.
        thresholds: From which probabilities on something is said.
    """
    found: list[list[DecodedFact]] = [[] for _ in rows]
    scores = head.object_score(states, batch["unit_tokens"], batch["unit_counts"])[..., 0].sigmoid()
    places = [
        (row, first, first + width, float(scores[row, first, width]))
        for row, of_row in enumerate(rows)
        for first, width in _objects(scores[row, : len(of_row.units)])
    ]
    if not places:
        return found
    facts = head.encode(states, batch["all_tokens"], batch["all_spans"])
    numbers = torch.tensor([place[0] for place in places], device=states.device)
    shift = batch["context_counts"][numbers]
    first = torch.tensor([place[1] for place in places], device=states.device) + shift
    last = torch.tensor([place[2] for place in places], device=states.device) + shift
    objects = head.objects(facts, numbers, first, last)
    predicates = head.predicate_score(objects).sigmoid()
    chosen = [
        (at, predicate, places[at][3] * value)
        for at, values in enumerate(predicates.tolist())
        for predicate, value in enumerate(values)
        if value >= _LEAST
    ]
    if not chosen:
        return found
    at = torch.tensor([at for at, _, _ in chosen], device=states.device)
    vectors = head.with_predicates(objects[at], torch.tensor([number for _, number, _ in chosen], device=states.device))
    spans = torch.stack([numbers, first, last], 1)[at]
    qualifiers = head.qualifiers(head.qualifier_states(facts, spans, vectors)).sigmoid().tolist()
    times = head.time_scores(facts, numbers[at], vectors).argmax(1).tolist()
    width = head.shape.span
    no_time = facts.spans.shape[1] * width
    subjects = _subjects(head, facts, numbers[at], vectors)
    stated = [
        (number, subject, probability * share)
        for number, (_, _, probability) in enumerate(chosen)
        for subject, share in subjects[number]
        if probability * share >= thresholds.facts
    ]
    beside: dict[tuple[int, int, UnitSpan | None], list[float]] = defaultdict(list)
    for number, subject, _ in stated:
        beside[places[chosen[number][0]][0], chosen[number][1], subject].append(over_probability(qualifiers[number]))
    for number, subject, probability in stated:
        place, predicate, _ = chosen[number]
        row, time = places[place][0], times[number]
        found[row].append(
            DecodedFact(
                subject=subject,
                predicate=PREDICATES[predicate],
                object=(int(first[place]), int(last[place])),
                qualifiers=decide_qualifiers(qualifiers[number], beside[row, predicate, subject], thresholds),
                time=None if time == no_time else (time // width, time // width + time % width),
                probability=probability,
            )
        )
    return found


def decide_qualifiers(
    probabilities: Sequence[float], beside: Sequence[float], thresholds: Thresholds
) -> tuple[Qualifier, ...]:
    """How a fact holds.

    Past and ended are one decision, since both say that it is over, and only the likelier is said. Of several values of
    the same that a message states, mostly some are over and the others hold: "from 1,400 to 1,600".

    Args:
        probabilities: Of each qualifier.
        beside: How likely each value is over that the message states with this subject and predicate, this one's too.
        thresholds: From which probabilities on something is said.
    """
    over, middle = over_probability(probabilities), (min(beside) + max(beside)) / 2
    if len(beside) == 1:
        is_over = over >= thresholds.over
    else:
        is_over = over >= (thresholds.over_beside if over > middle else thresholds.over_surely)
    likelier = max(OVER, key=lambda qualifier: probabilities[_QUALIFIERS.index(qualifier)])
    return tuple(
        qualifier
        for qualifier, probability in zip(_QUALIFIERS, probabilities, strict=True)
        if (is_over and qualifier is likelier if qualifier in OVER else probability >= thresholds.qualifiers)
    )


def over_probability(probabilities: Sequence[float]) -> float:
    """How likely a fact is over, from the probabilities of its qualifiers."""
    return sum(probabilities[_QUALIFIERS.index(qualifier)] for qualifier in OVER)


def _objects(scores: Tensor) -> list[UnitSpan]:
    """The most probable objects of a row, by first unit and width, in text order."""
    places = (scores >= _LEAST).nonzero().tolist()
    best = sorted(places, key=lambda place: -float(scores[place[0], place[1]]))[:_MOST_OBJECTS]
    return sorted((first, width) for first, width in best)


def _subjects(
    head: FactsHead, facts: FactStates, rows: Tensor, vectors: Tensor
) -> list[list[tuple[UnitSpan | None, float]]]:
    """The subjects of each fact with their probabilities: every one above 0, at least the best."""
    scores = head.subject_scores(facts, rows, vectors)
    top = scores.topk(min(_MOST_SUBJECTS, scores.shape[1]), dim=1)
    spans, speaker = head.shape.span, scores.shape[1] - 1
    chosen = []
    for values, indices in zip(top.values.tolist(), top.indices.tolist(), strict=True):
        kept = [(index, value) for index, value in zip(indices, values, strict=True) if value > 0] or [
            (indices[0], values[0])
        ]
        probabilities = torch.tensor([value for _, value in kept]).sigmoid().tolist()
        chosen.append(
            [
                (None if index == speaker else (index // spans, index // spans + index % spans), probability)
                for (index, _), probability in zip(kept, probabilities, strict=True)
            ]
        )
    return chosen
