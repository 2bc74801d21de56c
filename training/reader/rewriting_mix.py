"""What one epoch reads of queries and their rewrites, in which form and order."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from typing_extensions import override

from memory.values.understanding.readings import Intent
from models.reader.edits import Source
from models.reader.features import FeatureReader, joined_names

from ..rewriting.data import RewritingRow, as_complete, as_foreign
from ..rewriting.labels import Limits, derive
from ..shared.mix import Mix, repeats
from .examples import ReaderExample, query_example, rewriting_example

_NAMES_FROM_ROWS = 400
_MOST_NAMES = 5
_LATIN_NAMES = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class RewritingOptions:
    """How rows are varied and cut into batches.

    Attributes:
        complete: Probability that an incomplete row is followed by its rewrite as a negative.
        foreign: Probability that a conversation is followed by a complete query of another one, of any data set in its
            language, as a negative: what has nothing to do with what was said before stands alone.
        lost: Probability that an incomplete row is followed by itself as a negative, without the turns that hold what
            it copies: what nobody has said cannot be restored.
        renamed: Probability that what a row copies is called something else, in its conversation and its rewrite alike,
            so that names are copied for their place and not remembered.
        offered: Probability that a row is given names as if from long-term memory; where the row copies a span, half of
            the time the span is among them and the turns that hold it are gone.
    """

    complete: float = 0.1
    foreign: float = 0.15
    lost: float = 0.05
    renamed: float = 0.2
    offered: float = 0.1


@dataclass(frozen=True)
class RewritingShare:
    """The rows of one data set and how often an epoch reads them, on average.

    `is_corpus` says that its queries are those of the chat corpus, of which it is known that nothing is to be asked.
    """

    rows: Sequence[RewritingRow]
    weight: float
    chinese: bool
    is_corpus: bool = False

    @cached_property
    def names(self) -> list[str]:
        """Spans that rows copy: stand-ins for what long-term memory holds."""
        rows = random.Random(0).sample(self.rows, min(_NAMES_FROM_ROWS, len(self.rows)))
        return sorted({span for row in rows if (span := copied_span(row)) is not None})


@dataclass(frozen=True, slots=True)
class Variation:
    """A row with the variation to apply.

    Attributes:
        share: Index of its share.
        row: Index in the share.
        complete: Whether the query is replaced by its rewrite, which needs no rewriting.
        foreign: Share and row whose rewrite is asked in this conversation; None for its own query.
        lost: Without the turns that hold what it copies.
        renamed: Another name of what it copies; None for its own.
        offered: Seed of the names that it is offered; None without.
    """

    share: int
    row: int
    complete: bool = False
    foreign: tuple[int, int] | None = None
    lost: bool = False
    renamed: str | None = None
    offered: float | None = None


class RewritingMix(Mix[Variation, ReaderExample]):
    """Draws queries and variations of them.

    Args:
        shares: The data sets.
        reader: Builds features.
        limits: Limits of the labels.
        options: Probabilities of variations.
        seed: Seed of all draws.
        intents: Intents of queries by their text, where they are known.
    """

    def __init__(
        self,
        shares: Sequence[RewritingShare],
        reader: FeatureReader,
        limits: Limits,
        options: RewritingOptions,
        *,
        seed: int,
        intents: Mapping[str, tuple[Intent, ...]] | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._intents = intents or {}
        self._shares = shares
        self._reader = reader
        self._limits = limits
        self._options = options
        self._made: dict[Variation, ReaderExample] = {}

    @override
    def draws(self, rng: random.Random) -> list[Variation]:
        options = self._options
        variations = []
        for number, share in enumerate(self._shares):
            for at, row in enumerate(share.rows):
                for _ in repeats(share.weight, rng):
                    offered = rng.random() if rng.random() < options.offered else None
                    renamed = self._name(number, rng) if rng.random() < options.renamed else None
                    variations.append(Variation(number, at, renamed=renamed, offered=offered))
                    if row.target != row.query and rng.random() < options.complete:
                        variations.append(Variation(number, at, complete=True))
                    if row.target != row.query and rng.random() < options.lost:
                        variations.append(Variation(number, at, lost=True))
                    if rng.random() < options.foreign:
                        alike = [
                            index
                            for index, other_share in enumerate(self._shares)
                            if other_share.chinese == share.chinese
                        ]
                        source = rng.choice(alike)
                        foreign = source, rng.randrange(len(self._shares[source].rows))
                        variations.append(Variation(number, at, foreign=foreign))
        return variations

    @override
    def examples(self, draw: Variation) -> list[ReaderExample]:
        example = self._made.get(draw)
        if example is None:
            row = self._varied(draw)
            if self._shares[draw.share].is_corpus:
                example = query_example(row, self._reader, self._limits, self._intents)
            else:
                example = rewriting_example(row, self._reader, self._limits)
            if draw.offered is None and draw.foreign is None and draw.renamed is None:  # the others do not come again
                self._made[draw] = example
        return [example]

    def _varied(self, draw: Variation) -> RewritingRow:
        share = self._shares[draw.share]
        row = share.rows[draw.row]
        if draw.foreign is not None:
            source, number = draw.foreign
            row = as_foreign(row, self._shares[source].rows[number])
        if draw.renamed is not None:
            row = as_renamed(row, draw.renamed)
        if draw.offered is not None:
            row = offered_names(row, share.names, random.Random(draw.offered))
        return as_complete(row) if draw.complete else as_lost(row) if draw.lost else row

    def _name(self, number: int, rng: random.Random) -> str | None:
        """Draws a name for a row of a share; in Chinese rows it is sometimes a Latin one."""
        latin = rng.random() < _LATIN_NAMES
        chinese = self._shares[number].chinese
        named = [share for share in self._shares if share.chinese == chinese or (latin and share.names)]
        names = rng.choice(named).names
        return rng.choice(names) if names else None


def copied_span(row: RewritingRow) -> str | None:
    """The longest span that the rewrite copies from the context; None without one of two units or more."""
    source = Source.of(row.turns)
    spans = [
        segment.places[-1]
        for edit in derive(row.query, row.target, source).edits
        for segment in edit.segments
        if segment.places and segment.places[-1].stop - segment.places[-1].start > 1
    ]
    return source.text(max(spans, key=lambda span: span.stop - span.start)) if spans else None


def as_renamed(row: RewritingRow, name: str) -> RewritingRow:
    """The row with another name for the longest span that it copies; as it is where the query holds a part of that."""
    span = copied_span(row)
    if span is None or span in row.query or name in row.query:
        return row
    return replace(
        row, turns=tuple(turn.replace(span, name) for turn in row.turns), target=row.target.replace(span, name)
    )


def as_lost(row: RewritingRow) -> RewritingRow:
    """A negative: the turns that hold the longest copied span are gone, so that nothing can be restored.

    A row that copies no span of two units stays as it is.
    """
    span = copied_span(row)
    if span is None:
        return row
    turns = tuple(turn for turn in row.turns if span not in turn)
    return replace(row, turns=turns, target=row.query, kind="complete")


def offered_names(row: RewritingRow, names: Sequence[str], rng: random.Random) -> RewritingRow:
    """The row with names before its first turn, the antecedent among them or not."""
    offered = rng.sample(names, min(len(names), rng.randint(1, _MOST_NAMES)))
    turns = row.turns
    span = copied_span(row) if rng.random() < 0.5 else None
    if span is not None:
        offered = [name for name in offered if name != span][: _MOST_NAMES - 1]
        offered.insert(rng.randint(0, len(offered)), span)
        turns = tuple(turn for turn in turns if span not in turn)
    return replace(row, turns=(joined_names(offered), *turns)) if offered else row
