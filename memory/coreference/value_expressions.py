"""Finds value expressions: times, amounts and ordinals (三樓, "the second floor").

Values are no antecedents, but users correct them: a value replaces another of the same kind. All patterns are over
folded text.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ..values.text import fold_lower


class TimeUnit(StrEnum):
    """The unit of a part of a time."""

    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    PART = "part of the day"
    CLOCK = "clock"


@dataclass(frozen=True, slots=True)
class TimePart:
    """One part of a time, `text[start:end]`."""

    unit: TimeUnit
    start: int
    end: int


HAN_NUMERAL = "[零〇一二两三四五六七八九十百千万亿半几]"
"""Pattern of one character of a number."""
_HAN_NUMBER = f"{HAN_NUMERAL}+"
_MONTHS = "january|february|march(?! of)|april|may(?! be)|june|july|august|september|october|november|december"
_WEEKDAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_HOURS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_UPTO_99 = r"(?:\d{1,2}|[一二两三四五六七八九十]{1,3})"
_UNITS = {
    TimeUnit.YEAR: r"(?:\d{4}|[零〇一二三四五六七八九]{4})年|[今明后去前]年|(?<=\bin )(?:19|20)\d\d\b"
    r"|\b(?:next|last|this) year\b",
    TimeUnit.MONTH: rf"{_UPTO_99}月(?!\d)|(?:上+|下+|这)个月|\b(?:{_MONTHS})\b|\b(?:next|last|this) month\b",
    TimeUnit.DAY: r"(?:上+|下+|这|本)?个?(?:周|星期|礼拜)[一二三四五六日天末]|[今明昨前]天|大?后天|大前天"
    rf"|{_UPTO_99}[日号](?![楼室线码])"
    rf"|\b(?:(?:next|last|this) )?(?:{_WEEKDAYS})\b|\b(?:today|tomorrow|yesterday|tonight)\b"
    r"|\b(?:the )?\d{1,2}(?:st|nd|rd|th)\b(?! \w)",
    TimeUnit.PART: r"早上|上午|中午|下午|傍晚|晚上|凌晨|半夜|清晨|\b(?:in the )?(?:morning|afternoon|evening)\b"
    r"|\b(?:noon|midnight)\b",
    TimeUnit.CLOCK: rf"{_UPTO_99}[点时](?:半|整|钟|一刻|{_UPTO_99}分?)?|\b\d{{1,2}}:\d\d(?: ?[ap]m)?\b"
    rf"|\b(?:\d{{1,2}}|{_HOURS})(?: ?[ap](?:m\b|\.m\.?)| o'clock\b)|(?<=\bat )(?:\d{{1,2}}|{_HOURS})\b(?! \w)",
}
_TIME = re.compile("|".join(f"(?P<{unit.name}>{pattern})" for unit, pattern in _UNITS.items()))
_BETWEEN = re.compile(r"[\s的,，]*(?:(?:at|on|in|of) )?")
TIME_PREPOSITION = "at|on|in|by|until|till|from|to|for"
"""English prepositions before a time, as alternatives of a pattern."""
_LEADING = re.compile(rf"(?:{TIME_PREPOSITION}|在|到) ?(?=\S)")

_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_TEENS = "thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_CARDINAL = rf"\d[\d,.]*\d|\d|(?:{_TENS})(?:[ -](?:{_HOURS}))?|{_TEENS}|{_HOURS}|a hundred|a thousand"
_ORDINAL = r"first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|\d{1,3}(?:st|nd|rd|th)"
_NUMBERED = re.compile(
    rf"(?P<before>[$€£¥第]|nt\$|room |number |no\. |floor |level |gate |platform )?"
    rf"(?:(?P<ordinal>\b(?:{_ORDINAL})\b)|(?P<han>{_HAN_NUMBER}|\d+(?=[\u3400-\u9fff]))|(?P<cardinal>\b(?:{_CARDINAL})\b))"
    r"(?P<after>[ -]?[a-z%]+|[\u3400-\u9fff]{1,2})?"
)
_AMOUNT = re.compile(rf"[\d.,:/%$€£¥ +-]+|{_HAN_NUMBER}")
_CODE = re.compile(r"(?=.*[a-z])(?=.*\d)[a-z0-9][a-z0-9._-]*", re.ASCII)


def times(folded: str) -> tuple[TimePart, ...]:
    """The parts of the times in a folded text, in order."""
    return tuple(
        TimePart(TimeUnit[match.lastgroup], *match.span()) for match in _TIME.finditer(folded) if match.lastgroup
    )


def time_of(folded: str) -> tuple[TimePart, ...]:
    """The parts of a folded text that is nothing but a time; empty for any other text."""
    found = times(folded)
    lead = _LEADING.match(folded)
    start = lead.end() if lead and found and found[0].start == lead.end() else 0
    return (
        found
        if found and len(_runs(folded, found)) == 1 and (found[0].start, found[-1].end) == (start, len(folded))
        else ()
    )


def same_time(folded: str, meant: Sequence[TimePart]) -> tuple[int, int] | None:
    """The span of the only time in a folded text with the units of `meant`, or else with some of them."""
    kinds = [unit.unit for unit in meant]
    runs = _runs(folded, times(folded))
    alike = [
        (run[at].start, run[at + len(kinds) - 1].end)
        for run in runs
        for at in range(len(run) - len(kinds) + 1)
        if [unit.unit for unit in run[at : at + len(kinds)]] == kinds
    ]
    alike = alike or [(run[0].start, run[-1].end) for run in runs if {unit.unit for unit in run} <= set(kinds)]
    return alike[0] if len(alike) == 1 else None


def is_value(text: str) -> bool:
    """Whether a text is nothing but a time or a number with its unit, and so no antecedent."""
    time = time_of(fold_lower(text))
    month = len(time) == 1 and time[0].unit is TimeUnit.MONTH  # June may be a person
    folded = fold_lower(text).removeprefix("the ")
    return bool(_AMOUNT.fullmatch(folded) or _NUMBERED.fullmatch(folded)) or bool(time and not month)


def same_number(folded: str, meant: str) -> tuple[int, int] | None:
    """The span of the only number in a folded text with the same unit, or of the only code of the same form.

    Args:
        folded: The text.
        meant: A folded number with its unit and nothing else: 一樓, "the first floor", "$30", "4".
    """
    match = _NUMBERED.fullmatch(meant.removeprefix("the "))
    if not match:
        return _same_code(folded, meant)
    kind = "ordinal" if match["ordinal"] else "cardinal" if match["cardinal"] else "han"
    number = {"ordinal": rf"\b(?:{_ORDINAL})\b", "cardinal": rf"\b(?:{_CARDINAL})\b", "han": rf"(?:{_HAN_NUMBER}|\d+)"}[
        kind
    ]
    before, after = re.escape(match["before"] or ""), re.escape(match["after"] or "")
    if not (before or after) and kind == "han":
        return None
    edge = r"(?!\w)" if after.isascii() else ""
    return only(re.finditer(before + number + after + edge, folded))


def _same_code(folded: str, meant: str) -> tuple[int, int] | None:
    """The span of the only code of the same form: RM05-008 for RM05-009."""
    if not _CODE.fullmatch(meant):
        return None
    make = "".join(r"\d+" if part.isdigit() else re.escape(part) for part in re.split(r"(\d+)", meant))
    return only(re.finditer(rf"(?<![\w-]){make}(?![\w-])", folded, re.ASCII))


def only(found: Iterable[re.Match[str]]) -> tuple[int, int] | None:
    """The span of the only match; None where there are several, or none."""
    spans = [match.span() for match in found]
    return spans[0] if len(spans) == 1 else None


def _runs(folded: str, found: Sequence[TimePart]) -> list[list[TimePart]]:
    """The parts grouped into times: 明天下午三點, "Friday at 8 pm"."""
    runs: list[list[TimePart]] = []
    for unit in found:
        if runs and _BETWEEN.fullmatch(folded, runs[-1][-1].end, unit.start):
            runs[-1].append(unit)
        else:
            runs.append([unit])
    return runs
