import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.assets.weight_files import GROUP, Bits, dequantise
from training.shared.weight_files import quantise


@pytest.mark.parametrize("bits", [4, 8])
@given(rows=st.integers(1, 5), columns=st.integers(1, 2 * GROUP), seed=st.integers(0, 99))
@settings(max_examples=20)
def test_packed_values_come_back_close(bits: Bits, rows: int, columns: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)
    packed, scales = quantise(values, bits)
    again = dequantise(packed, scales, values.shape, bits)
    assert again.shape == values.shape
    worst = np.abs(values).max() / 2 ** (bits - 2)
    assert np.abs(again - values).max() <= worst
    assert packed.nbytes * 8 / bits <= values.size + GROUP


@pytest.mark.parametrize("bits", [4, 8])
def test_nothing_packs_to_nothing(bits: Bits) -> None:
    packed, scales = quantise(np.zeros((3, 50), np.float32), bits)
    assert not dequantise(packed, scales, (3, 50), bits).any()
