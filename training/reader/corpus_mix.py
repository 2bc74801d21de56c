"""What one epoch reads of the chat corpus beside its queries, and the mix of everything that the reader learns from."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from typing_extensions import override

from memory.values.understanding.mentions import EntitySubtype
from memory.values.understanding.readings import Intent
from models.reader.features import FeatureReader
from models.reader.network import NO_SOURCE, ReaderShape

from ..names.examples import Evidence
from ..rewriting.labels import Limits
from ..shared.mix import Mix, repeats
from .corpus import MarkedMessage, MarkedQuery, SignedMessage
from .examples import ReaderExample, ambiguous_example, message_example, signed_example

_MOST_UNRELATED = 5

MessageT = TypeVar("MessageT", bound=MarkedMessage | SignedMessage)


class AmbiguousMix(Mix[int, ReaderExample]):
    """Draws the queries to ask back.

    Args:
        queries: Those of the corpus.
        weight: How often an epoch reads each, on average.
        reader: Builds features.
        seed: Seed of all draws.
        intents: Intents of queries by their text, where they are known.
    """

    def __init__(
        self,
        queries: Sequence[MarkedQuery],
        weight: float,
        reader: FeatureReader,
        *,
        seed: int,
        intents: Mapping[str, tuple[Intent, ...]] | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._examples = [ambiguous_example(query, reader, intents or {}) for query in queries]
        self._weight = weight

    @override
    def draws(self, rng: random.Random) -> list[int]:
        return [number for number in range(len(self._examples)) for _ in repeats(self._weight, rng)]

    @override
    def examples(self, draw: int) -> list[ReaderExample]:
        return [self._examples[draw]]


@dataclass(frozen=True, slots=True)
class MessageDraw:
    """A message with its variation: whether it loses its capitals, and the messages of other blocks said before it."""

    number: int
    is_lower: bool = False
    earlier: tuple[int, ...] = ()


class MessageMix(Mix[MessageDraw, ReaderExample]):
    """Draws the messages of the corpus with their names, intents and facts, or with what they are for as a whole.

    English ones sometimes lose their capitals. Some come after messages of other blocks: in a conversation most of what
    was said before has nothing to do with a message, and changes neither what it is for nor what it states.

    Args:
        messages: Those of the corpus.
        weights: How often an epoch reads each, on average.
        lower: Probability that an English message loses its capitals.
        unrelated: Probability that a message comes after others.
        reader: Builds features.
        shape: Shape of the network.
        seed: Seed of all draws.
    """

    def __init__(
        self,
        messages: Sequence[MarkedMessage | SignedMessage],
        weights: Sequence[float],
        lower: float,
        unrelated: float,
        reader: FeatureReader,
        shape: ReaderShape,
        *,
        seed: int,
    ) -> None:
        super().__init__(seed=seed)
        self._messages = messages
        self._weights = weights
        self._lower = lower
        self._unrelated = unrelated
        self._of_language: dict[str, list[int]] = {}
        for number, message in enumerate(messages):
            self._of_language.setdefault(message.language, []).append(number)
        self._reader = reader
        self._shape = shape
        self._evidence = Evidence.of(NO_SOURCE, dict.fromkeys(EntitySubtype, 1.0), ())
        self._made: dict[MessageDraw, ReaderExample] = {}

    @override
    def draws(self, rng: random.Random) -> list[MessageDraw]:
        return [
            MessageDraw(
                number,
                is_lower=message.language == "en" and rng.random() < self._lower,
                earlier=self._earlier(message, rng),
            )
            for number, (message, weight) in enumerate(zip(self._messages, self._weights, strict=True))
            for _ in repeats(weight, rng)
        ]

    @override
    def examples(self, draw: MessageDraw) -> list[ReaderExample]:
        if draw in self._made:
            return [self._made[draw]]
        message = self._messages[draw.number]
        varied = in_lower_case(message) if draw.is_lower else message
        turns = (*(self._messages[number].text for number in draw.earlier), *varied.turns)
        example = self._example(replace(varied, turns=turns))
        if not draw.earlier:  # the others hardly ever come again
            self._made[draw] = example
        return [example]

    def _example(self, message: MarkedMessage | SignedMessage) -> ReaderExample:
        if isinstance(message, SignedMessage):
            limits = Limits(deleted=self._shape.edits.deleted, span=self._shape.edits.span)
            return signed_example(message, self._reader, limits)
        return message_example(message, self._reader, self._evidence, self._shape)

    def _earlier(self, message: MarkedMessage | SignedMessage, rng: random.Random) -> tuple[int, ...]:
        if rng.random() >= self._unrelated:
            return ()
        return tuple(rng.choices(self._of_language[message.language], k=rng.randint(1, _MOST_UNRELATED)))


def in_lower_case(message: MessageT) -> MessageT:
    """The message as people type it in a hurry; as it is where lower case has another length."""
    text = message.text.lower()
    return replace(message, text=text) if len(text) == len(message.text) else message


@dataclass(frozen=True, slots=True)
class JointDraw:
    """A draw of one of the joined mixes."""

    mix: int
    draw: Any


class JointMix(Mix[JointDraw, ReaderExample]):
    """Everything that the reader learns from, in common batches.

    Args:
        mixes: Each draws its own rows.
        seed: Seed of the order.
        batch_tokens: See `Mix`.
        batch_rows: Likewise.
    """

    def __init__(
        self, mixes: Sequence[Mix[Any, ReaderExample]], *, seed: int, batch_tokens: int, batch_rows: int
    ) -> None:
        super().__init__(seed=seed, batch_tokens=batch_tokens, batch_rows=batch_rows)
        self._mixes = mixes

    @override
    def draws(self, rng: random.Random) -> list[JointDraw]:
        return [JointDraw(number, draw) for number, mix in enumerate(self._mixes) for draw in mix.draws(rng)]

    @override
    def examples(self, draw: JointDraw) -> Sequence[ReaderExample]:
        return self._mixes[draw.mix].examples(draw.draw)
