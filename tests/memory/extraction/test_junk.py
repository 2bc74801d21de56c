"""Stop words, numbers, pronouns, greetings and dates are no names; what only looks like them is."""

import pytest

from memory.extraction.junk import Junk, is_junk, junk_kind

JUNK = {
    Junk.EMPTY: ("", "。", "…", "🎉", " - "),
    Junk.NUMBER: (
        "12345",
        "３",
        "5566",
        "一百二十",
        "三樓",
        "第三",
        "25度",
        "500ml",
        "02-2345-6789",
        "1,014",
        "三億人",
    ),
    Junk.DATE: (
        "星期三",
        "上週",
        "一月二日",
        "二月",
        "春天",
        "早上八點",
        "今天",
        "昨天晚上",
        "Monday",
        "May 5",
        "Summer",
        "yesterday",
        "last week",
    ),
    Junk.PRONOUN: (
        "我",
        "他們",
        "它",
        "這個",
        "那台",
        "什麼",
        "誰",
        "前者",
        "兩者",
        "it",
        "the latter",
        "They",
        "someone",
        "you're",
    ),
    Junk.GREETING: (
        "你好",
        "您好啊",
        "謝謝",
        "哈哈哈",
        "hello",
        "Thanks",
        "OK",
        "good morning",
        "bye",
        "沒事了",
        "Never mind",
    ),
    Junk.STOP_WORD: ("the", "because", "the who", "因為", "所以"),
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in JUNK.items() for name in names])
def test_it_is_no_name_and_the_reason_is_given(kind: Junk, name: str) -> None:
    assert junk_kind(name) is kind


@pytest.mark.parametrize(
    "name",
    [
        "AI-Box",
        "宏康 HCI",
        "RM05-008",
        "王小明",
        "小王",
        "台北101",
        "7-11",
        "3M",
        "G20",
        "85度C",
        "百度",
        "三星",
        "三體",
        "春節",
        "中秋節",
        "May",
        "June",
        "April",
        "The Who",
        "Queen",
        "v2.3",
        "ISO 9001",
        "六福村",
        "万科",
        "NBA",
        "四川",
        "七喜",
    ],
)
def test_it_may_be_a_name(name: str) -> None:
    assert not is_junk(name)


@pytest.mark.parametrize("one", ["謝謝", "谢谢", "ＨＥＬＬＯ", "hello", "Ｍonday", "１２３", "他們", "他们"])
def test_width_case_and_script_make_no_difference(one: str) -> None:
    assert is_junk(one)
