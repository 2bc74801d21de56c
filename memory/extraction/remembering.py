"""Finds what a user asks to remember (000 §3.2: 幫我記住, 記住這個, 這很重要).

The reader decides whether a message asks for it; the phrases here say which words ask, and so what is to be remembered.
The phrases of 000 count without the reader too, unless it takes the message for a question.
"""

import re
from collections.abc import Collection, Iterator

from ..language.sentences import Sentence, Sentences
from ..values.understanding.extractions import RememberIntent
from ..values.understanding.readings import Intent

_CLAUSE = r"(?:\A|(?<=[。，,！!？?；;：:、.\n~(—-]))\s{0,3}"
_LEAD = r"(?:(?:and|also|so|oh|ok|okay|hey|but|then|now|just|please|always)[, ]{1,2}){0,3}"
_ASK = r"(?:(?:please |kindly |(?:can|could|would|will) you |i(?:'d| want| need| would like) you to |help me ){1,2})?"
_OBJECT = r"(?=[,:]|\s+(?:that|this|these|it|my|our|i|i'm|i've|we|the following|to|his|her|their|the)\b|\s*[.!]?\s*\Z)"
_EXPLICIT = re.compile(
    r"(?:(?:帮|替|给)(?:我们?|忙)|请(?:您|你)?|麻烦(?:您|你)?)(?:务必|一定要?|要|先)?"
    r"(?:记(?:住|得|下来?|一下|录一?下?|着)|牢记|备忘一?下?|记)(?!了|过)"
    rf"|{_CLAUSE}(?:你?要|一定要|务必|你得|你)?(?:记(?:住|下来?|一下)|牢记)(?!了|过|着呢)"
    r"|(?<![说得为认么])(?:这(?:个|一?点|件事|些)?|以下|下面的?)(?:对我(?:来说)?)?(?:真的)?"
    r"(?:很|非常|特别|十分|超级?|最|极其?|相当)重要(?!性|的[^。，,！!])"
    rf"|{_CLAUSE}{_LEAD}{_ASK}(?:remember|memori[sz]e){_OBJECT}"
    rf"|{_CLAUSE}{_LEAD}(?:this|that)(?: is|'s) (?:very |really |super |so )?important(?: (?:to|for) me)?"
    r"(?=\s*[:,.!;—-]|\s*\Z|\s+that\b)",
    re.IGNORECASE,
)
"""Asks to remember in any message."""
_ASKING = re.compile(
    r"(?<![我他她您还])(?:记(?:住|得|下来?|一下|录一?下?|着)|牢记|备忘一?下?)|存(?:起来|下来|一下)"
    r"|(?:别|不要|不可以?|勿)(?:忘了|忘记|忘)"
    rf"|提醒我|\b{_ASK}(?:remind me|(?:don't|do not|never) (?:ever )?forget|remember|memori[sz]e|save|record"
    r"|(?:keep|bear) (?:this |that |it )?in mind|(?:take|make) (?:a )?note(?: of)?|(?:note|write|jot)"
    r"(?: (?:this|that|it))? down|note(?= that\b|:))\b",
    re.IGNORECASE,
)
"""Says so where the reader has found that the message asks for it."""
_REFUSED = re.compile(
    r"(?:不用|不必|不需要|不想|不要|别|甭|没有?|无需|[还会]|是否|有没有|叫我|要我|让我|告诉我)(?:再|你|先|去)?$"
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


def find_remember_intents(
    text: str, folded: str, sentences: Sentences, intents: Collection[Intent]
) -> Iterator[RememberIntent]:
    """Finds what is to be remembered, in text order.

    The content is the text after the words that ask, up to the end of its sentence (or the next sentence, where the
    line ends there), else the text before them ("我對花生過敏，請記住"). Where there is neither ("記住這個") the span
    is empty, and the previous turn is meant. Where no words ask (`trigger` is then empty) it is the whole message.

    Args:
        text: The message.
        folded: The message, folded with offsets kept.
        sentences: Its sentences.
        intents: What the reader takes it for; empty while the reader is away.
    """
    asks = Intent.REMEMBER in intents
    if Intent.QUESTION in intents and not asks:
        return
    done = 0
    for start, end in _triggers(folded, asks=asks):
        sentence = sentences.at(start)
        if start < done or _REMINISCING.match(folded, end):
            continue
        if not asks and (sentence.marked or _REFUSED.search(folded[max(sentence.start, start - 8) : start])):
            continue
        content_start, content_end = _content_after(folded, end, sentence, sentences)
        if content_start == content_end:
            content_start, content_end = _trimmed(folded, done, start, end)
        done = max(end, content_end)
        yield _intent(text, text[start:end], content_start, content_end)
    if asks and not done:
        yield _intent(text, "", *_trimmed(folded, 0, len(folded), 0))


def _intent(text: str, trigger: str, start: int, end: int) -> RememberIntent:
    return RememberIntent(trigger=trigger, content=text[start:end], content_start=start, content_end=end)


def _triggers(folded: str, *, asks: bool) -> list[tuple[int, int]]:
    """Spans of the words that ask, the first and longest first."""
    spans = [match.span() for pattern in (_EXPLICIT, _ASKING)[: 1 + asks] for match in pattern.finditer(folded)]
    spans = [(end - len(folded[start:end].lstrip()), end) for start, end in spans]
    return sorted(spans, key=lambda span: (span[0], -span[1]))


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
