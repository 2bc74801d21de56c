"""How an antecedent is written into a query."""

import pytest
from memory.coreference.detect.detection import find_references
from memory.coreference.detect.references import Number
from memory.coreference.write.rewriting import apply_edits, edit_for, writes_spaces


def _write(query: str, text: str, *, spaces: bool = True, number: Number = Number.SINGULAR) -> str:
    (reference,) = find_references(query)
    return apply_edits(query, [edit_for(query, reference, text, spaces=spaces, number=number)])


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("Is its API stable?", "Redis", "Is Redis's API stable?"),
        ("What is his name?", "the boys", "What is the boys' name?"),
        ("It's broken.", "Redis", "Redis is broken."),
        ("It’s been slow.", "Redis", "Redis has been slow."),
        ("It'll work.", "Redis", "Redis will work."),
        ("He'd know.", "Tom", "Tom would know."),
        ("It is loud.", "the red car", "The red car is loud."),
        ("It is loud.", "iPhone", "iPhone is loud."),
        ("How do I get there?", "Kyoto", "How do I get to Kyoto?"),
        ("Where can I eat there?", "Kyoto", "Where can I eat in Kyoto?"),
        ("它的價格", "AI-Box", "AI-Box 的價格"),
        ("請介紹它吧", "AI-Box", "請介紹 AI-Box 吧"),
        ("它的價格", "台積電", "台積電的價格"),
        ("其價格", "台積電", "台積電的價格"),
        ("那台機器壞了", "洗衣機", "洗衣機壞了"),
    ],
)
def test_the_sentence_stays_grammatical(query: str, text: str, expected: str) -> None:
    assert _write(query, text) == expected


def test_a_plural_takes_a_plural_verb() -> None:
    assert _write("They're slow.", "Alice and Bob", number=Number.PLURAL) == "Alice and Bob are slow."
    assert _write("They've been slow.", "Alice and Bob", number=Number.PLURAL) == "Alice and Bob have been slow."


def test_spaces_between_scripts_follow_the_user() -> None:
    assert _write("請介紹它吧", "AI-Box", spaces=False) == "請介紹AI-Box吧"
    assert writes_spaces(["用 Redis 做快取"])
    assert not writes_spaces(["用Redis做快取"])
    assert writes_spaces(["沒有英文"])


def test_edits_are_made_from_the_end_so_that_offsets_hold() -> None:
    query = "它比它好"
    edits = [
        edit_for(query, reference, name) for reference, name in zip(find_references(query), ("甲乙", "丙"), strict=True)
    ]
    assert apply_edits(query, edits) == "甲乙比丙好"
