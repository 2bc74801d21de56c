import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from memory.values.understanding.mentions import EntitySubtype, TaggedSpan
from models.body.calibration import sigmoid
from models.reader.decisions import Thresholds
from models.reader.labels import LABELS
from models.reader.name_decoding import best_candidates, decode_names
from tests.models.reader.toys import read

HALVES = Thresholds().names
TEXT = "北京大学图书馆"

Marks = dict[tuple[int, int, str], float]
"""Score of a span: first unit, units, label."""


def decode(marks: Marks, text: str = TEXT, **thresholds: float) -> list[TaggedSpan]:
    scores = torch.full((len(text), 6, len(LABELS)), -9.0)
    for (first, units, label), score in marks.items():
        scores[first, units - 1, LABELS.index(label)] = score
    least = {**HALVES, **{EntitySubtype(subtype): value for subtype, value in thresholds.items()}}
    return decode_names(scores, read(text), least)


def keys(names: list[TaggedSpan]) -> list[tuple[int, int, str]]:
    return [(name.start, name.end, name.label) for name in names]


OVERLAPPING: Marks = {(0, 2, "place"): 2.0, (0, 4, "organisation"): 3.0, (0, 4, "place"): 1.0, (4, 3, "place"): 0.4}


def test_of_names_that_overlap_the_more_probable_one_stays() -> None:
    names = decode(OVERLAPPING)
    assert keys(names) == [(0, 4, "organisation"), (4, 7, "place")]
    assert names[0].score == pytest.approx(sigmoid(3.0))
    assert names[0].subtype is EntitySubtype.ORGANISATION


def test_each_subtype_has_its_threshold() -> None:
    assert keys(decode(OVERLAPPING, place=0.7)) == [(0, 4, "organisation")]
    assert keys(decode(OVERLAPPING, organisation=0.99)) == [(0, 2, "place"), (4, 7, "place")]


def test_a_finer_label_replaces_its_subtype_where_it_is_more_probable_than_not() -> None:
    assert keys(decode({(0, 4, "organisation"): 3.0, (0, 4, "government"): 0.5})) == [(0, 4, "government")]
    assert keys(decode({(0, 4, "organisation"): 3.0, (0, 4, "government"): -0.5})) == [(0, 4, "organisation")]
    other_subtype = decode({(0, 4, "organisation"): 3.0, (0, 4, "scene"): 2.0})
    assert keys(other_subtype) == [(0, 4, "organisation")]


def test_a_finer_label_alone_is_no_name() -> None:
    assert decode({(0, 4, "government"): 5.0, (0, 2, "goods"): 5.0}) == []


def test_offsets_are_those_of_the_message() -> None:
    assert keys(decode({(1, 2, "product"): 4.0}, "買 Mac Pro 了")) == [(2, 9, "product")]


@given(st.integers(0, 999))
def test_kept_spans_do_not_overlap_and_whatever_is_left_out_overlaps_a_better_one(seed: int) -> None:
    probabilities = torch.rand(6, 4, 3, generator=torch.Generator().manual_seed(seed))
    kept = best_candidates(probabilities, torch.full((3,), 0.6))
    assert [candidate.first for candidate in kept] == sorted(candidate.first for candidate in kept)
    score_of_unit: dict[int, float] = {}
    for candidate in kept:
        for unit in range(candidate.first, candidate.last + 1):
            assert unit not in score_of_unit
            score_of_unit[unit] = candidate.score
    for first, width, label in (probabilities > 0.6).nonzero().tolist():
        covered = [score_of_unit[unit] for unit in range(first, first + width + 1) if unit in score_of_unit]
        assert max(covered) >= probabilities[first, width, label].item()
