"""Which questions ask about an earlier time, and about which."""

from datetime import UTC, datetime

import pytest

from memory.facts.asked_times import AskedTime, find_asked_time
from memory.values.periods import Period

NOW = datetime(2026, 6, 10, 9, 0, tzinfo=UTC)


def months(first: str, last: str) -> AskedTime:
    return AskedTime(
        Period(datetime.fromisoformat(f"{first}-01T00:00+00:00"), datetime.fromisoformat(f"{last}-01T00:00+00:00"))
    )


@pytest.mark.parametrize(
    "question",
    [
        "我住哪裡？",
        "我现在在哪上班？",
        "Where do I live?",
        "What do I have to do before Friday?",
        "週五之前要交什麼？",
        "我之前跟你說過鑰匙放哪嗎？",
        "What did I tell you before?",
        "下個月要去哪？",
        "Where am I going in the afternoon?",
        "May I bring my dog?",
        "How old is my daughter?",
        "我這個月花了多少？",
        "搬家之後我怎麼上班？",
    ],
)
def test_most_questions_ask_about_now(question: str) -> None:
    assert find_asked_time(question, NOW) is None


@pytest.mark.parametrize(
    "question",
    [
        "我以前住哪裡？",
        "我原本的電話是幾號？",
        "我上一份工作是什麼？",
        "我旧的地址是什么？",
        "Where did I live before?",
        "Where did I use to work?",
        "What was my old address?",
        "Who was my previous manager?",
    ],
)
def test_some_ask_about_any_earlier_time(question: str) -> None:
    assert find_asked_time(question, NOW) == AskedTime()


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("我三月住哪裡？", months("2026-03", "2026-04")),
        ("我去年三月住哪里？", months("2025-03", "2025-04")),
        ("我上個月住哪？", months("2026-05", "2026-06")),
        ("我2019年住哪裡？", months("2019-01", "2020-01")),
        ("去年我在哪上班？", months("2025-01", "2026-01")),
        ("Where did I live in March?", months("2026-03", "2026-04")),
        ("Where did I work in 2019?", months("2019-01", "2020-01")),
        ("Where did I live last month?", months("2026-05", "2026-06")),
        ("Where did I live last year?", months("2025-01", "2026-01")),
    ],
)
def test_a_time_that_is_over_is_resolved(question: str, asked: AskedTime) -> None:
    assert find_asked_time(question, NOW) == asked


@pytest.mark.parametrize(
    ("question", "predicate"),
    [
        ("搬家前我怎麼上班？", "lives_in"),
        ("我搬到三峽之前住哪？", "lives_in"),
        ("我换工作之前的主管是谁？", "works_at"),
        ("How did I get to work before we moved?", "lives_in"),
        ("Who was my boss before I changed jobs?", "works_at"),
        ("What did I drive before I sold the car?", "drives"),
    ],
)
def test_a_time_may_be_named_by_the_change_that_ended_it(question: str, predicate: str) -> None:
    asked = find_asked_time(question, NOW)
    assert asked is not None
    assert predicate in asked.changed
