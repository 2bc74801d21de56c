"""The texts of a value by whose meaning it is found."""

from typing import Any

import pytest

from memory.items.texts import MAX_TEXTS, check_paths, texts_of
from memory.values.errors import InvalidField

VALUE: dict[str, Any] = {
    "text": "茶",
    "blank": " ",
    "nothing": None,
    "number": 1.5,
    "yes": True,
    "a": {"b": "deep", "c d": "spaced"},
    "items": [{"text": "first"}, {"text": "second"}, {"other": 1}],
    "rows": [["x", "y"], ["z"]],
}


@pytest.mark.parametrize(
    ("path", "texts"),
    [
        ("text", ["茶"]),
        ("blank", []),
        ("nothing", []),
        ("missing.at.all", []),
        ("number", ["1.5"]),
        ("yes", ["true"]),
        ("a.b", ["deep"]),
        ("a.c d", ["spaced"]),
        ("a", ['{"b": "deep", "c d": "spaced"}']),
        ("items[*].text", ["first", "second"]),
        ("items[0].text", ["first"]),
        ("items[-2].text", ["second"]),
        ("items[3].text", []),
        ("items[-4]", []),
        ("rows[*][0]", ["x", "z"]),
        ("a.*", ["deep", "spaced"]),
        ("a[0]", []),
        ("items.text", []),
    ],
)
def test_a_path_leads_to_texts(path: str, texts: list[str]) -> None:
    check_paths([path])
    assert texts_of(VALUE, [path]) == texts


def test_the_whole_value_is_one_text_whose_members_are_sorted() -> None:
    assert texts_of({"b": "茶", "a": 1}, ["$"]) == ['{"a": 1, "b": "茶"}']


@pytest.mark.parametrize("path", ["a..b", ".a", "a.", "a[x]", "a[", "{a,b}", "[]", "a]"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(InvalidField) as refused:
        check_paths(["text", path])
    assert (refused.value.field, path in str(refused.value)) == ("index", True)


def test_an_item_has_so_many_texts_at_most() -> None:
    texts_of({"all": ["x"] * MAX_TEXTS}, ["all[*]"])
    with pytest.raises(InvalidField, match="65 texts"):
        texts_of({"all": ["x"] * (MAX_TEXTS + 1)}, ["all[*]"])
