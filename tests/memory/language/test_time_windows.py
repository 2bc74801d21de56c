"""Which days a reference points back to; all are counted from Wednesday, 4 February 2026."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.language.time_windows import find_window
from memory.values.text import fold_lower

NOW = datetime(2026, 2, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("昨天說的", "2026-02-03", "2026-02-03"),
        ("昨晚提到的", "2026-02-03", "2026-02-03"),
        ("前天聊到的那個人", "2026-02-02", "2026-02-02"),
        ("大前天說的", "2026-02-01", "2026-02-01"),
        ("三天前說的那家公司", "2026-02-01", "2026-02-01"),
        ("上週提到的那個系統", "2026-01-26", "2026-02-01"),
        ("上个星期说的", "2026-01-26", "2026-02-01"),
        ("上上週說的", "2026-01-19", "2026-01-25"),
        ("上週五說的", "2026-01-30", "2026-01-30"),
        ("這禮拜說的", "2026-02-02", "2026-02-08"),
        ("上個月討論的", "2026-01-01", "2026-01-31"),
        ("去年提到的", "2025-01-01", "2025-12-31"),
        ("the one from last week", "2026-01-26", "2026-02-01"),
        ("the tool we discussed yesterday", "2026-02-03", "2026-02-03"),
        ("what we discussed the day before yesterday", "2026-02-02", "2026-02-02"),
        ("the person I mentioned three days ago", "2026-02-01", "2026-02-01"),
        ("the one I mentioned last Monday", "2026-02-02", "2026-02-02"),
        ("the one from last month", "2026-01-01", "2026-01-31"),
        ("the tool from a week ago", "2026-01-25", "2026-01-31"),
    ],
)
def test_a_phrase_of_time_is_a_stretch_of_days(text: str, first: str, last: str) -> None:
    window = find_window(fold_lower(text), NOW)
    assert window is not None
    assert (window.start.date().isoformat(), (window.end - timedelta(days=1)).date().isoformat()) == (first, last)


@pytest.mark.parametrize(
    "text", ["上次說的", "之前提到的那台", "the one I mentioned before", "剛才說的", "第三天", "它"]
)
def test_what_names_no_days_is_no_window(text: str) -> None:
    assert find_window(fold_lower(text), NOW) is None


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)))
def test_every_window_is_over_before_tomorrow_and_not_empty(moment: datetime) -> None:
    now = moment.replace(tzinfo=UTC)
    for text in ("昨天", "上周", "上上个月", "去年", "yesterday", "last month", "last friday", "2 weeks ago", "前几天"):
        window = find_window(text, now)
        assert window is not None
        assert window.start < window.end <= now + timedelta(days=1)


def test_the_first_month_of_a_year_follows_the_last_of_the_one_before() -> None:
    window = find_window("上个月", datetime(2026, 1, 15, tzinfo=UTC))
    assert window is not None
    assert (window.start.date().isoformat(), window.end.date().isoformat()) == ("2025-12-01", "2026-01-01")
