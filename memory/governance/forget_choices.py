"""Which of the things that a reply asked about the user's next message picks."""

import re
from collections.abc import Sequence

from ..language.keywords import KeywordAnalyzer
from ..values.text import fold_lower
from .forget_targets import other_terms

MIN_SHARE = 0.3
"""Share of the terms of a message that the options must have where it picks one by words; less says something else."""
_NONE = re.compile(
    r"\b(?:none|neither|never ?mind|keep (?:them|both|it|all)|forget it)\b|都不|不用|算了|都留|留着|没事"
)
_YES = re.compile(
    r"\b(?:yes|yeah|yep|yup|sure|right|correct|exactly|please|ok(?:ay)?|(?:do|that'?s|forget|delete|remove) it)\b"
    "|^[是对嗯好行可]|没错|就是|删掉?|忘[了掉]"
)
_NO = re.compile(r"\b(?:no|nope|not (?:that|it)|wrong|don'?t)\b|^不|别")
_ALL = re.compile(r"\b(?:both|all|every(?:thing| one)|each)\b|[都全]部?|[两兩]个|一起")
_LAST = re.compile(r"\b(?:last|latter)\b|最后|后者|后面那")
_NTH = (
    re.compile(r"\b(?:first|former|1st)\b|第一|前者|前面那|^\s*1\s*$"),
    re.compile(r"\b(?:second|2nd)\b|第二|^\s*2\s*$"),
    re.compile(r"\b(?:third|3rd)\b|第三|^\s*3\s*$"),
)
_FILLING = re.compile(
    r"\b(?:ones?|them|those|things?|of|thanks?|thank you|do|it|that(?:'?s)?|please)\b|[个件条样种]"
    "|那|这|就|吧|啦|喔|哦|着|好|的|了|它|呀|啊|请|对|是|谢谢"
)

_Pick = tuple[re.Pattern[str], list[int]]
"""A way to choose, and the places that it chooses."""


def choose(message: str, options: Sequence[str], analyzer: KeywordAnalyzer) -> list[int] | None:
    """The places of the options that a message picks: by words that one has alone, by number, or the only one by a yes.

    Args:
        message: What the user says to the question which is meant.
        options: For each thing what is known of it, in the order in which it was named.
        analyzer: Splits texts into terms.

    Returns:
        [] where it picks none of them, and None where it is no answer.
    """
    if len(options) == 1:
        return _confirms(message, options[0], analyzer)
    words = analyzer.content_terms(message)
    terms = [analyzer.content_terms(option) for option in options]
    shared = set.intersection(*terms) if terms else set()
    scores = [len(words & (own - shared)) for own in terms]
    if (best := max(scores, default=0)) and scores.count(best) == 1:
        known = words & set().union(*terms)
        return [scores.index(best)] if len(known) >= MIN_SHARE * len(words) else None
    picks: list[_Pick] = [
        (_NONE, []),
        *((pattern, [place]) for place, pattern in enumerate(_NTH[: len(options)])),
        (_LAST, [len(options) - 1]),
        (_ALL, list(range(len(options)))),
    ]
    places, rest = _first_pick(fold_lower(message), picks)
    # Besides the choice it must say nothing: 我們都搬家了 chooses nothing.
    return None if other_terms(rest, analyzer) else places


def _confirms(message: str, option: str, analyzer: KeywordAnalyzer) -> list[int] | None:
    """As `choose`, of the only thing that was asked about; besides a yes or no the message may only name it."""
    places, rest = _first_pick(fold_lower(message), [(_NO, []), (_YES, [0]), (_NONE, [])])
    terms = other_terms(rest, analyzer)
    if not terms <= analyzer.content_terms(option):
        return None
    return [0] if places is None and terms else places


def _first_pick(folded: str, picks: Sequence[_Pick]) -> tuple[list[int] | None, str]:
    """The places that the first pattern in a folded message picks, None without one; and what else the message says."""
    for pattern, places in picks:
        if pattern.search(folded):
            return places, _FILLING.sub(" ", pattern.sub(" ", folded))
    return None, _FILLING.sub(" ", folded)
