"""Networks of the reranker: untrained, or from a checkpoint of training."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from models.reranker.network import RerankerNetwork, RerankerShape
from models.reranker.pairs import PairReader, pad_id_of
from models.reranker.scoring import score_all

from ..shared.body import trainable_body
from ..shared.checkpoints import load_average, read_checkpoint

UNTRAINED = Path("untrained")
"""Given in place of a checkpoint: the network before any training."""


@dataclass(frozen=True, slots=True)
class LoadedReranker:
    """A network in fp32 with its tokenizer.

    Attributes:
        network: On the prepared body.
        reader: Tokenises pairs.
        pad_id: Token id of padding.
    """

    network: RerankerNetwork
    reader: PairReader
    pad_id: int

    def logits(self, query: str, passages: Sequence[str]) -> list[float]:
        """The score of each passage."""
        return score_all(self.network, self.reader.read(query, passages), pad_id=self.pad_id)


def build(cache: Path, shape: RerankerShape, *, attention: str = "sdpa") -> LoadedReranker:
    """An untrained network on the prepared body.

    Args:
        cache: The folder of prepared models.
        shape: Shape of the network.
        attention: Attention implementation, see `load_body`.

    Raises:
        ModelUnavailable: The body cannot be prepared.
    """
    body, folder = trainable_body(cache, attention=attention)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return LoadedReranker(RerankerNetwork(body, shape), PairReader(tokenizer), pad_id_of(tokenizer))


def load_checkpoint(path: Path, cache: Path, *, layers: int = RerankerShape().layers) -> LoadedReranker:
    """The averaged weights of a checkpoint.

    Args:
        path: Path of the checkpoint, or `UNTRAINED`.
        cache: The folder of prepared models.
        layers: Layers of an untrained network.
    """
    if path == UNTRAINED:
        return build(cache, RerankerShape(layers=layers))
    state = read_checkpoint(path)
    reranker = build(cache, RerankerShape(**state["shape"]))
    load_average(reranker.network, state)
    reranker.network.eval()
    return reranker
