"""Joins the names of a trained tagger with those of the rules: which are kept, where they end, and their types.

The thresholds were set on tuning rows (UNER, CLUENER, MSRA, Weibo, e-commerce) and on hand-written chat.
"""

import re
from collections.abc import Iterator, Sequence

from ...language import latin_words
from ...language.han_tokens import OPENING, Words
from ...language.known_names import known_types
from ...values.mentions import EntitySubtype, TaggedSpan
from ..rules.candidates import Candidate, Layer
from .doubts import SURE_OF_A_PERSON, is_doubtful, is_for_the_session

_INTRODUCED = "han.introduced"
_TITLED = "han.titled"
_LISTED = "han.listed"
_COMPLEMENTARY = frozenset(
    {
        _INTRODUCED,
        _TITLED,
        "han.nickname",
        _LISTED,
        "han.branch",
        "han.department",
        f"han.{EntitySubtype.ORGANISATION}_suffix",
    }
)
"""Rules whose names are kept where the tagger finds nothing; the others were wrong there nine times out of ten."""

_FOR_THE_SESSION = 0.5
"""The confidence of what is only to be referred to: less than that of what is learned
(`memory.learning.learned_turns`)."""
_BEHIND_A_VERB = (EntitySubtype.PLACE, EntitySubtype.ORGANISATION, EntitySubtype.PRODUCT)
"""What begins with no verb or preposition; works and events do."""
_BEFORE_A_NUMBER = (EntitySubtype.PLACE, EntitySubtype.ORGANISATION, EntitySubtype.PERSON)
"""What is counted by a number behind it; products are named by it."""
_HAN_COMMA = re.compile(r"(?<=[\u4e00-\u9fff]),(?=[\u4e00-\u9fff])")
_AS_A_POST = re.compile(r" as (?:an?|the|my|our|your|his|her|their)(?: [a-z-]+){1,4}", re.IGNORECASE)
_MARKS = ",;:?、。"
"""What ends a clause, and no name; a full stop (Inc.) and an exclamation mark (Yahoo!) may."""
_TYPE = 0.8
"""Below it the type of a list or of an organisation's form wins; above it the sentence decides."""


def join_names(
    folded: str, words: Words, tagged: Sequence[TaggedSpan], ruled: Sequence[Candidate]
) -> Iterator[Candidate]:
    """The names of the tagger, corrected by the rules, and those of the rules that complement them.

    - What is no name by the dictionary or the lists must be tagged with a higher score than what may be one.
    - A name that begins or ends inside a word of the dictionary is none, unless the tagger is very sure; a word of the
      dictionary that it is not very sure of is kept for the session only.
    - A rule that reads a form of address says where that name ends (陳先生, not 陳; 陳怡君, not 陳怡君教授; Smith, not
      Dr. Smith), and an introduction says where it begins (旺財, not 狗叫旺財). A listed name is not cut (華 in 華為).
    - No place, organisation or product begins with a verb of going there or a preposition (君悅酒店, not 住君悅酒店).
    - Who is employed as something is a person.
    - A type that is listed, or an organisation's form, wins over a type that the tagger is not sure of.

    Args:
        folded: The text.
        words: Its Chinese words.
        tagged: What the tagger found in it.
        ruled: What the rules for names found in it.
    """
    organisations = {
        (candidate.start, candidate.end) for candidate in ruled if candidate.subtype is EntitySubtype.ORGANISATION
    }
    for span in (_without_opening(words, _without_marks(folded, tagged_span)) for tagged_span in tagged):
        if span.subtype in (None, EntitySubtype.CODE) or is_doubtful(folded, words, span):
            continue
        if any(_bounds(rule, span) for rule in ruled):
            continue
        start = span.start + _title_length(folded, span)
        subtype = _type(folded[start : span.end], span, has_form=(start, span.end) in organisations)
        if _is_employed(folded, span):
            subtype = EntitySubtype.PERSON
        sure = span.score if not is_for_the_session(folded, words, span) else min(span.score, _FOR_THE_SESSION)
        yield Candidate(start, span.end, Layer.TAGGED, f"tagger.{span.label}", round(sure, 3), subtype)
    yield from (candidate for candidate in ruled if candidate.source in _COMPLEMENTARY)


def is_counted(code: Candidate, tagged: Sequence[TaggedSpan]) -> bool:
    """Whether a name with a number behind it is one that the tagger ends before the number: Emma in "Emma 3 times"."""
    return code.source == "code.numbered" and any(
        code.start < span.end < code.end and span.subtype in _BEFORE_A_NUMBER and span.score >= _TYPE for span in tagged
    )


def _bounds(rule: Candidate, span: TaggedSpan) -> bool:
    """Whether a rule knows better than the tagger where a name begins or ends."""
    if rule.source == _TITLED and span.subtype is EntitySubtype.PERSON:
        return rule.start == span.start and rule.end != span.end
    if rule.source == _LISTED:
        return rule.start <= span.start and span.end <= rule.end and rule.end - rule.start > span.end - span.start
    return rule.source == _INTRODUCED and span.start < rule.start < span.end


def _title_length(folded: str, span: TaggedSpan) -> int:
    """How many characters of a tagged person are an English form of address: `Dr. ` of Dr. Smith."""
    title, space, name = folded[span.start : span.end].partition(" ")
    is_titled = span.subtype is EntitySubtype.PERSON and name and title.lower().rstrip(".") in latin_words.TITLES
    return len(title + space) if is_titled else 0


def _without_marks(folded: str, span: TaggedSpan) -> TaggedSpan:
    """The span up to a comma that no name has: 華為, not 華為，; 深圳, not 深圳，廣東."""
    text = _HAN_COMMA.split(folded[span.start : span.end])[0]
    return span.model_copy(update={"end": span.start + len(text.rstrip(_MARKS))})


def _without_opening(words: Words, span: TaggedSpan) -> TaggedSpan:
    """The span without a verb or a preposition at its head: 君悅酒店 of 住君悅酒店."""
    place = words.at(span.start)
    if span.subtype not in _BEHIND_A_VERB or place < 0:
        return span
    word = words[place]
    opens = word.start == span.start and word.text in OPENING and span.end - word.end > 1
    return span.model_copy(update={"start": word.end}) if opens else span


def _is_employed(folded: str, span: TaggedSpan) -> bool:
    """Whether it is said whose post it has: "we hired Priya as our new designer"."""
    post = _AS_A_POST.match(folded, span.end)
    return post is not None and not latin_words.OCCUPATIONS.isdisjoint(post[0].lower().split())


def _type(text: str, span: TaggedSpan, *, has_form: bool) -> EntitySubtype | None:
    """The type of a name; `has_form` says that the rules take it for an organisation."""
    listed = known_types().get(text) or known_types().get(text.lower())
    if listed and span.subtype is EntitySubtype.PERSON and (not text.isascii() or span.score < SURE_OF_A_PERSON):
        return listed  # nobody is called 鴻海
    if listed is EntitySubtype.PLACE and span.subtype in (EntitySubtype.ORGANISATION, EntitySubtype.PRODUCT):
        return listed  # who speaks for a city is still called by it: "We visited Kyoto"
    is_person = span.subtype is EntitySubtype.PERSON and span.score < SURE_OF_A_PERSON
    if has_form and (is_person or span.subtype is EntitySubtype.PRODUCT):
        return EntitySubtype.ORGANISATION  # Johnson & Johnson, 國泰醫院
    if span.score >= _TYPE:
        return span.subtype
    return listed or (EntitySubtype.ORGANISATION if has_form else span.subtype)
