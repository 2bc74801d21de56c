"""Which engine runs a prepared model."""

from pathlib import Path

from ..assets.catalog import ModelEntry
from .bert_engine import BertEngine
from .engine import EncoderEngine
from .sentence_layout import read_layout
from .sentence_transformer_engine import SentenceTransformerEngine


def open_engine(entry: ModelEntry, folder: Path, *, device: str = "cpu", threads: int | None = None) -> EncoderEngine:
    """Loads a prepared model with the fastest engine that can run it.

    Args:
        entry: The catalogue entry.
        folder: Its prepared folder (`prepare.prepare_model`).
        device: `cpu`, `cuda` or `cuda:N`.
        threads: CPU threads for one forward pass, in the whole process; None leaves torch as it is.

    Raises:
        ModelUnavailable: The folder cannot be loaded, or is not what the entry says.
    """
    layout = read_layout(folder)
    if layout is None:
        return SentenceTransformerEngine(entry, folder, device=device, threads=threads)
    return BertEngine(entry, folder, layout, device=device, threads=threads)
