"""Joins the names of a trained tagger with those of the rules: what is believed, who says where a name ends, its type.

The thresholds were set on tuning rows (UNER, CLUENER, MSRA, Weibo, e-commerce) and on hand-written chat.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from . import han_words, latin_words
from .candidates import Candidate, Layer
from .han_tokens import Word, Words
from .mentions import EntitySubtype
from .tagging import TaggedSpan

_INTRODUCED = "han.introduced"
_TITLED = "han.titled"
_COMPLEMENTARY = frozenset(
    {
        _INTRODUCED,
        _TITLED,
        "han.nickname",
        "han.listed",
        "han.branch",
        "han.department",
        f"han.{EntitySubtype.ORGANISATION}_suffix",
    }
)
"""Rules whose names are kept where the tagger finds nothing; the others were wrong there nine times out of ten."""

_NAME_TAGS = ("nr", "ns", "nt", "nz", "x", "eng")
_PRODUCT_OF_A_WORD = 0.997
"""How sure the tagger must be that a word of the dictionary (合約) or a common abbreviation (PPT) is a product."""
_PRODUCT_IN_LOWER_CASE = 0.9
"""The same of a Latin word without capital, digit or hyphen: a product (redis) or a common noun (vectors)."""
_NAMING_NOTHING = 0.97
"""The same of a word that the rules list as naming nothing (公司, PPT), whatever type but a person's."""
_PERSON = 0.95
"""How sure the tagger must be that such a word (陳列, May), or a listed Latin name (IBM, Washington), is a person."""
_CUTTING_A_WORD = 0.98
"""How sure it must be that a name begins or ends inside a word of the dictionary, as 哥 does in 表哥."""
_NAMED_BY_A_WORD = 0.98
"""How sure it must be that a word of the dictionary (博物館), or a Latin word that begins a sentence (Pottery, as a
person: `_PERSON`), is a name to keep; below it the session may refer to it, and nothing is learned."""
_FOR_THE_SESSION = 0.5
"""The confidence of such a name: below that of what is learned (`memory.learning.lessons`)."""
_CUT_CONTRACTION = re.compile(r"(?<=[a-z])['’](?!s\b)[a-z]", re.IGNORECASE)
_TYPE = 0.8
"""Below it the type of a list or of an organisation's form (Johnson & Johnson) wins; above it the sentence decides."""


def join_names(
    folded: str, words: Words, tagged: Sequence[TaggedSpan], ruled: Sequence[Candidate]
) -> Iterator[Candidate]:
    """The names of the tagger, corrected by the rules, and those of the rules that complement them.

    - What is no name by the dictionary or the lists must be tagged with a higher score than what may be one.
    - A name that begins or ends inside a word of the dictionary is none, unless the tagger is very sure; a word of the
      dictionary that it is not very sure of is kept for the session only.
    - A rule that reads a form of address says where that name ends (陳先生, not 陳; 陳怡君, not 陳怡君教授; Smith, not
      Dr. Smith), and an introduction says where it begins (旺財, not 狗叫旺財).
    - A type that is listed, or an organisation's form, wins over a type that the tagger is not sure of.

    Args:
        folded: The text.
        words: Its Chinese words.
        tagged: What the tagger found in it.
        ruled: What the rules for names found in it.
    """
    organisations = {(one.start, one.end) for one in ruled if one.subtype is EntitySubtype.ORGANISATION}
    for span in tagged:
        if span.subtype in (None, EntitySubtype.CODE) or _is_doubtful(folded, words, span):
            continue
        if any(_bounds(rule, span) for rule in ruled):
            continue
        start = span.start + _title_length(folded, span)
        subtype = _type(folded[start : span.end], span, has_form=(start, span.end) in organisations)
        sure = span.score if not _is_word_first(folded, words, span) else min(span.score, _FOR_THE_SESSION)
        yield Candidate(start, span.end, Layer.TAGGED, f"tagger.{span.label}", round(sure, 3), subtype)
    yield from (one for one in ruled if one.source in _COMPLEMENTARY)


