"""Statements that one thing has two names, in both scripts and English, and what only looks like one."""

import pytest

from memory.extraction.alias_patterns import AliasClaim, find_aliases
from memory.extraction.comparable_text import ComparableText
from memory.values.understanding.mentions import EntitySubtype, Mention

NAMES = {
    "宏康 HCI": EntitySubtype.ORGANISATION,
    "Hongkang HCI": EntitySubtype.ORGANISATION,
    "台積電": EntitySubtype.ORGANISATION,
    "TSMC": EntitySubtype.ORGANISATION,
    "臺灣大學": EntitySubtype.ORGANISATION,
    "NTU": EntitySubtype.ORGANISATION,
    "台北": EntitySubtype.PLACE,
    "AI-Box": EntitySubtype.PRODUCT,
    "Qdrant": EntitySubtype.PRODUCT,
    "RoadRunner": EntitySubtype.PRODUCT,
    "RM05-008": EntitySubtype.CODE,
    "RM05-009": EntitySubtype.CODE,
} | dict.fromkeys(
    ("王小明", "小王", "陳怡君", "Robert", "Alice", "Michael Jordan", "Michael", "Bob"), EntitySubtype.PERSON
)


def aliases_in(text: str) -> list[AliasClaim]:
    comparable = ComparableText(text)
    spans = {start: (end, NAMES[name]) for name in sorted(NAMES, key=len) for start, end in comparable.find(name)}
    mentions = [
        Mention(text=text[start:end], start=start, end=end, subtype=subtype)
        for start, (end, subtype) in sorted(spans.items())
    ]
    return find_aliases(text, mentions)


def find_alias_pairs(text: str) -> list[tuple[str, str]]:
    return [(claim.mention.text, claim.alias) for claim in aliases_in(text)]


@pytest.mark.parametrize(
    ("text", "name", "alias"),
    [
        ("宏康 HCI 又叫 Hongkang HCI。", "宏康 HCI", "Hongkang HCI"),
        ("宏康HCI又叫Hongkang。", "宏康HCI", "Hongkang"),
        ("宏康 HCI（Hongkang HCI）是我們的客戶", "宏康 HCI", "Hongkang HCI"),
        ("台積電簡稱 TSMC", "台積電", "TSMC"),
        ("台积电，简称TSMC，很大", "台积电", "TSMC"),
        ("AI-Box，也叫愛盒。", "AI-Box", "愛盒"),
        ("AI-Box，我們都叫它小盒子。", "AI-Box", "小盒子"),
        ("愛盒又叫 AI-Box", "AI-Box", "愛盒"),
        ("AI-Box 的簡稱是 AB", "AI-Box", "AB"),
        ("把 AI-Box 叫做「愛盒」", "AI-Box", "愛盒"),
        ("小王是王小明的綽號", "王小明", "小王"),
        ("陳怡君，大家都叫她小君", "陳怡君", "小君"),
        ("王小明的英文名字是 Michael", "王小明", "Michael"),
        ("臺灣大學（NTU）很大", "臺灣大學", "NTU"),
        ("Robert, also known as Bob, is here", "Robert", "Bob"),
        ("We bought an AI-Box last week; we call it Boxy.", "AI-Box", "Boxy"),
        ("RoadRunner aka RR", "RoadRunner", "RR"),
        ("AB is short for AI-Box.", "AI-Box", "AB"),
        ("Michael Jordan, nicknamed MJ, won", "Michael Jordan", "MJ"),
    ],
)
def test_a_second_name_is_found(text: str, name: str, alias: str) -> None:
    assert find_alias_pairs(text) == [(name, alias)]


@pytest.mark.parametrize(
    "text",
    [
        "宏康 HCI 又叫什麼？",
        "AI-Box 又叫愛盒嗎？",
        "如果 AI-Box 又叫愛盒",
        "AI-Box 不叫愛盒",
        "他說：「AI-Box 又叫愛盒」",
        "王小明叫陳怡君起床",
        "他也叫王小明過來",
        "王小明（經理）來了",
        "王小明（台積電）來了",
        "台積電（2330）",
        "台北（台灣）",
        "Qdrant (三樓) 壞了",
        "Alice (my sister) came",
        "RM05-008 也叫 RM05-009",
        "Is Robert also known as Bob?",
        "AI-Box 都叫好",
        "AI-Box 又叫它",
    ],
)
def test_no_second_name_is_given(text: str) -> None:
    assert find_alias_pairs(text) == []


def test_the_alias_is_where_it_says() -> None:
    text = "嗯，ＡＩ-Box 又叫「愛盒」。"
    [claim] = aliases_in(text)
    assert text[claim.start : claim.end] == claim.alias == "愛盒"
