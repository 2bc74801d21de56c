"""Whether a message asks for the present date or time, or for that of a day near it, and nothing else."""

import re
from dataclasses import dataclass
from datetime import datetime

from ...values.text import fold_lower
from ..time_windows import TimeWindow
from ..times import find_relative_time, relative_times_in

_NOW = re.compile(r"现在|目前|此刻|这会儿|今日|今儿|本月|\b(?:right )?now\b|\bat the moment\b|\bcurrent(?:ly)?\b")
_DAY_CHINESE = (
    r"(?:(?:是|的)*(?:几月)?几[号日]|(?:是|的)*(?:星期|礼拜|周)几|(?:的)?日期(?:是(?:什么|多少))?"
    r"|(?:是)?几月份?|(?:是)?(?:几几|哪一?)年)"
)
_HOUR_CHINESE = r"(?:(?:是)?几点(?:钟|几分|多)?|(?:的)?时间(?:是(?:几点|多少|什么))?|(?:是)?什么(?:时间|时候))"
_OPENS_CHINESE = r"(?:请问|请|那么?|对了|话说|你?(?:知道|能告诉我|可以告诉我|告诉我)|[诶欸哎])*"
_ENDS_CHINESE = r"(?:[啊呀呢喔哦了吗嘛]|来着)*"
_OPENS_ENGLISH = (
    r"(?:(?:so|and|hey|hi|hello|ok|okay|well|please|sorry|by the way|quick question|do you know|(?:can"
    r"|could) you tell me"
    r"|tell me|remind me) )*"
)
_DAY_ENGLISH = (
    r"(?:wh?at|which)(?:'s|s| is)?(?: the)? ?(?:date|day|month|year|weekday)(?: of the (?:week"
    r"|month))?(?: (?:is|it|it's|was|will|be))*"
)
_HOUR_ENGLISH = (
    r"(?:what(?:'s|s| is)?(?: the)? ?time(?: is it| it is)?|(?:do you have|have you got) the time|how late is it)"
)
_ENDS_ENGLISH = r"(?: (?:please|again|then|exactly))*"
_DAY = re.compile(
    rf"{_OPENS_CHINESE}(?:{_DAY_CHINESE}[\s、和跟]*)+{_ENDS_CHINESE}|{_OPENS_ENGLISH}{_DAY_ENGLISH}{_ENDS_ENGLISH}"
)
_HOUR = re.compile(
    rf"{_OPENS_CHINESE}(?:{_DAY_CHINESE}[\s、和跟]*)*{_HOUR_CHINESE}{_ENDS_CHINESE}"
    rf"|{_OPENS_ENGLISH}(?:{_DAY_ENGLISH} and )?{_HOUR_ENGLISH}{_ENDS_ENGLISH}"
)
_ALREADY = re.compile(r"几点(?:钟)?了")
_MARKS = re.compile(r"[\s,，。.!！?？~～;；…]+")

_LONGEST = 80
"""Characters of a message that asks nothing else."""


@dataclass(frozen=True, slots=True)
class Present:
    """What is asked for: the day or a longer period; with `hour` the time of day as well."""

    window: TimeWindow | None
    hour: bool = False


def asked_present(text: str, now: datetime) -> Present | None:
    """What a message asks for of the calendar or the clock; None where it asks for anything else as well.

    「今天星期幾？」, "what's tomorrow's date?", 「現在幾點」; not 「幾點開會」, "what day is the wedding?".
    """
    if len(text) > _LONGEST:
        return None
    folded = fold_lower(text)
    times = relative_times_in(folded)
    window = find_relative_time(folded, now) if times else None
    if times and window is None:
        return None
    rest = folded
    for start, end in reversed(times):
        rest = f"{rest[:start]} {rest[end:]}"
    rest, of_now = _NOW.subn(" ", rest)
    rest = _without_gaps(rest)
    is_english = bool(re.search("[a-z]", rest))
    if _DAY.fullmatch(rest):
        return Present(window) if times or of_now or is_english else None
    if _HOUR.fullmatch(rest) and (of_now or is_english or times or _ALREADY.search(rest)):
        return Present(None, hour=True)
    return None


def _without_gaps(text: str) -> str:
    words = _MARKS.sub(" ", re.sub(r"(?<=\s)'s\b", " ", text)).strip()
    return re.sub(r"(?<![a-z0-9]) | (?![a-z0-9])", "", words)
