"""How well a mention is introduced by the words around it, and what they say of its type."""

import re
from dataclasses import replace

from ...values.mentions import EntitySubtype
from ...values.text import fold_lower
from ..detect.lexicon import CLASSIFIERS, GENERIC_PERSONS
from ..detect.phrases import Phrase
from .candidates import NAMED_BY, Span

_GUESSED = 0.85  # standing of a name that jieba's guess alone makes one
_LOCATION = 0.9  # standing of a name that says where something happens
_LOCATED = re.compile(r"(?:[在到去从于]|\b(?:at|in|from|to|near)) ?$")
_SAYING_WHERE = re.compile(
    r"(?:[在到去从于往]|\b(?:at|in|inside|into|on|onto|under|behind|beside|above|below|near|next to|from|to|during)) ?$"
)
_COUNTED = re.compile(r"[一两几这那](?P<classifier>[台部家本位款间辆首座所篇])$")
_COMMA = re.compile(r"\s*[,，]\s*")
_COUNT = 3  # characters before a description that may count it
_SEVERAL = re.compile(
    rf"[两三四五六七八九十几](?:{'|'.join(CLASSIFIERS)})|\b(?:two|three|four|five|six|seven|eight|nine|ten|both) \w"
)
_BARE = 0.8  # standing of a noun that nothing introduces
_INTRODUCED = re.compile(
    r"(?:[一两几这那某][个台部家本位款种只条间辆首张件项套座所名支篇场架把份]|[这那]|[我你他她它您咱]们?的?|新|买了?|养了?|有|[把将])$"
)
_ONE_OF_MANY = re.compile(r"(?:[一有][个位名]|有一[个位名]|^|[，,。！!？?；;\s]|[我你他她您]们?的?)$")


def counted_type(before: str) -> EntitySubtype | None:
    """What a measure word right before a noun says that it is: 一台 is a machine."""
    match = _COUNTED.search(before)
    types = CLASSIFIERS[match["classifier"]] if match else frozenset()
    return next(iter(types)) if len(types) == 1 else None


def standing(phrase: Phrase, before: str, *, subject: bool) -> float:
    """Of a Chinese description, by what stands before it (folded); see `Candidate.standing`."""
    if phrase.named:
        return 1.0 if phrase.subtype else _GUESSED
    return 1.0 if subject or _INTRODUCED.search(before) else _BARE


def equated(text: str, found: list[Span]) -> list[Span]:
    """Takes out descriptions that a name right behind them replaces: 供應商是宏康, "two servers, Atlas and Redis"."""
    kept: list[Span] = []
    for span in found:
        if kept and span[2].named and _names(text, kept[-1], span):
            described_as = kept.pop()[2]
            name = span[2]
            if name.subtype is None and described_as.subtype:
                name = replace(name, subtype=described_as.subtype, person=described_as.person)
            span = (span[0], span[1], replace(name, subject=True))
        kept.append(span)
    return kept


def _names(text: str, described: Span, name: Span) -> bool:
    """Whether a name says which thing a description means, or is the first of those that it counts."""
    between = fold_lower(text[described[1] : name[0]])
    if NAMED_BY.fullmatch(between):
        return not described[2].named
    return bool(
        _COMMA.fullmatch(between) and _SEVERAL.search(fold_lower(text[max(0, described[0] - _COUNT) : described[1]]))
    )


def located(before: str) -> float:
    """The standing of a name by what stands before it (folded): 誠品 in 在誠品 says where something is."""
    return _LOCATION if _LOCATED.search(before) else 1.0


def is_location(before: str) -> bool:
    """Whether what stands before a mention (folded) makes it a place or a time of something else."""
    return bool(_SAYING_WHERE.search(before))


def of_a_kind(phrase: str, before: str) -> bool:
    """Whether a folded phrase is a noun of persons that means nobody in particular: 人, 女生, but not 一個女生."""
    return phrase in GENERIC_PERSONS and not _ONE_OF_MANY.search(before)
