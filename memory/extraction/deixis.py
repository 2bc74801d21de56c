"""Finds deictic words for a time, an event or an earlier mention: level L1, for the session only (000 §3.2)."""

import re
from collections.abc import Iterator

from ..language.tokens import Words
from ..values.understanding.mentions import Mention, MentionLevel

_SAID = r"(?:(?:我们|你|我|您)?(?:说|提|讲|聊|谈|讨论)(?:到|过|起)?的)?"
_EVENTS_HAN = (
    rf"(?:上一?次|上上次|上回|之前|先前|刚才|刚刚|方才|早先){_SAID}",
    r"这次|这回|这一次|那次|那回|那一次|下次|下回|下一次|以前|从前|之后|以后|后来|当时|那时候?|这时候?|届时|到时候?|前者|后者|上述|前面说的|上面说的",
)
_DAYS = r"天|日|早|晚|年|夜|晨"
_UNITS = r"周|星期|礼拜|月|季度?|年|学期|世纪"
_TIMES_HAN = (
    rf"(?:今|(?<!小)明|昨|后|前|大前|大后|隔|当)(?:{_DAYS})(?:早上|上午|中午|下午|傍晚|晚上|晚|早|凌晨)?",
    rf"(?:这|本|上上|上|下下|下)(?:一?个)?(?:{_UNITS})(?:[一二三四五六日天末初底中])?",
    r"(?:这|上|下)(?:阵子|半年|几天|些天|段时间|段日子)|那(?:天|阵子|几天|段时间|年)|这(?:天|几年|两天|些日子)",
    r"最近|近来|近日|近期|目前|现在|当前|眼下|如今|今后|未来几天|不久前|前几天|前阵子|前些日子|过几天|改天|周末|月底|月初|年底|年初|去年|前年|今年|明年|后年|刚刚|待会儿?|等一下|早上|上午|中午|下午|傍晚|晚上|今晚|昨晚|明晚|明早",
)
_PRONOUNS_HAN = (
    r"这一?个(?!月|星期|礼拜|人|世)|那一?个(?!月|星期|礼拜|人)|这些|那些|这件事|那件事|这一?点(?!点)|它们?|牠们?|(?<![其吉维利排无])(?:他们?|她们?)(?![乡杀])",
)
_EVENTS_LATIN = (
    r"last time|this time|next time|the other day|previously|earlier|beforehand|before that|after that|back then"
    r"|just now|at that time|the last one|the previous one|the former|the latter"
)
_TIMES_LATIN = (
    r"(?:the day (?:before yesterday|after tomorrow))|yesterday|today|tonight|tomorrow|right now|nowadays|recently"
    r"|lately|currently|these days|(?:last|this|next) (?:week|weekend|month|quarter|year|morning|afternoon|evening"
    r"|night|semester|spring|summer|autumn|fall|winter|monday|tuesday|wednesday|thursday|friday"
    r"|saturday|sunday)"
    r"|(?:yesterday|tomorrow) (?:morning|afternoon|evening|night)|a (?:few|couple of) (?:days|weeks|months|years) ago"
)
_PRONOUNS_LATIN = r"(?:this|that) one|these ones|those ones|it|he|him|she|her|they|them"

_PATTERNS: tuple[tuple[str, float, re.Pattern[str]], ...] = (
    ("deixis.time", 0.95, re.compile("|".join(_TIMES_HAN))),
    ("deixis.event", 0.95, re.compile("|".join(_EVENTS_HAN))),
    ("deixis.pronoun", 0.9, re.compile("|".join(_PRONOUNS_HAN))),
    ("deixis.time", 0.95, re.compile(rf"\b(?:{_TIMES_LATIN})\b", re.IGNORECASE)),
    ("deixis.event", 0.9, re.compile(rf"\b(?:{_EVENTS_LATIN})\b", re.IGNORECASE)),
    ("deixis.pronoun", 0.8, re.compile(rf"(?<![\w'-])(?:{_PRONOUNS_LATIN})(?![\w-])", re.IGNORECASE)),
)
DEIXIS = tuple((source, pattern) for source, _, pattern in _PATTERNS)
"""The patterns of the deictic words, with their source."""


def find_deixis(text: str, folded: str, words: Words) -> Iterator[Mention]:
    """Finds the deictic words of a text, with source `deixis.time`, `deixis.event` or `deixis.pronoun`."""
    for source, confidence, pattern in _PATTERNS:
        for match in pattern.finditer(folded):
            start, end = match.span()
            if words.opens_word(start, end):
                yield Mention(
                    text=text[start:end],
                    start=start,
                    end=end,
                    level=MentionLevel.SESSION,
                    confidence=confidence,
                    source=source,
                )
