"""What the engines of prepared models share: a catalogue entry, the model's tokenizer and the length of its vectors."""

from collections.abc import Sequence
from pathlib import Path

from typing_extensions import override

from memory.ports.language import TextKind
from memory.values.errors import ModelUnavailable

from ..assets.catalog import ModelEntry
from .encoder import EncoderEngine
from .text_tokenizer import TextTokenizer, TokenizedText


class PreparedEngine(EncoderEngine):
    """An engine that is called what the catalogue calls its model, and reads texts with that model's tokenizer.

    Args:
        entry: The catalogue entry.
        folder: Its prepared folder, for errors.
        tokenizer: Of the model.
        dimension: Length of the vectors that the loaded weights give.

    Raises:
        ModelUnavailable: The entry has vectors of another length.
    """

    def __init__(self, entry: ModelEntry, folder: Path, *, tokenizer: TextTokenizer, dimension: int) -> None:
        if entry.dimension not in (None, dimension):
            raise ModelUnavailable(
                f"{folder} holds vectors of {dimension}, and {entry.id} has {entry.dimension}.", component="encoder"
            )
        self._entry = entry
        self._tokenizer = tokenizer
        self._dimension = dimension

    @property
    @override
    def model_id(self) -> str:
        return self._entry.id

    @property
    @override
    def dimension(self) -> int:
        return self._dimension

    @override
    def prepare(self, texts: Sequence[str], kind: TextKind) -> list[TokenizedText]:
        return self._tokenizer.prepare(texts, kind)
