"""What jieba's guesses are corrected to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.language.han_tokens import cut, frequency


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("台积电和鸿海哪家大", ["台积电", "和", "鸿海", "哪家", "大"]),
        ("台积电是半导体公司", ["台积电", "是", "半导体", "公司"]),
        ("客户是鸿海", ["客户", "是", "鸿海"]),
        ("联想集团", ["联想集团"]),
        ("我们住云栖酒店", ["我们", "住", "云栖", "酒店"]),
        ("他们上次住汉庭酒店", ["他们", "上次", "住", "汉庭", "酒店"]),
    ],
)
def test_names_and_function_words_come_out_of_guessed_words(text: str, words: list[str]) -> None:
    assert [piece.text for piece in cut(text)] == words


@pytest.mark.parametrize("text", ["住友商事", "住友株式会社"])
def test_a_word_of_the_dictionary_at_the_head_of_a_guess_is_not_opened(text: str) -> None:
    assert len(cut(text)[0].text) > 1


def test_the_dictionary_knows_how_common_a_word_is() -> None:
    assert frequency("博物馆") > 1000 > frequency("欢乐谷") > frequency("资生堂")


@given(st.text(alphabet="台积电和鸿海是在住云栖到我京都大学三体a 1，。", min_size=1, max_size=40))
def test_no_character_is_lost_or_moved(text: str) -> None:
    words = [piece.text for piece in cut(text)]
    assert not words or "".join(words) == text


def test_text_without_chinese_has_no_words() -> None:
    assert cut("plain English") == ()
