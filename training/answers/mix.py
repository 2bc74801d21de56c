"""Draws an epoch: each question with other lines around those that answer it, some without any that does."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from typing_extensions import override

from memory.knowledge.beside_memory import CHUNKS
from memory.ports.models.answer_reading import AnswerReadRequest, DatedLine
from models.answers.features import AnswerFeatureReader

from ..corpora.questions import NONE, REPLACING, MarkedLines, MarkedQuestion, Source
from ..shared.mix import Mix, repeats
from .examples import AnswerExample, LabelledRequest, answer_example, marked_example
from .marked_requests import Kind, MarkedRequest, put_among, said_by_language
from .rows import SHOWN, labelled, merge_lines, nearest, terms_of

_YEAR = re.compile(r"(?:19|20)\d\d")
_YEARS = (-5, 3)
_SOON_DAYS, _LATER_DAYS = 3, 90


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """What an epoch reads, and in which batches.

    Attributes:
        answers: How often an epoch reads each question of this source, on average; likewise the following.
        meant: How often each request to forget.
        replaced: How often each message of which it is known what it replaces.
        clause: How often each request to forget a message, or a part of it.
        dropped: Probability that the lines that answer are left out, so that nothing answers.
        dropped_passages: Likewise of questions about documents.
        fewer: Probability that other lines are left out.
        alone: Probability that what answers is shown alone, where it replaced nothing.
        merged: Probability that lines are told together in one message (`rows.merge_lines`).
        borrowed: Probability that lines of other people are shown as well.
        most_borrowed: Their number, at most.
        batch_tokens: Padded tokens of a batch, at most.
        batch_rows: Rows of a batch, at most.
    """

    answers: float = 1.0
    near: float = 1.0
    together: float = 1.0
    scenarios: float = 1.0
    passages: float = 1.0
    articles: float = 1.0
    meant: float = 0.0
    replaced: float = 0.0
    clause: float = 0.0
    dropped: float = 0.1
    dropped_passages: float = 0.3
    fewer: float = 0.3
    alone: float = 0.0
    merged: float = 0.0
    borrowed: float = 0.6
    most_borrowed: int = 9
    batch_tokens: int = 2600
    batch_rows: int = 16

    def often(self, read: Source | Kind) -> float:
        """How often an epoch reads each question of a source, or each message of a kind."""
        value: float = getattr(self, read)
        return value


@dataclass(frozen=True, slots=True)
class Draw:
    """A question, and the seed of its variation."""

    block: MarkedLines
    question: MarkedQuestion
    seed: int


@dataclass(frozen=True, slots=True)
class MessageDraw:
    """A message that does something to earlier lines, and the seed of its variation."""

    message: MarkedRequest
    seed: int


class AnswerMix(Mix[Draw | MessageDraw, AnswerExample]):
    """Everything that the answer reader learns from.

    Args:
        blocks: Blocks and scenarios.
        reader: Builds features.
        options: What is drawn.
        seed: Seed of the random generators.
        messages: What does something to earlier lines.
    """

    def __init__(
        self,
        blocks: Sequence[MarkedLines],
        reader: AnswerFeatureReader,
        options: AnswerOptions,
        *,
        seed: int,
        messages: Sequence[MarkedRequest] = (),
    ) -> None:
        super().__init__(seed=seed, batch_tokens=options.batch_tokens, batch_rows=options.batch_rows)
        self._blocks = blocks
        self._messages = messages
        self._reader = reader
        self._options = options
        self._lines: dict[str, list[DatedLine]] = {}
        for block in blocks:
            if not block.source.is_document:
                self._lines.setdefault(block.language, []).extend(block.lines)
        self._said = said_by_language(blocks)

    @override
    def draws(self, rng: random.Random) -> list[Draw | MessageDraw]:
        questions = (
            Draw(block, question, rng.getrandbits(32))
            for block in self._blocks
            for question in block.questions
            for _ in repeats(self._options.often(block.source), rng)
        )
        messages = (
            MessageDraw(message, rng.getrandbits(32))
            for message in self._messages
            for _ in repeats(self._options.often(message.kind), rng)
        )
        return [*questions, *messages]

    @override
    def examples(self, draw: Draw | MessageDraw) -> list[AnswerExample]:
        if isinstance(draw, Draw):
            return [answer_example(self.varied(draw), self._reader)]
        message = draw.message
        if message.kind is Kind.MEANT:
            message = put_among(message, self._said[message.language], random.Random(draw.seed))
        return [marked_example(message, self._reader)]

    def varied(self, draw: Draw) -> LabelledRequest:
        """The question with the lines that its variation shows, at other dates."""
        rng, options = random.Random(draw.seed), self._options
        block, question = draw.block, draw.question
        needed = {*question.gold, *question.outdated}
        barred = set(question.without)
        dropped = options.dropped_passages if block.source.is_document else options.dropped
        can_drop = bool(question.gold) and (question.kind not in REPLACING or bool(set(question.outdated)))
        if can_drop and rng.random() < dropped:
            barred |= needed
            question = MarkedQuestion(question.id, question.question, NONE)
            needed = set()
        shown = [number for number in range(len(block.lines)) if number not in barred]
        is_alone = bool(question.gold) and question.kind not in REPLACING and rng.random() < options.alone
        if is_alone:
            shown = sorted(needed)
        elif block.source is Source.SCENARIOS:
            count = rng.randint(4, SHOWN)
            shown = nearest(block, question.question, shown, needed, count)
        elif block.source.is_document:
            others = [number for number in shown if number not in needed]
            count = rng.randint(1, CHUNKS) if rng.random() < options.fewer else CHUNKS
            shown = rng.sample(others, min(len(others), max(0, count - len(needed)))) + sorted(needed)
            rng.shuffle(shown)
        elif rng.random() < options.fewer:
            count = rng.randint(min(4, len(shown)), len(shown))
            others = [number for number in shown if number not in needed]
            kept = set(rng.sample(others, min(len(others), max(0, count - len(needed)))))
            shown = [number for number in shown if number in needed | kept]
        lines = [block.lines[number] for number in shown]
        borrows = not (block.source.is_document or is_alone) and rng.random() < options.borrowed
        borrowed = list(self._borrowed(lines, question, block, rng)) if borrows else []
        now = block.now or block.lines[-1].said_at + timedelta(days=_days_later(rng))
        every = [*lines, *borrowed] or [rng.choice(self._lines[block.language])]
        row = labelled(question, shown, _shifted(every, question.question, now, rng))
        merges = not block.source.is_document and rng.random() < options.merged
        return merge_lines(row, rng) if merges else row

    def _borrowed(
        self, lines: Sequence[DatedLine], question: MarkedQuestion, block: MarkedLines, rng: random.Random
    ) -> Iterator[DatedLine]:
        """Lines of others in the language that share no word with the question, at times between those of these."""
        others = self._lines[block.language]
        most = min(self._options.most_borrowed, SHOWN - len(lines), len(others))
        first, last = block.lines[0].said_at, block.lines[-1].said_at
        own = {line.text for line in block.lines}
        asked = terms_of(question.question).union(*(terms_of(block.lines[number].text) for number in question.gold))
        for line in rng.sample(others, rng.randint(1, most) if most > 0 else 0):
            if line.text not in own and asked.isdisjoint(terms_of(line.text)):
                yield line.model_copy(update={"said_at": first + (last - first) * rng.random()})


def _days_later(rng: random.Random) -> int:
    return rng.randint(0, _SOON_DAYS) if rng.random() < 0.5 else rng.randint(0, _LATER_DAYS)


def _shifted(lines: Sequence[DatedLine], question: str, now: datetime, rng: random.Random) -> AnswerReadRequest:
    """The request with all dates moved by whole years, unless a year is named."""
    years = rng.randint(*_YEARS)
    if _YEAR.search(question) or any(_YEAR.search(line.text) for line in lines):
        years = 0
    moved = tuple(line.model_copy(update={"said_at": _moved(line.said_at, years)}) for line in lines)
    return AnswerReadRequest(question=question, lines=moved, now=_moved(now, years))


def _moved(at: datetime, years: int) -> datetime:
    is_leap_day = (at.month, at.day) == (2, 29)
    return at.replace(year=at.year + years, day=28 if is_leap_day else at.day)
