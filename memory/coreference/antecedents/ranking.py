"""Ranks antecedent candidates by a weighted sum of named features, each in 0–1.

A candidate that certainly disagrees is dropped; doubtful agreement lowers its score. The confidence of the best one is
its score, lowered when the runner-up is close: a tie is a question to ask, not an answer to give.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...language.han_tokens import cut
from ...language.known_names import known_types
from ...values.mentions import EntitySubtype
from ...values.resolutions import ReferenceSource
from ...values.text import fold_lower, normalise
from ..detect.references import Kind, Number, Reference
from .candidates import Candidate, adds_nothing

WEIGHTS: Mapping[str, float] = {
    "agreement": 0.34,
    "recency": 0.22,
    "salience": 0.20,
    "head": 0.16,
    "similarity": 0.08,
}
"""Feature weights, summing to 1. Set by hand on data outside the benchmarks, not fitted."""

CLOSE = 0.06
"""Score margin below which the encoder, if any, decides between two candidates."""

_CLEAR = 0.06  # margin above which the runner-up costs no confidence
_TIE = 0.49  # factor on the confidence of a perfect tie, which so stays below a floor of one half
_DOUBT = 0.6  # factor on the confidence where agreement is 0
_NO_LIFTS: Mapping[str, float] = {}
_GUESSED_TYPE = 0.65  # agreement with a name that only a model's guess of its type contradicts
_EXCHANGE = 2  # turns back that belong to the last exchange
_STALE = 0.2  # factor on the salience of subject and frequency before the last exchange
_PER_TURN = 0.9  # factor on recency per turn of the last exchange
_PER_OLDER_TURN = 0.75  # factor per turn before the last exchange
_OLDEST = 0.4  # limit that the factor of the older turns approaches
_LATEST_REFERRED = 0.08  # bonus of the entity that the last reference meant
_LONG_TERM_PENALTY = 0.12  # for long-term candidates of a reference within the session
_ACROSS = 0.08  # bonus of long-term candidates for a reference to an earlier session: 上次說的
_PLACE_AS_THING = 0.6  # agreement of 它 and "it" with a place, for which 那裡 and "there" are usual
_UNKNOWN_GENDER = 0.72  # agreement of 她 and "she" with a name that shows no gender
_HOLDERS = frozenset({EntitySubtype.ORGANISATION, EntitySubtype.PLACE})


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its features and score."""

    candidate: Candidate
    score: float
    features: Mapping[str, float] = field(default_factory=dict)


def _takes_plural(reference: Reference, candidate: Candidate) -> bool:
    """Whether a plural may mean a single candidate: a company, a restaurant; in English also a name of unknown type."""
    if reference.chinese:
        return reference.person is True and candidate.subtype in _HOLDERS
    unknown = candidate.subtype is None or not candidate.proved
    return candidate.subtype in _HOLDERS or (unknown and candidate.named)


_LATIN = re.compile(r"[a-z0-9]")


def _number_fits(reference: Reference, candidate: Candidate) -> float | None:
    if reference.number is None:
        return 1.0
    if reference.count == 2 and len(candidate.members) != 2:
        return None
    if reference.number is Number.PLURAL:
        if candidate.number is Number.PLURAL:
            return 1.0
        if reference.kind is Kind.PERSONAL and candidate.person is not True and _takes_plural(reference, candidate):
            return 0.75  # "they" and 他們 for a company or a restaurant
        return None
    return 1.0 if candidate.number is Number.SINGULAR else None


def _person_fits(reference: Reference, candidate: Candidate) -> float | None:
    if reference.gender and candidate.gender and reference.gender is not candidate.gender:
        return None
    if reference.person is None:
        if reference.kind not in (Kind.DEMONSTRATIVE, Kind.RECALL) or reference.subtypes:
            return 1.0
        return 0.7 if candidate.person or candidate.subtype is EntitySubtype.PLACE else 1.0
    if candidate.person is None:
        if reference.subtypes and candidate.named and not reference.person:
            return 1.0  # `_type_fits` counts the unknown type
        if not reference.person or candidate.named:
            return _UNKNOWN_GENDER if reference.gender else 0.8
        return None if reference.chinese else 0.55  # Chinese nouns of persons have known endings
    if candidate.person and not reference.person and not candidate.proved:
        return _GUESSED_TYPE
    if candidate.person is reference.person:
        return _PLACE_AS_THING if candidate.subtype is EntitySubtype.PLACE and not reference.subtypes else 1.0
    # 他們 also stands for a company; a plural "they" shows no person at all.
    return 0.6 if reference.number is Number.PLURAL and candidate.subtype in _HOLDERS else None


