"""Networks of the reader: untrained, from a checkpoint of training, or from the file that ships."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from memory.values.predicates import PREDICATES
from memory.values.understanding.mentions import TaggedSpan
from memory.values.understanding.readings import Intent, Qualifier, Reading, ReadRequest
from models.assets.catalog import DEFAULT_MODEL
from models.assets.compact_vocabulary import open_vocabulary
from models.assets.weight_files import add_weights
from models.batching.engine import padded_batches
from models.body.edit_units import EditUnitTokenizer
from models.body.network_parts import evaluating
from models.reader.decisions import ReaderSettings
from models.reader.edits_head import EditsShape
from models.reader.facts_head import FactsShape
from models.reader.features import FeatureReader, Features
from models.reader.inference import Found, collate, find_all
from models.reader.labels import LABELS, subtype_of
from models.reader.name_decoding import best_candidates
from models.reader.names_head import NamesShape
from models.reader.network import NO_SOURCE, ReaderNetwork, ReaderShape
from models.reader.reader import TrainedReader, reading_of

from ..shared.body import trainable_body
from ..shared.checkpoints import load_average, read_checkpoint

_BATCH_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class LoadedReader:
    """A network with its tokenizer and settings.

    Attributes:
        network: The network.
        reader: Builds features.
        pad_id: Token id of padding.
        settings: Those of the file; for other networks the defaults, with which nothing is calibrated.
    """

    network: ReaderNetwork
    reader: FeatureReader
    pad_id: int
    settings: ReaderSettings

    def find(
        self, requests: Sequence[ReadRequest], *, source: str | None = None, settings: ReaderSettings | None = None
    ) -> list[list[Found]]:
        """What the network finds in each window of each message."""
        windows = [self.reader.read(request) for request in requests]
        number = self.settings.sources.index(source) + 1 if source in self.settings.sources else NO_SOURCE
        features = [window for of_message in windows for window in of_message]
        found = iter(find_all(self.network, features, settings or self.settings, pad_id=self.pad_id, source=number))
        return [[next(found) for _ in of_message] for of_message in windows]

    def states(self, windows: Sequence[Features], *, source: int = NO_SOURCE) -> tuple[Tensor, dict[str, Tensor]]:
        """The states of windows in one batch, and the batch (`ReaderNetwork.states`, `collate`)."""
        batch = collate(windows, [source] * len(windows), pad_id=self.pad_id, span=self.network.shape.edits.span)
        return self.network.states(batch), batch

    def read(self, requests: Sequence[ReadRequest]) -> list[Reading]:
        """Reads messages as the service does."""
        return [reading_of(found, self.settings) for found in self.find(requests)]


def reader_shape(words: int, sources: int) -> ReaderShape:
    """The shape of the network that ships, for a number of function words and of data sets of names."""
    return ReaderShape(
        names=NamesShape(labels=len(LABELS)),
        edits=EditsShape(words=words),
        facts=FactsShape(predicates=len(PREDICATES), qualifiers=len(Qualifier)),
        intents=len(Intent),
        sources=sources + 1,
    )


def build(
    cache: Path,
    words: Sequence[str],
    sources: Sequence[str],
    *,
    shape: ReaderShape | None = None,
    attention: str = "sdpa",
) -> LoadedReader:
    """An untrained network on the prepared body; Traditional characters are read as Simplified ones, as in service.

    Args:
        cache: The folder of prepared models.
        words: Function words.
        sources: Names of the data sets of names, numbered from 1.
        shape: Sizes of the heads; by default those that ship.
        attention: Attention implementation, see `load_body`.

    Raises:
        ModelUnavailable: The body cannot be prepared.
    """
    body, folder = trainable_body(cache, attention=attention)
    tokenizer = EditUnitTokenizer(open_vocabulary(folder, cache), simplified=True)
    shape = shape or reader_shape(len(words), len(sources))
    settings = ReaderSettings(shape=shape, words=tuple(words), sources=tuple(sources), body=DEFAULT_MODEL)
    return LoadedReader(ReaderNetwork(body, shape), FeatureReader(tokenizer, words), tokenizer.pad_id, settings)


def take_all(network: ReaderNetwork, weights: Path) -> None:
    """Puts a reader's weight file into an untrained network of the same shape.

    Raises:
        ModelUnavailable: The file is not of a reader on the same body.
    """
    add_weights(weights, list(network.named_parameters()), component="reader")


def load_checkpoint(path: Path, cache: Path, *, attention: str = "sdpa") -> LoadedReader:
    """The averaged weights of a checkpoint, with `words.json` and `sources.json` beside it."""
    words, sources = (
        json.loads((path.parent / name).read_text(encoding="utf-8")) for name in ("words.json", "sources.json")
    )
    state = read_checkpoint(path)
    reader = build(cache, words, sources, shape=ReaderShape.model_validate(state["shape"]), attention=attention)
    load_average(reader.network, state)
    reader.network.eval()
    return reader


def load_shipped(path: Path, cache: Path, device: str = "cpu") -> LoadedReader:
    """The weights that ship, in the precision in which they are served."""
    parts = TrainedReader(path, cache, device=device).parts()
    return LoadedReader(parts.network, parts.reader, parts.pad_id, parts.settings)


def name_labels(
    loaded: LoadedReader, texts: Sequence[str], labels: Sequence[str], *, source: str
) -> list[list[TaggedSpan]]:
    """The spans of texts under the labels of a source's own task, by its guidelines."""
    numbers = [LABELS.index(label) for label in labels]
    windows = [(at, window) for at, text in enumerate(texts) for window in loaded.reader.read(ReadRequest(text=text))]
    spans: list[list[TaggedSpan]] = [[] for _ in texts]
    told = loaded.settings.sources.index(source) + 1
    with evaluating(loaded.network):
        for batch in padded_batches(windows, lambda item: item[1].token_count, max_tokens=_BATCH_TOKENS):
            states, tensors = loaded.states([window for _, window in batch], source=told)
            scores = loaded.network.names(states, tensors["unit_tokens"], tensors["unit_counts"])
            for number, (at, window) in enumerate(batch):
                spans[at] += _decoded(scores[number, : len(window.units)], window, labels, numbers)
    return [sorted(found, key=lambda name: name.start) for found in spans]


def _decoded(scores: Tensor, window: Features, labels: Sequence[str], numbers: Sequence[int]) -> list[TaggedSpan]:
    least = torch.full((len(numbers),), 0.5)
    candidates = best_candidates(scores[..., list(numbers)].sigmoid(), least)
    return [
        candidate.span(window, labels[candidate.label], subtype_of(labels[candidate.label])) for candidate in candidates
    ]
