"""The tokenizer in little memory reads texts as the tokenizer of the prepared model does."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from models.assets.piece_tokenizer import PieceTokenizer, open_tokenizer

TEXTS = (
    "我們公司上個月買了 AI-Box，放在三樓機房。他说付款条件可以再谈。",
    "query: Can you remind me what we agreed on with the supplier's office in Zürich? v2.3.1 RM05-008 12,000.50",
    "ｆｕｌｌ　ｗｉｄｔｈ ﬁne Åse naïve 株式会社 ㍿ 🙂🙃 ひらがな カタカナ 한국어 Привет мир 𠮷野家 𐤀𐤁 ក្ដី",
    "  two  spaces \t tabs\nlines ▁ ▁a b▁",
    "",
    " ",
    "<mask> </s> x<s>",
)


@pytest.fixture(scope="module")
def both(e5_folder: Path) -> tuple[PieceTokenizer, Tokenizer]:
    small = open_tokenizer(e5_folder)
    assert isinstance(small, PieceTokenizer)
    return small, Tokenizer.from_file(str(e5_folder / "tokenizer.json"))


@pytest.fixture(scope="module")
def scores(e5_folder: Path) -> list[float]:
    return [score for _, score in json.loads((e5_folder / "tokenizer.json").read_text())["model"]["vocab"]]


@pytest.mark.parametrize("text", TEXTS)
def test_texts_of_many_scripts_have_the_same_tokens(both: Any, text: str) -> None:
    small, real = both
    assert small.encode(text).ids == real.encode(text).ids


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.text("abAB ▁'的中é㍿\u0301", max_size=30)
)
@settings(max_examples=300, deadline=None)
def test_any_text_has_the_same_tokens_but_for_segmentations_that_are_equally_probable(
    both: Any, scores: list[float], text: str
) -> None:
    small, real = both
    found, expected = small.encode(text).ids, real.encode(text).ids
    if found != expected:
        assert sum(scores[number] for number in found) == pytest.approx(sum(scores[number] for number in expected))
        assert len(found) == len(expected)


def test_tokens_have_the_same_numbers(both: Any) -> None:
    small, real = both
    assert small.token_to_id("</s>") == real.token_to_id("</s>") == 2
    assert small.token_to_id("▁the") == real.token_to_id("▁the")
    assert small.token_to_id("no such piece") is None


def test_longer_texts_are_cut_as_the_library_cuts_them(e5_folder: Path) -> None:
    small, real = open_tokenizer(e5_folder), Tokenizer.from_file(str(e5_folder / "tokenizer.json"))
    for tokenizer in (small, real):
        tokenizer.enable_truncation(8)
        tokenizer.no_padding()
    texts = [*TEXTS, "memory " * 50]
    found = [encoding.ids for encoding in small.encode_batch_fast(texts)]
    assert found == [encoding.ids for encoding in real.encode_batch_fast(texts)]
    assert max(map(len, found)) == 8


def test_a_tokenizer_of_another_kind_is_the_library_s_own(tmp_path: Path) -> None:
    Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]")).save(str(tmp_path / "tokenizer.json"))
    assert isinstance(open_tokenizer(tmp_path), Tokenizer)
