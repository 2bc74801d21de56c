"""The compact vocabulary tokenises words as the tokenizer of the prepared model does."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from memory.values.errors import ModelUnavailable
from models.assets.compact_vocabulary import CompactVocabulary, open_vocabulary
from models.body.edit_units import split_edit_units

TEXT = (
    "我們公司上個月買了 AI-Box，放在三樓機房。他说付款条件可以再谈。"
    "Can you remind me what we agreed on with the supplier's office in Zürich? v2.3.1 RM05-008 12,000.50 "
    "ｆｕｌｌ　ｗｉｄｔｈ ﬁne Åse naïve 株式会社 ㍿ 🙂🙃 ひらがな カタカナ 한국어 Привет мир 𠮷野家 "
    "antidisestablishmentarianism xqzjwkvbrrt"
)


@pytest.fixture(scope="module")
def both(e5_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[CompactVocabulary, Tokenizer]:
    compact = open_vocabulary(e5_folder, tmp_path_factory.mktemp("cache"))
    return compact, Tokenizer.from_file(str(e5_folder / "tokenizer.json"))


def test_units_of_many_scripts_have_the_same_pieces(both: Any) -> None:
    compact, real = both
    words = [TEXT[unit.start : unit.end] for unit in split_edit_units(TEXT)]
    assert len(words) > 70
    for word in words:
        assert compact.encode(word).ids == real.encode(word, add_special_tokens=False).ids, word


@given(
    word=st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.text("abst ▁'的中é㍿\u0301", max_size=12)
)
@settings(max_examples=400)
def test_any_text_has_the_same_pieces(both: Any, word: str) -> None:
    compact, real = both
    assert compact.encode(word).ids == real.encode(word, add_special_tokens=False).ids


def test_inside_a_text_no_piece_begins_a_word(both: Any) -> None:
    compact, real = both
    run = "我女朋友不喜欢下午的天氣預報"
    pieces = compact.segment(run)
    assert "".join(real.id_to_token(number) for number, _ in pieces) == run
    assert [length for _, length in pieces] == [len(real.id_to_token(number)) for number, _ in pieces]
    assert real.token_to_id("女朋友") in dict(pieces)


@given(run=st.text("我女朋友喜歡天氣預報a株式会社龘", min_size=1, max_size=20))
def test_pieces_cover_any_run_once(both: Any, run: str) -> None:
    compact, _ = both
    assert sum(length for _, length in compact.segment(run)) == len(run)


def test_pieces_have_the_same_ids(both: Any) -> None:
    compact, real = both
    for token in ("<s>", "<pad>", "</s>", "<unk>", "▁the", "的", "是", "ing", "▁", "no such piece", ""):
        assert compact.token_to_id(token) == real.token_to_id(token), token


def test_a_tokenizer_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"type": "BPE"}, "pre_tokenizer": None}))
    with pytest.raises(ModelUnavailable, match="unigram"):
        open_vocabulary(tmp_path, tmp_path / "cache")
