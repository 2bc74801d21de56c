"""What jieba's guesses are corrected to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.extraction.han_cutting import cut_han


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("台积电和鸿海哪家大", ["台积电", "和", "鸿海", "哪家", "大"]),
        ("台积电是半导体公司", ["台积电", "是", "半导体", "公司"]),
        ("客户是鸿海", ["客户", "是", "鸿海"]),
        ("联想集团", ["联想集团"]),
    ],
)
def test_names_and_function_words_come_out_of_guessed_words(text: str, words: list[str]) -> None:
    assert [piece.text for piece in cut_han(text)] == words


@given(st.text(alphabet="台积电和鸿海是在我京都大学三体a 1，。", min_size=1, max_size=40))
def test_no_character_is_lost_or_moved(text: str) -> None:
    words = [piece.text for piece in cut_han(text)]
    assert not words or "".join(words) == text


def test_text_without_chinese_has_no_words() -> None:
    assert cut_han("plain English") == []
