"""Finds the span of an earlier message that a correction replaces, by its form: 二樓 for 一樓, Monday for Tuesday.

"The key is on the second floor." — "No, I meant the first floor." The message has no reference, but one span of the
correction's form: a time of the same units, a number with the same unit, a phrase with the same head noun, or one after
a preposition of place. Without exactly one such span nothing is replaced.
"""

import re
from dataclasses import dataclass

from ..language.tokens import Word, cut
from ..values.text import fold_lower, has_han
from .corrections import Choice
from .value_expressions import HAN_NUMERAL, TIME_PREPOSITION, only, same_number, same_time, time_of

Span = tuple[int, int]

_DETERMINER = r"(?:the|an?|my|your|our|his|her|their|this|that) "
_ARTICLE = re.compile(rf"^{_DETERMINER}")
_PREPOSITION = r"(?:in|inside|on|at|under|behind|near|next to|beside|above|below|by)"
_CLAUSE_END = r"(?=\s*(?:[,，.。!！?？;；]|$))"
_PLACED = re.compile(rf"\b{_PREPOSITION} (?:{_DETERMINER})?(?:[\w'-]+ ){{0,2}}[\w'-]+{_CLAUSE_END}")
_PLACED_HAN = re.compile(rf"在[^，。！？,.!?;；在]{{1,12}}?{_CLAUSE_END}")
_AT = re.compile(rf"{_PREPOSITION} (?!(?:least|most|all|any|first|last|once|fact|general|case)\b)\w")
_MODIFYING = frozenset("abnmq")


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A span of the earlier message, and its replacement."""

    start: int
    end: int
    text: str


def counterpart(message: str, choice: Choice) -> Counterpart | None:
    """The span that a correction replaces by its form, and the replacement; None where no span or several fit.

    Args:
        message: The earlier message of the user.
        choice: The correction.
    """
    folded, thing = fold_lower(message), fold_lower(choice.text)
    span = (_rejected_span(folded, choice.wrong) if choice.wrong else None) or _span_of_same_form(folded, thing)
    if span is None or folded[span[0] : span[1]] == thing:
        return None
    return _fit(message, span, choice.text)


def _span_of_same_form(folded: str, thing: str) -> Span | None:
    if time := time_of(thing):
        span = same_time(folded, time)
        return _with_preposition(folded, span, thing) if span else None
    return same_number(folded, thing) or _with_same_head(folded, thing) or _place_phrase(folded, thing)


def _rejected_span(folded: str, wrong: str) -> Span | None:
    """The only span of the rejected text."""
    edge = r"\b" if wrong.isascii() else ""
    whole = rf"(?<!{HAN_NUMERAL})" if re.match(HAN_NUMERAL, wrong) else ""  # no 一樓 in 十一樓
    return only(re.finditer(f"{edge}{whole}{re.escape(wrong)}{edge}", folded))


def _with_preposition(folded: str, span: Span, thing: str) -> Span:
    """The span, extended by the preposition before it where the correction has one: "in May" for "in June"."""
    if re.match(rf"(?:{TIME_PREPOSITION}|在|到)(?:\b| )", thing) is None:
        return span
    before = re.search(rf"\b(?:{TIME_PREPOSITION}) $|[在到]$", folded[: span[0]])
    return (before.start(), span[1]) if before else span


def _with_same_head(folded: str, thing: str) -> Span | None:
    """The only phrase that ends in the same noun: "the blue car" for "the red car"."""
    if has_han(thing):
        return _with_same_head_in_chinese(folded, thing)
    words = _ARTICLE.sub("", thing).split()
    if len(words) < 2 or not words[-1].isalpha() or _AT.match(thing):
        return None
    head = re.escape(words[-1])
    return only(re.finditer(rf"\b{_DETERMINER}(?:[\w'-]+ ){{0,3}}?{head}\b", folded))


def _with_same_head_in_chinese(folded: str, thing: str) -> Span | None:
    phrase = cut(thing)
    if len(phrase) < 2 or not _is_noun(phrase[-1]) or not all(map(_modifies, phrase[:-1])):
        return None
    words = cut(folded)
    heads = [at for at, word in enumerate(words) if word.text == phrase[-1].text]
    if len(heads) != 1:
        return None
    first = heads[0]
    while first and _modifies(words[first - 1]):
        first -= 1
    while words[first].text == "的":
        first += 1
    return words[first].start, words[heads[0]].end


def _is_noun(word: Word) -> bool:
    return word.tag.startswith(("n", "z"))  # jieba gives short nouns (車) the tag of states


def _modifies(word: Word) -> bool:
    return word.tag[:1] in _MODIFYING or word.tag == "eng" or word.text == "的"


def _place_phrase(folded: str, thing: str) -> Span | None:
    """The only place phrase at the end of a clause: 在抽屜裡 for 在冰箱上, "in the drawer" for "on the fridge"."""
    if thing.startswith("在"):
        return only(_PLACED_HAN.finditer(folded))
    return only(_PLACED.finditer(folded)) if _AT.match(thing) else None


def _fit(message: str, span: Span, text: str) -> Counterpart:
    """The replacement, without its article where the message has one before the span."""
    start, end = span
    replaced = fold_lower(message)[start:end]
    article = _ARTICLE.match(fold_lower(text))
    if article and not _ARTICLE.match(replaced) and re.search(rf"\b{_DETERMINER}$", fold_lower(message)[:start]):
        text = text[article.end() :]
    if start == 0 and replaced and message[0].isupper():
        text = text[:1].upper() + text[1:]
    return Counterpart(start, end, text)