def _type_fits(reference: Reference, candidate: Candidate, same_head: bool) -> float | None:
    if candidate.time:
        return 1.0 if reference.kind is Kind.TIME else None
    if not reference.subtypes:
        return 1.0
    if candidate.subtype is None:
        if reference.kind in (Kind.PLACE, Kind.TIME):
            return None
        return 1.0 if same_head else 0.75 if candidate.named else 0.55
    if candidate.subtype in reference.subtypes:
        is_house = reference.kind is Kind.NOUN_PHRASE and reference.subtypes == _HOLDERS
        return None if is_house and _is_city(candidate) else 1.0
    model_number = candidate.subtype is EntitySubtype.CODE and EntitySubtype.PRODUCT in reference.subtypes
    if same_head or model_number:
        return 0.8
    # only a model's guess from the context contradicts the noun: it lowers the agreement instead of excluding
    by_noun = reference.kind in (Kind.NOUN_PHRASE, Kind.RECALL) and candidate.named
    return None if candidate.proved or not by_noun else _GUESSED_TYPE


def _is_city(candidate: Candidate) -> bool:
    """Whether it is a well-known city, region or country rather than a building."""
    return known_types().get(fold_lower(candidate.text)) is EntitySubtype.PLACE


def _agreement(reference: Reference, candidate: Candidate, same_head: bool) -> float | None:
    fits = (
        _number_fits(reference, candidate),
        _person_fits(reference, candidate),
        _type_fits(reference, candidate, same_head),
    )
    product = 1.0
    for fit in fits:
        if fit is None:
            return None
        product *= fit
    return product


def _same_head(reference: Reference, candidate: Candidate) -> bool:
    if not reference.noun or not normalise(candidate.text).endswith(normalise(reference.noun)):
        return False
    # 飛書 is not a 書: a single character that ends a name of another type is part of the name
    chance = len(reference.noun) == 1 and candidate.named and candidate.subtype is not None
    return not chance or candidate.subtype in reference.subtypes


def _is_described_as(reference: Reference, candidate: Candidate) -> bool:
    """Whether a remembered text describes it by the reference's noun: 醫生 in 蔡明宏是我的醫生."""
    if not (reference.across and reference.called):
        return False
    if len(reference.called) == 1:
        return any(word.text == reference.called for text in candidate.said for word in cut(text))
    edge = r"\b" if reference.called.isascii() else ""
    pattern = re.compile(edge + re.escape(reference.called))
    return any(pattern.search(text) for text in candidate.said)


def _fits_noun_phrase(reference: Reference, candidate: Candidate) -> bool:
    """Whether a noun phrase (這家公司) may mean it: a name, or a description of the noun's type."""
    return candidate.named or (candidate.subtype in reference.subtypes and not reference.quiet)


def _head(reference: Reference, candidate: Candidate, same_head: bool) -> float:
    if same_head and (candidate.named or not reference.subtypes):
        return 1.0
    if reference.subtypes:
        return 0.85 if candidate.subtype in reference.subtypes else 0.3
    return 0.7


def _recency(candidate: Candidate) -> float:
    if candidate.source is ReferenceSource.LONG_TERM:
        return max(0.0, 0.9 - 0.1 * candidate.distance)  # distance is the rank by last mention
    older = max(0, candidate.distance - _EXCHANGE)
    faded = _OLDEST + (1.0 - _OLDEST) * _PER_OLDER_TURN**older
    return float(_PER_TURN ** (candidate.distance - older) * faded)


def _salience(candidate: Candidate) -> float:
    fresh = 1.0 if candidate.distance <= _EXCHANGE else _STALE
    score = 0.25 * candidate.user + 0.3 * candidate.named + 0.15 * (candidate.entity_id is not None)
    return min(1.0, score + fresh * (0.3 * candidate.subject + 0.075 * min(2, candidate.frequency - 1)))


