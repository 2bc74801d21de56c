"""Networks of the answer reader: on the reader's body, from a checkpoint of training, or from the file that ships."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import override

from memory.ports.models.answer_reading import AnswerReading, AnswerReadRequest
from models.answers.features import AnswerFeatureReader, Text
from models.answers.inference import find_answers
from models.answers.network import AnswerNetwork, AnswerShape
from models.answers.reader import TrainedAnswerReader, reading_of
from models.answers.settings import AnswerSettings
from models.assets.catalog import DEFAULT_MODEL
from models.assets.compact_vocabulary import open_vocabulary
from models.assets.weight_files import BODY, add_weights
from models.body.edit_units import EditUnitTokenizer

from ..shared.body import trainable_body
from ..shared.checkpoints import load_average, read_checkpoint


@dataclass(frozen=True, slots=True)
class LoadedAnswerReader:
    """A network with its tokenizer and settings.

    Attributes:
        network: The network.
        reader: Builds features.
        pad_id: Token id of padding.
        settings: Those of the file; for other networks the defaults, with which nothing is calibrated.
    """

    network: AnswerNetwork
    reader: AnswerFeatureReader
    pad_id: int
    settings: AnswerSettings

    def read(self, requests: Sequence[AnswerReadRequest]) -> list[AnswerReading]:
        """Reads questions as the service does."""
        features = [self.reader.read(request) for request in requests]
        found = find_answers(self.network, features, pad_id=self.pad_id)
        return [reading_of(answer, self.settings) for answer in found]


def build(cache: Path, *, shape: AnswerShape | None = None, attention: str = "sdpa") -> LoadedAnswerReader:
    """An untrained network on the prepared body.

    Args:
        cache: The folder of prepared models.
        shape: Sizes of the network; by default those that ship.
        attention: Attention implementation, see `load_body`.

    Raises:
        ModelUnavailable: The body cannot be prepared.
    """
    body, folder = trainable_body(cache, attention=attention)
    tokenizer = EditUnitTokenizer(open_vocabulary(folder, cache), simplified=True)
    shape = shape or AnswerShape()
    settings = AnswerSettings(shape=shape, body=DEFAULT_MODEL)
    return LoadedAnswerReader(AnswerNetwork(body, shape), RememberingReader(tokenizer), tokenizer.pad_id, settings)


class RememberingReader(AnswerFeatureReader):
    """Builds features and keeps the tokens of every text: an epoch reads each line many times."""

    def __init__(self, tokenizer: EditUnitTokenizer) -> None:
        super().__init__(tokenizer)
        self._texts: dict[str, Text] = {}

    @override
    def tokens_of(self, text: str) -> Text:
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = super().tokens_of(text)
        return known


def take_body(network: AnswerNetwork, reader_weights: Path) -> None:
    """Puts the body of a reader's weight file into an untrained network, with its gates for words.

    Raises:
        ModelUnavailable: The file is not of a reader on the same body.
    """
    names = (BODY, "words.")
    taken = [named for named in network.named_parameters() if named[0].startswith(names)]
    add_weights(reader_weights, taken, component="reader")


def take_all(network: AnswerNetwork, weights: Path) -> None:
    """Puts an answer reader's weight file into an untrained network of the same shape.

    Raises:
        ModelUnavailable: The file is not of an answer reader on the same body.
    """
    add_weights(weights, list(network.named_parameters()), component="answers")


def load_checkpoint(path: Path, cache: Path, *, attention: str = "sdpa") -> LoadedAnswerReader:
    """The averaged weights of a checkpoint."""
    state = read_checkpoint(path)
    loaded = build(cache, shape=AnswerShape.model_validate(state["shape"]), attention=attention)
    load_average(loaded.network, state)
    loaded.network.eval()
    return loaded


def load_shipped(path: Path, cache: Path, device: str = "cpu") -> LoadedAnswerReader:
    """The weights that ship, in the precision in which they are served."""
    parts = TrainedAnswerReader(path, cache, device=device).parts()
    return LoadedAnswerReader(parts.network, parts.reader, parts.pad_id, parts.settings)
