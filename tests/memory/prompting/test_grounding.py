"""Which values of a generated text its source does not hold."""

from datetime import date

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memory.language.keywords import STOP_WORDS_ENGLISH
from memory.prompting.grounding import unknown_values, without_date

ENGLISH = (
    "We pay 1,600 pounds for the flat in Leeds, parcel RM05-008, door 14B, wifi “Blue Heron”, see ann@example.org."
)
CHINESE = "我們上個月買了 AI-Box，一年保固，放在三樓機房，密碼是「青鳥七號」，花了一萬六千元，三十五天後到貨。"
WORDS = ENGLISH.rstrip(".").split()
NAMES = st.from_regex(r"[A-Z][a-z]{3,8}", fullmatch=True)
CODES = st.from_regex(r"[A-Z]{2}[0-9]{2}-[0-9]{3}", fullmatch=True)
HAN_NAMES = st.text("甲乙丙丁戊己庚辛", min_size=2, max_size=4)


def unknown(text: str, source: str) -> list[str]:
    return unknown_values(text, source, is_english=source is ENGLISH)


@pytest.mark.parametrize(
    "text",
    [
        "You pay 1600 pounds. Leeds. Parcel rm05-008, door 14 B.",
        "Yes, your wifi is “blue heron”; write to ann@example.org.",
        "You're in Leeds, and the flat's door is 14B.",
    ],
)
def test_what_the_source_says_may_be_said_in_other_words_and_spellings(text: str) -> None:
    assert unknown(text, ENGLISH) == []


@pytest.mark.parametrize("text", ["AI-BOX 放在３樓机房。", "密碼是「青鸟七号」，保固1年。", "花了 16,000 元，35 天。"])
def test_so_it_is_in_chinese(text: str) -> None:
    assert unknown(text, CHINESE) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("You pay 1700 pounds.", "1700"),
        ("You pay sixteen pounds.", "sixteen"),
        ("You pay 1.6 pounds.", "1"),
        ("Your parcel is RM05-00.", "rm05-00"),
        ("Your parcel is RM05-0081.", "rm05-0081"),
        ("York.", "York"),
        ("Your flat is in York.", "York"),
        ("Your wifi is “Grey Heron”.", "Grey Heron"),
        ("Write to bob@example.org.", "bob@example.org"),
        ("See http://example.org/?q=Leeds", "http://example.org/?q=leeds"),
        ("Your flat is in 臺北.", "臺北"),
    ],
)
def test_what_it_does_not_say_is_named(text: str, value: str) -> None:
    assert value in unknown(text, ENGLISH)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("放在四樓機房。", "四"),
        ("保固 2 年。", "2"),
        ("花了一萬七千元。", "一萬七千"),
        ("買了 AI-Cube。", "AI-Cube"),
        ("密碼是「青鳥八號」。", "青鳥八號"),
    ],
)
def test_nor_in_chinese(text: str, value: str) -> None:
    assert value in unknown(text, CHINESE)


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8))
def test_pieces_of_the_source_are_never_unknown(words: list[str]) -> None:
    pieces = " ".join(words).replace("“", "").replace("”", "")
    assert unknown(pieces, ENGLISH) == []


@given(number=st.integers(0, 10**9), before=st.sampled_from(WORDS))
def test_another_number_is_always_found(number: int, before: str) -> None:
    assume(number not in (1600, 5, 8, 14))
    assert str(number) in unknown(f"{before.strip('“”')} is {number} now", ENGLISH)


@given(name=NAMES | CODES, sentence=st.sampled_from(["{}.", "Your flat is in {}.", "It was {}'s. Really."]))
def test_another_name_or_code_is_found_wherever_it_stands(name: str, sentence: str) -> None:
    assume(name.lower() not in ENGLISH.lower())
    assume(name.lower() not in STOP_WORDS_ENGLISH)
    assume(name.lower() not in {"according", "based", "currently", "earlier", "previously", "sorry", "yeah"})
    found = [value.lower().removesuffix("'s") for value in unknown(sentence.format(name), ENGLISH)]
    assert name.lower() in found


@given(name=HAN_NAMES)
def test_another_quotation_and_another_script_are_found(name: str) -> None:
    assert name in unknown(f"密碼是「{name}」", CHINESE)
    assert name in unknown(f"It is {name} here.", ENGLISH)


DAY = date(2026, 3, 1)


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01",
        "2026/3/1",
        "March 1, 2026",
        "on 1 March",
        "the 1st of March 2026",
        "Mar 1st",
        "2026年3月1日",
        "3月1號",
        "Sunday",
    ],
)
def test_a_date_may_be_written_in_many_ways(text: str) -> None:
    assert unknown_values(without_date(text, DAY), "", is_english=True) == []


@pytest.mark.parametrize(
    "text", ["2026-03-02", "March 12", "3 cats", "13月1日", "31 March", "2025", "3月11日", "Monday 1"]
)
def test_its_numbers_are_no_other_numbers(text: str) -> None:
    assert unknown_values(without_date(text, DAY), "", is_english=True) != []
