"""Times as they are said, resolved against the date of the message: 上個月, since 2019, 三月, "next Friday"."""

import re
from datetime import datetime, time, timedelta

from ..values.periods import Period
from ..values.text import fold_lower
from .time_windows import TimeWindow, find_window

_SINCE = re.compile(r"\b(?:since|from|starting|as of)\b|自从?|从|[起后]$|开始|以来")
_UNTIL = re.compile(r"\b(?:until|till|through)\b|为止|直到|^到")
_YEAR = re.compile(r"(?<!\d)(?P<year>(?:18|19|20)\d\d)(?!\d)\s*年?")
_RANGE = re.compile(r"(?P<first>(?:19|20)\d\d)\D{1,6}(?P<last>(?:19|20)\d\d)")
_ISO = re.compile(r"(?P<year>(?:19|20)\d\d)[-/.年](?P<month>\d{1,2})[-/.月](?P<day>\d{1,2})")
_HAN_MONTH = re.compile(
    r"(?P<month>十[一二]?|[一二三四五六七八九]|1[0-2]|0?[1-9])月(?P<day>[一二三四五六七八九十]{1,3}|\d{1,2})?"
)
_ENGLISH_MONTH = re.compile(
    r"(?:\b(?P<before>\d{1,2})(?:st|nd|rd|th)?(?: of)? )?"
    r"\b(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b\.?(?: (?P<after>\d{1,2})(?:st|nd|rd|th)?\b)?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DIGITS = {digit: number for number, digit in enumerate("一二三四五六七八九", start=1)}
_NEXT_YEAR = re.compile(r"明年|\bnext year\b")
_AFTER_NEXT_YEAR = re.compile(r"后年")
_YEAR_BEFORE_LAST = re.compile(r"前年")
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12, "春天": 3, "夏天": 6, "秋天": 9, "冬天": 12, "暑假": 7}
_SEASON = re.compile("|".join(_SEASONS))
_SEASON_DAYS = 93
_LAST_YEAR = re.compile(r"去年|\blast year\b")
_NEXT_MONTH = re.compile(r"下个?月|\bnext month\b")
_NEXT_WEEK = re.compile(r"(?P<downs>下+)(?:个?星期|个?礼拜|周)(?P<day>[一二三四五六日天])?|\bnext (?:week|wk)\b")
_WEEKDAY = re.compile(r"(?:周|星期|礼拜)(?P<han>[一二三四五六日天])|\b(?P<day>mon|tue|wed|thu|fri|sat|sun)[a-z]*\b")
_DAYS_AHEAD = (
    (re.compile(r"大后天"), 3),
    (re.compile(r"后天|day after tomorrow"), 2),
    (re.compile(r"明[天早晚]|\btomorrow\b"), 1),
)
_COUNT = r"\d{1,3}|an?|two|three|four|five|six|seven|eight|nine|ten"
_HAN_COUNT = r"(?P<han>\d{1,3}|[一两二三四五六七八九十]|半)(?P<han_unit>天|周|个?星期|个?礼拜|个月|年)"
_AHEAD = re.compile(rf"\bin (?P<count>{_COUNT}) (?P<unit>day|week|month|year)s?\b|{_HAN_COUNT}后")
_LASTING = re.compile(
    rf"^(?:for |going on |about )*(?P<count>{_COUNT}) (?P<unit>day|week|month|year)s?$|^{_HAN_COUNT}多?了?$"
)
_NUMBERS = {"a": 1, "an": 1, "两": 2, "十": 10} | _DIGITS
_NUMBERS |= {word: number for number, word in enumerate(_COUNT.split("|")[2:], start=2)}
_UNIT_DAYS = {
    "day": 1,
    "天": 1,
    "week": 7,
    "周": 7,
    "星期": 7,
    "礼拜": 7,
    "month": 30,
    "月": 30,
    "year": 365,
    "年": 365,
}
_WEEKDAYS = "一二三四五六日"
_ENGLISH_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY_OF_WEEK = r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*"
_RELATIVE = re.compile(
    r"大?[前昨后明今][天晚日]|[今明昨]早|(?:上+|下+|这)个?(?:周|星期|礼拜)[一二三四五六日天]?|(?:上+|下+|这)个?月(?:\d{1,2}[号日])?"
    r"|[去前明今]年(?:十[一二]?月|[一二三四五六七八九]月|\d{1,2}月)?"
    r"|(?:\d{1,3}|[一两二三四五六七八九十])天[以之]?[前后]"
    r"|\b(?:the )?day (?:before yesterday|after tomorrow)\b"
    r"|\b(?:yesterday|last night|today|tonight|this morning|tomorrow)\b"
    rf"|\b(?:last|next|this|this coming) (?:{_DAY_OF_WEEK}|week|month|year)\b"
    rf"|\b(?:{_COUNT}|a couple of) days? ago\b|\bin (?:{_COUNT}) days?\b"
)
_WEEKDAY_ALONE = re.compile(rf"(?:周|星期|礼拜)[一二三四五六日天]|\b(?:on )?{_DAY_OF_WEEK}day\b")
_MONTH_AND_DAY = re.compile(
    r"(?:\d|[一二三四五六七八九十]) ?[月号日]|\d{1,2}[/.-]\d{1,2}(?!\d)|\b\d{1,2}(?:st|nd|rd|th)\b"
    rf"|\b(?:{'|'.join(_MONTHS)})[a-z]*\.? \d|\d (?:{'|'.join(_MONTHS)})"
)
_IS_AHEAD = re.compile(r"\b(?:this|next)\b")


