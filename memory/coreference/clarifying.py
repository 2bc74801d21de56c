"""Builds the question which antecedent is meant, in the language of the user."""

from collections.abc import Sequence

from ..language.phrases import phrases_for
from ..values.text import normalise
from ..values.understanding.readings import ContextSpan, Replacement
from ..values.understanding.resolutions import Clarification
from .antecedents import Antecedents
from .writing import concatenate

_OPTIONS = 4  # at most in one question
_NEAR = 0.25  # of the best option's probability: less likely ones are not offered


def options_of(replacement: Replacement, *, asked: bool) -> tuple[ContextSpan, ...]:
    """The antecedents to offer in a question about a reference, in the order of mention.

    Args:
        replacement: The edit with its alternatives.
        asked: Whether the reader wants to ask; else only options that are nearly as likely as the best are offered.
    """
    options: list[ContextSpan] = []
    for span in (*replacement.antecedents[:1], *replacement.alternatives):
        if not any(_is_same(span, option) for option in options):
            options.append(span)
    if options and not asked:
        options = [option for option in options if option.probability >= _NEAR * options[0].probability]
    return tuple(sorted(options[:_OPTIONS], key=lambda span: (-1 if span.turn is None else span.turn, span.start)))


def clarification(
    replacement: Replacement,
    options: Sequence[ContextSpan],
    antecedents: Antecedents,
    *,
    texts: Sequence[str],
    spaces: bool,
) -> Clarification:
    """The question about a reference.

    Args:
        replacement: The edit that is asked about; its offsets are into the first of `texts`.
        options: The antecedents that are offered, at least one.
        antecedents: The conversation.
        texts: The query, then the user's earlier messages, latest first: they decide the language and the script.
        spaces: Whether the user writes spaces between Latin and Han.
    """
    original = texts[0][replacement.start : replacement.end]
    names = [option.text for option in options]
    first = replacement.antecedents[0].text if replacement.antecedents else ""
    before, found, after = replacement.written.strip().partition(first) if first else ("", "", "")
    return Clarification(
        question=_question(original, names, texts, spaces=spaces),
        original_text=original,
        start=replacement.start,
        end=replacement.end,
        options=tuple(antecedents.alternative(option) for option in options),
        before=before if found else "",
        after=after if found else "",
    )


def _question(original: str, names: Sequence[str], texts: Sequence[str], *, spaces: bool) -> str:
    phrases = phrases_for(texts)
    pattern = (phrases.which if len(names) > 1 else phrases.whether) if original else phrases.which_left_out
    head, tail = pattern.split("{options}")
    pieces = [head.format(reference=original), names[0]]
    for name in names[1:]:
        pieces += [phrases.alternatively if name is names[-1] else phrases.listing, name]
    return concatenate([*pieces, tail], spaces=spaces)


def _is_same(span: ContextSpan, other: ContextSpan) -> bool:
    """Whether two spans have the same text or overlap, as a name and a part of it do."""
    overlap = span.turn == other.turn and span.start < other.end and other.start < span.end
    return overlap or normalise(span.text) == normalise(other.text)
