"""Reads from the words around a mention how well they introduce it, and its type."""

import re
from dataclasses import replace

from ...values.mentions import EntitySubtype
from ...values.text import fold_lower
from ..detect.lexicon import CLASSIFIERS, GENERIC_PERSONS
from ..detect.phrases import Phrase
from .candidates import NAMED_BY, Span

_GUESSED = 0.85  # standing of a name that only jieba guesses
_LOCATION = 0.9  # standing of a name that is the location of something else
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
    """The type that the measure word right before a noun counts: 一台 counts machines."""
    match = _COUNTED.search(before)
    types = CLASSIFIERS[match["classifier"]] if match else frozenset()
    return next(iter(types)) if len(types) == 1 else None


def standing(phrase: Phrase, before: str, *, subject: bool) -> float:
    """The `Candidate.standing` of a Chinese description, by the folded text before it."""
    if phrase.named:
        return 1.0 if phrase.subtype else _GUESSED
    return 1.0 if subject or _INTRODUCED.search(before) else _BARE


def drop_identified(text: str, found: list[Span]) -> list[Span]:
    """Drops a description that the next name identifies: 供應商是宏康, "two servers, Atlas and Redis"."""
    kept: list[Span] = []
    for span in found:
        if kept and span[2].named and _identifies(text, kept[-1], span):
            described_as = kept.pop()[2]
            name = span[2]
            if name.subtype is None and described_as.subtype:
                name = replace(name, subtype=described_as.subtype, person=described_as.person)
            span = (span[0], span[1], replace(name, subject=True))
        kept.append(span)
    return kept


def _identifies(text: str, described: Span, name: Span) -> bool:
    """Whether a name identifies the thing described, or is the first of several described."""
    between = fold_lower(text[described[1] : name[0]])
    if NAMED_BY.fullmatch(between):
        return not described[2].named
    return bool(
        _COMMA.fullmatch(between) and _SEVERAL.search(fold_lower(text[max(0, described[0] - _COUNT) : described[1]]))
    )


def located(before: str) -> float:
    """The standing of a name by the folded text before it: lower for a location, as 誠品 in 在誠品."""
    return _LOCATION if _LOCATED.search(before) else 1.0


def is_location(before: str) -> bool:
    """Whether the folded text before a mention makes it the place or time of something else."""
    return bool(_SAYING_WHERE.search(before))


def is_generic_person(phrase: str, before: str) -> bool:
    """Whether a folded phrase names persons in general: 人, 女生, but not 一個女生."""
    return phrase in GENERIC_PERSONS and not _ONE_OF_MANY.search(before)
