"""Scores pairs with a cross-encoder of the model hub, through sentence-transformers."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import override

from memory.values.errors import ModelUnavailable

from ..assets.prepare import prepare_model
from ..batching.batched_model import ModelFacts
from ..body.trained_network import Lazy
from ..encoder.text_tokenizer import LONE_SURROGATES
from .scorer import COMPONENT, PairScorer, QueryPassage, probability

DEFAULT_HUB_RERANKER = "BAAI/bge-reranker-v2-m3"
"""Multilingual, 568M parameters (Apache-2.0); `BAAI/bge-reranker-base` is half as large, for Chinese and English."""

_MAX_TOKENS = 512
_BATCH_ROWS = 16


@dataclass(frozen=True, slots=True)
class HubPair:
    """A pair with its length; sentence-transformers tokenises it again in its own way."""

    query: str
    passage: str
    token_count: int


class HubCrossEncoder(PairScorer[HubPair]):
    """Scores batches of pairs; safe to call from several threads, which take turns.

    Args:
        model_id: `organisation/name` of a model with one label on the hub; bge-reranker and most others are.
        cache: The folder of prepared models.
        device: `cpu` or `cuda`, where it computes in bf16.
        threads: CPU threads in the whole process; None leaves torch as it is.
        offline: Never ask the hub: take what is in the cache.
    """

    def __init__(
        self,
        model_id: str,
        cache: Path,
        *,
        device: str = "cpu",
        threads: int | None = None,
        offline: bool = False,
    ) -> None:
        self._model_id = model_id
        self._cache = cache
        self._device = device
        self._threads = threads
        self._offline = offline
        self._lock = threading.Lock()
        self._ready = Lazy(self._load)

    @override
    def load(self) -> ModelFacts:
        dtype = next(self._ready().parameters()).dtype
        return ModelFacts(checksum=self._model_id, dtype="fp32" if str(dtype) == "torch.float32" else "bf16")

    @override
    def prepare(self, pairs: Sequence[QueryPassage]) -> list[HubPair]:
        model = self._ready()
        readable = [
            (LONE_SURROGATES.sub("\ufffd", query), LONE_SURROGATES.sub("\ufffd", text)) for query, text in pairs
        ]
        if not readable:
            return []
        encoded = model.tokenizer(readable, truncation=True, max_length=model.max_seq_length)
        return [HubPair(*pair, len(ids)) for pair, ids in zip(readable, encoded["input_ids"], strict=True)]

    @override
    def forward(self, prepared: Sequence[HubPair]) -> list[float]:
        import torch

        model = self._ready()
        with self._lock:
            logits = model.predict(
                [(pair.query, pair.passage) for pair in prepared],
                batch_size=_BATCH_ROWS,
                activation_fn=torch.nn.Identity(),
                show_progress_bar=False,
            )
        return [probability(float(logit)) for logit in logits]

    def _load(self) -> Any:
        folder = self._prepared()
        import torch
        from sentence_transformers import CrossEncoder
        from transformers.utils import logging

        logging.disable_progress_bar()  # a server's log is no place for one
        if self._threads is not None:
            torch.set_num_threads(self._threads)
        dtype = torch.float32 if self._device == "cpu" else torch.bfloat16
        try:
            model = CrossEncoder(str(folder), device=self._device, local_files_only=True, model_kwargs={"dtype": dtype})
        except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
            raise ModelUnavailable(
                f"{self._model_id} cannot be loaded from {folder}: {error}", component=COMPONENT
            ) from error
        if model.num_labels != 1:
            raise ModelUnavailable(
                f"{self._model_id} gives {model.num_labels} scores for a pair; a reranker gives one.",
                component=COMPONENT,
            )
        model.max_seq_length = min(model.max_seq_length or _MAX_TOKENS, _MAX_TOKENS)
        return model.eval()

    def _prepared(self) -> Path:
        try:
            return prepare_model(self._model_id, self._cache, progress=_quiet, offline=self._offline)
        except ModelUnavailable as error:
            raise ModelUnavailable(
                f"The reranker {self._model_id} is not in the cache and could not be fetched from the model hub. "
                f"Prepare it where the hub can be reached (`python -m models.assets.prepare --model {self._model_id}`) "
                "and copy the cache here, or leave reranking off.",
                component=COMPONENT,
            ) from error


def _quiet(stage: str, done: float) -> None:
    """A server's log is no place for a bar."""
