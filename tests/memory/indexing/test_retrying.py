"""Embedding is retried three times with growing pauses, each call within 30 s (004 §6.2)."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from memory.indexing.retrying import MAX_RETRIES, TEXTS_A_CALL, TIMEOUT_S, RetriedEncoder
from memory.ports.models.language import FloatMatrix, Priority, TextKind
from memory.values.errors import EmbeddingFailed, InvalidField, ModelUnavailable, Overloaded
from testing.fakes.encoder import FakeEncoder


class FailingEncoder(FakeEncoder):
    """Raises its errors one after the other, then answers; None is a call that never ends."""

    def __init__(self, *errors: Exception | None) -> None:
        super().__init__(dimension=8)
        self.errors = [*errors]
        self.calls: list[int] = []

    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        self.calls.append(len(texts))
        if self.errors:
            error = self.errors.pop(0)
            if error is None:
                await asyncio.Event().wait()
            else:
                raise error
        return await super().encode(texts, kind=kind, priority=priority)


@pytest.fixture
def pauses() -> list[float]:
    return []


def retried(inner: FailingEncoder, pauses: list[float], *, timeout_s: float = 30.0) -> RetriedEncoder:
    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    return RetriedEncoder(inner, timeout_s=timeout_s, sleep=sleep)


def test_the_numbers_are_those_of_the_document() -> None:
    assert (MAX_RETRIES, TIMEOUT_S) == (3, 30.0)


async def test_it_is_asked_again_after_growing_pauses(pauses: list[float]) -> None:
    inner = FailingEncoder(ModelUnavailable("away"), Overloaded("full"), ModelUnavailable("away"))
    vectors = await retried(inner, pauses).encode(["a"], kind=TextKind.PASSAGE)
    assert (vectors.shape, inner.calls, pauses) == ((1, 8), [1] * 4, [0.5, 1.0, 2.0])


async def test_after_three_retries_it_fails_with_the_reason(pauses: list[float]) -> None:
    inner = FailingEncoder(*[ModelUnavailable("away")] * 4)
    with pytest.raises(EmbeddingFailed, match="away") as failed:
        await retried(inner, pauses).encode(["a"], kind=TextKind.PASSAGE)
    assert (failed.value.attempts, len(inner.calls)) == (4, 4)


async def test_a_call_that_takes_too_long_is_given_up(pauses: list[float]) -> None:
    inner = FailingEncoder(None)
    assert (await retried(inner, pauses, timeout_s=0.01).encode(["a"], kind=TextKind.PASSAGE)).shape == (1, 8)
    inner = FailingEncoder(*[None] * 4)
    with pytest.raises(EmbeddingFailed, match="no answer within"):
        await retried(inner, pauses, timeout_s=0.01).encode(["a"], kind=TextKind.PASSAGE)


async def test_a_wrong_request_is_not_repeated(pauses: list[float]) -> None:
    inner = FailingEncoder(InvalidField("too long"))
    with pytest.raises(InvalidField):
        await retried(inner, pauses).encode(["a"], kind=TextKind.PASSAGE)
    assert inner.calls == [1]


async def test_many_texts_are_sent_in_calls_and_stay_in_order(pauses: list[float]) -> None:
    texts = [f"text {number}" for number in range(2 * TEXTS_A_CALL + 1)]
    inner = FailingEncoder()
    vectors = await retried(inner, pauses).encode(texts, kind=TextKind.PASSAGE)
    assert inner.calls == [TEXTS_A_CALL, TEXTS_A_CALL, 1]
    expected = await FakeEncoder(dimension=8).encode(texts, kind=TextKind.PASSAGE)
    np.testing.assert_array_equal(vectors, expected)
    assert (await retried(inner, pauses).encode([], kind=TextKind.PASSAGE)).shape == (0, 8)
