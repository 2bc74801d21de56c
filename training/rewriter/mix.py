"""What one epoch of the rewriter's training reads, in which form and order."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from models.rewriter.edits import Source
from models.rewriter.features import FeatureReader
from models.rewriter.rewriter import joined_names

from .data import RewritingRow, as_complete, as_foreign, as_traditional
from .examples import Example, make_example
from .labels import Limits, derive

_SORTED_TOGETHER = 1536  # examples whose order is given up for batches of like length
_NAMES_FROM_ROWS = 400
_MOST_NAMES = 5
_LATIN_NAMES = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class MixOptions:
    """How rows are varied and cut into batches.

    Attributes:
        traditional: Probability that a Chinese row is read in Traditional characters.
        complete: Probability that an incomplete row is followed by its rewrite as a negative.
        foreign: Probability that a conversation is followed by a complete query of another one, of any data set in its
            language, as a negative: what has nothing to do with what was said before stands alone.
        lost: Probability that an incomplete row is followed by itself as a negative, without the turns that hold what
            it copies: what nobody has said cannot be restored.
        renamed: Probability that what a row copies is called something else, in its conversation and its rewrite alike,
            so that names are copied for their place and not remembered.
        offered: Probability that a row is given names as if from long-term memory; where the row copies a span, half of
            the time the span is among them and the turns that hold it are gone.
        batch_tokens: Padded tokens of a batch, at most.
        batch_rows: Rows of a batch, at most.
    """

    traditional: float = 0.25
    complete: float = 0.1
    foreign: float = 0.15
    lost: float = 0.05
    renamed: float = 0.2
    offered: float = 0.1
    batch_tokens: int = 1400
    batch_rows: int = 32


@dataclass(frozen=True)
class Share:
    """The rows of one data set and how often an epoch reads them, on average."""

    rows: Sequence[RewritingRow]
    weight: float
    chinese: bool

    @cached_property
    def names(self) -> list[str]:
        """Spans that rows copy: stand-ins for what long-term memory holds."""
        rows = random.Random(0).sample(self.rows, min(_NAMES_FROM_ROWS, len(self.rows)))
        return sorted({span for row in rows if (span := copied_span(row)) is not None})


@dataclass(frozen=True, slots=True)
class Variation:
    """A row in one form.

    Attributes:
        share: Index of its share.
        row: Index in the share.
        traditional: In Traditional characters.
        complete: As its own rewrite, which needs nothing.
        foreign: Share and row whose rewrite is asked in this conversation; None for its own query.
        lost: Without the turns that hold what it copies.
        renamed: Another name of what it copies; None for its own.
        offered: Seed of the names that it is offered; None without.
    """

    share: int
    row: int
    traditional: bool = False
    complete: bool = False
    foreign: tuple[int, int] | None = None
    lost: bool = False
    renamed: str | None = None
    offered: float | None = None


class Mix:
    """Draws epochs; the same seed and number give the same epoch.

    Args:
        shares: What is mixed.
        reader: Builds features.
        limits: Of the labels.
        options: How rows are varied.
        seed: Of all draws.
    """

    def __init__(
        self, shares: Sequence[Share], reader: FeatureReader, limits: Limits, options: MixOptions, *, seed: int
    ) -> None:
        self._shares = shares
        self._reader = reader
        self._limits = limits
        self._options = options
        self._seed = seed
        self._made: dict[Variation, Example] = {}

    def drawn(self, epoch: int) -> list[Variation]:
        """An epoch in its order."""
        draw = random.Random(f"{self._seed}/{epoch}")
        options = self._options
        picked = []
        for number, share in enumerate(self._shares):
            for at, row in enumerate(share.rows):
                for _ in range(int(share.weight) + (draw.random() < share.weight % 1)):
                    traditional = share.chinese and draw.random() < options.traditional
                    offered = draw.random() if draw.random() < options.offered else None
                    renamed = self._name(number, draw) if draw.random() < options.renamed else None
                    picked.append(Variation(number, at, traditional, renamed=renamed, offered=offered))
                    if row.target != row.query and draw.random() < options.complete:
                        picked.append(Variation(number, at, traditional, complete=True))
                    if row.target != row.query and draw.random() < options.lost:
                        picked.append(Variation(number, at, traditional, lost=True))
                    if draw.random() < options.foreign:
                        alike = [at for at, one in enumerate(self._shares) if one.chinese == share.chinese]
                        source = draw.choice(alike)
                        other = source, draw.randrange(len(self._shares[source].rows))
                        picked.append(Variation(number, at, traditional, foreign=other))
        draw.shuffle(picked)
        return picked

    def _name(self, number: int, draw: random.Random) -> str | None:
        """A name for a row of a share; in Chinese, as people write, sometimes a Latin one."""
        latin = draw.random() < _LATIN_NAMES
        named = [one for one in self._shares if one.chinese == self._shares[number].chinese or (latin and one.names)]
        names = draw.choice(named).names
        return draw.choice(names) if names else None

    def batches(self, epoch: int, *, skip: int = 0) -> Iterator[list[Example]]:
        """Batches of like length in random order, without the first `skip`."""
        draw = random.Random(f"{self._seed}/{epoch}/order")
        picked = self.drawn(epoch)
        for start in range(0, len(picked), _SORTED_TOGETHER):
            examples = [self._example(one) for one in picked[start : start + _SORTED_TOGETHER]]
            batches = self._cut(sorted(examples, key=lambda example: example.features.token_count))
            draw.shuffle(batches)
            yield from batches[skip:]
            skip = max(0, skip - len(batches))

    def _cut(self, examples: Sequence[Example]) -> list[list[Example]]:
        batches: list[list[Example]] = [[]]
        for example in examples:
            rows = len(batches[-1]) + 1
            if rows > self._options.batch_rows or rows * example.features.token_count > self._options.batch_tokens:
                batches.append([])
            batches[-1].append(example)
        return [batch for batch in batches if batch]

    def _example(self, picked: Variation) -> Example:
        made = self._made.get(picked)
        if made is None:
            share = self._shares[picked.share]
            row = share.rows[picked.row]
            if picked.foreign is not None:
                source, other = picked.foreign
                row = as_foreign(row, self._shares[source].rows[other])
            if picked.renamed is not None:
                row = as_renamed(row, picked.renamed)
            if picked.offered is not None:
                row = offered_names(row, share.names, random.Random(picked.offered))
            row = as_complete(row) if picked.complete else as_lost(row) if picked.lost else row
            made = make_example(as_traditional(row) if picked.traditional else row, self._reader, self._limits)
            if (
                picked.offered is None and picked.foreign is None and picked.renamed is None
            ):  # the others do not come again
                self._made[picked] = made
        return made


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


def offered_names(row: RewritingRow, names: Sequence[str], draw: random.Random) -> RewritingRow:
    """The row with names before its first turn, the antecedent among them or not."""
    offered = draw.sample(names, min(len(names), draw.randint(1, _MOST_NAMES)))
    turns = row.turns
    span = copied_span(row) if draw.random() < 0.5 else None
    if span is not None:
        offered = [name for name in offered if name != span][: _MOST_NAMES - 1]
        offered.insert(draw.randint(0, len(offered)), span)
        turns = tuple(turn for turn in turns if span not in turn)
    return replace(row, turns=(joined_names(offered), *turns)) if offered else row
