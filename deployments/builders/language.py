"""Builds extractor, resolver and reranker from rules and the trained models that the settings turn on."""

import os
from pathlib import Path
from typing import Any

from memory.coreference.long_term import LongTermResolver
from memory.coreference.rewriting_resolver import RewritingResolver
from memory.extraction.trained_extractor import TrainedExtractor
from models.rewriter.rewriter import BatchedRewriter, TrainedRewriter
from models.tagger.tagger import BatchedTagger, TrainedTagger

from memory.coreference.resolver import RuleResolver
from memory.extraction.extractor import RuleExtractor
from memory.extraction.version import extraction_version
from memory.indexing.generations import PerSpace
from memory.ports.generations import VectorModel, VectorSpace
from memory.ports.language import Extractor, Reranker, Resolver
from models.assets.weight_files import shipped_weight_file
from models.batching.queue import GPU_LIMITS, BatchLimits
from models.reranker.hub import HubCrossEncoder
from models.reranker.late_interaction import LateInteraction
from models.reranker.scorer import BatchedReranker, PairScorer

from ..config.settings import AppArgs
from ..remote.handles import Handle
from ..serve.turn import LanguageParts, RunningModels
from .live_model import LiveResolver
from .spaces import open_generations, open_spaces
from .stores import open_record


def make_extractor(args: AppArgs) -> LanguageParts[Extractor]:
    """Builds the extractor: rules, with the tagger where it is on."""
    tagger = open_tagger(args)
    rules = RuleExtractor()
    return LanguageParts(
        TrainedExtractor(tagger=tagger, rules=rules, version=running_extraction_version(args)) if tagger else rules,
        RunningModels({"tagger": tagger.model if tagger else None}),
    )


def make_resolver(
    args: AppArgs, *, embedder: Handle, model: VectorModel, vectors: Handle | None = None
) -> LanguageParts[Resolver]:
    """What the Resolver deployment runs: rules, and the rewriter where it is on.

    It has an extractor of its own, without a tagger: turns of a session carry what the Extractor found in them, and the
    rules read the rest (the query, turns that a caller gave) without another call.
    """
    record = open_record(args, durable=False)
    spaces = open_spaces(
        args,
        record=record,
        model=model,
        embedder=embedder,
        generations=open_generations(args, shard=vectors),
        deadline_s=args.deadlines.query_encode,
    )
    rewriter = open_rewriter(args)

    def resolver_in(space: VectorSpace) -> Resolver:
        rules = RuleResolver(extractor=RuleExtractor(), encoder=space.encoder, floor=args.confidence_floor)
        return RewritingResolver(rules, rewriter=rewriter, floor=args.confidence_floor) if rewriter else rules

    within = LiveResolver(PerSpace(spaces, resolver_in), otherwise=spaces.of(model))
    return LanguageParts(
        LongTermResolver(within, record=record),
        RunningModels({"rewriter": rewriter.model if rewriter else None}),
    )


def make_reranker(args: AppArgs) -> LanguageParts[Reranker]:
    """Builds the reranker of the Reranker deployment."""
    reranker = open_reranker(args)
    return LanguageParts(reranker, RunningModels({"reranker": reranker.model}))


def open_tagger(args: AppArgs) -> BatchedTagger | None:
    """The tagger with its weights loaded; None where it is off or has none."""
    if not is_on(args, "tagger"):
        return None
    return BatchedTagger(TrainedTagger(*_files(args, "tagger"), **_device(args)), limits=_limits(args))


def running_extraction_version(args: AppArgs) -> str:
    """The version of what the Extractor deployment runs: its rules, and the tagger's weights where it is on."""
    return extraction_version(shipped_weight_file("tagger", args.models.weights) if is_on(args, "tagger") else None)


def open_rewriter(args: AppArgs) -> BatchedRewriter | None:
    """The rewriter with its weights loaded; None where it is off or has none."""
    if not is_on(args, "rewriter"):
        return None
    return BatchedRewriter(TrainedRewriter(*_files(args, "rewriter"), **_device(args)), limits=_limits(args))


def open_reranker(args: AppArgs) -> BatchedReranker[Any]:
    """The reranker with its weights loaded; only where one is on."""
    if args.models.reranker == "builtin":
        scorer: PairScorer[Any] = LateInteraction(*_files(args, "reranker"), **_device(args))
    else:
        scorer = HubCrossEncoder(args.models.reranker, args.model_cache, **_device(args))
    return BatchedReranker(scorer, limits=_limits(args))


def is_on(args: AppArgs, name: str) -> bool:
    """Whether a model is on; `auto` is on where there are weights.

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
