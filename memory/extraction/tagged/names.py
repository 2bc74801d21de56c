"""Combines the names of a trained tagger with those of the rules: selects them and corrects their spans and types.

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
"""Rules whose names are kept where the tagger finds none; there the other rules were wrong nine times out of ten."""

_FOR_THE_SESSION = 0.5
"""Confidence of names kept for the session only: below `memory.learning.learned_turns.MIN_CONFIDENCE`."""
_BEHIND_A_VERB = (EntitySubtype.PLACE, EntitySubtype.ORGANISATION, EntitySubtype.PRODUCT)
"""Types whose names begin with no verb or preposition; those of works and events may."""
_BEFORE_A_NUMBER = (EntitySubtype.PLACE, EntitySubtype.ORGANISATION, EntitySubtype.PERSON)
"""Types whose names a following number counts; in products it is part of the name."""
_HAN_COMMA = re.compile(r"(?<=[\u4e00-\u9fff]),(?=[\u4e00-\u9fff])")
_AS_A_POST = re.compile(r" as (?:an?|the|my|our|your|his|her|their)(?: [a-z-]+){1,4}", re.IGNORECASE)
_MARKS = ",;:?、。"
"""Marks that end no name; a full stop (Inc.) and an exclamation mark (Yahoo!) may."""
_TYPE = 0.8
"""Score below which a listed type, or the form of an organisation, overrides the tagger's type."""


def join_names(
    folded: str, words: Words, tagged: Sequence[TaggedSpan], ruled: Sequence[Candidate]
) -> Iterator[Candidate]:
    """The names of the tagger, corrected by the rules, and the complementary names of the rules.

    - Words that the dictionary or the lists do not know as names need a higher score.
    - A span that cuts a dictionary word needs a very high score; a dictionary word below that is kept for the session
      only.
    - A form of address decides where a name ends (陳先生, not 陳; 陳怡君, not 陳怡君教授; Smith, not Dr. Smith), an
      introduction where it begins (旺財, not 狗叫旺財). A listed name is not cut (華 in 華為).
    - No place, organisation or product begins with a verb of motion or a preposition (君悅酒店, not 住君悅酒店).
    - A name with a stated occupation is a person.
    - A listed type, or the form of an organisation, overrides a type with a low score.

    Args:
        folded: The text.
        words: Its Chinese words.
        tagged: The spans of the tagger.
        ruled: The names of the rules.
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
    """Whether the tagger ends a numbered name before its number: Emma in "Emma 3 times"."""
    return code.source == "code.numbered" and any(
        code.start < span.end < code.end and span.subtype in _BEFORE_A_NUMBER and span.score >= _TYPE for span in tagged
    )


def _bounds(rule: Candidate, span: TaggedSpan) -> bool:
    """Whether a rule's name replaces the span because its boundaries are more reliable."""
    if rule.source == _TITLED and span.subtype is EntitySubtype.PERSON:
        return rule.start == span.start and rule.end != span.end
    if rule.source == _LISTED:
        return rule.start <= span.start and span.end <= rule.end and rule.end - rule.start > span.end - span.start
    return rule.source == _INTRODUCED and span.start < rule.start < span.end


def _title_length(folded: str, span: TaggedSpan) -> int:
    """Length of the English form of address that begins a person's span: `Dr. ` of Dr. Smith."""
    title, space, name = folded[span.start : span.end].partition(" ")
    is_titled = span.subtype is EntitySubtype.PERSON and name and title.lower().rstrip(".") in latin_words.TITLES
    return len(title + space) if is_titled else 0


def _without_marks(folded: str, span: TaggedSpan) -> TaggedSpan:
    """The span without trailing marks, cut at a comma between Han: 華為, not 華為，; 深圳, not 深圳，廣東."""
    text = _HAN_COMMA.split(folded[span.start : span.end])[0]
    return span.model_copy(update={"end": span.start + len(text.rstrip(_MARKS))})


def _without_opening(words: Words, span: TaggedSpan) -> TaggedSpan:
    """The span without a verb or preposition at its start: 君悅酒店 of 住君悅酒店."""
    place = words.at(span.start)
    if span.subtype not in _BEHIND_A_VERB or place < 0:
        return span
    word = words[place]
    opens = word.start == span.start and word.text in OPENING and span.end - word.end > 1
    return span.model_copy(update={"start": word.end}) if opens else span


def _is_employed(folded: str, span: TaggedSpan) -> bool:
    """Whether the text states an occupation of the name: "we hired Priya as our new designer"."""
    post = _AS_A_POST.match(folded, span.end)
    return post is not None and not latin_words.OCCUPATIONS.isdisjoint(post[0].lower().split())


def _type(text: str, span: TaggedSpan, *, has_form: bool) -> EntitySubtype | None:
    """The type of a name; `has_form` means that the rules find an organisation there."""
    listed = known_types().get(text) or known_types().get(text.lower())
    if listed and span.subtype is EntitySubtype.PERSON and (not text.isascii() or span.score < SURE_OF_A_PERSON):
        return listed  # nobody is called 鴻海
    if listed is EntitySubtype.PLACE and span.subtype in (EntitySubtype.ORGANISATION, EntitySubtype.PRODUCT):
        return listed  # a city's name stays a place: "We visited Kyoto"
    is_person = span.subtype is EntitySubtype.PERSON and span.score < SURE_OF_A_PERSON
    if has_form and (is_person or span.subtype is EntitySubtype.PRODUCT):
        return EntitySubtype.ORGANISATION  # Johnson & Johnson, 國泰醫院
    if span.score >= _TYPE:
        return span.subtype
    return listed or (EntitySubtype.ORGANISATION if has_form else span.subtype)
