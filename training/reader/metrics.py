"""What the reader gets right on the chat corpus: references by kind, names, intents and facts."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence, Set
from typing import Any

from memory.values.understanding.readings import Action, Reading, Rewrite, StatedFact

from ..names.ner_metrics import SpanScores
from ..rewriting.metrics import units_of
from .corpus import MarkedMessage, MarkedQuery

Counts = dict[str, Counter[str]]
"""Kinds of queries, each with its `rows` and those that are `right`."""


def is_right(query: MarkedQuery, rewrite: Rewrite) -> bool:
    """Whether the action is right, and the text unit for unit; of options to ask about, all must be named.

    Spaces, case, width and script do not count.
    """
    if rewrite.action is not query.action:
        return False
    if query.action is Action.ASK:
        [reference] = [reference for reference in query.references if reference.options][:1]
        replacement = rewrite.replacements[0]
        offered = [units_of(span.text) for span in (*replacement.antecedents[:1], *replacement.alternatives)]
        return all(any(_alike(units_of(option), other) for other in offered) for option in reference.options)
    return units_of(rewrite.text) == units_of(query.target)


def _alike(option: tuple[str, ...], offered: tuple[str, ...]) -> bool:
    """Whether one is the end of the other: 小黑 and 我家小黑."""
    return bool(offered) and (option[-len(offered) :] == offered or offered[-len(option) :] == option)


def score_references(queries: Sequence[MarkedQuery], rewrites: Sequence[Rewrite]) -> Counts:
    """Counts what is right by action, language and category; `certain` are those written with confidence 0.8."""
    counts: Counts = defaultdict(Counter)
    for query, rewrite in zip(queries, rewrites, strict=True):
        right = is_right(query, rewrite)
        action = {Action.REWRITE: "references", Action.KEEP: "left alone", Action.ASK: "asked back"}[query.action]
        for kind in ("all", action, f"{query.language}: {action}", f"{query.language}", f"category {query.category}"):
            counts[kind]["rows"] += 1
            counts[kind]["right"] += right
        if rewrite.action is Action.REWRITE and rewrite.confidence >= 0.8:
            counts["written, sure"]["rows"] += 1
            counts["written, sure"]["right"] += right
        if query.action is not Action.ASK and rewrite.action is Action.ASK:
            counts["asked without need"]["right"] += 1
        counts["asked without need"]["rows"] += query.action is not Action.ASK
    return dict(counts)


def share(counts: Counts, kind: str) -> float:
    """The right share of a kind, in percent."""
    known = counts.get(kind, Counter())
    return round(100.0 * known["right"] / known["rows"], 1) if known["rows"] else 0.0


def score_messages(messages: Sequence[MarkedMessage], readings: Sequence[Reading]) -> dict[str, float]:
    """F1 of names, intents and facts, in percent."""
    names = SpanScores.of(
        [{(name.start, name.end, name.label) for name in message.names} for message in messages],
        [
            {(name.start, name.end, name.subtype.value) for name in reading.names if name.subtype}
            for reading in readings
        ],
    )
    intents = _compare(
        (set(message.intents), {intent for intent, _ in reading.intents})
        for message, reading in zip(messages, readings, strict=True)
    )
    first = sum(reading.intents[0][0] in message.intents for message, reading in zip(messages, readings, strict=True))
    facts = _compare(
        (fact_keys(message), read_keys(reading.facts)) for message, reading in zip(messages, readings, strict=True)
    )
    pairs = _compare(
        ({key[1:] for key in fact_keys(message)}, {key[1:] for key in read_keys(reading.facts)})
        for message, reading in zip(messages, readings, strict=True)
    )
    objects = _compare(
        ({key[2] for key in fact_keys(message)}, {key[2] for key in read_keys(reading.facts)})
        for message, reading in zip(messages, readings, strict=True)
    )
    return {
        "names F1": round(names.f1, 1),
        "names P": round(names.precision, 1),
        "names R": round(names.recall, 1),
        "intents F1": intents[2],
        "first intent": round(100.0 * first / max(1, len(messages)), 1),
        "facts P": facts[0],
        "facts R": facts[1],
        "facts F1": facts[2],
        "facts F1 without subject": pairs[2],
        "objects F1": objects[2],
    }


def fact_keys(message: MarkedMessage) -> set[tuple[object, ...]]:
    """What must be equal: subject, predicate and object, over units."""
    return {(units_of(fact.subject), fact.predicate, units_of(fact.object)) for fact in message.facts}


def read_keys(facts: Sequence[StatedFact]) -> set[tuple[object, ...]]:
    """Facts that were read in the form of `fact_keys`."""
    return {
        (units_of(fact.subject.text) if fact.subject else (), fact.predicate, units_of(fact.object.text))
        for fact in facts
    }


def share_of_f1(pairs: Iterable[tuple[Set[Any], Set[Any]]]) -> float:
    """F1 of what was found (second) against what is marked (first), in percent."""
    return _compare(pairs)[2]


def _compare(pairs: Iterable[tuple[Set[Any], Set[Any]]]) -> tuple[float, float, float]:
    """Precision, recall and F1 over sets, in percent."""
    agree = marked = found = 0
    for right, predicted in pairs:
        agree += len(right & predicted)
        marked += len(right)
        found += len(predicted)
    return (
        round(100.0 * agree / max(1, found), 1),
        round(100.0 * agree / max(1, marked), 1),
        round(200.0 * agree / max(1, marked + found), 1),
    )
