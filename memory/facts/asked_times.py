"""The time that a question asks about: now, an earlier one, a named one, or before a change (搬家前, "in June")."""

import re
from dataclasses import dataclass
from datetime import datetime

from ..language.time_windows import find_window
from ..language.times import resolve_time
from ..values.periods import Period
from ..values.text import fold_lower

_MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_NAMED = re.compile(
    r"(?:19|20)\d\d[-/.年]\d{1,2}[-/.月]\d{1,2}"
    rf"|\b(?:in|during|last|back in|end of|beginning of) {_MONTHS}\b(?: (?:of )?(?:19|20)\d\d)?"
    r"|\b(?:in|during|back in) (?:19|20)\d\d\b"
    r"|\b(?:last|in the) (?:spring|summer|autumn|winter)\b"
    r"|(?:去年|前年|(?:19|20)\d\d年)?(?<![个\d])(?:十[一二]?|[一二三四五六七八九]|1[0-2]|0?[1-9])月(?![饼亮光])"
    r"|(?:去年|前年)?(?:春天|夏天|秋天|冬天|暑假)|前年|(?:19|20)\d\d\s*年"
)
"""Times that a question may name, besides those of `memory.language.time_windows`, in folded text."""
_WEEKDAY = re.compile(r"\bon (?=(?:mon|tues|wednes|thurs|fri|satur|sun)day)")
_TELLING = re.compile(r"\b(?:tell|told|say|said|mention\w*|ask\w*)\b.*\bbefore\b")
_NO_TIME = r"(?<![\d一二三四五六日天号点月年])"
_EARLIER = re.compile(
    r"\b(?:used to|did \w+ use to|previous(?:ly)?|former(?:ly)?|originally|at first|in the past)\b"
    r"|\b(?:my|our|your|his|her|their|the) old\b|\bbefore(?: that| this| now| then)?\W*$"
    rf"|{_NO_TIME}以前|{_NO_TIME}之前(?!.{{0,4}}(?:说|讲|提|跟你|告诉|问|记))|从前|过去|先前|原本|原来|原先|本来|最初|当初|起初"
    r"|上一[份间任家台辆个位](?!月|星期|礼拜|周)|旧(?:的|家|公司|地址|电话|号码|手机|车|密码)|前(?:公司|东家|主管|老板|任|室友)"
)
_CHANGES: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = tuple(
    (re.compile(rf"\bbefore (?:i|we) (?:\w+ )?(?:{english})|(?:{chinese})[之以]?前"), frozenset(predicates))
    for english, chinese, predicates in (
        (r"moved|relocated", r"搬(?:家|走|[来去到][^,。?!]{0,6})?", ("lives_in", "address")),
        (
            r"(?:changed|switched|left|quit|started) (?:my |the |our |this )?(?:new )?(?:jobs?|company|work)\b|joined",
            r"换(?:了)?(?:工作|公司)|跳槽|离职|辞职|转职",
            ("works_at", "occupation"),
        ),
        (r"graduated|transferred", r"毕业|转学", ("studies_at",)),
        (
            r"sold|got rid of|replaced|traded in",
            r"[卖换](?:了|掉)?(?:新?车|手机|电脑|机车)|卖掉",
            ("owns", "drives", "uses"),
        ),
        (r"got married|married|got divorced|divorced|broke up|split up", r"结婚|离婚|分手", ("spouse", "partner")),
    )
)


@dataclass(frozen=True, slots=True)
class AskedTime:
    """An earlier time that a question asks about.

    Args:
        period: The time that it names; None for any earlier time.
        changed: Predicates of the speaker whose last change ended the time ("before I moved").
    """

    period: Period | None = None
    changed: frozenset[str] = frozenset()


def find_asked_time(question: str, now: datetime) -> AskedTime | None:
    """The earlier time that a question asks about; None where it asks about now or what lies ahead."""
    folded = fold_lower(question).strip()
    for pattern, predicates in _CHANGES:
        if pattern.search(folded):
            return AskedTime(changed=predicates)
    period = _named_period(folded, now)
    if period is not None:
        return AskedTime(period)
    if _EARLIER.search(folded) and not _TELLING.search(folded):
        return AskedTime()
    return None


def _named_period(folded: str, now: datetime) -> Period | None:
    """The time that is named, where all of it is over."""
    match = _NAMED.search(folded)
    if match:
        period = resolve_time(match[0].removeprefix("last "), now)
    else:
        window = find_window(_WEEKDAY.sub("", folded), now)
        period = Period(window.start, window.end) if window else None
    return period if period is not None and period.end is not None and period.end <= now else None
