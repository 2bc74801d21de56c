"""Builds the question which antecedent is meant, in the language of the user."""

from collections.abc import Sequence

from ...language.phrases import phrases_for
from ...values.resolutions import Alternative, Clarification
from ..antecedents.ranking import Ranked
from ..detect.references import Reference
from .rewriting import concatenate

_RANGE = 0.15  # below the best score: candidates further behind are not offered
_OPTIONS = 4  # at most in one question
_WORTH_ASKING = 0.4  # score of the best candidate from which a question is asked


def options_of(ranked: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """The candidates to offer in a question, in order of mention; none where none is likely.

    Where several share the best score, only those are offered.
    """
    if not ranked or ranked[0].score < _WORTH_ASKING:
        return ()
    level = [option for option in ranked if option.score == ranked[0].score]
    near = (level if len(level) > 1 else [option for option in ranked if option.score >= ranked[0].score - _RANGE])[
        :_OPTIONS
    ]
    return tuple(sorted(near, key=lambda option: (option.candidate.order, option.candidate.end)))


def clarification(
    reference: Reference, ranked: Sequence[Ranked], *, texts: Sequence[str], spaces: bool
) -> Clarification | None:
    """The question about an unresolved reference; None where no candidate is likely.

    Args:
        reference: Its offsets are into the first of `texts`.
        ranked: Its candidates, best first.
        texts: The query, then the user's earlier messages, latest first: they decide the language and the script.
        spaces: Whether the user writes spaces between Latin and Han.
    """
    options = options_of(ranked)
    if not options:
        return None
    phrases = phrases_for(texts)
    names = [option.candidate.text for option in options]
    head, tail = (phrases.which if len(names) > 1 else phrases.whether).split("{options}")
    pieces = [head.format(reference=reference.text), names[0]]
    for name in names[1:]:
        pieces += [phrases.alternatively if name is names[-1] else phrases.listing, name]
    return Clarification(
        question=concatenate([*pieces, tail], spaces=spaces),
        original_text=reference.text,
        start=reference.start,
        end=reference.end,
        options=tuple(alternative(option) for option in options),
    )


def alternative(option: Ranked) -> Alternative:
    """A ranked candidate in the form of a result."""
    return Alternative(
        text=option.candidate.text,
        entity_id=option.candidate.entity_id,
        source=option.candidate.source,
        score=option.score,
    )
