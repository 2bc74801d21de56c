"""Networks of the tagger: untrained, from a checkpoint of training, or from the file that ships."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from memory.values.mentions import EntitySubtype, TaggedSpan
from models.assets.compact_vocabulary import open_vocabulary
from models.assets.weight_files import add_weights, read_settings
from models.body.edit_units import EditUnitTokenizer
from models.tagger.decoding import best_candidates, decode_names
from models.tagger.features import Window, WindowReader
from models.tagger.inference import Decoder, tag_windows
from models.tagger.labels import LABELS, SUBTYPES, subtype_of
from models.tagger.network import NO_SOURCE, TaggerNetwork, TaggerSettings, TaggerShape

from ..shared.body import trainable_body
from ..shared.checkpoints import load_average, read_checkpoint

HALVES = dict.fromkeys(SUBTYPES, 0.5)
"""Thresholds before any were chosen."""


@dataclass(frozen=True, slots=True)
class LoadedTagger:
    """A network with its tokenizer and settings.

    Attributes:
        network: In fp32.
        reader: Builds windows.
        pad_id: Token id of padding.
        sources: Names of the data sets, numbered from 1.
        thresholds: Least probability of each subtype.
    """

    network: TaggerNetwork
    reader: WindowReader
    pad_id: int
    sources: tuple[str, ...]
    thresholds: Mapping[EntitySubtype, float]

    def names(
        self,
        texts: Sequence[str],
        *,
        source: str | None = None,
        thresholds: Mapping[EntitySubtype, float] | None = None,
    ) -> list[list[TaggedSpan]]:
        """Names by subtype; without a source as in a chat."""
        decode = partial(decode_names, thresholds=thresholds or self.thresholds)
        return tag_all(self.network, self.reader, texts, decode, pad_id=self.pad_id, source=self.source_number(source))

    def labels(self, texts: Sequence[str], labels: Sequence[str], *, source: str) -> list[list[TaggedSpan]]:
        """Spans under the labels of a source's own task."""
        decode = partial(decode_labels, labels=[LABELS.index(label) for label in labels])
        return tag_all(self.network, self.reader, texts, decode, pad_id=self.pad_id, source=self.source_number(source))

    def source_number(self, source: str | None) -> int:
        """The number of a source; `NO_SOURCE` for one that was not trained on."""
        return self.sources.index(source) + 1 if source in self.sources else NO_SOURCE


def tag_all(
    network: TaggerNetwork,
    reader: WindowReader,
    texts: Sequence[str],
    decode: Decoder,
    *,
    pad_id: int,
    source: int = NO_SOURCE,
) -> list[list[TaggedSpan]]:
    """Like `tag_windows`, for texts that are not cut into windows yet."""
    return tag_windows(network, [reader.read(text) for text in texts], decode, pad_id=pad_id, source=source)


def decode_labels(scores: Tensor, window: Window, labels: Sequence[int]) -> list[TaggedSpan]:
    """The spans of a window under the labels of one source, in text order.

    Args:
        scores: Shape (units, span, labels), of that window.
        window: The window.
        labels: Numbers of the source's labels.
    """
    probabilities = scores[..., list(labels)].sigmoid()  # (units, span, labels of the source)
    least = torch.full((len(labels),), 0.5, device=scores.device)
    spans = []
    for candidate in best_candidates(probabilities, least):
        label = LABELS[labels[candidate.label]]
        spans.append(candidate.span(window, label, subtype_of(label)))
    return spans


def build(
    cache: Path, shape: TaggerShape, sources: Sequence[str], *, attention: str = "sdpa", simplified: bool = False
) -> LoadedTagger:
    """An untrained network on the prepared body.

    Args:
        cache: The folder of prepared models.
        shape: Shape of the head.
        sources: Names of the data sets, numbered from 1.
        attention: Attention implementation, see `load_body`.
        simplified: See `EditUnitTokenizer`. False in training, which reads both scripts, True for what ships.

    Raises:
        ModelUnavailable: The body cannot be prepared.
    """
    body, folder = trainable_body(cache, attention=attention)
    tokenizer = EditUnitTokenizer(open_vocabulary(folder, cache), simplified=simplified)
    return LoadedTagger(TaggerNetwork(body, shape), WindowReader(tokenizer), tokenizer.pad_id, tuple(sources), HALVES)


def load_tagger(path: Path, cache: Path) -> LoadedTagger:
    """From `tagger.safetensors`, or from `checkpoint.pt` with `sources.json` beside it (averaged weights).

    Raises:
        ModelUnavailable: The body cannot be prepared, or the weight file is broken.
    """
    if path.suffix == ".safetensors":
        settings = read_settings(path, TaggerSettings)
        tagger = build(cache, settings.shape, settings.sources, simplified=True)
        add_weights(path, tagger.network.named_parameters(), component=settings.component)
        thresholds = settings.thresholds
    else:
        state = read_checkpoint(path)
        sources = json.loads((path.parent / "sources.json").read_text(encoding="utf-8"))
        tagger = build(cache, TaggerShape(**state["shape"]), sources, simplified=True)
        load_average(tagger.network, state)
        thresholds = tagger.thresholds
    return LoadedTagger(tagger.network.eval(), tagger.reader, tagger.pad_id, tagger.sources, thresholds)
