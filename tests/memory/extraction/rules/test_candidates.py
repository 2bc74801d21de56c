"""Which candidate wins where they overlap."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memory.extraction.rules.candidates import Candidate, Layer, resolve_overlaps
from memory.values.mentions import EntitySubtype


def candidate(
    start: int, end: int, layer: Layer = Layer.HAN, confidence: float = 0.5, subtype: EntitySubtype | None = None
) -> Candidate:
    return Candidate(start, end, layer, "test", confidence, subtype)


CANDIDATES = st.builds(
    lambda start, length, layer, confidence: candidate(start, start + length, layer, confidence),
    st.integers(0, 30),
    st.integers(1, 8),
    st.sampled_from(Layer),
    st.sampled_from([0.5, 0.9]),
)


def test_the_stronger_layer_wins_even_when_it_is_shorter() -> None:
    name, han = candidate(2, 4, Layer.NAME), candidate(0, 6, Layer.HAN)
    assert resolve_overlaps([han, name]) == [name]


def test_within_a_layer_the_longer_wins_then_the_surer_then_the_first() -> None:
    assert resolve_overlaps([candidate(0, 2), candidate(0, 3)]) == [candidate(0, 3)]
    assert resolve_overlaps([candidate(0, 2), candidate(1, 3, confidence=0.9)]) == [candidate(1, 3, confidence=0.9)]
    assert resolve_overlaps([candidate(1, 3), candidate(0, 2)]) == [candidate(0, 2)]


def test_spans_that_only_touch_both_stay() -> None:
    assert resolve_overlaps([candidate(2, 4), candidate(0, 2)]) == [candidate(0, 2), candidate(2, 4)]


def test_a_winner_without_a_subtype_takes_that_of_the_same_span_and_of_no_other() -> None:
    same = resolve_overlaps([candidate(0, 2, Layer.NAME), candidate(0, 2, subtype=EntitySubtype.PERSON)])
    higher_layer = resolve_overlaps([candidate(0, 2, Layer.NAME), candidate(0, 3, subtype=EntitySubtype.PERSON)])
    assert [candidate.subtype for candidate in same] == [EntitySubtype.PERSON]
    assert [candidate.subtype for candidate in higher_layer] == [None]


@given(st.lists(CANDIDATES, max_size=25))
def test_winners_never_overlap_and_every_loser_overlaps_a_winner_of_at_least_its_layer(
    candidates: list[Candidate],
) -> None:
    winners = resolve_overlaps(candidates)
    assert all(left.end <= right.start for left, right in pairwise(winners))
    for loser in candidates:
        assert any(
            winner.start < loser.end and loser.start < winner.end and winner.layer <= loser.layer for winner in winners
        )
