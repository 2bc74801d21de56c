"""001 §3.4's score, clipped to 0–1 as DESIGN §11 says."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.typed_memories.retrieval import TYPED_MEMORY_HOTNESS, hotness_parts, hotness_score


def test_the_recipe_is_that_of_001() -> None:
    recipe = TYPED_MEMORY_HOTNESS
    assert (recipe.relevance, recipe.hotness, recipe.recency) == (0.4, 0.3, 0.3)
    assert (recipe.full_access, recipe.horizon_days) == (100, 365)
    assert (recipe.min_confidence, recipe.limit, recipe.candidates) == (0.7, 5, 2)


@given(relevance=st.floats(-2, 2), accesses=st.integers(0, 10_000), days=st.floats(-10, 5_000))
def test_the_score_is_the_formula_and_stays_in_0_to_1(relevance: float, accesses: int, days: float) -> None:
    now = datetime(2026, 3, 2, tzinfo=UTC)
    parts = hotness_parts(relevance, accesses, now - timedelta(days=days), now)
    expected = 0.4 * min(1, max(0, relevance)) + 0.3 * min(1, accesses / 100) + 0.3 * min(1, max(0, 1 - days / 365))
    assert hotness_score(parts) == pytest.approx(expected, abs=1e-6)
    assert all(0 <= part <= 1 for part in parts.values())
    assert 0 <= hotness_score(parts) <= 1 + 1e-9
