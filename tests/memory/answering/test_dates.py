"""Dates in answers: what a memory tells by its distance from the day on which it was told."""

from datetime import datetime

import pytest

from memory.answering.dates import date_of_words
from memory.answering.evidence import Evidence
from memory.answering.quoting import answer_in_short
from memory.language.phrases import ENGLISH, SIMPLIFIED, TRADITIONAL, Phrases
from memory.values.facts import Standing, Validity
from memory.values.hits import Hit, HitKind


def day(date: str) -> datetime:
    return datetime.fromisoformat(f"{date}T20:00:00+00:00")


def hit(told: str, text: str, words: str, *facts: Validity) -> Hit:
    return Hit(
        kind=HitKind.MEMORY,
        id="m",
        text=text,
        words=words,
        score=1.0,
        parts={},
        validity=facts,
        created_at=day(told),
    )


def fact(predicate: str, object_: str, since: str | None = None) -> Validity:
    return Validity(
        fact_id=object_,
        subject="s",
        predicate=predicate,
        object=object_,
        standing=Standing.HOLDS,
        valid_from=None if since is None else day(since),
    )


@pytest.mark.parametrize(
    ("phrases", "told", "text", "words", "question", "answer"),
    [
        pytest.param(
            SIMPLIFIED,
            "2026-03-28",
            "昨天下楼踩空了摔一跤",
            "昨天",
            "我是几号摔着的",
            "昨天（2026年3月27日）",
            id="yesterday",
        ),
        pytest.param(
            TRADITIONAL,
            "2026-04-08",
            "縣府的人下禮拜五要來看消防",
            "下禮拜五",
            "縣府哪時候來檢查？",
            "下禮拜五（2026年4月17日）",
            id="in the words, whatever is asked",
        ),
        pytest.param(
            TRADITIONAL,
            "2026-05-11",
            "女兒上禮拜六帶他回來了，我煮了一桌菜",
            "帶他回來了",
            "他來吃飯是幾月幾號",
            "2026年5月9日",
            id="beside the words, where a date is asked for",
        ),
        pytest.param(
            TRADITIONAL,
            "2026-05-11",
            "女兒上禮拜六帶他回來了，我煮了一桌菜",
            "一桌菜",
            "我煮了什麼？",
            "一桌菜",
            id="not where no date is asked for",
        ),
        pytest.param(
            ENGLISH,
            "2026-05-19",
            "big news, started yesterday with Hartwell",
            "Hartwell",
            "what day did I begin there?",
            "18 May 2026",
            id="English, beside",
        ),
        pytest.param(
            ENGLISH,
            "2026-04-19",
            "jess had her pups on friday",
            "friday",
            "what date did jess have them?",
            "friday (17 April 2026)",
            id="weekday that is past",
        ),
        pytest.param(
            ENGLISH,
            "2026-04-19",
            "the scan is on friday",
            "friday",
            "what date is the scan going to be?",
            "friday (24 April 2026)",
            id="weekday that lies ahead",
        ),
        pytest.param(
            ENGLISH,
            "2026-04-19",
            "the scan is on friday",
            "friday",
            "what date is the scan?",
            "friday",
            id="weekday of which nothing tells whether it is past",
        ),
        pytest.param(
            ENGLISH,
            "2026-04-19",
            "yoga has moved to Fridays",
            "Fridays",
            "when is yoga?",
            "Fridays",
            id="every week",
        ),
        pytest.param(
            ENGLISH,
            "2026-03-04",
            "tried the dress on yesterday, the wedding is 6 June",
            "the wedding",
            "what date is the wedding?",
            "the wedding",
            id="another date is named",
        ),
        pytest.param(
            TRADITIONAL, "2026-03-04", "上個月搬來三峽", "上個月", "我何時搬的", "上個月（2026年2月）", id="month"
        ),
        pytest.param(
            ENGLISH, "2026-03-04", "we moved last year", "last year", "when did we move?", "last year (2025)", id="year"
        ),
        pytest.param(
            ENGLISH,
            "2026-03-04",
            "the builders come next week",
            "next week",
            "when do they come?",
            "next week (9 March 2026 – 15 March 2026)",
            id="week",
        ),
        pytest.param(ENGLISH, "2026-03-04", "passed my test", "", "when did I pass?", "", id="by the day it was told"),
    ],
)
def test_a_relative_time_is_told_with_its_date(
    phrases: Phrases, told: str, text: str, words: str, question: str, answer: str
) -> None:
    assert date_of_words(hit(told, text, words), question, phrases) == answer


@pytest.mark.parametrize(
    ("text", "words", "question", "stated", "answer"),
    [
        ("羽球改到週五", "週五", "羽球是哪一天？", fact("scheduled_at", "週五"), "週五（2026年4月24日）"),
        ("羽球改到周五", "周五", "打羽球是几号的？", fact("scheduled_at", "周五"), "周五（2026年4月24日）"),
        (
            "moved to Friday",
            "Friday",
            "what date was it moved to?",
            fact("deadline", "Friday"),
            "Friday（2026年4月24日）",
        ),
        (
            "Mum lands Friday",
            "Friday",
            "what date did she land?",
            fact("visited", "us", "2026-04-24"),
            "Friday（2026年4月24日）",
        ),
        ("週五跟他碰面", "週五", "哪一天碰面？", fact("met", "他", "2026-04-17"), "週五（2026年4月17日）"),
        ("羽球改到週五", "週五", "羽球是哪一天？", fact("likes", "羽球"), "週五"),
    ],
)
def test_facts_tell_whether_a_weekday_is_before_or_after_the_telling(
    text: str, words: str, question: str, stated: Validity, answer: str
) -> None:
    assert date_of_words(hit("2026-04-19", text, words, stated), question, TRADITIONAL) == answer


@pytest.mark.parametrize(("confidence", "answer"), [(0.42, ""), (0.6, "2026年3月4日。")])
def test_the_day_of_the_telling_answers_only_where_that_is_sure(confidence: float, answer: str) -> None:
    evidence = Evidence((hit("2026-03-04", "我太太叫雅筑，她是國小老師", ""),), (), confidence)
    assert answer_in_short(evidence, "我太太生日是哪一天？", TRADITIONAL, words_from=0.5) == answer
