"""The trained models that the settings ask for, and how they are told apart from outside (DESIGN §5)."""

import os
from pathlib import Path
from typing import Any

from memory.extraction.version import extraction_version
from models.assets.weight_files import shipped_weight_file
from models.batching.queue import GPU_LIMITS, BatchLimits
from models.reranker.hub import HubCrossEncoder
from models.reranker.late_interaction import LateInteraction
from models.reranker.scorer import BatchedReranker, PairScorer
from models.rewriter.rewriter import BatchedRewriter, TrainedRewriter
from models.tagger.tagger import BatchedTagger, TrainedTagger

from ..config.settings import AppArgs


def open_tagger(args: AppArgs) -> BatchedTagger | None:
    """The tagger with its weights read; None where it is off or has none."""
    if not runs(args, "tagger"):
        return None
    return BatchedTagger(TrainedTagger(*_files(args, "tagger"), **_device(args)), limits=_limits(args))


def running_extraction_version(args: AppArgs) -> str:
    """The version of what the Extractor deployment runs: its rules, and the tagger's weights where it is on."""
    return extraction_version(shipped_weight_file("tagger", args.models.weights) if runs(args, "tagger") else None)


def open_rewriter(args: AppArgs) -> BatchedRewriter | None:
    """The rewriter with its weights read; None where it is off or has none."""
    if not runs(args, "rewriter"):
        return None
    return BatchedRewriter(TrainedRewriter(*_files(args, "rewriter"), **_device(args)), limits=_limits(args))


def open_reranker(args: AppArgs) -> BatchedReranker[Any]:
    """The reranker with its weights read; only where one is on."""
    if args.models.reranker == "builtin":
        scorer: PairScorer[Any] = LateInteraction(*_files(args, "reranker"), **_device(args))
    else:
        scorer = HubCrossEncoder(args.models.reranker, args.model_cache, **_device(args))
    return BatchedReranker(scorer, limits=_limits(args))


def runs(args: AppArgs, name: str) -> bool:
    """Whether a model is on, and has weights where that is left to the weights.

    Args:
        args: The settings.
        name: `tagger`, `rewriter` or `reranker`.
    """
    setting: str = getattr(args.models, name)
    return setting != "off" and (setting != "auto" or shipped_weight_file(name, args.models.weights).exists())


def _files(args: AppArgs, name: str) -> tuple[Path, Path]:
    return shipped_weight_file(name, args.models.weights), args.model_cache


def _device(args: AppArgs) -> dict[str, Any]:
    threads = args.models.threads or max(1, (os.cpu_count() or 1) // 2)
    return {"device": args.models.device, "threads": threads}


def _limits(args: AppArgs) -> BatchLimits:
    return BatchLimits() if args.models.device == "cpu" else GPU_LIMITS
