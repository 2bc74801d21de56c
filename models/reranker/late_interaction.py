"""The reranker that ships: late interaction on the e5 body."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import override

from memory.values.text_caches import clear_with_texts

from ..body.trained_network import TrainedNetwork
from .pairs import PairReader, PairTokens, pad_id_of
from .scorer import COMPONENT, PairScorer, QueryPassage, probability

if TYPE_CHECKING:
    from cachetools import LRUCache
    from torch import Tensor

    from .network import RerankerNetwork


@dataclass(frozen=True, slots=True)
class _Parts:
    network: "RerankerNetwork"
    reader: PairReader
    pad_id: int
    temperature: float
    cache: "LRUCache[bytes, Tensor]"


class LateInteraction(TrainedNetwork[_Parts], PairScorer[PairTokens]):
    """Scores batches of pairs token by token; safe to call from several threads, which take turns.

    The token vectors of passages are kept for the next query, up to `scoring.KEPT_TOKENS`. The arguments are those of
    `TrainedNetwork`.
    """

    component = COMPONENT

    def __init__(self, weights: Path, cache: Path, *, device: str = "cpu", threads: int | None = None) -> None:
        super().__init__(weights, cache, device=device, threads=threads)
        clear_with_texts(self._forget)

    @override
    def prepare(self, pairs: Sequence[QueryPassage]) -> list[PairTokens]:
        reader = self.parts().reader
        by_query: dict[str, list[int]] = {}
        for number, (query, _) in enumerate(pairs):
            by_query.setdefault(query, []).append(number)
        prepared: dict[int, PairTokens] = {}
        for query, numbers in by_query.items():
            prepared.update(zip(numbers, reader.read(query, [pairs[number][1] for number in numbers]), strict=True))
        return [prepared[number] for number in range(len(pairs))]

    @override
    def forward(self, prepared: Sequence[PairTokens]) -> list[float]:
        from .scoring import score_all

        parts = self.parts()
        with self._lock:
            logits = score_all(parts.network, prepared, pad_id=parts.pad_id, cache=parts.cache)
        return [probability(logit / parts.temperature) for logit in logits]

    def _forget(self) -> None:
        if (parts := self._parts.made) is not None:
            with self._lock:
                parts.cache.clear()

    @override
    def _load(self) -> _Parts:
        from ..assets.piece_tokenizer import open_tokenizer
        from ..assets.weight_files import read_settings
        from .network import RerankerNetwork, RerankerSettings
        from .scoring import token_vectors

        settings = read_settings(self._weights, RerankerSettings)
        network, body = self._load_network(lambda body: RerankerNetwork(body, settings.shape), body=settings.body)
        tokenizer = open_tokenizer(body)
        return _Parts(network, PairReader(tokenizer), pad_id_of(tokenizer), settings.temperature, token_vectors())
