"""Runs a network over pairs; what it made of a text is remembered.

This module needs torch: it is loaded by what builds a network, never by importing the package.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from .network import RerankerNetwork, asked_tokens, pad
from .pairs import PairTokens, Tokens

_BATCH_TOKENS = 4096
REMEMBERED_TOKENS = 65_536
"""Tokens whose vectors are kept: 48 MiB in 16 bits, about 800 chat messages with the ones before them."""


class TokenVectors:
    """The vectors of the texts that were read last; not for several threads at once.

    Args:
        most: Tokens that are kept.
    """

    def __init__(self, most: int = REMEMBERED_TOKENS) -> None:
        self._most = most
        self._kept: OrderedDict[bytes, Tensor] = OrderedDict()
        self._tokens = 0

    def get(self, text: Tokens) -> Tensor | None:
        """Shape (tokens, hidden), 16 bits; None where it was not read, or was forgotten."""
        key = text.tobytes()
        if (vectors := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
        return vectors

    def put(self, text: Tokens, vectors: Tensor) -> None:
        """Keeps the vectors of a text that is not kept; forgets what was not asked for longest."""
        self._kept[text.tobytes()] = vectors
        self._tokens += len(text)
        while self._tokens > self._most and len(self._kept) > 1:
            _, gone = self._kept.popitem(last=False)
            self._tokens -= len(gone)


def score_all(
    network: RerankerNetwork, pairs: Sequence[PairTokens], *, pad_id: int, kept: TokenVectors | None = None
) -> list[float]:
    """Logits of pairs in order; each distinct text is read once, in batches of like length.

    Args:
        network: Of any state; put into `eval` for it.
        pairs: Any number.
        pad_id: Token id of padding.
        kept: What was read before.
    """
    was_training = network.training
    network.eval()
    with torch.inference_mode():
        vectors = _vectors(network, pairs, pad_id, kept)
        logits = [_score(network, pair, vectors) for pair in pairs]
    network.train(was_training)
    return logits


def _vectors(
    network: RerankerNetwork, pairs: Sequence[PairTokens], pad_id: int, kept: TokenVectors | None
) -> dict[bytes, Tensor]:
    texts = {text.tobytes(): text for pair in pairs for text in (pair.query, pair.passage)}
    known = {
        key: vectors for key, text in texts.items() if kept is not None and (vectors := kept.get(text)) is not None
    }
    device = next(network.parameters()).device
    for batch in _batches([text for key, text in texts.items() if key not in known]):
        states = network.encode({name: one.to(device) for name, one in pad(batch, pad_id=pad_id).items()})
        for text, vectors in zip(batch, states, strict=True):
            mine = vectors[: len(text)].half().clone()  # of its own, or it would keep the batch
            known[text.tobytes()] = mine
            if kept is not None:
                kept.put(text, mine)
    return known


def _score(network: RerankerNetwork, pair: PairTokens, vectors: dict[bytes, Tensor]) -> float:
    query, passage = (vectors[text.tobytes()].float() for text in (pair.query, pair.passage))
    asked = torch.from_numpy(asked_tokens(pair.query, pair.asked_from)).to(query.device)
    mask = torch.ones(1, 1, len(passage), device=query.device)
    return network.match(query[None], asked[None], passage[None, None], mask).item()


def _batches(texts: Sequence[Tokens]) -> Iterator[list[Tokens]]:
    batch: list[Tokens] = []
    for text in sorted(texts, key=len):
        if batch and (len(batch) + 1) * len(text) > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch
