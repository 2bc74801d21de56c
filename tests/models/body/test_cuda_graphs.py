"""Small batches of fixed shapes: padded by a text more, they give the vectors of the texts alone.

Without a GPU nothing is recorded here: the computation that would be is run each time, over the same fixed inputs.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from models.assets.catalog import Pooling
from models.body.body import BodyShape, ServingBody
from models.body.cuda_graphs import MOST_ROWS, MOST_TEXTS, Compute, TokenIds
from models.body.sentence import SentenceNetwork

SHAPE = BodyShape(vocabulary=60, positions=512, types=1, hidden=16, inner=32, heads=2, layers=2, epsilon=1e-5)
LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=12).map(lambda lengths: sorted(lengths, reverse=True))


def network(pooling: Pooling) -> SentenceNetwork:
    body = ServingBody(SHAPE)
    generator = torch.Generator().manual_seed(7)
    for parameter in body.parameters():
        parameter.data.normal_(0, 0.3, generator=generator)
    return SentenceNetwork(body, pooling).eval()


def texts_of(lengths: Sequence[int]) -> list[TokenIds]:
    drawn = np.random.default_rng(sum(lengths))
    return [drawn.integers(1, SHAPE.vocabulary, length) for length in lengths]


class Recorder:
    """Counts recordings, each of which always writes to the same tensor, as a graph does."""

    def __init__(self) -> None:
        self.recorded = 0

    def __call__(self, compute: Compute) -> Compute:
        self.recorded += 1
        output = compute()
        return lambda: output.copy_(compute())


def computed(model: Callable[[Sequence[TokenIds]], Tensor], texts: Sequence[TokenIds]) -> Tensor:
    with torch.inference_mode():
        return model(texts)


@pytest.mark.parametrize("pooling", Pooling)
@settings(max_examples=25)
@given(st.lists(LENGTHS, min_size=1, max_size=4))
def test_a_recorded_batch_gives_the_vectors_of_its_texts_alone(pooling: Pooling, batches: list[list[int]]) -> None:
    plain, recorded = network(pooling), network(pooling)
    recorded.capture_small_batches(Recorder())
    for texts in map(texts_of, batches):
        vectors = computed(recorded, texts)
        assert vectors.shape == (len(texts), SHAPE.hidden)
        assert (vectors - computed(plain, texts)).abs().max() < 1e-5


def test_a_shape_is_recorded_once_and_few_shapes_serve_many_batches() -> None:
    model, recorder = network(Pooling.MEAN), Recorder()
    model.capture_small_batches(recorder)
    for length in range(8, 16):
        computed(model, texts_of([length]))
        computed(model, texts_of([length]))
    assert recorder.recorded == 1
    computed(model, texts_of([16]))
    assert recorder.recorded == 2


@pytest.mark.parametrize("lengths", [[MOST_ROWS], [100, 100, 100], [1] * MOST_TEXTS])
def test_a_larger_batch_is_not_recorded(lengths: list[int]) -> None:
    plain, model, recorder = network(Pooling.MEAN), network(Pooling.MEAN), Recorder()
    model.capture_small_batches(recorder)
    texts = texts_of(lengths)
    assert (computed(model, texts) - computed(plain, texts)).abs().max() < 1e-5
    assert recorder.recorded == 0


def test_vectors_of_one_batch_outlive_the_next() -> None:
    model = network(Pooling.MEAN)
    model.capture_small_batches(Recorder())
    first = computed(model, texts_of([9, 5]))
    copy = first.clone()
    computed(model, texts_of([8, 3]))
    assert torch.equal(first, copy)
