"""The engine for BERT-shaped embedding models: without padding, and in bf16 where the device is fast at it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from typing_extensions import override

from memory.ports.models.language import FloatMatrix, TextKind
from memory.values.errors import ModelUnavailable

from ..assets.catalog import ModelEntry
from ..batching.engine import memory_errors
from .engine import PreparedEngine
from .sentence_layout import SentenceLayout
from .text_tokenizer import TextTokenizer, TokenizedText

_PASS_TOKENS = 1024
"""Tokens of one pass on a CPU: enough to use the cores, few enough that the states stay in their caches."""

_ALONE_TOKENS = 256
"""A smaller pass takes one thread: its hundred matrix products are so short that waking a second thread costs more than
it saves, and on a busy core waiting for that thread makes the pass many times as long."""


class BertEngine(PreparedEngine):
    """A prepared model, loaded: a `ServingBody` with pooling and unit vectors in fp32.

    Args:
        entry: The catalogue entry.
        folder: Its prepared folder.
        layout: From `sentence_layout.read_layout`.
        device: `cpu`, `cuda` or `cuda:N`. CUDA computes in bf16, small batches as captured graphs; that path is written
            and has not run on a GPU yet.
        threads: CPU threads for one forward pass, in the whole process; None leaves torch as it is.
        is_exact: Compute in fp32 in any case; otherwise in bf16 where that is fast and the gate lets it (DESIGN §5).

    Raises:
        ModelUnavailable: The folder cannot be loaded, or is not what the entry says.
    """

    def __init__(
        self,
        entry: ModelEntry,
        folder: Path,
        layout: SentenceLayout,
        *,
        device: str = "cpu",
        threads: int | None = None,
        is_exact: bool = False,
    ) -> None:
        import torch
        from safetensors import SafetensorError

        from ..assets.piece_tokenizer import open_tokenizer
        from ..body.sentence import load_sentence_network

        if threads is not None:
            torch.set_num_threads(threads)
        self._torch = torch
        self._threads = torch.get_num_threads()
        self._pass_tokens = _PASS_TOKENS if device == "cpu" else None
        tokenizer = TextTokenizer(open_tokenizer(folder), entry, layout.max_tokens)

        def read(text: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
            return tokenizer.prepare([text], TextKind.PASSAGE)[0].input_ids

        try:
            self._network = load_sentence_network(folder, layout.pooling, read=read, device=device, is_exact=is_exact)
        except (OSError, KeyError, RuntimeError, SafetensorError) as error:
            raise ModelUnavailable(
                f"{entry.id} cannot be loaded from {folder}: {error}", component="encoder"
            ) from error
        self.dtype = "bf16" if self._network.body.dtype is torch.bfloat16 else "fp32"
        dimension = self._network.body.embeddings.word_embeddings.embedding_dim
        super().__init__(entry, folder, tokenizer=tokenizer, dimension=dimension)

    @override
    def forward(self, batch: Sequence[TokenizedText]) -> FloatMatrix:
        vectors = np.empty((len(batch), self.dimension), np.float32)
        for chosen in self._passes(batch):
            with memory_errors():
                vectors[chosen] = self._run([batch[index].input_ids for index in chosen])
        return self.checked(vectors)

    @override
    def padded_tokens(self, batch: Sequence[TokenizedText]) -> int:
        return sum(text.token_count for text in batch)

    def _passes(self, batch: Sequence[TokenizedText]) -> Iterator[list[int]]:
        """Positions in the batch, longest text first, in passes of at most `_PASS_TOKENS` or of one text."""
        chosen: list[int] = []
        tokens = 0
        for index in sorted(range(len(batch)), key=lambda index: -batch[index].token_count):
            if chosen and self._pass_tokens and tokens + batch[index].token_count > self._pass_tokens:
                yield chosen
                chosen, tokens = [], 0
            chosen.append(index)
            tokens += batch[index].token_count
        if chosen:
            yield chosen

    def _run(self, texts: Sequence[np.ndarray[tuple[int], np.dtype[np.int64]]]) -> FloatMatrix:
        is_small = sum(map(len, texts)) < _ALONE_TOKENS
        self._torch.set_num_threads(1 if is_small else self._threads)  # holds for the calling thread
        with self._torch.inference_mode():
            vectors: FloatMatrix = self._network(texts).cpu().numpy()
        return vectors