def resolve_time(said: str, at: datetime, *, ahead: bool = False) -> Period | None:
    """The period that a time means; None where it names no point in time (every day, as a child).

    Args:
        said: The time as it was said.
        at: When it was said; also its time zone.
        ahead: Whether a month or weekday without a year or week is the next one, not the last one.
    """
    folded = fold_lower(said).strip()
    if match := _RANGE.search(folded):
        return Period(_day(at, int(match["first"])), _day(at, int(match["last"]) + 1))
    if match := _LASTING.search(folded):
        start = _midnight(at) - _length(match["count"] or match["han"], match["unit"] or match["han_unit"])
        return Period(start)
    window = _window(folded, at, ahead=ahead or bool(_UNTIL.search(folded)))
    if window is None:
        return None
    if _UNTIL.search(folded):
        return Period(None, window.end)
    return Period(window.start) if _SINCE.search(folded) else window


def relative_times_in(text: str) -> list[tuple[int, int]]:
    """Where a text tells times by their distance from when it was said: 昨天, "last friday", 三天後."""
    return [match.span() for match in _RELATIVE.finditer(fold_lower(text))]


def find_relative_time(text: str, at: datetime) -> TimeWindow | None:
    """The day, week, month or year that a text names by its distance from when it was said; None where it names none.

    None also where it names several. Distances in weeks and more (two months ago) are rough and name none.
    """
    said = {fold_lower(text)[start:end] for start, end in relative_times_in(text)}
    if len(said) != 1:
        return None
    [expression] = said
    window = _closed(_window(expression, at, ahead=bool(_IS_AHEAD.search(expression))))
    return window if window is not None and _is_of_calendar(window) else None


def names_date(text: str) -> bool:
    """Whether a text names a date by its month or its day of the month."""
    return bool(_MONTH_AND_DAY.search(fold_lower(text)))


def find_weekday(text: str, at: datetime, *, ahead: bool) -> TimeWindow | None:
    """The last day, or the next one with `ahead`, of the one weekday that a text names; None where it names none."""
    said = {match[0] for match in _WEEKDAY_ALONE.finditer(fold_lower(text))}
    return _closed(_window(said.pop().removeprefix("on "), at, ahead=ahead)) if len(said) == 1 else None


def _closed(period: Period | None) -> TimeWindow | None:
    if period is None or period.start is None or period.end is None:
        return None
    return TimeWindow(period.start, period.end)


def _is_of_calendar(window: TimeWindow) -> bool:
    """Whether it is one day, a week from Monday, a month or a year."""
    start, end = window.start, window.end
    if end - start in (timedelta(days=1), timedelta(days=7)):
        return end - start == timedelta(days=1) or start.weekday() == 0
    return start.day == end.day == 1 and (end.year - start.year) * 12 + end.month - start.month in (1, 12)


