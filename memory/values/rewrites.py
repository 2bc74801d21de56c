"""What a trained rewriter reads and what it gives: a query, its conversation, and the edits that make it stand alone.

Offsets are code points, half open. A turn is counted from the start of `RewriteRequest.turns`.
"""

from .base import Value


class RewriteRequest(Value):
    """A query in its conversation.

    `turns` is the conversation before it, oldest first; `names` is what long-term memory offers, most likely first.
    """

    query: str
    turns: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class Antecedent(Value):
    """A span that is copied into the query: `turns[turn][start:end]`.

    `turn` is None for a span of `names`, whose offsets are then into the names as they were joined. `probability` is
    that of this text among all that could be written there, 0 to 1.
    """

    text: str
    turn: int | None
    start: int
    end: int
    probability: float


class Replacement(Value):
    """One edit: `query[start:end]` gives way to `text`; an empty span is a place where something was left out.

    `antecedents` are the spans that `text` is made of, in order; what is not copied are function words. `confidence` is
    the probability of this edit, given that the query is edited, 0 to 1. `alternatives` are other spans that could
    have come first, most probable first.
    """

    start: int
    end: int
    text: str
    antecedents: tuple[Antecedent, ...] = ()
    confidence: float
    alternatives: tuple[Antecedent, ...] = ()


class RewriteResult(Value):
    """A query that stands alone.

    `replacements` are in order and do not touch; there are none where the query is left as it is. `keep_probability` is
    the calibrated probability that the query needs no edit, `confidence` that `text` is right; both lie in 0 to 1.
    """

    text: str
    replacements: tuple[Replacement, ...] = ()
    keep_probability: float
    confidence: float
