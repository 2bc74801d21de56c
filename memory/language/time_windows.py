"""Finds the past time that a reference names: 上週提到的, 三天前說的, "the one from last month"."""

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta

_NUMBERS = {
    "一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10,
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10,
    "a couple of": 2, "couple of": 2,
}  # fmt: skip
_NUMBER = r"(?P<count>\d{1,3}|[一两二三四五六七八九十]|an?|one|two|three|four|five|six|seven|ten|(?:a )?couple of)"
_UNIT = r"(?P<unit>天|周|个?星期|个?礼拜|个?月|年|days?|weeks?|months?|years?)"
_AGO = re.compile(rf"{_NUMBER} ?{_UNIT}(?:前|以前|之前| ago)")
_WEEKDAYS = "一二三四五六日"
_ENGLISH_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEK = re.compile(rf"(?P<ups>上+|这)个?(?:周|星期|礼拜)(?P<day>[{_WEEKDAYS}天])?|\b(?P<which>last|this) week\b")
_DAY = re.compile(rf"\b(?P<which>last|on) (?P<day>{'|'.join(_ENGLISH_DAYS)})\b")
_MONTH = re.compile(r"(?P<ups>上+|这)个?月|\b(?P<which>last|this) month\b")
_YEAR = re.compile(r"(?P<last>去年)|(?P<this>今年)|\blast (?P<last_en>year)\b|\bthis (?P<this_en>year)\b")
_DAYS_BACK = (
    (re.compile(r"大前天"), 3),
    (re.compile(r"前天|前晚|day before yesterday"), 2),
    (re.compile(r"昨[天日晚]|yesterday|last night"), 1),
    (re.compile(r"今天|今早|今晚|today|this morning|tonight"), 0),
)
_LATELY = re.compile(r"前几天|前两天|这几天|这两天|前阵子|the other day|a few days ago|recently")
_FEW_DAYS = 8


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """A time window; `end` is exclusive."""

    start: datetime
    end: datetime

    def holds(self, moment: datetime) -> bool:
        """Whether a moment lies in the window."""
        return self.start <= moment < self.end


def find_window(folded: str, now: datetime) -> TimeWindow | None:
    """The window that a folded text names, in the time zone of `now`; None where it names none.

    Weeks begin on Monday; "a week ago" covers the seven days around that day, months and years more.
    """
    today = datetime.combine(now.date(), time(), tzinfo=now.tzinfo)
    if match := _AGO.search(folded):
        return _ago(match["count"], match["unit"], today)
    if match := _WEEK.search(folded):
        back = match["ups"].count("上") if match["ups"] else int(match["which"] == "last")
        monday = today - timedelta(days=today.weekday() + 7 * back)
        if match["day"]:
            return _days(monday + timedelta(days=_WEEKDAYS.index(match["day"].replace("天", "日"))))
        return _days(monday, 7)
    if match := _DAY.search(folded):
        back = (today.weekday() - _ENGLISH_DAYS.index(match["day"])) % 7 or 7
        return _days(today - timedelta(days=back))
    if match := _MONTH.search(folded):
        return _month(today, match["ups"].count("上") if match["ups"] else int(match["which"] == "last"))
    if match := _YEAR.search(folded):
        year = today.year - int(bool(match["last"] or match["last_en"]))
        return TimeWindow(today.replace(year=year, month=1, day=1), today.replace(year=year + 1, month=1, day=1))
    for pattern, back in _DAYS_BACK:
        if pattern.search(folded):
            return _days(today - timedelta(days=back))
    if _LATELY.search(folded):
        return _days(today - timedelta(days=_FEW_DAYS), _FEW_DAYS + 1)
    return None


def _ago(count: str, unit: str, today: datetime) -> TimeWindow:
    number = int(count) if count.isdigit() else _NUMBERS[count]
    if unit.startswith(("天", "day")):
        return _days(today - timedelta(days=number))
    if unit.endswith(("周", "星期", "礼拜")) or unit.startswith("week"):
        return _days(today - timedelta(days=7 * number + 3), 7)
    days, slack = (365 * number, 90) if unit.startswith(("年", "year")) else (30 * number, 15)
    return _days(today - timedelta(days=days + slack), 2 * slack)


def _month(today: datetime, back: int) -> TimeWindow:
    months = today.year * 12 + today.month - 1 - back
    first = today.replace(year=months // 12, month=months % 12 + 1, day=1)
    after = months + 1
    return TimeWindow(first, today.replace(year=after // 12, month=after % 12 + 1, day=1))


def _days(start: datetime, count: int = 1) -> TimeWindow:
    return TimeWindow(start, start + timedelta(days=count))
