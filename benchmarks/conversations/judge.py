"""Judges a reply by rules: whether the right value is there, comes first, and is said as true as it is.

Values are compared without regard to script, case, width and spaces, and only as whole words or numbers. Of a reply
that names right and untrue values, the first line decides that names any: a line is a quotation or a sentence, and "not
the 12th, the 21st" may name both. Words inside quotation marks are what somebody said; what the reply says of itself
(that it does not know, or that something held before) is looked for outside of them.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from memory.values.text import fold_compatible, fold_lower

from .own_sentences import OWN_SENTENCES
from .scenarios import Expected, Kind, Question

_QUOTED = re.compile(r"「[^」]*」?|『[^』]*』?|“[^”]*”?|\"[^\"]*\"?")
_UNKNOWN = re.compile(
    r"(?:do not|don't|did not|didn't|cannot|can't) (?:know|have|recall|remember|find|tell)(?! (?:which|whether|if)\b)"
    r"|\bno (?:record|memory|mention|information|note)"
    r"|\bnothing\b|\bunknown\b|(?:not|never|n't) (?:been )?(?:told|mentioned|said|stated|specified|recorded)"
    r"|不(?:知道|晓得|清楚|记得)(?!\S{0,6}(?:哪|是否|是不是|还是))|无(?:法得知|从得知|相关|记录)|查无"
    r"|没(?:有|再)?(?:相关|提|说|讲|听|记|关于|任何|找到|资料|告诉)|未(?:曾|有)?(?:提|说明|记录)"
)
"""That the reply does not know; one that does not know which of several holds knows something."""
_UNSURE = re.compile(
    r"\b(?:not (?:be )?(?:sure|certain)|uncertain|unsure|may(?:be| have| no| not| still| be)\b|might|perhaps|possibly"
    r"|probably|doubt\w*|(?:can't|cannot|don't|do not) (?:know|say|tell) (?:if|whether|which))"
    r"|不(?:太|大)?确定|不一定|未必|可能|也许|或许|说不定|存疑|存在疑问|是否(?:还|仍|依然)|还是不是|不(?:知道|确定|清楚)\S{0,6}哪"
)
"""That a value may not hold."""
_BEFORE = re.compile(
    r"\b(?:(?<!said )(?<!told me )before|as of|used to|no longer|not any ?more|previously|formerly|at (?:the|that) time"
    r"|back then|until|since then|outdated|out of date)\b"
    r"|(?:[以之先]前|原[本来先])(?![您你]?(?:说|提|讲|告诉))|当时|那时|截至|为止|过时|不再|(?:搬|换|改|离|辞|卖)\S{0,8}前"
)
"""That a value held before something changed."""
_ASKS = re.compile(r"[?？]")


class Verdict(StrEnum):
    """What became of a question."""

    RIGHT = "right"
    STALE = "stale"
    HEDGED = "hedged"
    LEFT_OPEN = "left open"
    WRONG = "wrong"
    LEAKED = "leaked"


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply, with everything that was shown beside it.

    Attributes:
        text: What the user reads.
        shown: Sources and contexts, which a forgotten value must not be in either.
        asks: Whether the service says that it asks back; a question mark counts as well.
        confidence: How sure the system is of the reply, the higher the surer; None where it does not say.
        sentence: The name of the service's own sentence that it begins with (`own_sentences.py`); None where that is no
            such.
    """

    text: str
    shown: tuple[str, ...] = ()
    asks: bool = False
    confidence: float | None = None
    sentence: str | None = None


def judge(question: Question, reply: Reply) -> Verdict:
    """Judges a reply.

    `HEDGED` is the right value in doubt though nothing makes it doubtful; `STALE` a value given as true that is not, or
    not surely, true now; `LEFT_OPEN` a reply that does not know what it should.
    """
    if question.kind is Kind.FORGET and any(_names_any(text, question.untrue) for text in (reply.text, *reply.shown)):
        return Verdict.LEAKED
    match question.expected:
        case Expected.NONE:
            is_right = leaves_open(reply) and not _names_any(reply.text, question.untrue)
            return Verdict.RIGHT if is_right else Verdict.WRONG
        case Expected.ASK:
            asks = reply.asks or bool(_ASKS.search(own_words(reply.text)))
            named = all(holds(reply.text, option) for part in question.parts for option in part)
            return Verdict.RIGHT if asks and named else Verdict.WRONG
        case Expected.DOUBT:
            return _judge_doubt(question, reply)
        case Expected.VALUE:
            return _judge_value(question, reply)
        case Expected.REPLY:
            return Verdict.RIGHT if _is_of_its_kind(question, reply) else Verdict.WRONG


