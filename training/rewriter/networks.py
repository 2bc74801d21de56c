"""Networks of the rewriter: untrained, from a checkpoint of training, or from the file that ships."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models.assets.compact_vocabulary import open_vocabulary
from models.body.edit_units import EditUnitTokenizer
from models.rewriter.decisions import KeepRule
from models.rewriter.features import FeatureReader
from models.rewriter.inference import Rewritten, rewrite_all
from models.rewriter.network import RewriterNetwork, RewriterShape
from models.rewriter.rewriter import TrainedRewriter

from ..shared.body import trainable_body
from ..shared.checkpoints import load_average, read_checkpoint
from .data import RewritingRow


@dataclass(frozen=True, slots=True)
class LoadedRewriter:
    """A network with its tokenizer.

    Attributes:
        network: In fp32, but for the file that ships.
        reader: Builds features.
        pad_id: Token id of padding.
        rule: Keep rule of the file that ships; None for other networks.
    """

    network: RewriterNetwork
    reader: FeatureReader
    pad_id: int
    rule: KeepRule | None = None

    def rewrite(self, rows: Sequence[RewritingRow]) -> list[Rewritten]:
        """Rewrites the queries of rows."""
        features = [self.reader.read(row.turns, row.query) for row in rows]
        return rewrite_all(self.network, features, pad_id=self.pad_id)


def build(
    cache: Path, words: Sequence[str], shape: RewriterShape, *, attention: str = "sdpa", simplified: bool = False
) -> LoadedRewriter:
    """An untrained network on the prepared body.

    Args:
        cache: The folder of prepared models.
        words: Function words.
        shape: Shape of the head.
        attention: Attention implementation, see `load_body`.
        simplified: See `EditUnitTokenizer`. False in training, which reads both scripts, True for what ships.

    Raises:
        ModelUnavailable: The body cannot be prepared.
    """
    body, folder = trainable_body(cache, attention=attention)
    tokenizer = EditUnitTokenizer(open_vocabulary(folder, cache), simplified=simplified)
    return LoadedRewriter(RewriterNetwork(body, shape), FeatureReader(tokenizer, words), tokenizer.pad_id)


def load_checkpoint(path: Path, cache: Path) -> LoadedRewriter:
    """The averaged weights of a checkpoint, with `words.json` beside it."""
    words = json.loads((path.parent / "words.json").read_text(encoding="utf-8"))
    state = read_checkpoint(path)
    rewriter = build(cache, words, RewriterShape(**state["shape"]), simplified=True)
    load_average(rewriter.network, state)
    rewriter.network.eval()
    return rewriter


def load_shipped(path: Path, cache: Path, device: str) -> LoadedRewriter:
    """The weights that ship, in the precision in which they are served."""
    parts = TrainedRewriter(path, cache, device=device).parts()
    return LoadedRewriter(parts.network, parts.reader, parts.pad_id, parts.rule)
