from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from memory.ports.models.language import TextKind
from testing.fakes.encoder import FakeEncoder, FakeEncoderEngine


@pytest.fixture
def cosine() -> Callable[[str, str], float]:
    engine = FakeEncoderEngine(dimension=256)

    def between(first: str, second: str) -> float:
        one, other = engine.encode([first, second], TextKind.QUERY)
        return float(one @ other)

    return between


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("the red car is fast", "a fast red car", "completely different topic here"),
        ("宏康HCI的報價單", "宏康的報價", "天氣很好我們出去玩"),
        ("我喜歡喝咖啡", "我愛喝咖啡", "the stock market fell"),
        ("payment terms", "Payment Term", "holiday plans"),
    ],
)
def test_texts_that_share_words_or_characters_are_nearer(cosine: Any, text: str, near: str, far: str) -> None:
    assert cosine(text, near) > cosine(text, far) + 0.2


def test_width_and_case_do_not_matter(cosine: Any) -> None:
    assert cosine("ＨＣＩ", "hci") == pytest.approx(1)


def test_it_gives_the_same_vectors_in_every_process() -> None:
    vector = FakeEncoderEngine(dimension=8).encode(["記憶 memory"], TextKind.QUERY)[0]
    np.testing.assert_allclose(vector, np.array([0, 0, 1, 2, 0, 0, -1, 0]) / np.sqrt(6), atol=1e-6)


async def test_the_port_gives_what_the_engine_gives() -> None:
    encoder = FakeEncoder(dimension=32)
    vectors = await encoder.encode(["一", "two"], kind=TextKind.PASSAGE)
    np.testing.assert_array_equal(vectors, FakeEncoderEngine(dimension=32).encode(["一", "two"], TextKind.PASSAGE))
    assert (encoder.dimension, encoder.model_id) == (32, "fake")
