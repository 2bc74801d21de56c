"""Selects and ranks the antecedents that a reference may have."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from ...values.mentions import EntitySubtype
from ...values.resolutions import ReferenceSource
from ...values.text import fold_lower, normalise
from ..detect.references import Form, Kind, Number, Reference
from .candidates import Candidate, join
from .coordination import level_coordinated
from .discourse import Discourse
from .question_target import without_target
from .ranking import Ranked, rank
from .recalling import recalled

_CLAUSE = re.compile(r"[,，。.？?！!；;：:\n]")
_LINK = re.compile(
    r"\b(?:and|but|because|if|when|while|that|say|says|said|think|thinks|thought|know|knows|so|before|after|since|though|or)\b"
    r"|说|觉得|认为|因为|所以|但|而且|如果|和|以及|以为|知道|然后|的时候"
)
_IMPLIED_AT_MOST = 3  # candidates of one turn that "they" may combine without an "and" between them
_IMPLIED_FACTOR = 0.8


def _same_clause(text: str, reference: Reference, candidate: Candidate) -> str | None:
    """The text between a candidate and a reference in the same clause; None where the clauses differ."""
    if candidate.distance or candidate.source is ReferenceSource.LONG_TERM or candidate.end > reference.start:
        return None
    between = text[candidate.end : reference.start]
    return None if _CLAUSE.search(between) else fold_lower(between)


def is_bound(text: str, reference: Reference, candidate: Candidate) -> bool:
    """Whether the antecedent stands in the reference's own clause: "did Tom find his phone" needs no rewriting."""
    return _same_clause(text, reference, candidate) is not None


def _disjoint(text: str, reference: Reference, candidate: Candidate) -> bool:
    """Whether the two are subject and object of one verb, and so differ: in "does IBM support it" `it` is not IBM."""
    between = _same_clause(text, reference, candidate)
    possessive = reference.form is Form.POSSESSIVE or text[reference.end : reference.end + 1] == "的"
    return between is not None and not possessive and not _LINK.search(between)


def _pair_members(kind: Kind, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of 前者 and "the latter": the first or second members of coordinations of exactly two."""
    place = 0 if kind is Kind.FORMER else 1
    return [
        replace(pair.members[place], distance=pair.distance, order=pair.order, subject=pair.subject)
        for pair in candidates
        if len(pair.members) == 2
    ]


def _implied_groups(reference: Reference, candidates: Sequence[Candidate]) -> list[Ranked]:
    """A group of the candidates of one turn that are not coordinated: "Alice met Bob. Where are they now?"."""
    one_by_one = replace(reference, number=Number.SINGULAR, count=0)
    singles = [
        option for option in rank(one_by_one, candidates) if option.candidate.named and not option.candidate.members
    ]
    nearest = min((option.candidate.distance for option in singles), default=0)
    members = sorted(
        (option for option in singles if option.candidate.distance == nearest),
        key=lambda option: option.candidate.order,
    )
    if not 2 <= len(members) <= (reference.count or _IMPLIED_AT_MOST):
        return []
    parts = tuple(option.candidate for option in members)
    group = replace(
        parts[-1],
        text=join([part.text for part in parts]),
        key="\x1f".join(part.key for part in parts),
        entity_id=None,
        number=Number.PLURAL,
        members=parts,
    )
    return [Ranked(group, _IMPLIED_FACTOR * min(option.score for option in members))]


def _plural_antecedents(reference: Reference, ranked: list[Ranked]) -> list[Ranked]:
    """The antecedents of a plural: a singular of unknown type counts only where no candidate is plural."""
    if reference.number is not Number.PLURAL or not any(option.candidate.number is Number.PLURAL for option in ranked):
        return ranked
    return [option for option in ranked if option.candidate.number is Number.PLURAL or option.candidate.subtype]


def _of_repeated_phrase(reference: Reference, ranked: list[Ranked], session: Sequence[Candidate]) -> list[Ranked]:
    """The antecedents of a phrase that repeats a description ("the car", "I parked the car"): of its type only."""
    phrase = normalise(reference.text)
    if reference.kind is not Kind.NOUN_PHRASE or all(
        candidate.named or candidate.key != phrase for candidate in session
    ):
        return ranked
    types = reference.subtypes or frozenset(EntitySubtype)
    return [option for option in ranked if option.candidate.subtype in types]


def antecedents(
    text: str, reference: Reference, discourse: Discourse, *, now: datetime, last_referred: str | None = None
) -> list[Ranked]:
    """The possible antecedents of a reference, best first.

    Candidates of long-term memory are ranked where the reference names an earlier session, or where the session has
    no candidate and the reference is not a weak signal.

    Args:
        text: The text that contains the reference.
        reference: Its offsets are into `text`.
        discourse: The mentions before the reference.
        now: Time of the text, from which 上週 and "yesterday" count.
        last_referred: Id of the entity that the session's last reference meant.
    """
    session = [candidate for candidate in discourse.session() if not _disjoint(text, reference, candidate)]
    lifts = discourse.lifts(reference.text)
    last_referred = None if discourse.moved_on else last_referred
    if reference.kind in (Kind.FORMER, Kind.LATTER):
        one_of_two = discourse.contrasted[0 if reference.kind is Kind.FORMER else 1 :][:1]
        pair = list(one_of_two) or _pair_members(reference.kind, session)
        return rank(reference, pair, last_referred=last_referred)
    session_keys = {candidate.key for candidate in session}
    remembered = [candidate for candidate in discourse.long_term if candidate.key not in session_keys]
    if reference.across:
        return recalled(reference, session, discourse.long_term, last_referred=last_referred, lifts=lifts, now=now)
    ranked = _plural_antecedents(reference, rank(reference, session, last_referred=last_referred, lifts=lifts))
    ranked = _of_repeated_phrase(reference, ranked, session)
    ranked = without_target(text, reference, level_coordinated(ranked, discourse.coordinations))
    if not ranked and reference.number is Number.PLURAL:
        ranked = _implied_groups(reference, session)
    if not ranked and not reference.quiet and reference.kind in (Kind.PERSONAL, Kind.NOUN_PHRASE, Kind.RECALL):
        ranked = rank(reference, remembered, last_referred=last_referred, lifts=lifts)
    return ranked
