"""Networks of the tagger from files: a checkpoint of training, or the file that ships."""

import json
from dataclasses import dataclass
from pathlib import Path

from memory.values.mentions import EntitySubtype
from memory.values.tagging import TaggedSpan
from models.assets.weight_files import add_weights, read_settings
from models.tagger.decoding import decode_labels, decode_names
from models.tagger.features import WindowReader
from models.tagger.inference import tag_all
from models.tagger.labels import LABELS
from models.tagger.network import NO_SOURCE, TaggerNetwork, TaggerSettings, TaggerShape

from ..shared.checkpoints import load_average, read_checkpoint
from .train import HALVES, build


@dataclass(frozen=True, slots=True)
class LoadedTagger:
    """A network and what reads text for it.

    Attributes:
        network: In fp32.
        reader: Builds windows.
        pad_id: Token id of padding.
        sources: Numbered from 1.
        thresholds: Of the file, or a half.
    """

    network: TaggerNetwork
    reader: WindowReader
    pad_id: int
    sources: tuple[str, ...]
    thresholds: dict[EntitySubtype, float]

    def names(
        self, texts: list[str], *, source: str | None = None, thresholds: dict[EntitySubtype, float] | None = None
    ) -> list[list[TaggedSpan]]:
        """Names by subtype; without a source as in a chat."""
        least = thresholds or self.thresholds
        return tag_all(
            self.network,
            self.reader,
            texts,
            lambda scores, window: decode_names(scores, window, least),
            pad_id=self.pad_id,
            source=self.number(source),
        )

    def labels(self, texts: list[str], labels: tuple[str, ...], *, source: str) -> list[list[TaggedSpan]]:
        """Spans under the labels of a source's own task."""
        numbers = [LABELS.index(label) for label in labels]
        return tag_all(
            self.network,
            self.reader,
            texts,
            lambda scores, window: decode_labels(scores, window, numbers),
            pad_id=self.pad_id,
            source=self.number(source),
        )

    def number(self, source: str | None) -> int:
        """Of a source; that of no source where it was not trained on."""
        return self.sources.index(source) + 1 if source in self.sources else NO_SOURCE


def load_tagger(path: Path, cache: Path) -> LoadedTagger:
    """From `tagger.safetensors`, or from `checkpoint.pt` with `sources.json` beside it (averaged weights).

    Raises:
        ModelUnavailable: The body cannot be prepared, or the weight file is broken.
    """
    if path.suffix == ".safetensors":
        settings = read_settings(path, TaggerSettings)
        network, reader, tokenizer = build(cache, settings.shape, simplified=True)
        add_weights(path, network.named_parameters(), component=settings.component)
        return LoadedTagger(network.eval(), reader, tokenizer.pad_id, settings.sources, dict(settings.thresholds))
    sources = tuple(json.loads((path.parent / "sources.json").read_text(encoding="utf-8")))
    state = read_checkpoint(path)
    network, reader, tokenizer = build(cache, TaggerShape(**state["shape"]), simplified=True)
    load_average(network, state)
    return LoadedTagger(network.eval(), reader, tokenizer.pad_id, sources, dict(HALVES))
