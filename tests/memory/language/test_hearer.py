"""What a message asks of the one who is addressed."""

import pytest

from memory.language.messages.hearer import HearerQuestion, concerns_hearer, hearer_question, speaks_of_own

IDENTITY = (
    *("你是誰？", "你叫什麼名字", "你會做什麼？", "妳是機器人嗎", "你是誰開發的", "我該怎麼稱呼你", "你能幫我什麼"),
    *("你好，你是谁？", "你有什么功能", "你是真人吗？", "我叫小明，你叫什么名字？"),
    *(
        "What can you do?",
        "Are you a robot?",
        "who are you",
        "Hi! What's your name?",
        "Who made you?",
        "How old are you?",
    ),
)
STATE = ("你好嗎", "你最近怎麼樣？", "你今天好吗", "How are you?", "hey, how are you doing today?")
NEITHER = (
    *("你記得我的車牌嗎？", "你叫我什麼", "你知道我弟弟叫什麼嗎", "你是誰？我的車牌幾號？", "你推荐的那家店叫什么？"),
    *(
        "你上次说的医生叫什么",
        "What did you tell me about Ann?",
        "Do you know my name?",
        "What can you do about my leaking tap?",
    ),
    *("Are you a member of my gym?", "who is your dentist again", "我是誰？"),
)


@pytest.mark.parametrize("text", IDENTITY)
def test_it_asks_who_the_assistant_is(text: str) -> None:
    assert hearer_question(text) is HearerQuestion.IDENTITY


@pytest.mark.parametrize("text", STATE)
def test_it_asks_how_the_assistant_is(text: str) -> None:
    assert hearer_question(text) is HearerQuestion.STATE


@pytest.mark.parametrize("text", NEITHER)
def test_it_asks_something_else(text: str) -> None:
    assert hearer_question(text) is None


@pytest.mark.parametrize(
    ("text", "concerns"),
    [
        ("你會寫詩嗎？", True),
        ("你有女朋友吗", True),
        ("Do you ever dream?", True),
        ("你還記得停車費多少嗎？", False),
        ("停車費多少？謝謝你！", False),
        ("你能帮我查一下吗", False),
        ("Do you have the wifi password?", False),
        ("How do you cook rice?", False),
        ("Where is the spare key? Thank you!", False),
    ],
)
def test_a_question_concerns_the_assistant_unless_it_asks_for_what_was_told(text: str, concerns: bool) -> None:
    assert concerns_hearer(text) is concerns


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
