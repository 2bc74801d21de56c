"""Tags texts with the shipped weights: what a deployment holds."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memory.extraction.mentions import EntitySubtype

from ..model_facts import ModelFacts
from ..once import Once
from ..prepared_folder import sha256_of

if TYPE_CHECKING:
    from .decoding import TaggedSpan
    from .features import Window, WindowReader
    from .network import TaggerNetwork


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text as the network reads it: in windows, none where there is nothing in it."""

    windows: tuple["Window", ...]

    @property
    def token_count(self) -> int:
        """How many tokens the network will read."""
        return sum(window.token_count for window in self.windows)


@dataclass(frozen=True, slots=True)
class _Loaded:
    network: "TaggerNetwork"
    reader: "WindowReader"
    pad_id: int
    thresholds: Mapping[EntitySubtype, float]


class Tagger:
    """Tags batches of texts; safe to call from several threads, which take turns.

    The weights are read at the first call.

    Args:
        weights: The weight file (`weights.save_weights`).
        cache: Where prepared models are kept.
        device: `cpu` or `cuda`.
        threads: CPU threads in the whole process; None leaves torch as it is.
    """

    def __init__(self, weights: Path, cache: Path, *, device: str = "cpu", threads: int | None = None) -> None:
        self._weights = weights
        self._cache = cache
        self._device = device
        self._threads = threads
        self._lock = threading.Lock()
        self._ready = Once(self._load)

    def load(self) -> ModelFacts:
        """Reads the weights, where that was not done yet, and says what they are.

        Raises:
            ModelUnavailable: The weight file or the body is missing or broken.
        """
        from ..serving.weights import network_dtype

        return ModelFacts(checksum=sha256_of(self._weights), dtype=network_dtype(self._ready().network))

    def prepare(self, texts: Sequence[str]) -> list[PreparedText]:
        """Tokenises texts in order; several threads may do so at a time.

        Raises:
            ModelUnavailable: See `load`.
        """
        reader = self._ready().reader
        return [PreparedText(tuple(reader.read(text))) for text in texts]

    def forward(self, prepared: Sequence[PreparedText]) -> list[list["TaggedSpan"]]:
        """The names of each prepared text, in text order; they do not overlap. Texts of like length share a batch.

        Raises:
            ModelUnavailable: See `load`.
        """
        from .decoding import decode_names
        from .inference import tag_windows

        loaded = self._ready()
        with self._lock:
            return tag_windows(
                loaded.network,
                [one.windows for one in prepared],
                lambda scores, window: decode_names(scores, window, loaded.thresholds),
                pad_id=loaded.pad_id,
            )

    def tag(self, texts: Sequence[str]) -> list[list["TaggedSpan"]]:
        """Both steps at once.

        Raises:
            ModelUnavailable: See `load`.
        """
        return self.forward(self.prepare(texts))

    def _load(self) -> "_Loaded":
        import torch

        from ..compact_vocabulary import open_vocabulary
        from ..serving.weights import load_network
        from ..units import UnitTokenizer
        from .features import WindowReader
        from .network import TaggerNetwork
        from .weights import read_settings

        if self._threads is not None:
            torch.set_num_threads(self._threads)
        settings = read_settings(self._weights)
        network, body = load_network(
            self._weights,
            lambda body: TaggerNetwork(body, settings.shape),
            body=settings.body,
            cache=self._cache,
            device=self._device,
            component="tagger",
        )
        tokenizer = UnitTokenizer(open_vocabulary(body, self._cache))
        return _Loaded(network, WindowReader(tokenizer), tokenizer.pad_id, settings.thresholds)
