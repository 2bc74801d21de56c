from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memory.values.errors import ModelUnavailable
from models.assets.e5_bundle import E5Bundle


def test_tensors_come_back_dequantised(tmp_path: Path, write_bundle: Any) -> None:
    path = tmp_path / "tiny.bin"
    for name, expected in write_bundle(path, layers=2).items():
        np.testing.assert_array_equal(E5Bundle(path).tensor(name, expected.shape), expected)


def test_shape_vocabulary_and_map_come_back(tiny_bundle: Path) -> None:
    bundle = E5Bundle(tiny_bundle)
    assert (bundle.shape.hidden, bundle.shape.layers, bundle.shape.heads) == (32, 1, 4)
    assert [bundle.vocabulary.pieces[number][0] for number in (0, 1, 2, 3)] == ["<s>", "<pad>", "</s>", "<unk>"]
    assert (bundle.vocabulary.bos, bundle.vocabulary.pad) == (0, 1)
    assert bundle.vocabulary.replacements["㍿"] == "株式"
    assert bundle.vocabulary.replacements["\x01"] == ""


def test_a_missing_tensor_or_one_of_another_size_is_refused(tiny_bundle: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"l9\.q\.w"):
        E5Bundle(tiny_bundle).tensor("l9.q.w", (32, 32))
    with pytest.raises(ModelUnavailable, match=r"l0\.q\.w"):
        E5Bundle(tiny_bundle).tensor("l0.q.w", (32, 64))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        E5Bundle(tmp_path / "none.bin")


@given(share=st.floats(0, 1, exclude_max=True))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_file_cut_short_anywhere_is_refused(tiny_bundle: Path, share: float) -> None:
    cut = tiny_bundle.with_name("cut.bin")
    whole = tiny_bundle.read_bytes()
    cut.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(ModelUnavailable):
        E5Bundle(cut).tensor("l0.oln.b", (32,))  # the last one


@given(position=st.integers(0, 700), value=st.integers(0, 255))
@example(position=313, value=111)  # a tensor that begins elsewhere, among scales that are no numbers
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=300)
def test_a_damaged_head_is_read_or_refused_but_never_breaks_the_reader(
    tiny_bundle: Path, position: int, value: int
) -> None:
    damaged = bytearray(tiny_bundle.read_bytes())
    damaged[position] = value
    path = tiny_bundle.with_name("damaged.bin")
    path.write_bytes(damaged)
    try:
        bundle = E5Bundle(path)
        bundle.tensor("emb.word", (bundle.shape.vocabulary, bundle.shape.hidden))
    except ModelUnavailable:
        pass
