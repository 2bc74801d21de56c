"""What one epoch of the tagger's training reads, in which form and order."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from typing_extensions import override

from models.tagger.features import WindowReader
from models.tagger.network import TaggerShape

from ..shared.mix import Mix, repeats
from .examples import Evidence, TaggerExample, make_examples
from .ner_chat import CHAT_COVERAGE, ChatWriter
from .ner_data import in_full_width, in_lower_case, in_traditional
from .ner_files import MarkedText


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggingOptions:
    """How rows are varied and cut into batches.

    Attributes:
        told: Probability that the network is told the source.
        traditional: Probability that a Chinese row is read in Traditional characters.
        lower: Probability that a row in English loses its capitals.
        wide: Probability that a Chinese row has full-width letters and digits.
        chat: Chat sentences of an epoch, as a share of all other rows.
        batch_tokens: Padded tokens of a batch, at most.
        batch_rows: Rows of a batch, at most.
    """

    told: float = 0.6
    traditional: float = 0.25
    lower: float = 0.08
    wide: float = 0.02
    chat: float = 0.12
    batch_tokens: int = 1400
    batch_rows: int = 32


@dataclass(frozen=True)
class TaggingShare:
    """The rows of one data set and how often an epoch reads them, on average."""

    rows: Sequence[MarkedText]
    weight: float
    chinese: bool
    is_english: bool
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class TaggingVariation:
    """A row, or a generated chat sentence, with the variation to apply.

    Attributes:
        share: Index of its share; -1 for a chat sentence.
        row: Index in the share, or the seed of the sentence.
        form: `traditional`, `lower`, `wide`, or nothing.
        told: Whether the network is told the source.
    """

    share: int
    row: int
    form: str = ""
    told: bool = False


_FORMS: dict[str, Callable[[MarkedText], MarkedText]] = {
    "": lambda row: row,
    "traditional": in_traditional,
    "lower": in_lower_case,
    "wide": in_full_width,
}


class TaggingMix(Mix[TaggingVariation, TaggerExample]):
    """Draws epochs of the tagger's training.

    Args:
        shares: The data sets.
        writer: Generates chat sentences.
        reader: Builds windows.
        shape: Shape of the network.
        options: Probabilities of variations and sizes of batches.
        seed: Seed of all draws.
    """

    def __init__(
        self,
        shares: Sequence[TaggingShare],
        writer: ChatWriter,
        reader: WindowReader,
        shape: TaggerShape,
        options: TaggingOptions,
        *,
        seed: int,
    ) -> None:
        super().__init__(seed=seed, batch_tokens=options.batch_tokens, batch_rows=options.batch_rows)
        self._shares = shares
        self._writer = writer
        self._chat = Evidence.of(0, CHAT_COVERAGE, ())
        self._reader = reader
        self._shape = shape
        self._options = options

    @override
    def draws(self, rng: random.Random) -> list[TaggingVariation]:
        variations = [
            TaggingVariation(number, row, self._form(share, rng), rng.random() < self._options.told)
            for number, share in enumerate(self._shares)
            for row in range(len(share.rows))
            for _ in repeats(share.weight, rng)
        ]
        sentences = round(len(variations) * self._options.chat)
        return variations + [TaggingVariation(-1, rng.randrange(1 << 30)) for _ in range(sentences)]

    @override
    def examples(self, draw: TaggingVariation) -> list[TaggerExample]:
        if draw.share < 0:
            row, evidence = self._writer.write(random.Random(draw.row)), self._chat
        else:
            share = self._shares[draw.share]
            row, evidence = share.rows[draw.row], share.evidence
        return make_examples(_FORMS[draw.form](row), self._reader, evidence, self._shape, is_told=draw.told)

    def _form(self, share: TaggingShare, rng: random.Random) -> str:
        forms = []
        if share.chinese:
            forms += [("traditional", self._options.traditional), ("wide", self._options.wide)]
        if share.is_english:
            forms.append(("lower", self._options.lower))
        number = rng.random()
        for form, probability in forms:
            number -= probability
            if number < 0:
                return form
        return ""