def _is_of_its_kind(question: Question, reply: Reply) -> bool:
    """Whether a reply is one for messages of this type, or says the values given, and quotes nothing."""
    if reply.shown or _QUOTED.search(reply.text):
        return False
    says = question.parts and all(_names_any(reply.text, part) for part in question.parts)
    return bool(says) or reply.sentence in OWN_SENTENCES[question.kind]


def _judge_doubt(question: Question, reply: Reply) -> Verdict:
    own = _own_words_about(question, reply)
    says_old = _names_any(reply.text, question.untrue)
    if leaves_open(reply) or _ASKS.search(own) or (says_old and (_UNSURE.search(own) or _BEFORE.search(own))):
        return Verdict.RIGHT
    return Verdict.STALE if says_old else Verdict.WRONG


def _judge_value(question: Question, reply: Reply) -> Verdict:
    lines = reply.text.splitlines()
    is_answer = [any(_names_any(line, part) for part in question.parts) for line in lines]
    is_untrue = [_names_any(line, question.untrue) and not _BEFORE.search(own_words(line)) for line in lines]
    is_unsure = _UNSURE.search(_own_words_about(question, reply)) is not None
    first = next((place for place in range(len(lines)) if is_answer[place] or is_untrue[place]), None)
    if first is not None and not is_answer[first] and not is_unsure:
        return Verdict.STALE
    if all(_names_any(reply.text, part) for part in question.parts):
        return Verdict.HEDGED if is_unsure else Verdict.RIGHT
    return Verdict.LEFT_OPEN if leaves_open(reply) else Verdict.WRONG


def leaves_open(reply: Reply) -> bool:
    """Whether a reply leaves the question open: it does not know, or asks back."""
    return reply.asks or _UNKNOWN.search(own_words(reply.text)) is not None


def holds(text: str, value: str) -> bool:
    """Whether a text has a value, as a whole word or number where it begins or ends with one.

    A plural has its singular; 16:30 has neither 6 nor 30, 1,600 not 600, and 2026-03-21 not 21.
    """
    return _pattern(value).search(_squeezed(text)) is not None


def own_words(reply: str) -> str:
    """What a reply says of itself, without quotations; Simplified, half-width, lower case."""
    return fold_lower(_QUOTED.sub(" ", reply))


def _own_words_about(question: Question, reply: Reply) -> str:
    """The own words of the lines that name a value asked about, and of those that quote nothing: they hold for all."""
    values = (*(value for part in question.parts for value in part), *question.untrue)
    lines = reply.text.splitlines()
    return own_words("\n".join(line for line in lines if not _QUOTED.search(line) or _names_any(line, values)))


def _names_any(text: str, values: tuple[str, ...]) -> bool:
    return any(holds(text, value) for value in values)


def _squeezed(text: str) -> str:
    """Folded, with spaces only between two Latin words."""
    folded = re.sub(r"[‘’ʼ]", "'", fold_compatible(text))
    return re.sub(r"(?<![a-z0-9])\s+|\s+(?![a-z0-9])", "", re.sub(r"\s+", " ", folded))


def _pattern(value: str) -> re.Pattern[str]:
    squeezed = _squeezed(value)
    before = {"digit": r"(?<![a-z0-9])(?<![0-9][.,:/-])", "letter": r"(?<![a-z0-9])", "": ""}[_class(squeezed[:1])]
    after = {"digit": r"(?![0-9])(?![.,:/-][0-9])", "letter": r"(?:'?e?s)?(?![a-z0-9])", "": ""}[_class(squeezed[-1:])]
    return re.compile(before + re.escape(squeezed) + after)


def _class(character: str) -> str:
    return "digit" if character.isdigit() else "letter" if re.match("[a-z]", character) else ""
