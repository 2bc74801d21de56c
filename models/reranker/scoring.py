"""Runs a network over pairs and keeps the token vectors of the texts that it read last.

This module imports torch: it is imported where a network is built, never with its package.
"""

from collections.abc import Sequence

import torch
from cachetools import LRUCache
from torch import Tensor

from ..batching.engine import padded_batches
from ..body.network_parts import evaluating
from .network import RerankerNetwork, asked_tokens, pad
from .pairs import PairTokens

KEPT_TOKENS = 65_536
"""Tokens whose vectors are kept: 48 MiB in 16 bits, about 800 chat messages with the ones before them."""

_BATCH_TOKENS = 4096


def token_vectors(max_tokens: int = KEPT_TOKENS) -> "LRUCache[bytes, Tensor]":
    """A cache of the vectors of texts, shape (tokens, hidden) in 16 bits each; not thread-safe.

    Args:
        max_tokens: Tokens of all texts; a text with more is never kept.

    Returns:
        Keys are the token ids of a text as bytes.
    """
    return LRUCache(max_tokens, getsizeof=len)


def score_all(
    network: RerankerNetwork,
    pairs: Sequence[PairTokens],
    *,
    pad_id: int,
    cache: "LRUCache[bytes, Tensor] | None" = None,
) -> list[float]:
    """Logits of pairs in order; each distinct text is read once, in batches of like length.

    Args:
        network: In any mode; it runs in evaluation mode.
        pairs: Any number.
        pad_id: Token id of padding.
        cache: From `token_vectors`: texts in it are not read again.
    """
    with evaluating(network):
        vectors = _vectors(network, pairs, pad_id, cache)
        return [_score(network, pair, vectors) for pair in pairs]


def _vectors(
    network: RerankerNetwork, pairs: Sequence[PairTokens], pad_id: int, cache: "LRUCache[bytes, Tensor] | None"
) -> dict[bytes, Tensor]:
    texts = {text.tobytes(): text for pair in pairs for text in (pair.query, pair.passage)}
    vectors = {key: cached for key in texts if cache is not None and (cached := cache.get(key)) is not None}
    device = next(network.parameters()).device
    unread = [text for key, text in texts.items() if key not in vectors]
    for batch in padded_batches(unread, len, max_tokens=_BATCH_TOKENS):
        tensors = {name: tensor.to(device) for name, tensor in pad(batch, pad_id=pad_id).items()}
        for text, states in zip(batch, network.encode(tensors), strict=True):
            key = text.tobytes()
            vectors[key] = states[: len(text)].half().clone()  # a view would keep the whole batch
            if cache is not None and len(text) <= cache.maxsize:
                cache[key] = vectors[key]
    return vectors


def _score(network: RerankerNetwork, pair: PairTokens, vectors: dict[bytes, Tensor]) -> float:
    query, passage = (vectors[text.tobytes()].float() for text in (pair.query, pair.passage))  # (tokens, hidden)
    asked = torch.from_numpy(asked_tokens(pair.query, pair.asked_from)).to(query.device)
    mask = torch.ones(1, 1, len(passage), device=query.device)
    return network.match(query[None], asked[None], passage[None, None], mask).item()
