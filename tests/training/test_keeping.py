import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from models.rewriter.decisions import KeepRule, sigmoid
from models.rewriter.decoding import Rewrite
from models.rewriter.edits import Edit, Segment
from models.rewriter.features import FeatureReader
from models.rewriter.inference import Rewritten
from training.rewriter.data import RewritingRow
from training.rewriter.keeping import choose_rule, deciding, is_complete, is_restored, reliability

_EDITS = (Edit(0, 0, (Segment(0, 2),)),)


def row(target: str, data_set: str = "toy") -> RewritingRow:
    return RewritingRow(("西安",), "好", target, data_set)


def test_a_rule_scales_what_the_network_says() -> None:
    rewrite = Rewrite(_EDITS, math.log(0.25), (math.log(0.25),), keep_probability=0.4)
    assert KeepRule().keep_probability(rewrite) == pytest.approx(0.4)
    assert not KeepRule().keeps(rewrite)
    leaning = KeepRule(keep_logit=2.0, keep_offset=math.log(9))
    assert leaning.keep_probability(rewrite) == pytest.approx(1 / (1 + (0.6 / 0.4) ** 2 / 9))
    assert leaning.keeps(rewrite)


@given(
    probability=st.floats(0.001, 0.999),
    threshold=st.floats(0.05, 0.95),
    weight=st.floats(0.2, 3.0),
    offset=st.floats(-3.0, 3.0),
)
def test_where_the_network_is_sure_enough_no_edit_could_change_the_decision(
    probability: float, threshold: float, weight: float, offset: float
) -> None:
    rule = KeepRule(threshold=threshold, keep_logit=weight, keep_offset=offset)
    assume(abs(probability - rule.keep_from) > 1e-6)
    rewrite = Rewrite(_EDITS, 0.0, (0.0,), probability)
    assert rule.keeps(rewrite) == (probability > rule.keep_from)


def test_a_rule_that_turns_the_network_round_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        KeepRule(keep_logit=-0.5)


def test_a_query_that_cannot_be_edited_is_kept() -> None:
    assert KeepRule().keeps(Rewrite((), 0.0, (), keep_probability=0.0))


@pytest.mark.parametrize(("slope", "offset"), [(1.0, 0.0), (0.5, 1.0), (2.0, -1.0)])
def test_calibration_finds_the_probabilities_that_came_true(reader: FeatureReader, slope: float, offset: float) -> None:
    """Forty rows stand for each log-odds, of which as many are complete as a known logistic function says."""
    rows, rewrites = [], []
    for value in np.linspace(-3, 3, 13):
        complete = round(40 * sigmoid(slope * value + offset))
        for number in range(40):
            rows.append(row("好" if number < complete else "西安好"))
            rewrite = Rewrite(_EDITS, 0.0, (math.log(0.5),), sigmoid(value))
            rewrites.append(Rewritten(reader.read(("西安",), "好"), rewrite))
    rule = choose_rule(rows, rewrites)
    assert (rule.keep_logit, rule.keep_offset) == pytest.approx((slope, offset), abs=0.1)
    assert (
        reliability([rule.keep_probability(rewritten.rewrite) for rewritten in rewrites], is_complete(rows)).error < 3
    )


def test_an_edit_is_right_when_it_restores_what_was_meant(reader: FeatureReader) -> None:
    rewrites = [Rewritten(reader.read(("西安",), "好"), Rewrite(_EDITS, 0.0, (0.0,), 0.1))] * 3
    rows = [row("西安好"), row("西安很好"), row("北京好")]
    assert is_restored(rows, rewrites).tolist() == [True, True, False]


def test_only_data_sets_with_both_kinds_of_queries_decide() -> None:
    rows = [row("西安好", "needy"), row("好"), row("西安好")]
    assert list(deciding(rows)) == [1, 2]


def test_reliability_compares_what_was_said_with_what_came_true() -> None:
    measured = reliability([0.05, 0.05, 0.95, 1.0], np.array([False, True, True, True]))
    assert measured.bins == ((2, 5.0, 50.0), (2, 97.5, 100.0))
    assert measured.error == pytest.approx(23.75)
