"""Folding: what is the same name, whatever its width, case or script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.values.ids import entity_id
from memory.values.text import fold, fold_lower, is_simplified, normalise, to_simplified


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("宏康 HCI", "宏康HCI"),
        ("宏康　ＨＣＩ", "宏康 hci"),
        ("臺灣", "台湾"),
        ("AI-Box", "ａｉ－ｂｏｘ"),
        ("New  York", "new york"),
    ],
)
def test_these_are_one_name(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)
    assert entity_id("ann", one) == entity_id("ann", other)


@pytest.mark.parametrize(("one", "other"), [("RM05-008", "RM05-009"), ("New York", "Newyork"), ("v2.3", "v2.4")])
def test_these_are_two(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@given(st.text())
def test_folding_the_script_keeps_every_offset(text: str) -> None:
    assert len(to_simplified(text)) == len(text)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("ＡＩ－Ｂｏｘ（臺灣）　多少？", "AI-Box(台湾) 多少?"),
        ("Ann’s ‘card’", "Ann's 'card'"),
        ("Ａ・Ｂ", "A·B"),
        ("a\ud800b", "a\ufffdb"),
    ],
)
def test_width_script_and_quotes_are_folded_in_place(text: str, folded: str) -> None:
    assert fold(text) == folded
    assert fold_lower(text) == folded.lower()


@given(st.text(st.characters(), max_size=40) | st.text("ＡｚЩ９？（İΣßﬁ臺灣一ʼ’　", max_size=20))
def test_folding_keeps_every_offset_and_is_done_once(text: str) -> None:
    for folding in (fold, fold_lower):
        folded = folding(text)
        assert len(folded) == len(text)
        if "薴" not in text:  # OpenCC writes it 苧, and 苧 as 苎; ids of stored names rest on that
            assert folding(folded) == folded


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E)))
def test_full_width_is_half_width(text: str) -> None:
    wide = "".join(chr(ord(character) + 0xFEE0) for character in text)
    assert fold(wide) == text
    assert fold_lower(wide) == text.lower()
    assert normalise(wide) == normalise(text)


@given(st.text())
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(st.text(min_size=1), st.text(min_size=1), st.text())
def test_two_users_never_share_an_id(ann: str, bob: str, value: str) -> None:
    assert ann == bob or entity_id(ann, value) != entity_id(bob, value)


@pytest.mark.parametrize(
    ("text", "simplified"),
    [("他什么时候来？", True), ("他什麼時候來？", False), ("你好", False), ("公司在台北", False), ("hello", False)],
)
def test_simplified_text_has_a_character_that_traditional_text_writes_otherwise(text: str, simplified: bool) -> None:
    assert is_simplified(text) is simplified
