"""Queries into which nothing is put, whatever a rewriter says."""

import pytest
from memory.coreference.detect.detection import find_references
from memory.coreference.detect.self_contained import has_look_alike, is_pointing, is_self_contained, names_nothing


@pytest.mark.parametrize(
    "query",
    [
        "謝謝",
        "好的",
        "哈哈哈",
        "Thanks!",
        "你叫什麼名字？",
        "你是谁",
        "What is your name?",
        "How are you?",
        "沒事了，謝謝。",
        "今天星期幾？",
        "请问现在几点？",
        "What time is it?",
        "今天股市怎么样？",
        "匯率多少？",
        "What's today's date?",
    ],
)
def test_small_talk_and_questions_to_the_assistant_or_the_calendar_stand_alone(query: str) -> None:
    assert is_self_contained(query)


@pytest.mark.parametrize(
    "query",
    [
        "多少錢？",
        "為什麼喜歡？",
        "你喜歡嗎",
        "Why?",
        "謝謝，那價格呢？",
        "今天開到幾點？",
        "What is the date of the fair?",
    ],
)
def test_others_may_lean_on_what_was_said(query: str) -> None:
    assert not is_self_contained(query)


@pytest.mark.parametrize("query", ["其實我不懂", "這個月有幾天假？", "那麼下一步呢？", "It is raining.", "你說的對"])
def test_what_only_looks_like_a_reference_is_seen(query: str) -> None:
    assert has_look_alike(query, find_references(query))


@pytest.mark.parametrize(
    "query", ["它多少錢？", "為什麼喜歡？", "他叫什麼", "How much is it?", "Why?", "Is there a museum?"]
)
def test_a_reference_is_no_look_alike(query: str) -> None:
    assert not has_look_alike(query, find_references(query))


def test_a_demonstrative_before_the_verb_to_be_points() -> None:
    assert is_pointing("那是我的家鄉", 0, 1)
    assert is_pointing("這個是什麼歌", 0, 2)
    assert is_pointing("那有什麼好吃的嗎？", 0, 1)
    assert not is_pointing("那怎麼辦", 0, 1)
    assert not is_pointing("我的是", 0, 1)


@pytest.mark.parametrize(
    ("text", "nobody"), [("你", True), ("你好", True), ("我們", True), ("王先生", False), ("AI-Box", False)]
)
def test_pronouns_and_greetings_are_no_antecedents(text: str, nobody: bool) -> None:
    assert names_nothing(text) is nobody
