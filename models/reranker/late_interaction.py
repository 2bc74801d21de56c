"""Scores pairs with our own weights on the e5 body: what a deployment holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import override

from ..model_facts import ModelFacts
from ..once import Once
from ..prepared_folder import sha256_of
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


class LateInteraction(PairScorer[PairTokens]):
    """Scores batches of pairs token by token; safe to call from several threads, which take turns.

    What was computed for a passage is kept for the next query, as far as `scoring.REMEMBERED_TOKENS` reaches.

    Args:
        weights: The weight file (`weights.save_weights`).
        cache: Where prepared models are kept.
        device: `cpu` or `cuda`.
        threads: CPU threads in the whole process; None leaves torch as it is.
    """

    def __init__(self, weights: Path, cache: Path, *, device: str = "cpu", threads: int | None = None) -> None:
        super().__init__()
        self._weights = weights
        self._cache = cache
        self._device = device
        self._threads = threads
        self._ready = Once(self._load)

    @override
    def load(self) -> ModelFacts:
        from ..serving.weights import network_dtype

        loaded = self._ready()
        return ModelFacts(checksum=sha256_of(self._weights), dtype=network_dtype(loaded.network))

    @override
    def prepare(self, pairs: Sequence[QueryPassage]) -> list[PairTokens]:
        reader = self._ready().reader
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

        loaded = self._ready()
        with self._lock:
            logits = score_all(loaded.network, prepared, pad_id=loaded.pad_id, kept=loaded.kept)
        return [probability(logit / loaded.temperature) for logit in logits]

    def _load(self) -> _Loaded:
        import torch
        from tokenizers import Tokenizer

        from ..serving.weights import load_network
        from .network import RerankerNetwork
        from .scoring import TokenVectors
        from .weights import read_settings

        if self._threads is not None:
            torch.set_num_threads(self._threads)
        settings = read_settings(self._weights)
        network, body = load_network(
            self._weights,
            lambda body: RerankerNetwork(body, settings.shape),
            body=settings.body,
            cache=self._cache,
            device=self._device,
            component=COMPONENT,
        )
        tokenizer = Tokenizer.from_file(str(body / "tokenizer.json"))  # whole texts: too slow with the compact one
        return _Loaded(network, PairReader(tokenizer), pad_id_of(tokenizer), settings.temperature, TokenVectors())
