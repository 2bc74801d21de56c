"""Times as they are said, on Thursday 2026-03-05."""

from datetime import UTC, datetime

import pytest

from memory.language.times import find_relative_time, find_weekday, names_date, resolve_time

NOW = datetime(2026, 3, 5, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "start", "end"),
    [
        ("上個月", "2026-02-01", "2026-03-01"),
        ("上个月", "2026-02-01", "2026-03-01"),
        ("last month", "2026-02-01", "2026-03-01"),
        ("去年", "2025-01-01", "2026-01-01"),
        ("去年十月", "2025-10-01", "2025-11-01"),
        ("oct 2022", "2022-10-01", "2022-11-01"),
        ("2019年", "2019-01-01", "2020-01-01"),
        ("in 2019", "2019-01-01", "2020-01-01"),
        ("from 2009 to 2012", "2009-01-01", "2013-01-01"),
        ("since 2019", "2019-01-01", None),
        ("2019年開始", "2019-01-01", None),
        ("三月", "2026-03-01", "2026-04-01"),
        ("in October", "2025-10-01", "2025-11-01"),
        ("半年", "2025-09-04", None),
        ("for six years", "2020-03-06", None),
        ("yesterday", "2026-03-04", "2026-03-05"),
        ("昨天", "2026-03-04", "2026-03-05"),
        ("on 12 march", "2025-03-12", "2025-03-13"),
        ("二月十一號", "2026-02-11", "2026-02-12"),
        ("2026-02-30", "2026-02-28", "2026-03-01"),
        ("until June", None, "2026-07-01"),
        ("last summer", "2025-06-01", "2025-09-01"),
        ("去年冬天", "2025-12-01", "2026-03-01"),
        ("Monday", "2026-03-02", "2026-03-03"),
        ("週三", "2026-03-04", "2026-03-05"),
        ("前年", "2024-01-01", "2025-01-01"),
    ],
)
def test_a_time_is_resolved_against_the_date_of_the_message(said: str, start: str | None, end: str | None) -> None:
    period = resolve_time(said, NOW)
    assert period is not None
    assert [moment and moment.date().isoformat() for moment in (period.start, period.end)] == [start, end]


@pytest.mark.parametrize(
    ("said", "start", "end"),
    [
        ("下個月", "2026-04-01", "2026-05-01"),
        ("下個月十五號", "2026-04-15", "2026-04-16"),
        ("next month", "2026-04-01", "2026-05-01"),
        ("明年三月", "2027-03-01", "2027-04-01"),
        ("in October", "2026-10-01", "2026-11-01"),
        ("十月", "2026-10-01", "2026-11-01"),
        ("on Friday", "2026-03-06", "2026-03-07"),
        ("下礼拜三", "2026-03-11", "2026-03-12"),
        ("下週", "2026-03-09", "2026-03-16"),
        ("tomorrow", "2026-03-06", "2026-03-07"),
        ("in two weeks", "2026-03-19", "2026-03-20"),
    ],
)
def test_the_time_of_a_plan_lies_ahead(said: str, start: str, end: str) -> None:
    period = resolve_time(said, NOW, ahead=True)
    assert period is not None
    assert [moment and moment.date().isoformat() for moment in (period.start, period.end)] == [start, end]


@pytest.mark.parametrize("said", ["每天", "every evening", "when I was four", "小時候", "on page 80", "偶爾"])
def test_what_names_no_point_in_time_has_no_period(said: str) -> None:
    assert resolve_time(said, NOW) is None


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("昨天去看牙", "2026-03-04", "2026-03-05"),
        ("前天提了車，六萬八", "2026-03-03", "2026-03-04"),
        ("女兒上禮拜六帶他回來了", "2026-02-28", "2026-03-01"),
        ("縣府的人下禮拜五要來", "2026-03-13", "2026-03-14"),
        ("下下週一交報告", "2026-03-16", "2026-03-17"),
        ("三天後出院", "2026-03-08", "2026-03-09"),
        ("下個月15號開庭", "2026-04-15", "2026-04-16"),
        ("saw the dentist yesterday", "2026-03-04", "2026-03-05"),
        ("met him last friday", "2026-02-27", "2026-02-28"),
        ("the lads come this sunday", "2026-03-08", "2026-03-09"),
        ("it broke 3 days ago", "2026-03-02", "2026-03-03"),
        ("they come next week", "2026-03-09", "2026-03-16"),
        ("moved in last month", "2026-02-01", "2026-03-01"),
    ],
)
def test_a_time_told_by_its_distance_is_found_in_a_text(text: str, start: str, end: str) -> None:
    window = find_relative_time(text, NOW)
    assert window is not None
    assert (window.start.date().isoformat(), window.end.date().isoformat()) == (start, end)


@pytest.mark.parametrize(
    "text", ["我住三峽", "每週三上課", "兩個月前搬的", "two weeks ago", "yesterday, not today", "三月五號"]
)
def test_several_times_rough_ones_and_dates_are_no_distance(text: str) -> None:
    assert find_relative_time(text, NOW) is None


@pytest.mark.parametrize(
    ("text", "ahead", "day"),
    [
        ("on friday", False, "2026-02-27"),
        ("週五", True, "2026-03-06"),
        ("Fridays", True, None),
        ("monday or tuesday", True, None),
    ],
)
def test_a_weekday_alone_is_the_last_or_the_next_one(text: str, ahead: bool, day: str | None) -> None:
    window = find_weekday(text, NOW, ahead=ahead)
    assert (window and window.start.date().isoformat()) == day


@pytest.mark.parametrize(
    ("text", "is_named"),
    [("六月六號", True), ("6/6", True), ("on the 19th", True), ("2 June", True), ("三點", False), ("上禮拜六", False)],
)
def test_a_date_is_named_by_its_month_or_day(text: str, is_named: bool) -> None:
    assert names_date(text) is is_named