def _is_doubtful(folded: str, words: Words, span: TaggedSpan) -> bool:
    """Whether the span is a word that seldom names anything, and the tagger not sure enough that it does."""
    text = folded[span.start : span.end]
    if text in _listed_types():
        return False
    if span.score < _CUTTING_A_WORD and words.cuts_word(span.start, span.end):
        return True
    if _CUT_CONTRACTION.match(folded, span.end):
        return True  # Glad y, of "Glad y'all"
    lists = (latin_words.COMMON, latin_words.GENERIC, han_words.STOP_NAMES)
    names_nothing = any(text.lower() in one for one in lists)
    if names_nothing and span.score < (_PERSON if span.subtype is EntitySubtype.PERSON else _NAMING_NOTHING):
        return True
    if span.subtype is not EntitySubtype.PRODUCT:
        return False
    if names_nothing or _is_dictionary_word(_word_over(words, span)):
        return span.score < _PRODUCT_OF_A_WORD
    return text.isascii() and text.isalpha() and text.islower() and span.score < _PRODUCT_IN_LOWER_CASE


def _is_word_first(folded: str, words: Words, span: TaggedSpan) -> bool:
    """Whether the span is a word before it is a name, and the tagger not sure enough of the name."""
    text = folded[span.start : span.end]
    if text in _listed_types() or span.subtype is EntitySubtype.PRODUCT:
        return False
    if _is_dictionary_word(_word_over(words, span)):
        return span.score < _NAMED_BY_A_WORD
    begins = not folded[: span.start].rstrip() or folded[: span.start].rstrip()[-1] in ".!?…"
    is_latin_word = text.isascii() and text.isalpha() and text.lower() not in latin_words.GIVEN_NAMES
    return span.subtype is EntitySubtype.PERSON and begins and is_latin_word and span.score < _PERSON


def _word_over(words: Words, span: TaggedSpan) -> Word | None:
    """The Chinese word over exactly this span."""
    place = words.at(span.start)
    word = words[place] if place >= 0 else None
    return word if word and (word.start, word.end) == (span.start, span.end) else None


def _is_dictionary_word(word: Word | None) -> bool:
    return word is not None and word.listed and not word.tag.startswith(_NAME_TAGS)


def _bounds(rule: Candidate, span: TaggedSpan) -> bool:
    """Whether a rule knows better than the tagger where a name begins or ends."""
    if rule.source == _TITLED and span.subtype is EntitySubtype.PERSON:
        return rule.start == span.start and rule.end != span.end
    return rule.source == _INTRODUCED and span.start < rule.start < span.end


def _title_length(folded: str, span: TaggedSpan) -> int:
    """How many characters of a tagged person are an English form of address: `Dr. ` of Dr. Smith."""
    title, space, name = folded[span.start : span.end].partition(" ")
    is_titled = span.subtype is EntitySubtype.PERSON and name and title.lower().rstrip(".") in latin_words.TITLES
    return len(title + space) if is_titled else 0


def _type(text: str, span: TaggedSpan, *, has_form: bool) -> EntitySubtype | None:
    """The type of a name; `has_form` says that the rules take it for an organisation."""
    listed = _listed_types().get(text) or _listed_types().get(text.lower())
    if listed and span.subtype is EntitySubtype.PERSON and (not text.isascii() or span.score < _PERSON):
        return listed  # nobody is called 鴻海
    if span.score >= _TYPE:
        return span.subtype
    return listed or (EntitySubtype.ORGANISATION if has_form else span.subtype)


@cache
def _listed_types() -> dict[str, EntitySubtype]:
    """Well-known names with their types; those of which persons are called too (Jordan) are left out."""
    places = dict.fromkeys(han_words.PLACES | latin_words.PLACES, EntitySubtype.PLACE)
    organisations = dict.fromkeys(han_words.ORGANISATIONS | latin_words.ORGANISATIONS, EntitySubtype.ORGANISATION)
    products = dict.fromkeys(han_words.PRODUCTS, EntitySubtype.PRODUCT)
    works = dict.fromkeys(han_words.WORKS, EntitySubtype.WORK)
    events = dict.fromkeys(han_words.EVENTS, EntitySubtype.EVENT)
    listed = places | organisations | products | works | events
    return {name: subtype for name, subtype in listed.items() if name not in latin_words.GIVEN_NAMES}
