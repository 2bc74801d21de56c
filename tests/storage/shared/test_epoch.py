"""Times as whole numbers (`storage.shared.timestamps`)."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from storage.shared.timestamps import microseconds, moment_of

moments = st.datetimes(timezones=st.integers(-12, 14).map(lambda hours: timezone(timedelta(hours=hours))))


@given(moments)
def test_moments_are_exact(moment: datetime) -> None:
    assert moment_of(microseconds(moment)) == moment
    assert moment_of(microseconds(moment)).tzinfo is UTC


def test_a_whole_number_may_come_as_a_float() -> None:
    assert moment_of(float(microseconds(datetime(2200, 1, 1, 0, 0, 0, 7, UTC)))).microsecond == 7


@given(moments, moments)
def test_numbers_are_ordered_as_moments_are_whatever_their_zones(one: datetime, other: datetime) -> None:
    assert (microseconds(one) < microseconds(other)) is (one < other)
