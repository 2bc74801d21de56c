"""Words of Chinese texts: without gaps, and which spans are words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.language.tokens import Words, cut


@given(st.text(alphabet="台积电和鸿海是在住云栖到我京都大学三体a 1，。", min_size=1, max_size=40))
def test_no_character_is_lost_or_moved(text: str) -> None:
    words = cut(text)
    assert not words or "".join(word.text for word in words) == text
    assert all(text[word.start : word.end] == word.text for word in words)


def test_text_without_chinese_has_no_words() -> None:
    assert cut("plain English") == ()


@pytest.mark.parametrize(("text", "span"), [("她是小明星", "小明"), ("其他的", "他的")])
def test_a_span_may_cut_a_word(text: str, span: str) -> None:
    start = text.index(span)
    assert Words(text).cuts_word(start, start + len(span))


@pytest.mark.parametrize(
    ("text", "span"), [("小明来了", "小明"), ("台积电和鸿海哪家大", "鸿海"), ("我住云栖酒店", "云栖")]
)
def test_a_guessed_word_is_not_cut(text: str, span: str) -> None:
    start = text.index(span)
    assert not Words(text).cuts_word(start, start + len(span))


@pytest.mark.parametrize(("text", "opens"), [("今天天气", True), ("说明天文学", False)])
def test_a_time_word_may_open_a_longer_word(text: str, opens: bool) -> None:
    start = text.index("天") - 1
    assert Words(text).opens_word(start, start + 2) is opens
