"""The tagger that ships: the trained network, and the Tagger port over it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from memory.ports.language import Priority, Tagger
from memory.values.mentions import EntitySubtype, TaggedSpan

from ..batching.batched_model import BatchedModel
from ..batching.queue import BatchLimits
from ..body.trained_network import TrainedNetwork

if TYPE_CHECKING:
    from .features import Window, WindowReader
    from .network import TaggerNetwork


class BatchedTagger(Tagger):
    """A trained tagger with a batcher in front: concurrent callers share batches.

    Args:
        tagger: Its weights are read here; see `BatchedModel` for weights that cannot be read.
        limits: Bounds of a batch and of the queue; by default those for a CPU.
    """

    def __init__(self, tagger: "TrainedTagger", *, limits: BatchLimits | None = None) -> None:
        self.model = BatchedModel(tagger.component, tagger, warm_up="王小明 works in 台北。", limits=limits)

    @override
    async def tag(
        self, texts: Sequence[str], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[tuple[TaggedSpan, ...]]:
        return [tuple(spans) for spans in await self.model.submit(texts, priority)]


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text in windows; a text without any unit has none."""

    windows: tuple["Window", ...]

    @property
    def token_count(self) -> int:
        """The number of tokens that the network reads."""
        return sum(window.token_count for window in self.windows)


@dataclass(frozen=True, slots=True)
class _Parts:
    network: "TaggerNetwork"
    reader: "WindowReader"
    pad_id: int
    thresholds: Mapping[EntitySubtype, float]


class TrainedTagger(TrainedNetwork[_Parts]):
    """Tags batches of texts; safe to call from several threads, which take turns.

    The weights are read at the first call. The arguments are those of `TrainedNetwork`.
    """

    component = "tagger"

    def prepare(self, texts: Sequence[str]) -> list[PreparedText]:
        """Tokenises texts in order.

        Raises:
            ModelUnavailable: The weight file or the body is missing or broken.
        """
        reader = self.parts().reader
        return [PreparedText(tuple(reader.read(text))) for text in texts]

    def forward(self, prepared: Sequence[PreparedText]) -> list[list[TaggedSpan]]:
        """The names of each prepared text, in text order and without overlaps.

        Raises:
            ModelUnavailable: The weight file or the body is missing or broken.
        """
        from .decoding import decode_names
        from .inference import tag_windows

        parts = self.parts()
        with self._lock:
            return tag_windows(
                parts.network,
                [text.windows for text in prepared],
                lambda scores, window: decode_names(scores, window, parts.thresholds),
                pad_id=parts.pad_id,
            )

    def tag(self, texts: Sequence[str]) -> list[list[TaggedSpan]]:
        """`prepare` and `forward` in one call."""
        return self.forward(self.prepare(texts))

    @override
    def _load(self) -> _Parts:
        from ..assets.compact_vocabulary import open_vocabulary
        from ..assets.weight_files import read_settings
        from ..body.edit_units import EditUnitTokenizer
        from .features import WindowReader
        from .network import TaggerNetwork, TaggerSettings

        settings = read_settings(self._weights, TaggerSettings)
        network, body = self._load_network(lambda body: TaggerNetwork(body, settings.shape), body=settings.body)
        tokenizer = EditUnitTokenizer(open_vocabulary(body, self._cache), simplified=True)
        return _Parts(network, WindowReader(tokenizer), tokenizer.pad_id, settings.thresholds)
