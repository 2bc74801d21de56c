"""Tags texts with the shipped weights: what a deployment holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from memory.values.mentions import EntitySubtype

from ..body.weight_file_model import WeightFileModel

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


class Tagger(WeightFileModel[_Loaded]):
    """Tags batches of texts; safe to call from several threads, which take turns.

    The weights are read at the first call.

    Args:
        weights: The weight file (`weights.save_weights`).
        cache: Where prepared models are kept.
        device: `cpu` or `cuda`.
        threads: CPU threads in the whole process; None leaves torch as it is.
    """

    component = "tagger"

    def prepare(self, texts: Sequence[str]) -> list[PreparedText]:
        """Tokenises texts in order; several threads may do so at a time.

        Raises:
            ModelUnavailable: See `load`.
        """
        reader = self.parts().reader
        return [PreparedText(tuple(reader.read(text))) for text in texts]

    def forward(self, prepared: Sequence[PreparedText]) -> list[list["TaggedSpan"]]:
        """The names of each prepared text, in text order; they do not overlap. Texts of like length share a batch.

        Raises:
            ModelUnavailable: See `load`.
        """
        from .decoding import decode_names
        from .inference import tag_windows

        loaded = self.parts()
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

    @override
    def _load(self) -> _Loaded:
        from ..assets.compact_vocabulary import open_vocabulary
        from ..body.edit_units import UnitTokenizer
        from .features import WindowReader
        from .network import TaggerNetwork
        from .weights import read_settings

        settings = read_settings(self._weights)
        network, body = self._load_network(lambda body: TaggerNetwork(body, settings.shape), body=settings.body)
        tokenizer = UnitTokenizer(open_vocabulary(body, self._cache), simplified=True)
        return _Loaded(network, WindowReader(tokenizer), tokenizer.pad_id, settings.thresholds)
