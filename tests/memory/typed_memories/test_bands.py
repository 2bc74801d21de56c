"""Similarity bands: what a cosine may mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from memory.typed_memories.bands import BandQuality, SimilarityBand, SimilarityBands

QUALITY = BandQuality(precision=0.9, recall=0.8, pairs=100)


def band(lower: float = 0.9, duplicate: float = 0.97, upper: float = 1.0) -> SimilarityBand:
    return SimilarityBand(lower=lower, upper=upper, duplicate=duplicate, candidates=QUALITY, duplicates=QUALITY)


@pytest.mark.parametrize(("cosine", "conflict"), [(0.89, False), (0.9, True), (0.96, True), (0.97, True), (1.0, False)])
def test_a_close_pair_may_conflict(cosine: float, conflict: bool) -> None:
    assert band().may_conflict(cosine) is conflict


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1))
def test_a_band_is_in_order_or_refused(lower: float, duplicate: float, upper: float) -> None:
    if lower <= duplicate <= upper:
        assert band(lower, duplicate, upper).lower == lower
    else:
        with pytest.raises(ValidationError, match="lower ≤ duplicate ≤ upper"):
            band(lower, duplicate, upper)


@given(st.floats(-1, 1))
def test_a_pair_below_the_band_does_not_conflict(cosine: float) -> None:
    thresholds = band()
    if cosine < thresholds.lower:
        assert not thresholds.may_conflict(cosine)


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
