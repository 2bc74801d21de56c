"""Finds which span of a query a correction concerns, where no reference of it is meant.

It is a name or a description that could be said by mistake for what is meant; else the query has no span for it yet.
"What is the monthly price?" — "No, I meant Slack." Nothing of the query refers, and nobody put anything in; but now it
is certain that something was left out. English leaves out the owner of a definite noun; a Chinese question its owner or
its topic, both of which stand at its head.
"""

import re
from collections.abc import Sequence

from ...language.han_tokens import cut
from ...language.questions import is_question
from ...values.mentions import EntitySubtype, Mention, MentionLevel
from ...values.resolutions import ReferenceSource
from ...values.text import fold_lower, has_han, normalise
from ..antecedents.candidates import Candidate, is_person
from ..antecedents.question_target import QuestionTarget, is_target, question_target
from ..antecedents.ranking import Ranked, score
from ..detect.corrections import Choice
from ..detect.phrases import noun_phrases
from ..detect.references import Form, Kind, Reference
from ..write.analysis import ReferenceRanking

_OPENING = re.compile(r"(?:那么?|请问|还有|然后|所以)?[，,]?\s*")
_OWNED = re.compile(r"(?:^|.* )(?P<thing>the (?:[a-z-]+ ){0,2}[a-z-]+)\s*\?*\s*$")
_NOUNS = ("n", "vn", "nz", "nl")
_SUITABLE = 0.75  # agreement from which a reference is one that one would use for a thing
_OWN = frozenset({EntitySubtype.PERSON, EntitySubtype.PLACE})
"""Types of which a name is rarely taken for one of another type; a company's and a product's are."""


def may_become(query: str, ranking: ReferenceRanking, meant: Candidate) -> bool:
    """Whether a reference may stand for a thing: not for what its question asks for, where it was taken for another.

    Of a name of no known type that is likely where the reference was taken for what has no name.
    """
    target = question_target(query, ranking.reference)
    if target is None or not ranking.ranked:
        return True
    understood = ranking.ranked[0].candidate
    unknown = meant.named and meant.subtype is None and not understood.named
    site = target is QuestionTarget.PLACE and meant.is_site > 1
    return is_target(target, understood) or not (unknown or site or is_target(target, meant))


def candidate_of(text: str, mention: Mention | None) -> Candidate:
    """What a text names, of the type that its mention shows."""
    subtype = mention.subtype if mention else None
    return Candidate(
        text,
        normalise(text),
        ReferenceSource.SESSION,
        entity_id=mention.entity_id if mention else None,
        subtype=subtype,
        person=is_person(subtype),
    )


def replaceable_span(query: str, start: int, end: int, ranked: tuple[Ranked, ...] = ()) -> ReferenceRanking:
    """A span of a query that something else may stand in for."""
    return ReferenceRanking(
        Reference(start, end, query[start:end], Kind.NOUN_PHRASE, None, chinese=has_han(query)), ranked
    )


def suits(reference: Reference, meant: Candidate) -> bool:
    """Whether a reference is one that one would use for a thing: 它 may be a place, but 那裡 is."""
    ranked = score(reference, meant)
    return ranked is not None and ranked.features["agreement"] >= _SUITABLE


def places_for(
    choice: Choice, meant: Candidate, query: str, mentions: Sequence[Mention], *, referring: bool
) -> tuple[ReferenceRanking, ...]:
    """What a query is corrected in where no reference is: its name, or description, of such a thing; or a gap.

    Args:
        choice: The correction.
        meant: What it names.
        query: What is corrected.
        mentions: The names of the query.
        referring: Whether the query has references: then only a name of the same type is meant rather than those.
    """
    named = [mention for mention in mentions if mention.level is MentionLevel.LONG_TERM]
    if not meant.named and not is_question(query) and not referring:
        return _descriptions(query, named)
    if not named and not referring:
        gap = left_out_of(query)
        return (ReferenceRanking(gap, ()),) if gap else ()
    taken_back = [mention for mention in named if choice.wrong and normalise(mention.text) == normalise(choice.wrong)]
    found = taken_back or [mention for mention in named if _alike(meant.subtype, mention.subtype, surely=referring)]
    return tuple(
        replaceable_span(
            query, mention.start, mention.end, (Ranked(candidate_of(mention.text, mention), mention.confidence),)
        )
        for mention in (found if len(found) == 1 else ())
    )


def _descriptions(query: str, named: Sequence[Mention]) -> tuple[ReferenceRanking, ...]:
    """The only thing that a statement describes rather than names: what another description stands against."""
    found = [
        phrase
        for phrase in noun_phrases(query)
        if not phrase.named and all(phrase.end <= name.start or name.end <= phrase.start for name in named)
    ]
    return (replaceable_span(query, found[0].start, found[0].end),) if len(found) == 1 else ()


def _alike(first: EntitySubtype | None, other: EntitySubtype | None, *, surely: bool) -> bool:
    """Whether one name can be said by mistake for another: a person is not for a place."""
    if first is None or other is None:
        return not surely
    return first is other or (not surely and not {first, other} & _OWN)


def left_out_of(query: str) -> Reference | None:
    """The owner or topic that a question may lack; None where it is no question, or nothing shows where that stands.

    Args:
        query: Without references.
    """
    if not is_question(query):
        return None
    folded = fold_lower(query)
    if not has_han(query):
        match = _OWNED.match(folded)
        return _owner(query, *match.span("thing"), chinese=False) if match else None
    opening = _OPENING.match(folded)
    start = opening.end() if opening else 0
    words = [word for word in cut(folded) if word.start >= start]
    if words and words[0].tag in _NOUNS:
        return _owner(query, start, words[0].end, chinese=True)
    return Reference(start, start, "", Kind.ELLIPSIS, None, quiet=True, chinese=True)


def _owner(query: str, start: int, end: int, *, chinese: bool) -> Reference:
    return Reference(
        start, end, query[start:end], Kind.ELLIPSIS, None, form=Form.POSSESSIVE, quiet=True, chinese=chinese
    )
