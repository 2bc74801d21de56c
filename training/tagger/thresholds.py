"""Chooses how probable a name of each subtype must be."""

from collections.abc import Sequence

from memory.values.mentions import EntitySubtype
from memory.values.tagging import TaggedSpan
from models.tagger.labels import SUBTYPES

from .ner_metrics import Key, SpanScores

_CHOICES = (0.3, 0.4, 0.5, 0.6, 0.7)
LEAST = dict.fromkeys(SUBTYPES, min(_CHOICES))
"""Thresholds with which names are to be found for `choose_thresholds`."""


def choose_thresholds(
    marked: Sequence[set[Key]], found: Sequence[Sequence[TaggedSpan]], covered: Sequence[frozenset[EntitySubtype]]
) -> dict[EntitySubtype, float]:
    """The thresholds with the best F1 of each subtype, over the tuning rows that mark all its names.

    Args:
        marked: Names of each row, with their subtypes.
        found: What was found with `LEAST`.
        covered: Subtypes of which each row marks all names.
    """
    chosen = {}
    for subtype in SUBTYPES:
        rows = [number for number, one in enumerate(covered) if subtype in one]
        wanted = [{key for key in marked[number] if key[2] == subtype.value} for number in rows]

        def quality(
            least: float, subtype: EntitySubtype = subtype, rows: list[int] = rows, wanted: list[set[Key]] = wanted
        ) -> tuple[float, float]:
            given = [
                {
                    (span.start, span.end, subtype.value)
                    for span in found[number]
                    if span.subtype is subtype and span.score > least
                }
                for number in rows
            ]
            return SpanScores.of(wanted, given).f1, -abs(least - 0.5)  # of equals the one nearest to a half

        chosen[subtype] = max(_CHOICES, key=quality)
    return chosen
