"""What is stated, and what is only asked, denied, supposed, past or quoted."""

import pytest

from memory.extraction.assertions import Assertions


def span_of(text: str, part: str) -> tuple[int, int]:
    start = text.index(part)
    return start, start + len(part)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("王小明在台積電工作。", "王小明在台積電工作"),
        ("你知道嗎？王小明在台積電工作。", "王小明在台積電工作"),
        ("他不來，但是王小明在台積電工作。", "王小明在台積電工作"),
        ("這台不錯，王小明在台積電工作", "王小明在台積電工作"),
        ("Is it late? Alice works at Acme.", "Alice works at Acme"),
        ("Bob isn't here, but Alice works at Acme.", "Alice works at Acme"),
        ("他寫了一本叫「AI-Box」的書。", "AI-Box"),
    ],
)
def test_it_is_stated(text: str, part: str) -> None:
    assert Assertions(text).asserts(*span_of(text, part))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("王小明在台積電工作嗎？", "王小明在台積電工作"),
        ("王小明不是在台積電工作。", "王小明不是在台積電工作"),
        ("如果王小明在台積電工作就好了。", "王小明在台積電工作"),
        ("聽說王小明在台積電工作。", "王小明在台積電工作"),
        ("也許王小明在台積電工作。", "王小明在台積電工作"),
        ("王小明以前在台積電工作。", "王小明以前在台積電工作"),
        ("他說：「王小明在台積電工作」", "王小明在台積電工作"),
        ("> 王小明在台積電工作\n我不同意。", "王小明在台積電工作"),
        ("```\n王小明在台積電工作\n```", "王小明在台積電工作"),
        ("Does Alice work at Acme?", "Alice work at Acme"),
        ("Alice never worked at Acme.", "Alice never worked at Acme"),
        ("Alice used to work at Acme.", "Alice used to work at Acme"),
        ("I think Alice works at Acme.", "Alice works at Acme"),
        ("If Alice works at Acme, tell me.", "Alice works at Acme"),
        ('He said: "Alice works at Acme"', "Alice works at Acme"),
        ("王小明在台北。他在台積電工作", "王小明在台北。他在台積電工作"),
    ],
)
def test_it_is_not_stated(text: str, part: str) -> None:
    assert not Assertions(text).asserts(*span_of(text, part))
