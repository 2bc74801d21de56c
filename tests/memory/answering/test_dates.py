"""Dates in answers: what a memory tells by its distance from the day on which it was told."""

from datetime import datetime

import pytest

from memory.answering.dates import date_of_words
from memory.language.phrases import ENGLISH, SIMPLIFIED, TRADITIONAL, Phrases
from memory.values.hits import Hit, HitKind


def hit(told: str, text: str, words: str) -> Hit:
    at = datetime.fromisoformat(f"{told}T20:00:00+00:00")
    return Hit(kind=HitKind.MEMORY, id="m", text=text, words=words, score=1.0, parts={}, created_at=at)


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
