"""Which date answers: that of 昨天 or "next Friday", counted from the day on which a memory was told."""

import calendar
from datetime import datetime, timedelta

from ..language.messages.present import Present
from ..language.phrases import Phrases
from ..language.questions import asks_ahead, asks_back, asks_date
from ..language.time_windows import TimeWindow
from ..language.times import find_relative_time, find_weekday, names_date
from ..values.hits import Hit
from ..values.predicates import SCHEDULES
from .validity import names_any

_MONTHS_OF_YEAR = 12


def date_of_words(hit: Hit, question: str, phrases: Phrases) -> str:
    """The words of a memory that answer, with the date that they mean where they tell it by its distance.

    Where the question asks for a date and the words tell none, it is the date that the memory tells beside them. Empty
    where the memory answers without words and tells no such date.
    """
    words = (hit.words or "").strip()
    window = find_relative_time(words, hit.created_at)
    if window is None and asks_date(question):
        window = _weekday(words, hit, question)
    if window is not None and words != hit.meant.strip():
        return phrases.dated.format(words=words, date=write_window(window, phrases))
    if (words and not asks_date(question)) or names_date(hit.meant):
        return words
    beside = find_relative_time(hit.meant, hit.created_at)
    return words if beside is None else write_window(beside, phrases)


def _weekday(words: str, hit: Hit, question: str) -> TimeWindow | None:
    """The day of the weekday in these words: before or after it was told by the facts, else by the question."""
    days = {ahead: find_weekday(words, hit.created_at, ahead=ahead) for ahead in (True, False)}
    begins = {fact.valid_from.date() for fact in hit.validity if fact.valid_from is not None}
    known = [day for day in days.values() if day is not None and day.start.date() in begins]
    if len(known) == 1:
        return known[0]
    if any(fact.predicate in SCHEDULES and names_any(words, [fact]) for fact in hit.validity):
        return days[True]
    is_ahead = asks_ahead(question)
    return days[is_ahead] if is_ahead or asks_back(question) else None


def write_day(moment: datetime, phrases: Phrases) -> str:
    """A date as it is written in running text."""
    return _written(phrases.day, moment)


def write_window(window: TimeWindow, phrases: Phrases) -> str:
    """A day, a month or a year as it is written in running text; any other window by its first day and its last."""
    first, last = window.start, window.end - timedelta(days=1)
    if first.date() == last.date():
        return write_day(first, phrases)
    if (first.year, first.month) == (last.year, last.month) and first.day == 1:
        return _written(phrases.month, first)
    if first.day == first.month == 1 and last.month == _MONTHS_OF_YEAR:
        return _written(phrases.year, first)
    return phrases.week.format(first=write_day(first, phrases), last=write_day(last, phrases))


def write_present(asked: Present, now: datetime, phrases: Phrases) -> str:
    """A sentence with the day or period that is asked for, by the clock of `now`, which is said where it is UTC."""
    if asked.window is not None and asked.window.end - asked.window.start > timedelta(days=1):
        return phrases.in_short.format(answer=write_window(asked.window, phrases))
    moment = now if asked.window is None else asked.window.start
    said = phrases.day_of_week.format(date=write_day(moment, phrases), weekday=phrases.weekdays[moment.weekday()])
    if asked.hour:
        said = phrases.clock.format(day=said, time=f"{now:%H:%M}")
    return phrases.in_short.format(answer=said if now.utcoffset() else phrases.zone.format(moment=said))


def _written(pattern: str, moment: datetime) -> str:
    name = calendar.month_name[moment.month]
    return pattern.format(year=moment.year, month=moment.month, month_name=name, day=moment.day)
