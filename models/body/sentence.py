"""The embedding model for serving: a body, pooling and unit vectors, in bf16 if the gate passes.

This module imports torch: it is imported where a network is built, never with its package.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from ..assets.catalog import Pooling
from .body import WORDS, BodyShape, ServingBody, serving_state
from .cuda_graphs import Capture, CapturedBatches, TokenIds
from .gate import has_fast_bf16, passes_gate
from .unpadded import Layout, Unpadded


class SentenceNetwork(nn.Module):
    """A body with pooling.

    Args:
        body: Computes the states of tokens.
        pooling: How the states become one vector.
    """

    def __init__(self, body: ServingBody, pooling: Pooling) -> None:
        super().__init__()
        self.body = body
        self.pooling = pooling
        self._captured: CapturedBatches | None = None

    def capture_small_batches(self, capture: Capture | None = None) -> None:
        """Computes small batches with CUDA graphs, captured at the first batch of each shape (`cuda_graphs`).

        Args:
            capture: Captures a computation; None for a CUDA graph.
        """
        device = self.body.embeddings.word_embeddings.weight.device
        self._captured = CapturedBatches(
            lambda batch: self._vectors(batch.ids, batch.positions, batch), device, capture=capture
        )

    @override
    def forward(self, texts: Sequence[TokenIds]) -> Tensor:
        """Embeds texts in one pass.

        Args:
            texts: Token ids of each, shape (tokens,), the longest text first.

        Returns:
            Shape (texts, hidden), float32, rows of length 1.
        """
        if self._captured is not None and self._captured.takes(texts):
            return self._captured.run(texts)
        device = self.body.embeddings.word_embeddings.weight.device
        ids = torch.from_numpy(np.concatenate(texts)).to(device)  # (tokens,)
        positions = torch.from_numpy(np.concatenate([np.arange(len(ids)) for ids in texts])).to(device)
        return self._vectors(ids, positions, Unpadded([len(ids) for ids in texts], device))

    def _vectors(self, ids: Tensor, positions: Tensor, layout: Layout) -> Tensor:
        states = self.body.states(self.body.embeddings.word_embeddings(ids), positions, layout)  # (tokens, hidden)
        if self.pooling is Pooling.MEAN:
            pooled = layout.mean(states)
        else:
            pooled = states[layout.starts[:-1].clamp(max=layout.tokens - 1)]  # empty texts start after the last token
        return functional.normalize(pooled, dim=-1)


def load_sentence_network(
    folder: Path,
    pooling: Pooling,
    *,
    read: Callable[[str], TokenIds],
    device: str = "cpu",
    is_exact: bool = False,
) -> SentenceNetwork:
    """The network of a prepared folder, ready to compute.

    It computes in bf16 where the gate passes and the device is CUDA or a CPU with fast bf16, else in fp32; on CUDA
    small batches run as captured graphs (that path has not run on a GPU yet). The word embeddings stay mapped; on a CPU
    the layers are copied and packed for oneDNN.

    Args:
        folder: Contains `config.json` and `model.safetensors`.
        pooling: How token states become one vector.
        read: Tokenises the texts of the gate.
        device: `cpu`, `cuda` or `cuda:N`.
        is_exact: Compute in fp32 even where bf16 is fast.

    Raises:
        OSError, KeyError, RuntimeError, SafetensorError: The folder cannot be read, or its weights do not fit.
    """
    shape = BodyShape.of(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    tensors = load_file(folder / "model.safetensors")

    def build(dtype: torch.dtype) -> SentenceNetwork:
        with torch.device("meta"):
            body = ServingBody(shape)
        body.load_state_dict({**serving_state(tensors, shape, dtype), WORDS: tensors[WORDS].float()}, assign=True)
        body.requires_grad_(False)
        return SentenceNetwork(body.to(device), pooling).eval()

    network = build(torch.float32)
    if not is_exact and (torch.device(device).type != "cpu" or has_fast_bf16()):
        fast = build(torch.bfloat16)
        if passes_gate(lambda text: fast([read(text)]), lambda text: network([read(text)]), component="encoder"):
            network = fast
    if torch.device(device).type == "cpu":
        network.body.pack()
    elif network.body.dtype is torch.bfloat16:
        network.capture_small_batches()
    return network
