"""Scores of the tagger: a set's own task, and the subtypes that it marks."""

from collections.abc import Iterable, Sequence

from memory.values.mentions import EntitySubtype
from memory.values.tagging import TaggedSpan
from models.tagger.labels import subtype_of

from .ner_files import MarkedText
from .ner_metrics import Key, SpanScores
from .ner_sets import NerSet


def marked_labels(rows: Iterable[MarkedText], one: NerSet) -> list[set[Key]]:
    """What each row marks, in the labels of the published task."""
    return [{(span.start, span.end, span.label) for span in row.spans if span.label in one.scored} for row in rows]


def score_labels(marked: Sequence[set[Key]], found: Sequence[Sequence[TaggedSpan]]) -> SpanScores:
    """F1 of the published task: offsets and label are equal."""
    return SpanScores.of(marked, [{(span.start, span.end, span.label) for span in spans} for spans in found])


def covered_subtypes(one: NerSet) -> frozenset[EntitySubtype]:
    """Subtypes of which the set marks some: those that its mapped score counts."""
    return frozenset(subtype for label in one.types.values() if (subtype := subtype_of(label)) is not None)


def marked_names(rows: Iterable[MarkedText], one: NerSet) -> list[set[Key]]:
    """What each row marks, in subtypes."""
    covered = covered_subtypes(one)
    return [
        {
            (span.start, span.end, subtype.value)
            for span in row.spans
            if span.label and (subtype := subtype_of(span.label)) in covered and subtype is not None
        }
        for row in rows
    ]


def score_names(marked: Sequence[set[Key]], found: Sequence[Sequence[TaggedSpan]], one: NerSet) -> SpanScores:
    """F1 of the subtypes that the set marks: offsets and subtype are equal; other subtypes do not count."""
    covered = covered_subtypes(one)
    return SpanScores.of(
        marked,
        [
            {(span.start, span.end, span.subtype.value) for span in spans if span.subtype in covered and span.subtype}
            for spans in found
        ],
    )