def _standing(candidate: Candidate) -> float:
    """The factor on the score: a standing below 1 decays with every turn before the last exchange."""
    return float(candidate.standing ** (1 + max(0, candidate.distance - _EXCHANGE) / 2))


def _fits_bare_demonstrative(candidate: Candidate) -> bool:
    """Whether a bare 這 or "this" may mean it: names only, and guessed names only in the last exchange."""
    return candidate.named and (candidate.standing == 1.0 or candidate.distance <= _EXCHANGE)


def score(
    reference: Reference,
    candidate: Candidate,
    *,
    last_referred: str | None = None,
    lifts: Mapping[str, float] = _NO_LIFTS,
    similarity: float = 0.5,
) -> Ranked | None:
    """The score of one candidate; None where the reference cannot mean it.

    Args:
        reference: The reference to resolve.
        candidate: A possible antecedent.
        last_referred: Id of the entity that the session's last reference meant.
        lifts: Score adjustments from corrections, by candidate's key.
        similarity: 0–1; 0.5 where it was not measured.
    """
    same_head = _same_head(reference, candidate) or _is_described_as(reference, candidate)
    agreement = _agreement(reference, candidate, same_head)
    if agreement is None or adds_nothing(reference, candidate):
        return None
    if reference.kind is Kind.DEMONSTRATIVE and reference.quiet and not _fits_bare_demonstrative(candidate):
        return None
    if reference.noun and not same_head and not (reference.subtypes and _fits_noun_phrase(reference, candidate)):
        return None
    features = {
        "agreement": agreement,
        "recency": _recency(candidate),
        "salience": _salience(candidate),
        "head": _head(reference, candidate, same_head),
        "similarity": similarity,
    }
    total = _standing(candidate) * sum(WEIGHTS[name] * value for name, value in features.items())
    if last_referred and candidate.entity_id == last_referred:
        total += _LATEST_REFERRED
    total += lifts.get(candidate.key, 0.0)
    if candidate.source is ReferenceSource.LONG_TERM:
        total += _ACROSS if reference.across else -_LONG_TERM_PENALTY
    return Ranked(candidate, min(1.0, max(0.0, total)), features)


def rank(
    reference: Reference,
    candidates: Sequence[Candidate],
    *,
    last_referred: str | None = None,
    lifts: Mapping[str, float] = _NO_LIFTS,
    similarity: Callable[[Candidate], float] = lambda _: 0.5,
) -> list[Ranked]:
    """The candidates that the reference can mean, best first; of equal scores the later mention first.

    Where the reference contains part of a name (那台 HCI) or refers to an earlier session (之前提到的酒店), candidates
    named by its noun exclude the others. For an organisation (該公司) only candidates of the lowest `is_site` stay: no
    hotel where a name could be a company's.
    """
    scored = [
        option
        for candidate in candidates
        if (
            option := score(
                reference, candidate, last_referred=last_referred, lifts=lifts, similarity=similarity(candidate)
            )
        )
    ]
    if _LATIN.search(reference.noun) or reference.across:
        called_so = [
            option
            for option in scored
            if option.candidate.named
            and (_same_head(reference, option.candidate) or _is_described_as(reference, option.candidate))
        ]
        scored = called_so or scored
    if reference.subtypes == {EntitySubtype.ORGANISATION}:
        least = min((option.candidate.is_site for option in scored), default=0)
        scored = [option for option in scored if option.candidate.is_site == least]
    return sorted(scored, key=lambda option: (-option.score, -option.candidate.order))


def confidence(ranked: Sequence[Ranked]) -> float:
    """Confidence in the best candidate, 0–1: its score, lowered where the runner-up is close."""
    if not ranked:
        return 0.0
    best = ranked[0]
    sure = best.score * (_DOUBT + (1.0 - _DOUBT) * best.features.get("agreement", 1.0))
    if len(ranked) == 1:
        return sure
    clearness = min(1.0, (best.score - ranked[1].score) / _CLEAR)
    return sure * (_TIE + (1.0 - _TIE) * clearness)


def is_close(ranked: Sequence[Ranked]) -> bool:
    """Whether similarity should decide between the two best."""
    return len(ranked) > 1 and ranked[0].score - ranked[1].score < CLOSE
