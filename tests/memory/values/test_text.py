"""Folding: what is the same name, whatever its width, case or script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.values.ids import entity_id
from memory.values.text import normalise, to_simplified


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


@given(st.text())
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(st.text(min_size=1), st.text(min_size=1), st.text())
def test_two_users_never_share_an_id(ann: str, bob: str, value: str) -> None:
    assert ann == bob or entity_id(ann, value) != entity_id(bob, value)
