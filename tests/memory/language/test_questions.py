"""What counts as a question, and which questions stand in one query."""

import pytest

from memory.language.keywords import KeywordAnalyzer
from memory.language.questions import (
    MAX_QUESTIONS,
    asks_back,
    asks_one_thing,
    is_question,
    only_asks,
    questions_of,
    several_asked,
    speaks_of_own,
)


@pytest.mark.parametrize(
    "text",
    [
        "它在哪裡？",
        "它在哪里",
        "你還記得嗎",
        "這是什麼",
        "多少錢",
        "老三叫啥來著",
        "奶奶喝酒了沒",
        "Where is it",
        "is it ready?",
        "And how about it?",
        "whats our wifi called",
        "我哥的攤子禮拜幾沒開",
        "他家在幾樓",
    ],
)
def test_these_ask(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize(
    "text",
    ["我買了 AI-Box。", "记住这个", "It is ready.", "I know what he said.", "太好了！", "我没啥事", "買了幾張票"],
)
def test_these_state(text: str) -> None:
    assert not is_question(text)


@pytest.mark.parametrize(
    ("text", "only"),
    [
        ("我住哪裡", True),
        ("嗨，我的鑰匙在哪裡？", True),
        ("Where is it? And the other one?", True),
        ("我住三峽。你呢？", False),
        ("我老公什麼都能吃，只有盤尼西林不行", False),
        ("Did the Camino, six days", False),
        ("我買了 AI-Box。", False),
    ],
)
def test_a_question_that_states_something_does_not_only_ask(text: str, only: bool) -> None:
    assert only_asks(text) is only


@pytest.mark.parametrize(
    ("text", "one"),
    [
        ("When is the hall free?", True),
        ("我現在住哪裡？", True),
        ("我女兒五歲，可以吃蜂蜜嗎？", False),
        ("We moved. Where is the gym?", False),
        ("我住哪裡", True),
        ("我血壓吃的哪個藥", True),
        ("why'd I stop running", True),
        ("我什麼都能吃", False),
        ("What I like best is jazz", False),
        ("when I was five we lived in Leeds", False),
        ("can't eat peanuts", False),
    ],
)
def test_one_question_and_no_further_clause_states_nothing(text: str, one: bool) -> None:
    assert asks_one_thing(text) is one


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("幫我訂披薩", False),
        ("Book me a table", False),
        ("給我點一杯我能喝的", True),
        ("Order me something I can eat", True),
    ],
)
def test_who_something_is_done_for_is_not_what_it_is_about(text: str, own: bool) -> None:
    assert speaks_of_own(text) is own


@pytest.mark.parametrize(
    ("question", "is_past"),
    [
        ("What date did she land?", True),
        ("他是哪一天走的？", True),
        ("是几号去过？", True),
        ("What date is the scan?", False),
        ("羽球是哪一天？", False),
        ("what date is it going to be", False),
    ],
)
def test_a_question_tells_that_it_asks_about_the_past(question: str, is_past: bool) -> None:
    assert asks_back(question) is is_past


@pytest.mark.parametrize(
    ("query", "also"),
    [
        ("我的手機是什麼型號？另外，金融論壇的地點是什麼？", ["我的手機是什麼型號", "金融論壇的地點是什麼"]),
        ("Where is the spare key? And when does the bank open?", ["Where is the spare key", "when does the bank open"]),
        ("Where is the spare key?", []),
        ("Hi! Where is the spare key?", []),
        ("Is Dr. Smith from the U.S. embassy there?", []),
        ("", []),
    ],
)
def test_each_sentence_that_says_something_is_a_question_beside_the_whole(query: str, also: list[str]) -> None:
    assert questions_of(query, KeywordAnalyzer()) == (query, *also)


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("Where is the spare key? And when does the bank open?", ["Where is the spare key", "when does the bank open"]),
        ("The bank was closed today. Where is the spare key?", []),
        ("The bank was closed today? The spare key is lost?", ["The bank was closed today", "The spare key is lost"]),
        ("我的狗叫什麼名字？我弟弟今年幾歲", ["我的狗叫什麼名字", "我弟弟今年幾歲"]),
        ("我弟弟昨天搬家了。他的新地址是什么？", []),
    ],
)
def test_of_several_sentences_those_that_ask_are_several_questions(query: str, asked: list[str]) -> None:
    assert several_asked(query, KeywordAnalyzer()) == tuple(asked)


def test_a_long_query_is_not_searched_for_sentence_by_sentence() -> None:
    query = " ".join(f"The blue box number {number} is open!" for number in range(20))
    assert len(questions_of(query, KeywordAnalyzer())) == 1 + MAX_QUESTIONS
