"""Finds corrections (不是，我是說 X, "no, I meant X") and answers to a clarifying question, by their wording alone.

Whether X can be meant is decided in `revising`: 不是，我是說真的 has the form and corrects nothing.
"""

import re
from dataclasses import dataclass

from ..language.tokens import cut
from ..values.text import fold_lower, has_han
from ..values.text_caches import text_cache


@dataclass(frozen=True, slots=True)
class Choice:
    """The antecedent that a correction or an answer names.

    Attributes:
        start: Start of the named antecedent in the message.
        end: Its end, exclusive.
        text: `message[start:end]`.
        firm: Whether it states what was meant (我是說 X), so that X may be new; else it may only answer a question.
        denies: Whether it rejects the earlier understanding.
        place: Index of the chosen option, from 0, -1 for the last; None where the option is named.
        all: Whether it chooses all options (都是, "both").
        wrong: The rejected antecedent, where it is named.
    """

    start: int
    end: int
    text: str
    firm: bool = False
    denies: bool = False
    place: int | None = None
    all: bool = False
    wrong: str = ""

    @property
    def corrects(self) -> bool:
        """Whether it says that something else was meant; else it may only answer a question."""
        return self.firm or self.denies


_THING = r"(?P<thing>[^,，。！？!?；;：:\n]{1,40}?)"
_POINTER = r"(?:[这那]一?[个台家位本部款套种间辆只些]?|[它他她牠]们?)"
_CLOSING = rf"\s*(?:{_POINTER})?\s*(?:才对|的意思)?(?:啦|啊|呀|吧|哦|喔|耶|呢|哈|嘛)?\s*[。.!！~～?？]*$"
_NO = r"(?:不不|不是|不对|不|我?[搞弄说讲记打]?错了|没有|[喔噢啊哦]不)"
_PAUSE = r"(?:的|啦|吧|哦|喔|耶|欸|诶)?\s*[，,。.!！、…\s]\s*"
_DENIAL = rf"{_NO}(?:是)?(?:{_POINTER})?{_PAUSE}"
_TELLING = (
    r"(?:我|我们|咱们)(?:刚才|刚刚|刚|之前|前面)?"
    r"(?:(?:是)?(?:想|要)?(?:说|问|指|讲|提)(?:到)?的(?:就)?是|是(?:想|要)?(?:说|问|指|讲|提)(?:的是)?)"
)
_CHINESE = (
    (re.compile(rf"^(?P<denial>{_DENIAL})?{_TELLING}\s*{_THING}{_CLOSING}"), True),
    (re.compile(rf"^(?P<denial>{_DENIAL})我[说问指讲]\s*{_THING}{_CLOSING}"), True),
    (re.compile(rf"^(?P<denial>{_DENIAL})(?:应该|而|就)?是\s*{_THING}{_CLOSING}"), True),
    (
        re.compile(rf"^(?P<denial>不是\s*(?P<wrong>[^，,。！？!?；;：:]{{1,20}}?))[，,]\s*而?是\s*{_THING}{_CLOSING}"),
        True,
    ),
    (re.compile(rf"^(?P<denial>{_DENIAL}){_THING}{_CLOSING}"), False),
    (re.compile(rf"^(?P<denial>)(?:(?:应该|就|当然|我想|我猜)?是|选|我选|要)?\s*{_THING}{_CLOSING}"), False),
)
_ENGLISH_THING = r"(?P<thing>(?:the |an? )?(?:(?:mr|mrs|ms|dr)\. )?[^,!?;:\n]{1,60}?)"
_ENGLISH_CLOSING = r"(?:,? (?:please|of course|actually|instead))?\s*[.!?]*$"
_ENGLISH_NO = (
    r"(?:(?:(?:no wait|oh no|no|wait|nope|nah|sorry|my mistake|actually|wrong|wrong one|"
    r"not (?:that|this)(?: one)?|not (?:it|him|her|them|those)|"
    r"that's (?:wrong|not it|not what i mean|not what i meant|not the one))\b[\s,.!;:–—-]+)+)"
)
_ENGLISH_TELLING = (
    r"i(?:'m| am| was)? (?:mean|meant|meaning|talking about|asking about|asked about|referring to|referred to)"
)
_ENGLISH = (
    (re.compile(rf"^(?P<denial>{_ENGLISH_NO})?{_ENGLISH_TELLING} {_ENGLISH_THING}{_ENGLISH_CLOSING}"), True),
    (
        re.compile(
            rf"^(?P<denial>{_ENGLISH_NO})(?:but |rather )?(?:it's|it is|it was|that's|make it) "
            rf"{_ENGLISH_THING}{_ENGLISH_CLOSING}"
        ),
        True,
    ),
    (
        re.compile(
            rf"^(?P<denial>(?:no, )?not (?P<wrong>(?!yet|now|really|sure|at )[^,.!?;:]{{1,30}}?)), (?:but |rather )?"
            rf"{_ENGLISH_THING}{_ENGLISH_CLOSING}"
        ),
        True,
    ),
    (re.compile(rf"^(?P<denial>{_ENGLISH_NO}){_ENGLISH_THING}{_ENGLISH_CLOSING}"), False),
    (
        re.compile(rf"^(?P<denial>)(?:(?:it's|it is|i think|i guess|probably) )?{_ENGLISH_THING}{_ENGLISH_CLOSING}"),
        False,
    ),
)
_NUMBERS = {"一": 0, "二": 1, "两": 1, "三": 2, "四": 3, "1": 0, "2": 1, "3": 2, "4": 3}
_WORDS = {"first": 0, "one": 0, "second": 1, "two": 1, "third": 2, "three": 2, "fourth": 3, "four": 3}
_PLACE = re.compile(
    r"(?:第(?P<number>[一二两三四1-4])[个位台家款]?|(?P<digit>[1-4])|(?P<former>前者|前面(?:那|的)?一?个)|"
    r"(?P<latter>后者|后面(?:那|的)?一?个|最后一?个)"
    r"|(?:the )?(?:option |number )?(?P<word>first|second|third|fourth|one|two|three|four|[1-4])(?: one| option)?"
    r"|(?:the )?(?P<former_en>former)(?: one)?|(?:the )?(?P<latter_en>latter|last)(?: one)?)"
)
_ALL = re.compile(r"(?:[两二三]个)?都(?:是|要|有)?|[两二]者(?:都是|都)?|[两二三]个|both(?: of them)?|all of them")
_POSSESSIVE = re.compile(r"(?:'s|的)$")
_CLAUSE = re.compile(
    r"^(?:i|you|he|she|it|we|they|that|this|there)\b|\b(?:is|was|are|were|has|had|have|will|can|could|did|does|do|\w+n't)\b"
)
_NO_THING = re.compile(r"(?:to|not|yet|thanks|sorry)\b")
_SUBJECT = re.compile(r"\b(?:it's|it is|it was|that's) $")
_NOUN_TAGS = ("n", "s", "t", "m", "i", "l", "j", "x", "eng")


