import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.ports.models.language import TextKind
from models.batching.engine import length_buckets
from models.encoder.engine import EncoderEngine
from tests.models.conftest import tolerance

TEXTS = [
    "它什麼時候會好？",
    "宏康HCI的報價單",
    "short",
    "a much longer sentence in English that goes on for quite a while, twice over: " * 2,
    "",
    "ＡＢＣ　１２３",
    "👩‍👩‍👧‍👦",
]


@given(st.lists(st.integers(1, 512), max_size=80), st.integers(0, 200))
def test_buckets_hold_every_position_once_and_fall_in_length(lengths: list[int], overhead: int) -> None:
    buckets = length_buckets(lengths, overhead)
    order = [position for bucket in buckets for position in bucket]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[position] for position in order] == sorted(lengths, reverse=True)


@given(st.lists(st.integers(1, 512), min_size=1, max_size=80), st.integers(0, 200))
def test_no_bucket_pads_more_than_another_pass_would_cost(lengths: list[int], overhead: int) -> None:
    for bucket in length_buckets(lengths, overhead):
        longest = lengths[bucket[0]]
        assert sum(longest - lengths[position] for position in bucket) <= overhead


def test_equal_lengths_stay_in_one_bucket() -> None:
    assert length_buckets([7, 7, 7], 0) == [[0, 1, 2]]


@pytest.mark.parametrize("kind", TextKind)
def test_vectors_are_unit_float32_rows_in_order(any_engine: EncoderEngine, kind: TextKind) -> None:
    vectors = any_engine.encode(TEXTS, kind)
    assert vectors.shape == (len(TEXTS), any_engine.dimension)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)


def test_a_text_has_the_same_vector_alone_and_in_a_batch(any_engine: EncoderEngine) -> None:
    together = any_engine.encode(TEXTS, TextKind.PASSAGE)
    alone = np.concatenate([any_engine.encode([text], TextKind.PASSAGE) for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=tolerance(any_engine))


def test_no_texts_give_no_rows(any_engine: EncoderEngine) -> None:
    assert any_engine.encode([], TextKind.QUERY).shape == (0, any_engine.dimension)


def test_half_a_surrogate_pair_is_read_as_a_replacement_character(any_engine: EncoderEngine) -> None:
    broken, replaced = any_engine.encode(["bad \ud83d text", "bad \ufffd text"], TextKind.QUERY)
    np.testing.assert_allclose(broken, replaced, atol=tolerance(any_engine))


@given(st.text(max_size=60))
def test_any_text_has_a_vector_from_the_fake(text: str) -> None:
    from testing.fakes.encoder import FakeEncoderEngine

    vectors = FakeEncoderEngine(dimension=16).encode([text], TextKind.QUERY)
    assert np.linalg.norm(vectors) == pytest.approx(1, abs=1e-5)
