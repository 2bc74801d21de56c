"""Resolves references to earlier sessions, by time (上週提到的) and by topic (那個做備份的系統)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache

from ...language.keywords import KeywordAnalyzer
from ...values.text import fold_lower
from ..detect.references import Reference
from ..detect.time_windows import TimeWindow, find_window
from .candidates import Candidate
from .ranking import Ranked, rank

_TOPIC = 0.2  # added to the score of a candidate whose mentions contain all topic terms
_UNTIMELY = 0.55  # factor where several candidates fit and none was mentioned at the time named
_RIVAL = 0.1  # score margin below which two such candidates are not told apart by recency


def recalled(
    reference: Reference,
    session: Sequence[Candidate],
    long_term: Sequence[Candidate],
    *,
    now: datetime,
    last_referred: str | None,
    lifts: Mapping[str, float],
) -> list[Ranked]:
    """The candidates mentioned at the time and about the topic that a reference names, best first.

    Where none was mentioned at that time, all candidates are ranked; if several fit equally, their scores are lowered.

    Args:
        reference: A reference to an earlier session.
        session: Candidates of this session.
        long_term: Candidates of long-term memory, whether this session mentions them or not.
        now: When the reference was written.
        last_referred: Id of the entity that the session's last reference meant.
        lifts: Score adjustments from corrections, by candidate's key.
    """
    window = find_window(fold_lower(reference.text), now)
    session_keys = {candidate.key for candidate in session}
    everything = [*session, *(candidate for candidate in long_term if candidate.key not in session_keys)]
    if window is not None:
        timely = [
            _at_that_time(candidate, window) for candidate in long_term if any(map(window.holds, candidate.moments))
        ]
        if ranked := rank(reference, timely, last_referred=last_referred, lifts=lifts):
            return _by_topic(reference, ranked)
        everything = list(long_term) or everything  # what only this session mentions has no past time
    ranked = _by_topic(reference, rank(reference, everything, last_referred=last_referred, lifts=lifts))
    if window is not None and len(ranked) > 1 and ranked[0].score - ranked[1].score < _RIVAL:
        return [replace(option, score=option.score * _UNTIMELY) for option in ranked]
    return ranked


def _at_that_time(candidate: Candidate, window: TimeWindow) -> Candidate:
    """The candidate with the recency and frequency that it had at that time."""
    return replace(candidate, distance=0, frequency=sum(map(window.holds, candidate.moments)))


def _by_topic(reference: Reference, ranked: list[Ranked]) -> list[Ranked]:
    """Raises the scores of candidates whose remembered texts share terms with the reference's description."""
    terms = _analyzer().content_terms(reference.about) if reference.about else set()
    if not terms or len(ranked) < 2:
        return ranked
    weighed = []
    for option in ranked:
        spoken_terms = set().union(*(_analyzer().content_terms(text) for text in option.candidate.said))
        weighed.append(replace(option, score=min(1.0, option.score + _TOPIC * len(terms & spoken_terms) / len(terms))))
    return sorted(weighed, key=lambda option: -option.score)


@cache
def _analyzer() -> KeywordAnalyzer:
    return KeywordAnalyzer()