@text_cache(maxsize=512)
def find_choice(message: str) -> Choice | None:
    """The choice that a message makes; None where it has not the form of a correction or an answer."""
    folded = fold_lower(message)
    lead = len(folded) - len(folded.lstrip())
    for pattern, firm in _CHINESE if has_han(message) else _ENGLISH:  # the last one takes nearly every short text
        if match := pattern.match(folded.strip()):
            return _choice(message, match, lead, firm=firm)
    return None


def is_clause(choice: Choice, message: str) -> bool:
    """Whether the choice is a clause of its own: 我是說他辭職了, "no, it's broken"."""
    folded = fold_lower(choice.text)
    if _CLAUSE.search(folded) or _SUBJECT.search(fold_lower(message[: choice.start])):
        return True
    return any(word.tag in ("v", "r") for word in cut(folded))


def names_something(choice: Choice, message: str) -> bool:
    """Whether the choice can name a thing: a phrase with a noun, not a clause."""
    if is_clause(choice, message) or _NO_THING.match(fold_lower(choice.text)):
        return False
    return not has_han(choice.text) or any(word.tag.startswith(_NOUN_TAGS) for word in cut(fold_lower(choice.text)))


def _choice(message: str, match: re.Match[str], lead: int, *, firm: bool) -> Choice:
    thing = match["thing"].rstrip()
    owned = _POSSESSIVE.search(thing)
    start = match.start("thing") + lead
    end = start + (owned.start() if owned and owned.start() else len(thing))
    place = _PLACE.fullmatch(thing)
    wrong = match["wrong"] if "wrong" in match.re.groupindex else ""
    return Choice(
        start,
        end,
        message[start:end],
        firm=firm,
        denies=bool(match["denial"]),
        place=_place(place) if place else None,
        all=bool(_ALL.fullmatch(thing)),
        wrong=wrong or "",
    )


def _place(match: re.Match[str]) -> int:
    if match["former"] or match["former_en"]:
        return 0
    if match["latter"] or match["latter_en"]:
        return -1
    word = match["number"] or match["digit"] or match["word"]
    return _NUMBERS[word] if word in _NUMBERS else _WORDS[word]
