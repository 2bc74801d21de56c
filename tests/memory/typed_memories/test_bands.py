"""Similarity bands: what a cosine may mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from memory.typed_memories.bands import BandQuality, SimilarityBand, SimilarityBands

QUALITY = BandQuality(precision=0.9, recall=0.8, pairs=100)


def band(lower: float = 0.9, duplicate: float = 0.97, upper: float = 1.0) -> SimilarityBand:
    return SimilarityBand(lower=lower, upper=upper, duplicate=duplicate, candidates=QUALITY, duplicates=QUALITY)


@pytest.mark.parametrize(
    ("cosine", "conflict", "repeat"),
    [(0.89, False, False), (0.9, True, False), (0.96, True, False), (0.97, True, True), (1.0, False, True)],
)
def test_a_close_pair_may_conflict_may_repeat_or_both(cosine: float, conflict: bool, repeat: bool) -> None:
    assert band().may_conflict(cosine) is conflict
    assert band().may_repeat(cosine) is repeat


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1))
def test_a_band_is_in_order_or_refused(lower: float, duplicate: float, upper: float) -> None:
    if lower <= duplicate <= upper:
        assert band(lower, duplicate, upper).lower == lower
    else:
        with pytest.raises(ValidationError, match="lower ≤ duplicate ≤ upper"):
            band(lower, duplicate, upper)


@given(st.floats(-1, 1))
def test_what_is_below_the_band_is_neither(cosine: float) -> None:
    thresholds = band()
    if cosine < thresholds.lower:
        assert not thresholds.may_conflict(cosine)
        assert not thresholds.may_repeat(cosine)


@pytest.mark.parametrize(
    ("left", "right", "chinese"),
    [
        ("我住在台北。", "我家在台北。", True),
        ("我用 Ubuntu。", "我的電腦裝 Ubuntu。", True),
        ("I live in Taipei.", "My home is in Taipei.", False),
        ("我住在台北。", "I live in Taipei.", False),
    ],
)
def test_two_chinese_texts_have_a_band_of_their_own(left: str, right: str, chinese: bool) -> None:
    bands = SimilarityBands(chinese=band(0.94), other=band(0.89))
    assert bands.of(left, right) is (bands.chinese if chinese else bands.other)
    assert bands.of(right, left) is bands.of(left, right)
