"""Finds requests to remember something (000 §3.2: 幫我記住, 記住這個, 這很重要)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from ...language.sentences import Sentence, Sentences
from ...values.extractions import RememberIntent


class _Guard(Enum):
    """Whether a trigger also counts in a question."""

    ASKED = "yes, as a polite request: 可以幫我記住…嗎"
    TOLD = "no: 你還記得…嗎, do you remember …?"


@dataclass(frozen=True, slots=True)
class _Trigger:
    pattern: re.Pattern[str]
    guard: _Guard


_PAST = r"(?!了|过|着呢)"
_THIS_HAN = r"(?:这一?(?:个|点|件事|些|句话?)?|那一?(?:个|点|件事)|它|以下|下面(?:的|这些)?|如下)"
_CLAUSE_HAN = r"(?:(?<=[。，,！!？?；;：:\n、~ ])|\A)"
_CLAUSE_LATIN = r"(?:(?<=[.!?,;:\n(—-])|\A)\s{0,3}"
_LEAD_LATIN = r"(?:(?:and|also|so|oh|ok|okay|hey|but|then|now|just|please|kindly|always)[, ]{1,2}){0,3}"
_ASK_LATIN = (
    r"(?:please |(?:can|could|would|will) you (?:please |kindly )?|(?:i|i'd) (?:want|need|like|would like) you to "
    r"|make sure (?:to |you )|you (?:should|must|need to|have to) |help me (?:to )?)"
)
_OBJECT_LATIN = (
    r"(?=[,:]|\s+(?:that|this|these|it|my|our|i|i'm|i've|we|the following|to|his|her|their|the)\b|\s*[.!]?\s*\Z)"
)

_TRIGGERS = (
    _Trigger(
        re.compile(
            rf"(?:帮|替|给)(?:我|忙|我们)(?:记住|记下来?|记一下|记录一?下?|记着|牢记|备忘一?下?|记得|记){_PAST}"
        ),
        _Guard.ASKED,
    ),
    _Trigger(
        re.compile(rf"(?:请|麻烦)(?:您|你)?(?:务必|一定要?|要|先)?(?:记住|记得|记下来?|牢记|记一下|记着){_PAST}"),
        _Guard.ASKED,
    ),
    _Trigger(
        re.compile(rf"{_CLAUSE_HAN}(?:要|一定要|务必|你要|你得|你)?(?:记住|牢记|记下来?|记一下){_PAST}"), _Guard.TOLD
    ),
    _Trigger(re.compile(rf"(?<![我他她没])(?:记住|记下){_THIS_HAN}"), _Guard.TOLD),
    _Trigger(re.compile(r"(?<![我他她])(?:千万|请|你)?(?:别|不要|不可以?|不能|勿)(?:忘了|忘记|忘掉|忘)"), _Guard.TOLD),
    _Trigger(
        re.compile(
            rf"{_CLAUSE_HAN}(?:要|一定要|务必|你要)?记得(?=[:：，,]|(?:我的|我对|我不|我是|我喜欢|我讨厌|我住|我家))"
        ),
        _Guard.TOLD,
    ),
    _Trigger(
        re.compile(
            r"(?<![说得为认么])(?:这|这个|这点|这一点|这件事|这些|以下|下面的?)(?:对我(?:来说)?)?(?:真的)?(?:很|非常|特别|十分|超级?|最|极其?|相当)重要(?!性|的[^。，,！!])"
        ),
        _Guard.TOLD,
    ),
    _Trigger(
        re.compile(
            rf"{_CLAUSE_HAN}(?:请|麻烦|拜托)?(?:您|你)?(?:可以|可不可以|能不能|能|到时候?|记得|要|一定要)*提醒我"
            rf"(?!什么|谁|哪|怎么|过|了){_PAST}"
        ),
        _Guard.ASKED,
    ),
    _Trigger(
        re.compile(
            rf"{_CLAUSE_LATIN}{_LEAD_LATIN}(?:please |(?:can|could|would|will) you (?:please )?)?remind me\b"
            r"(?=\s+(?:to|that|about|of|in|on|at|tomorrow|next|every|later)\b)",
            re.I,
        ),
        _Guard.ASKED,
    ),
    _Trigger(
        re.compile(
            rf"{_CLAUSE_LATIN}{_LEAD_LATIN}{_ASK_LATIN}(?:remember|memori[sz]e|note down|write down|make a note of)\b",
            re.I,
        ),
        _Guard.ASKED,
    ),
    _Trigger(re.compile(rf"{_CLAUSE_LATIN}{_LEAD_LATIN}(?:remember|memori[sz]e){_OBJECT_LATIN}", re.I), _Guard.TOLD),
    _Trigger(
        re.compile(
            rf"{_CLAUSE_LATIN}{_LEAD_LATIN}(?:please |you should |(?:can|could) you )?"
            r"(?:keep (?:this |that |it )?in mind|bear (?:this |that |it )?in mind"
            r"|take note|make a note|note that|note:)",
            re.I,
        ),
        _Guard.ASKED,
    ),
    _Trigger(
        re.compile(rf"{_CLAUSE_LATIN}{_LEAD_LATIN}(?:don't|do not|never) (?:ever )?forget\b(?! about it\b)", re.I),
        _Guard.TOLD,
    ),
    _Trigger(
        re.compile(
            rf"{_CLAUSE_LATIN}{_LEAD_LATIN}(?:this|that)(?: is|'s) (?:very |really |super |so )?important"
            r"(?: (?:to|for) me)?(?=\s*[:,.!;—-]|\s*\Z|\s+that\b)",
            re.I,
        ),
        _Guard.TOLD,
    ),
)
_NOT_ASKED = re.compile(
    r"(?:不用|不必|不需要|不想|不要|别|甭|没有?|无需|[还会]|是否|有|有没有|是不是"
    r"|叫我|要我|让我|提醒我|叫他|叫她|说过|告诉我)(?:再|你|你要|先|去)?$"
)
_REMINISCING = re.compile(r"\s+that (?:time|day|night|summer|winter|trip|year|week|guy|one)\b", re.IGNORECASE)
_OPENING = re.compile(
    r"(?:(?:这一?(?:个|点|件事|些|句话?)?|那一?(?:个|点|件事)|它|以下|下面(?:的|这些)?|如下|喔|哦|啊|一下|的是|的)"
    r"(?=[\s，,：:。！!—-]|\Z)"
    r"|\s{0,3}(?:about )?(?:this|that|these|it|the following|of)(?=[\s,:.!—-]{1,3}|\Z)|\s{0,3}that\b)?"
    r"[\s，,：:、—-]{0,20}",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"^(?:这一?(?:个|点|件事|些|句话?)?|那一?(?:个|点|件事)|它)?(?:喔|哦|啊|吧|啦|好吗|好不好|可以吗|吗|了)?$"
)
_TAIL = re.compile(
    r"(?:[，,]?\s?(?:好吗|好不好|可以吗|行吗|谢谢你?|thanks|thank you|please|ok|okay)|吗|吧|[\s，,。.！!？?；;、])$",
    re.IGNORECASE,
)
_EDGES = " \t\r\n，,。.！!？?；;：:、"


def find_intents(text: str, folded: str, sentences: Sentences) -> Iterator[RememberIntent]:
    """Finds remember-intents in text order; `folded` is `text` folded with offsets kept.

    The content to remember is the text after the trigger up to the end of its sentence (or the next sentence, where
    the line ends there), else the text before it ("我對花生過敏，請記住"). Where there is neither ("記住這個") the span
    is empty, and the previous turn is meant. Questions about remembering, statements and refusals (你還記得…嗎,
    我記住了, 不用幫我記住) are no intents.
    """
    done = 0
    for start, end, guard in sorted(_matches(folded), key=lambda match: (match[0], -match[1])):
        if start < done:
            continue
        sentence = sentences.at(start)
        if sentence.marked and guard is _Guard.TOLD:
            continue
        if _NOT_ASKED.search(folded[max(sentence.start, start - 8) : start]) or _REMINISCING.match(
            folded[end : end + 24]
        ):
            continue
        content_start, content_end = _content_after(folded, end, sentence, sentences)
        if content_start == content_end:
            content_start, content_end = _trimmed(folded, done, start, end)
        done = max(end, content_end)
        yield RememberIntent(
            trigger=text[start:end],
            content=text[content_start:content_end],
            content_start=content_start,
            content_end=content_end,
        )


def _matches(folded: str) -> Iterator[tuple[int, int, _Guard]]:
    for trigger in _TRIGGERS:
        for match in trigger.pattern.finditer(folded):
            start = match.start() + len(match.group()) - len(match.group().lstrip())
            yield start, match.end(), trigger.guard


def _content_after(folded: str, end: int, sentence: Sentence, sentences: Sentences) -> tuple[int, int]:
    opening = _OPENING.match(folded, end)
    start = opening.end() if opening else end
    if start >= len(folded):
        return end, end
    stop = sentence.end
    if start >= stop and folded[end:start].strip(" \t\r，,：:、—-").startswith("\n"):
        stop = sentences.at(start).end
    return _trimmed(folded, start, stop, end)


def _trimmed(folded: str, start: int, stop: int, empty_at: int) -> tuple[int, int]:
    """The span without punctuation, fillers and politeness at its ends; empty at `empty_at` where nothing is left."""
    while start < stop and folded[start] in _EDGES:
        start += 1
    while start < stop and (tail := _TAIL.search(folded, max(start, stop - 12), stop)):
        stop = tail.start()
    if start >= stop or _POINTS_BACK.match(folded[start:stop]):
        return empty_at, empty_at
    return start, stop
