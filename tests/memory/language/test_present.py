"""Which messages ask for the present date or time and nothing else."""

from datetime import UTC, datetime, timedelta

import pytest

from memory.language.messages.present import asked_present

NOW = datetime(2026, 11, 28, 14, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("今天星期幾？", 0),
        ("今天是几月几号", 0),
        ("請問今天幾號星期幾", 0),
        ("明天星期几？", 1),
        ("昨天是幾號", -1),
        ("What day is it today?", 0),
        ("what's today's date", 0),
        ("What is tomorrow's date?", 1),
    ],
)
def test_a_day_is_asked_for(text: str, days: int) -> None:
    asked = asked_present(text, NOW)
    assert asked is not None
    assert asked.window is not None
    assert asked.window.start.date() == NOW.date() + timedelta(days=days)
    assert not asked.hour


@pytest.mark.parametrize("text", ["現在幾點", "几点了？", "现在是几点钟", "what time is it?", "What's the time now"])
def test_the_time_is_asked_for(text: str) -> None:
    asked = asked_present(text, NOW)
    assert asked is not None
    assert asked.hour


@pytest.mark.parametrize(
    "text",
    [
        "今天幾點開會？",
        "幾號？",
        "星期几",
        "我今天幾點下班",
        "今天有什么安排",
        "明天几点的飞机",
        "What day is the wedding?",
        "what time is it in Tokyo",
        "What's the date of the exam?",
        "What time do I start today?",
        "今天天氣如何",
    ],
)
def test_anything_else_is_asked_of_memory(text: str) -> None:
    assert asked_present(text, NOW) is None
