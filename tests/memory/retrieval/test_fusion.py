"""000 §6.3: the fused score, its parts and their normalisation."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.retrieval.fusion import ENTITY_MEMORY, freshness, fused_score, min_max, share_of_best

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PART = st.floats(0, 1)


@pytest.mark.parametrize(("hours", "expected"), [(0, 1.0), (24, 0.9), (120, 0.5), (240, 0.0), (1000, 0.0), (-5, 1.0)])
def test_freshness_falls_by_a_tenth_a_day_and_never_leaves_zero_to_one(hours: float, expected: float) -> None:
    assert freshness(NOW - timedelta(hours=hours), NOW, horizon_hours=240) == pytest.approx(expected)


def test_the_weights_are_those_of_the_document() -> None:
    parts = {"vector": 0.5, "exact": 1.0, "freshness": 0.25}
    assert fused_score(parts, ENTITY_MEMORY) == pytest.approx(0.4 * 0.5 + 0.4 * 1.0 + 0.2 * 0.25)


def test_keyword_evidence_stands_in_for_an_exact_name_and_is_never_added_to_it() -> None:
    assert fused_score({"keyword": 0.6}, ENTITY_MEMORY) == pytest.approx(0.24)
    assert fused_score({"keyword": 0.6, "exact": 1.0}, ENTITY_MEMORY) == pytest.approx(0.4)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("vector", "keyword", "exact", "freshness"), PART)))
def test_a_fused_score_stays_in_zero_to_one(parts: dict[str, float]) -> None:
    assert 0 <= fused_score(parts, ENTITY_MEMORY) <= 1 + 1e-9


@given(st.dictionaries(st.integers(), st.floats(-1, 1), min_size=1))
def test_min_max_keeps_the_order_and_spans_zero_to_one(scores: dict[int, float]) -> None:
    scaled = min_max(scores)
    assert max(scaled.values()) == 1
    assert min(scaled.values()) in (0, 1)
    assert all(scaled[a] <= scaled[b] for a in scores for b in scores if scores[a] < scores[b])


def test_a_share_of_nothing_is_nothing() -> None:
    assert share_of_best({}) == {}
    assert share_of_best({"a": 0.0}) == {}
    assert share_of_best({"a": 2.0, "b": 1.0}) == {"a": 1.0, "b": 0.5}
