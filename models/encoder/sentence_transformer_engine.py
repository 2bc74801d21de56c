"""The engine for any sentence-transformers model: fp32 with SDPA on a CPU, a bf16 body on CUDA; the fp32 reference."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from memory.ports.models.language import FloatMatrix
from memory.values.errors import ModelUnavailable

from ..assets.catalog import ModelEntry
from ..batching.engine import memory_errors
from .engine import PaddedEncoderEngine, PreparedEngine
from .text_tokenizer import TextTokenizer, TokenizedText

_CUDA_PASS_OVERHEAD_TOKENS = 4096
"""A forward pass launches about 170 kernels in 0.7 to 0.9 ms, in which an H200 computes so many (SERVING §2)."""


class SentenceTransformerEngine(PreparedEngine, PaddedEncoderEngine):
    """A prepared model, loaded.

    Args:
        entry: The catalogue entry.
        folder: Its prepared folder (`prepare.prepare_model`).
        device: `cpu`, or `cuda` or `cuda:N`. CUDA runs the body in bf16 and pools and normalises in fp32; that path is
            written and has not run on a GPU yet.
        threads: CPU threads for one forward pass, in the whole process; None leaves torch as it is.

    Raises:
        ModelUnavailable: The folder cannot be loaded, or is not what the entry says.
    """

    def __init__(self, entry: ModelEntry, folder: Path, *, device: str = "cpu", threads: int | None = None) -> None:
        import torch

        if threads is not None:
            torch.set_num_threads(threads)
        self._torch = torch
        self._device = torch.device(device)
        on_cuda = self._device.type == "cuda"
        if on_cuda:
            self.pass_overhead_tokens = _CUDA_PASS_OVERHEAD_TOKENS
            self.dtype = "bf16"
        model = _load(entry, folder, device, torch.bfloat16 if on_cuda else torch.float32)
        self._body, *head = model
        self._head = [module.float() for module in head]
        self._pad_id = int(model.tokenizer.pad_token_id)
        # The model's own tokenizer object: nothing else uses it, and copying a large vocabulary takes seconds.
        tokenizer = TextTokenizer(model.tokenizer.backend_tokenizer, entry, model.max_seq_length)
        super().__init__(entry, folder, tokenizer=tokenizer, dimension=int(model.get_embedding_dimension()))

    @override
    def forward_padded(self, batch: Sequence[TokenizedText]) -> FloatMatrix:
        longest = max(text.token_count for text in batch)
        input_ids = np.full((len(batch), longest), self._pad_id, np.int64)
        mask = np.zeros((len(batch), longest), np.int64)
        for row, text in enumerate(batch):
            input_ids[row, : text.token_count] = text.input_ids
            mask[row, : text.token_count] = 1
        with memory_errors():
            vectors = self._run(input_ids, mask)
        return self.checked(vectors)

    def _run(self, input_ids: npt.NDArray[np.int64], mask: npt.NDArray[np.int64]) -> FloatMatrix:
        torch = self._torch
        with torch.inference_mode():
            features = {
                "input_ids": torch.from_numpy(input_ids).to(self._device),  # (batch, longest)
                "attention_mask": torch.from_numpy(mask).to(self._device),  # (batch, longest)
            }
            features = self._body(features)
            features["token_embeddings"] = features["token_embeddings"].float()  # (batch, longest, hidden)
            for module in self._head:
                features = module(features)
            unit = torch.nn.functional.normalize(features["sentence_embedding"], dim=-1)  # (batch, dimension)
            vectors: FloatMatrix = unit.cpu().numpy()
        return vectors


def _load(entry: ModelEntry, folder: Path, device: str, dtype: Any) -> Any:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()  # a server's log is no place for one
    try:
        model = SentenceTransformer(
            str(folder),
            device=device,
            local_files_only=True,
            model_kwargs={"dtype": dtype, "attn_implementation": entry.attention},
        )
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        raise ModelUnavailable(f"{entry.id} cannot be loaded from {folder}: {error}", component="encoder") from error
    return model.eval()
