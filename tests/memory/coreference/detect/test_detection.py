"""What refers, what only looks like it, and with which exact offsets."""

import pytest
from memory.coreference.detect.detection import find_references
from memory.coreference.detect.references import Form, Gender, Kind, Number, Reference

from memory.values.mentions import EntitySubtype


def _texts(text: str) -> list[str]:
    return [reference.text for reference in find_references(text)]


def _only(text: str) -> Reference:
    (reference,) = find_references(text)
    return reference


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("它的價格和她的電話", ["它", "她"]),
        ("這台機器跟那本書", ["這台機器", "那本書"]),
        ("上次說的那個系統好嗎", ["上次說的那個系統"]),
        ("之前提到的公司呢", ["之前提到的公司"]),
        ("前者和後者哪個好", ["前者", "後者"]),
        ("该公司的老板", ["该公司"]),
        ("其價格如何", ["其"]),
        ("Is it better than that one?", ["it", "that one"]),
        ("What about the one from last week?", ["the one from last week"]),
        ("Tell me what we discussed last time.", ["what we discussed last time"]),
        ("Call her about her order", ["her", "her"]),
        ("Compare the former with the latter", ["the former", "the latter"]),
        ("吉他、其他、應該、維他命、因此、其實", []),
        ("it is raining and it's 5 o'clock", []),
        ("the price of it is fine.", ["it"]),
    ],
)
def test_references_are_found_in_text_order(text: str, expected: list[str]) -> None:
    assert _texts(text) == expected


@pytest.mark.parametrize("text", ["這家公司在哪裡", "这家公司在哪里"])
def test_both_scripts_are_read_alike_and_the_text_stays_as_it_was(text: str) -> None:
    reference = _only(text)
    assert reference.text == text[:4]
    assert (reference.start, reference.end) == (0, 4)
    assert EntitySubtype.ORGANISATION in reference.subtypes


def test_characters_outside_the_basic_plane_count_as_one() -> None:
    reference = _only("😀😀 它好嗎")
    assert (reference.start, reference.end) == (3, 4)


def test_number_gender_and_person_come_from_the_words() -> None:
    assert _only("她們好嗎").number is Number.PLURAL
    assert _only("她們好嗎").gender is Gender.FEMALE
    assert _only("Where is he?").person is True
    assert _only("它呢").person is False
    assert _only("那位小姐是誰").gender is Gender.FEMALE
    assert _only("這兩家公司在哪").count == 2


def test_her_owns_a_noun_or_is_an_object() -> None:
    assert _only("Where is her car?").form is Form.POSSESSIVE
    assert _only("Did you call her?").form is Form.PLAIN


def test_only_some_expressions_reach_across_sessions() -> None:
    assert _only("上次說的那個系統").across
    assert _only("the one from last week").across
    assert not _only("剛才說的那個系統").across
    assert not _only("它好嗎").across


def test_things_are_not_persons_whatever_the_pronoun_when_they_have_an_author() -> None:
    assert _only("他的作者是誰").person is False
    assert _only("他的電話是多少").person is True


def test_a_recall_takes_its_noun_with_it() -> None:
    reference = _only("上次說的那個系統怎麼樣")
    assert reference.kind is Kind.RECALL
    assert reference.noun == "系统"
