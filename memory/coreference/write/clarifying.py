"""Asks which antecedent is meant, in the language of the user, where choosing one would be a guess."""

from collections.abc import Sequence

from ...language.phrases import phrases_for
from ...values.resolutions import Alternative, Clarification
from ..antecedents.ranking import Ranked
from ..detect.references import Reference
from .rewriting import concatenate

_RANGE = 0.15  # of scores below the best: what is further behind is not what two could mean
_OPTIONS = 4  # a question with more is none that one answers
_WORTH_ASKING = 0.4  # score from which one alone is asked about: "do you mean X?"


def options_of(ranked: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """The candidates that a question is about, in the order in which they were mentioned; none where none is likely.

    Where several are level at the top they are the question, and what comes behind them is not.
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
    """The question about a reference that was left open; None where nothing could be offered.

    Args:
        reference: Its offsets are into the first of `texts`.
        ranked: What it may stand for, best first.
        texts: The query, then what the user said before, latest first: they tell the language and the script.
        spaces: Whether the user sets Latin and Han apart.
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
    """A ranked candidate as a result shows it."""
    return Alternative(
        text=option.candidate.text,
        entity_id=option.candidate.entity_id,
        source=option.candidate.source,
        score=option.score,
    )
