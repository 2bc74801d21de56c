"""A context is cut at whole categories (002 §4.3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.tiers.truncation import SEPARATOR, Budget, fitting

blocks_of = st.lists(st.text(min_size=1, max_size=40), max_size=8)


@pytest.mark.parametrize(("chars", "count"), [(None, 3), (14, 3), (13, 2), (9, 2), (8, 1), (3, 1), (2, 0), (0, 0)])
def test_a_category_is_in_as_a_whole_or_not_at_all(chars: int | None, count: int) -> None:
    assert fitting(["aaa", "bbbb", "ccc"], budget=Budget(chars=chars)) == count


def test_a_small_category_behind_one_that_is_too_long_is_left_out_too() -> None:
    assert fitting(["aaa", "b" * 50, "c"], budget=Budget(chars=20)) == 1


@given(blocks_of, st.integers(min_value=0, max_value=200))
def test_what_fits_is_the_longest_beginning_within_the_limit(blocks: list[str], chars: int) -> None:
    count = fitting(blocks, budget=Budget(chars=chars))
    assert len(SEPARATOR.join(blocks[:count])) <= chars
    assert count == len(blocks) or len(SEPARATOR.join(blocks[: count + 1])) > chars


@given(st.lists(st.integers(min_value=0, max_value=50), max_size=8), st.integers(min_value=0, max_value=200))
def test_tokens_are_limited_in_the_same_way(tokens: list[int], limit: int) -> None:
    count = fitting(["x"] * len(tokens), budget=Budget(tokens=limit), tokens=tokens)
    assert sum(tokens[:count]) <= limit
    assert count == len(tokens) or sum(tokens[: count + 1]) > limit
