"""Which date or time is asked for by a message that asks for the present one."""

from datetime import UTC, datetime, timedelta

import pytest

from memory.language.messages.present import asked_present

NOW = datetime(2026, 11, 28, 14, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("明天星期几？", 1),
        ("昨天是幾號", -1),
        ("What day is it today?", 0),
        ("What is tomorrow's date?", 1),
    ],
)
def test_a_day_is_asked_for(text: str, days: int) -> None:
    asked = asked_present(text, NOW)
    assert asked.window is not None
    assert asked.window.start.date() == NOW.date() + timedelta(days=days)
    assert not asked.hour


@pytest.mark.parametrize("text", ["現在幾點", "几点了？", "现在是几点钟", "what time is it?", "What's the time now"])
def test_the_time_is_asked_for(text: str) -> None:
    assert asked_present(text, NOW).hour
