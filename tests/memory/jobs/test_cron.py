"""When a job is due: cron's five fields in a time zone (001 §4.3)."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.jobs.cron import Schedule
from memory.values.errors import InvalidField


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "zone", "now", "previous", "following"),
    [
        ("0 2 * * 0", "UTC", "2026-03-02T09:00", "2026-03-01T02:00", "2026-03-08T02:00"),
        ("0 2 * * 0", "Asia/Taipei", "2026-03-02T09:00", "2026-02-28T18:00", "2026-03-07T18:00"),
        ("0 2 * * 7", "UTC", "2026-03-01T02:00", "2026-03-01T02:00", "2026-03-08T02:00"),
        ("*/15 * * * *", "UTC", "2026-03-02T09:14:59", "2026-03-02T09:00", "2026-03-02T09:15"),
        ("30 1-3,22 * * 1-5", "UTC", "2026-03-02T04:00", "2026-03-02T03:30", "2026-03-02T22:30"),
        ("0 0 1 1 *", "UTC", "2026-03-02T09:00", "2026-01-01T00:00", "2027-01-01T00:00"),
        ("0 0 29 2 *", "UTC", "2026-03-02T09:00", "2024-02-29T00:00", "2028-02-29T00:00"),
        ("0 0 13 * 5", "UTC", "2026-03-02T09:00", "2026-02-27T00:00", "2026-03-06T00:00"),
        ("10/20 * * * *", "UTC", "2026-03-02T09:00", "2026-03-02T08:50", "2026-03-02T09:10"),
    ],
)
def test_a_schedule_says_when_it_was_and_will_be_due(
    text: str, zone: str, now: str, previous: str, following: str
) -> None:
    schedule = Schedule.parse(text, timezone=zone)
    assert schedule.previous(utc(now)) == utc(previous)
    assert schedule.following(utc(now)) == utc(following)


def test_a_clock_that_is_put_forward_or_back_neither_loses_nor_doubles_a_day() -> None:
    schedule = Schedule.parse("30 2 * * *", timezone="Europe/Berlin")
    moment, days = utc("2026-03-01T00:00"), []
    for _ in range(300):
        moment = schedule.following(moment)
        days.append((moment - timedelta(hours=3)).astimezone(ZoneInfo("Europe/Berlin")).date())
    assert len(set(days)) == 300
    assert (days[-1] - days[0]).days == 299


@pytest.mark.parametrize(
    "text",
    ["", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "x * * * *", "5-1 * * * *",
     "*/0 * * * *", "0 0 31 2 *", "1,,2 * * * *", "-1 * * * *", "@weekly"],
)  # fmt: skip
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(InvalidField) as caught:
        Schedule.parse(text, timezone="UTC")
    assert caught.value.field == "schedule"


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd"])
def test_an_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(InvalidField, match="time zone"):
        Schedule.parse("0 2 * * 0", timezone=zone)


@settings(max_examples=50)
@given(
    minute=st.integers(0, 59),
    hour=st.integers(0, 23),
    weekday=st.integers(0, 6),
    zone=st.sampled_from(["UTC", "Asia/Taipei", "America/New_York"]),
    now=st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),
)
def test_no_due_moment_lies_between_the_previous_and_the_following_one(
    minute: int, hour: int, weekday: int, zone: str, now: datetime
) -> None:
    schedule = Schedule.parse(f"{minute} {hour} * * {weekday}", timezone=zone)
    previous, following = schedule.previous(now), schedule.following(now)
    assert previous <= now < following
    assert schedule.following(previous) == following
    assert timedelta(days=6.9) < following - previous < timedelta(days=7.1)


@settings(max_examples=100)
@given(
    text=st.sampled_from(["30 2 * * *", "0 3 * * *", "*/20 * * * *", "15 * * * *", "30 1-3 * * *"]),
    zone=st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
    now=st.sampled_from(["2026-03-08", "2026-03-29", "2026-04-05", "2026-10-04", "2026-10-25", "2026-11-01"]).flatmap(
        lambda day: st.timedeltas(timedelta(), timedelta(days=1)).map(lambda after: utc(day) + after)
    ),
)
def test_the_order_of_due_moments_holds_while_clocks_are_put_forward_or_back(
    text: str, zone: str, now: datetime
) -> None:
    schedule = Schedule.parse(text, timezone=zone)
    previous, following = schedule.previous(now), schedule.following(now)
    assert previous <= now < following
    assert schedule.following(previous) == following


def test_what_is_wrong_with_a_schedule_is_named() -> None:
    with pytest.raises(InvalidField, match="day-of-month"):
        Schedule.parse("0 2 32 * *", timezone="UTC")
