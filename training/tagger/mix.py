"""What one epoch of the tagger's training reads, in which form and order."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from models.tagger.features import WindowReader
from models.tagger.network import TaggerShape

from .examples import Evidence, TaggerExample, make_examples
from .ner_chat import CHAT_COVERAGE, ChatWriter
from .ner_data import in_full_width, in_lower_case, in_traditional
from .ner_files import MarkedText

_SORTED_TOGETHER = 1536  # examples whose order is given up for batches of like length


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
    """A row in one form.

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


class TaggingMix:
    """Draws epochs; the same seed and number give the same epoch.

    Args:
        shares: What is mixed.
        writer: Of chat sentences.
        reader: Builds windows.
        shape: Of the network.
        options: How rows are varied.
        seed: Of all draws.
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
        self._shares = shares
        self._writer = writer
        self._chat = Evidence.of(0, CHAT_COVERAGE, ())
        self._reader = reader
        self._shape = shape
        self._options = options
        self._seed = seed

    def drawn(self, epoch: int) -> list[TaggingVariation]:
        """An epoch in its order."""
        draw = random.Random(f"{self._seed}/{epoch}")
        picked = [
            TaggingVariation(number, at, self._form(share, draw), draw.random() < self._options.told)
            for number, share in enumerate(self._shares)
            for at in range(len(share.rows))
            for _ in range(int(share.weight) + (draw.random() < share.weight % 1))
        ]
        sentences = round(len(picked) * self._options.chat)
        picked += [TaggingVariation(-1, draw.randrange(1 << 30)) for _ in range(sentences)]
        draw.shuffle(picked)
        return picked

    def batches(self, epoch: int, *, skip: int = 0) -> Iterator[list[TaggerExample]]:
        """Batches of like length in random order, without the first `skip`."""
        draw = random.Random(f"{self._seed}/{epoch}/order")
        picked = self.drawn(epoch)
        for start in range(0, len(picked), _SORTED_TOGETHER):
            examples = [
                example for one in picked[start : start + _SORTED_TOGETHER] for example in self._examples(one)
            ]  # fmt: skip
            batches = self._cut(sorted(examples, key=lambda example: example.token_count))
            draw.shuffle(batches)
            yield from batches[skip:]
            skip = max(0, skip - len(batches))

    def _form(self, share: TaggingShare, draw: random.Random) -> str:
        forms = []
        if share.chinese:
            forms += [("traditional", self._options.traditional), ("wide", self._options.wide)]
        if share.is_english:
            forms.append(("lower", self._options.lower))
        look = draw.random()
        for form, probability in forms:
            look -= probability
            if look < 0:
                return form
        return ""

    def _cut(self, examples: Sequence[TaggerExample]) -> list[list[TaggerExample]]:
        batches: list[list[TaggerExample]] = [[]]
        for example in examples:
            rows = len(batches[-1]) + 1
            if rows > self._options.batch_rows or rows * example.token_count > self._options.batch_tokens:
                batches.append([])
            batches[-1].append(example)
        return [batch for batch in batches if batch]

    def _examples(self, picked: TaggingVariation) -> list[TaggerExample]:
        if picked.share < 0:
            row, evidence = self._writer.write(random.Random(picked.row)), self._chat
        else:
            share = self._shares[picked.share]
            row, evidence = share.rows[picked.row], share.evidence
        return make_examples(_FORMS[picked.form](row), self._reader, evidence, self._shape, is_told=picked.told)
