"""Times as whole numbers (`storage.shared.stored_values`)."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from storage.shared.stored_values import from_timestamp_us, timestamp_us

moments = st.datetimes(timezones=st.integers(-12, 14).map(lambda hours: timezone(timedelta(hours=hours))))


@given(moments)
def test_moments_are_exact(moment: datetime) -> None:
    assert from_timestamp_us(timestamp_us(moment)) == moment
    assert from_timestamp_us(timestamp_us(moment)).tzinfo is UTC


def test_a_whole_number_may_come_as_a_float() -> None:
    assert from_timestamp_us(float(timestamp_us(datetime(2200, 1, 1, 0, 0, 0, 7, UTC)))).microsecond == 7


@given(moments, moments)
def test_numbers_are_ordered_as_moments_are_whatever_their_zones(one: datetime, other: datetime) -> None:
    assert (timestamp_us(one) < timestamp_us(other)) is (one < other)
