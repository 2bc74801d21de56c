"""Scores pairs with our own weights on the e5 body: what a deployment holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from ..body.weight_file_model import WeightFileModel
from .pairs import PairReader, PairTokens, pad_id_of
from .scorer import COMPONENT, PairScorer, QueryPassage, probability

if TYPE_CHECKING:
    from .network import RerankerNetwork
    from .scoring import TokenVectors


@dataclass(frozen=True, slots=True)
class _Loaded:
    network: "RerankerNetwork"
    reader: PairReader
    pad_id: int
    temperature: float
    kept: "TokenVectors"


class LateInteraction(WeightFileModel[_Loaded], PairScorer[PairTokens]):
    """Scores batches of pairs token by token; safe to call from several threads, which take turns.

    What was computed for a passage is kept for the next query, as far as `scoring.REMEMBERED_TOKENS` reaches.

    Args:
        weights: The weight file (`weights.save_weights`).
        cache: Where prepared models are kept.
        device: `cpu` or `cuda`.
        threads: CPU threads in the whole process; None leaves torch as it is.
    """

    component = COMPONENT

    @override
    def prepare(self, pairs: Sequence[QueryPassage]) -> list[PairTokens]:
        reader = self.parts().reader
        by_query: dict[str, list[int]] = {}
        for number, (query, _) in enumerate(pairs):
            by_query.setdefault(query, []).append(number)
        read: dict[int, PairTokens] = {}
        for query, numbers in by_query.items():
            read.update(zip(numbers, reader.read(query, [pairs[number][1] for number in numbers]), strict=True))
        return [read[number] for number in range(len(pairs))]

    @override
    def forward(self, prepared: Sequence[PairTokens]) -> list[float]:
        from .scoring import score_all

        loaded = self.parts()
        with self._lock:
            logits = score_all(loaded.network, prepared, pad_id=loaded.pad_id, kept=loaded.kept)
        return [probability(logit / loaded.temperature) for logit in logits]

    @override
    def _load(self) -> _Loaded:
        from tokenizers import Tokenizer

        from .network import RerankerNetwork
        from .scoring import TokenVectors
        from .weights import read_settings

        settings = read_settings(self._weights)
        network, body = self._load_network(lambda body: RerankerNetwork(body, settings.shape), body=settings.body)
        tokenizer = Tokenizer.from_file(str(body / "tokenizer.json"))  # whole texts: too slow with the compact one
        return _Loaded(network, PairReader(tokenizer), pad_id_of(tokenizer), settings.temperature, TokenVectors())