def _window(folded: str, at: datetime, *, ahead: bool) -> Period | None:
    today = _midnight(at)
    if match := _ISO.search(folded):
        return _one_day(_day(at, int(match["year"]), int(match["month"]), int(match["day"])))
    for pattern, days in _DAYS_AHEAD:
        if pattern.search(folded):
            return _one_day(today + timedelta(days=days))
    if match := _AHEAD.search(folded):
        return _one_day(today + _length(match["count"] or match["han"], match["unit"] or match["han_unit"]))
    if match := _NEXT_WEEK.search(folded):
        monday = today + timedelta(days=7 * len(match["downs"] or "下") - today.weekday())
        if match["day"]:
            return _one_day(monday + timedelta(days=_WEEKDAYS.index(match["day"].replace("天", "日"))))
        return Period(monday, monday + timedelta(days=7))
    year = _year(folded, at)
    if _NEXT_MONTH.search(folded):
        first = today.replace(day=1)
        following = (first + timedelta(days=32)).replace(day=1)
        day = re.search(r"(?P<day>\d{1,2}|[一二三四五六七八九十]{1,3})[号日]", folded)
        if day:
            return _one_day(_day(at, following.year, following.month, _number(day["day"])))
        return Period(following, (following + timedelta(days=32)).replace(day=1))
    if match := _HAN_MONTH.search(folded):
        return _month(at, year, _number(match["month"]), _number(match["day"]) if match["day"] else None, ahead=ahead)
    if match := _ENGLISH_MONTH.search(folded):
        number = match["before"] or match["after"]
        return _month(at, year, _MONTHS.index(match["month"]) + 1, int(number) if number else None, ahead=ahead)
    if match := _SEASON.search(folded):
        begin = _month(at, year, _SEASONS[match[0]], None, ahead=ahead).start or today
        return Period(begin, (begin + timedelta(days=_SEASON_DAYS)).replace(day=1))
    if year is not None:
        return Period(_day(at, year), _day(at, year + 1))
    match = _WEEKDAY.search(folded)
    if match and (ahead or match[0] == folded.removeprefix("since ").removeprefix("from ")):
        han, english = match["han"], match["day"]
        weekday = _WEEKDAYS.index(han.replace("天", "日")) if han else _ENGLISH_WEEKDAYS.index(english)
        days = (weekday - today.weekday()) % 7 or 7
        return _one_day(today + timedelta(days=days if ahead else days - 7))
    past = find_window(folded if "last" in folded else folded.replace("since ", "on "), at)
    return None if past is None else Period(past.start, past.end)


def _year(folded: str, at: datetime) -> int | None:
    if match := _YEAR.search(folded):
        return int(match["year"])
    for pattern, years in ((_AFTER_NEXT_YEAR, 2), (_NEXT_YEAR, 1), (_LAST_YEAR, -1), (_YEAR_BEFORE_LAST, -2)):
        if pattern.search(folded):
            return at.year + years
    return None


def _month(at: datetime, year: int | None, month: int, day: int | None, *, ahead: bool) -> Period:
    """A month or a day of it; without a year the last one, or the next one with `ahead`."""
    if year is None:
        year = at.year
        begin = _day(at, year, month, day or 1)
        if ahead and _day(at, year, month, day or 28) < _midnight(at):
            year += 1
        elif not ahead and begin > at:
            year -= 1
    begin = _day(at, year, month, day or 1)
    return _one_day(begin) if day else Period(begin, (begin + timedelta(days=32)).replace(day=1))


def _length(count: str, unit: str) -> timedelta:
    days = _UNIT_DAYS[unit.removeprefix("个")]
    return timedelta(days=days // 2 if count == "半" else _number(count) * days)


def _number(written: str) -> int:
    if written.isdecimal():
        return int(written)
    if written in _NUMBERS:
        return _NUMBERS[written]
    tens, _, ones = written.partition("十")
    return 10 * _DIGITS.get(tens, 1) + _DIGITS.get(ones, 0)


def _midnight(at: datetime) -> datetime:
    return datetime.combine(at.date(), time(), tzinfo=at.tzinfo)


def _day(at: datetime, year: int, month: int = 1, day: int = 1) -> datetime:
    """A date in the time zone of `at`; a day that the month does not have is its last."""
    month = min(max(month, 1), 12)
    following = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=at.tzinfo)
    last = (following - timedelta(days=1)).day
    return datetime(year, month, min(max(day, 1), last), tzinfo=at.tzinfo)


def _one_day(start: datetime) -> Period:
    return Period(start, start + timedelta(days=1))
