"""What one epoch reads of the data sets of names, in which form and order."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from typing_extensions import override

from models.reader.features import FeatureReader
from models.reader.network import ReaderShape

from ..names.examples import Evidence
from ..names.ner_chat import CHAT_COVERAGE, ChatWriter
from ..names.ner_data import in_full_width, in_lower_case
from ..names.ner_files import MarkedText
from ..shared.mix import Mix, repeats
from .examples import ReaderExample, name_examples


@dataclass(frozen=True, slots=True, kw_only=True)
class NameOptions:
    """How rows are varied and cut into batches.

    Attributes:
        told: Probability that the network is told the source.
        lower: Probability that a row in English loses its capitals.
        wide: Probability that a Chinese row has full-width letters and digits.
        chat: Chat sentences of an epoch, as a share of all other rows.
    """

    told: float = 0.6
    lower: float = 0.08
    wide: float = 0.02
    chat: float = 0.12


@dataclass(frozen=True)
class NameShare:
    """The rows of one data set and how often an epoch reads them, on average."""

    rows: Sequence[MarkedText]
    weight: float
    chinese: bool
    is_english: bool
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class NameVariation:
    """A row, or a generated chat sentence, with the variation to apply.

    Attributes:
        share: Index of its share; -1 for a chat sentence.
        row: Index in the share, or the seed of the sentence.
        form: `lower`, `wide`, or nothing.
        told: Whether the network is told the source.
    """

    share: int
    row: int
    form: str = ""
    told: bool = False


_FORMS: dict[str, Callable[[MarkedText], MarkedText]] = {
    "": lambda row: row,
    "lower": in_lower_case,
    "wide": in_full_width,
}


class NameMix(Mix[NameVariation, ReaderExample]):
    """Draws rows of the data sets of names.

    Args:
        shares: The data sets.
        writer: Generates chat sentences.
        reader: Builds features.
        shape: Shape of the network.
        options: Probabilities of variations and sizes of batches.
        seed: Seed of all draws.
    """

    def __init__(
        self,
        shares: Sequence[NameShare],
        writer: ChatWriter,
        reader: FeatureReader,
        shape: ReaderShape,
        options: NameOptions,
        *,
        seed: int,
    ) -> None:
        super().__init__(seed=seed)
        self._shares = shares
        self._writer = writer
        self._chat = Evidence.of(0, CHAT_COVERAGE, ())
        self._reader = reader
        self._shape = shape
        self._options = options

    @override
    def draws(self, rng: random.Random) -> list[NameVariation]:
        variations = [
            NameVariation(number, row, self._form(share, rng), rng.random() < self._options.told)
            for number, share in enumerate(self._shares)
            for row in range(len(share.rows))
            for _ in repeats(share.weight, rng)
        ]
        sentences = round(len(variations) * self._options.chat)
        return variations + [NameVariation(-1, rng.randrange(1 << 30)) for _ in range(sentences)]

    @override
    def examples(self, draw: NameVariation) -> list[ReaderExample]:
        if draw.share < 0:
            row, evidence = self._writer.write(random.Random(draw.row)), self._chat
        else:
            share = self._shares[draw.share]
            row, evidence = share.rows[draw.row], share.evidence
        return name_examples(_FORMS[draw.form](row), self._reader, evidence, self._shape, is_told=draw.told)

    def _form(self, share: NameShare, rng: random.Random) -> str:
        forms = []
        if share.chinese:
            forms.append(("wide", self._options.wide))
        if share.is_english:
            forms.append(("lower", self._options.lower))
        number = rng.random()
        for form, probability in forms:
            number -= probability
            if number < 0:
                return form
        return ""
