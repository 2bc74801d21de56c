"""Finds the span of a query that a correction replaces where it concerns none of the query's references.

It is a name or description that can be confused with the corrected one, or else a gap. "What is the monthly price?" —
"No, I meant Slack." The query has no reference, so the correction shows a gap: in English the owner of a definite noun,
in a Chinese question the owner or topic at its head.
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
_SUITABLE = 0.75  # agreement from which a reference suits a candidate
_OWN = frozenset({EntitySubtype.PERSON, EntitySubtype.PLACE})
"""Types whose names are rarely confused with those of another type, as a company's and a product's are."""


def may_become(query: str, ranking: ReferenceRanking, meant: Candidate) -> bool:
    """Whether a correction may give a reference this antecedent.

    It may not where the question asks for such a thing (a name of unknown type counts as one if the antecedent so far
    is a description), unless the antecedent so far is one too.
    """
    target = question_target(query, ranking.reference)
    if target is None or not ranking.ranked:
        return True
    understood = ranking.ranked[0].candidate
    unknown = meant.named and meant.subtype is None and not understood.named
    site = target is QuestionTarget.PLACE and meant.is_site > 1
    return is_target(target, understood) or not (unknown or site or is_target(target, meant))


def candidate_of(text: str, mention: Mention | None) -> Candidate:
    """A candidate with this text and the type of its mention."""
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
    """The ranking of a span of the query that a correction replaces."""
    return ReferenceRanking(
        Reference(start, end, query[start:end], Kind.NOUN_PHRASE, None, chinese=has_han(query)), ranked
    )


def suits(reference: Reference, meant: Candidate) -> bool:
    """Whether a reference agrees well with a candidate: for a place 那裡 does, 它 does not."""
    ranked = score(reference, meant)
    return ranked is not None and ranked.features["agreement"] >= _SUITABLE


def places_for(
    choice: Choice, meant: Candidate, query: str, mentions: Sequence[Mention], *, referring: bool
) -> tuple[ReferenceRanking, ...]:
    """The name, description or gap of a query that a correction replaces; empty where none fits.

    Args:
        choice: The correction.
        meant: The corrected antecedent.
        query: The query that is corrected.
        mentions: The mentions of the query.
        referring: Whether the query has references: then only a name of the same known type is replaced.
    """
    named = [mention for mention in mentions if mention.level is MentionLevel.LONG_TERM]
    if not meant.named and not is_question(query) and not referring:
        return _descriptions(query, named)
    if not named and not referring:
        gap = find_gap(query)
        return (ReferenceRanking(gap, ()),) if gap else ()
    taken_back = [mention for mention in named if choice.wrong and normalise(mention.text) == normalise(choice.wrong)]
    found = taken_back or [
        mention for mention in named if _can_be_confused(meant.subtype, mention.subtype, surely=referring)
    ]
    return tuple(
        replaceable_span(
            query, mention.start, mention.end, (Ranked(candidate_of(mention.text, mention), mention.confidence),)
        )
        for mention in (found if len(found) == 1 else ())
    )


def _descriptions(query: str, named: Sequence[Mention]) -> tuple[ReferenceRanking, ...]:
    """The only description of a statement, if there is exactly one."""
    found = [
        phrase
        for phrase in noun_phrases(query)
        if not phrase.named and all(phrase.end <= name.start or name.end <= phrase.start for name in named)
    ]
    return (replaceable_span(query, found[0].start, found[0].end),) if len(found) == 1 else ()


def _can_be_confused(first: EntitySubtype | None, other: EntitySubtype | None, *, surely: bool) -> bool:
    """Whether names of these types can be confused: those of a person and a place cannot."""
    if first is None or other is None:
        return not surely
    return first is other or (not surely and not {first, other} & _OWN)


def find_gap(query: str) -> Reference | None:
    """The gap of a question's owner or topic; None where the query is no question or shows no gap.

    Args:
        query: A query without references.
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
