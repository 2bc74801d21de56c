"""Builds what runs the trained models that the settings turn on, and the language model."""

import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memory.answering.answers import Answerer
from memory.answering.grounded import GroundedAnswerer
from memory.coreference.resolver import ReadingResolver
from memory.extraction.extractor import ReadingExtractor
from memory.extraction.version import extraction_version
from memory.ports.models.answer_reading import AnswerReader
from memory.ports.models.language import Extractor, FactReader, Reranker, Resolver
from memory.ports.models.summaries import SummaryWriter
from memory.prompting.answers import GroundedWriter
from memory.prompting.checked_model import CheckedModel
from memory.prompting.facts import ModelFactReader
from memory.prompting.summaries import ModelWriter
from memory.tiers.summaries import CachedWriter, ExtractiveWriter
from models.answers.reader import AnswerReaders, BatchedAnswerReader, TrainedAnswerReader, TrainedDocumentReader
from models.assets.weight_files import shipped_weight_file
from models.batching.batched_model import BatchedModel
from models.batching.queue import GPU_LIMITS, BatchLimits
from models.reader.reader import BatchedReader, TrainedReader
from models.reranker.hub import HubCrossEncoder
from models.reranker.late_interaction import LateInteraction
from models.reranker.scorer import BatchedReranker, PairScorer

from ...config.settings import AppArgs
from ...http.support.assistants import PromptBounds
from ...remote.chat_upstream import ChatUpstream, ChatUpstreams
from ...remote.language_model import NO_CLIENT, EndpointModel, FallbackModel
from ...serve.turn import LanguageParts, RunningModels


def make_extractor(args: AppArgs) -> LanguageParts[Extractor]:
    """What the Extractor deployment runs: the trained reader where it is on, and the code around it.

    The answer reader runs in the same process, unless it has a deployment of its own.
    """
    reader = open_reader(args)
    answers = open_answer_reader(args) if is_on(args, "answers") and not args.models.answers_apart else None
    models: dict[str, BatchedModel[Any, Any, Any] | None] = {"reader": reader.model if reader else None}
    if answers is not None:
        models |= answers.models
    return LanguageParts(
        ReadingExtractor(reader, version=running_extraction_version(args)), RunningModels(models), answers
    )


def make_answers(args: AppArgs) -> LanguageParts[AnswerReader]:
    """What the Answers deployment runs."""
    answers = open_answer_reader(args)
    return LanguageParts(answers, RunningModels(answers.models))


def make_resolver(args: AppArgs) -> Resolver:
    """What the Resolver deployment runs: it has no model, the extraction holds what the reader understood."""
    return ReadingResolver(floor=args.confidence_floor, remembered_floor=args.remembered_confidence_floor)


def make_reranker(args: AppArgs) -> LanguageParts[Reranker]:
    """Builds the reranker of the Reranker deployment."""
    reranker = open_reranker(args)
    return LanguageParts(reranker, RunningModels({"reranker": reranker.model}))


def open_reader(args: AppArgs) -> BatchedReader | None:
    """The reader with its weights loaded; None where it is off or has none."""
    if not is_on(args, "reader"):
        return None
    limits = replace(_limits(args), max_wait_s=args.models.max_wait_s)
    return BatchedReader(TrainedReader(*_files(args, "reader"), **_device(args)), limits=limits)


def open_answer_reader(args: AppArgs) -> AnswerReaders:
    """The answer readers of conversation and of documents with their weights loaded; only where they are on."""
    limits = replace(_limits(args), max_wait_s=args.models.max_wait_s)
    lines, documents = (
        BatchedAnswerReader(kind(*_files(args, kind.component), **_device(args)), limits=limits)
        for kind in (TrainedAnswerReader, TrainedDocumentReader)
    )
    return AnswerReaders(lines=lines, documents=documents)


def running_extraction_version(args: AppArgs) -> str:
    """The version of what the Extractor deployment runs: its code, and the reader's weights where it is on."""
    return extraction_version(shipped_weight_file("reader", args.models.weights) if is_on(args, "reader") else None)


def open_reranker(args: AppArgs) -> BatchedReranker[Any]:
    """The reranker with its weights loaded; only where one is on."""
    if args.models.reranker == "builtin":
        scorer: PairScorer[Any] = LateInteraction(*_files(args, "reranker"), **_device(args))
    else:
        scorer = HubCrossEncoder(args.models.reranker, args.model_cache, **_device(args))
    return BatchedReranker(scorer, limits=_limits(args))


def check_language_model(args: AppArgs) -> None:
    """Ends the start of a service that is to use a language model and has no client for one.

    Raises:
        ImportError: The extra `language-model` is not installed.
    """
    if args.language_model.endpoints and find_spec("openai") is None:
        raise ImportError(NO_CLIENT)


def open_language_model(args: AppArgs) -> CheckedModel | None:
    """The language model of the settings; None where none is set.

    Raises:
        ImportError: The extra `language-model` is not installed.
    """
    settings = args.language_model
    if not settings.endpoints:
        return None
    return CheckedModel(
        FallbackModel([EndpointModel(endpoint) for endpoint in settings.endpoints]),
        attempts=settings.attempts,
        at_once=settings.at_once,
        max_prompt_tokens=settings.max_prompt_tokens,
    )


def open_chat_upstreams(args: AppArgs) -> ChatUpstreams | None:
    """The language models that continue conversations; None where none is to.

    Raises:
        ImportError: The extra `language-model` is not installed.
    """
    settings = args.language_model
    if not settings.endpoints or not settings.continue_chats:
        return None
    return ChatUpstreams([ChatUpstream(endpoint) for endpoint in settings.endpoints])


def prompt_bounds(args: AppArgs) -> PromptBounds:
    """How long the prompts of conversations may be."""
    return PromptBounds(args.language_model.memory_tokens, args.language_model.max_chat_tokens)


def make_fact_reader(args: AppArgs, model: CheckedModel | None) -> FactReader | None:
    """What reads facts in place of the trained reader, where a language model is to."""
    settings = args.language_model
    if model is None or not settings.read_facts:
        return None
    return ModelFactReader(model, deadline_s=settings.facts_deadline_s, max_tokens=settings.max_answer_tokens)


def make_summary_writer(args: AppArgs, model: CheckedModel | None, *, extractor: Extractor) -> SummaryWriter:
    """Writes summaries with the language model where it is to, else extractive ones.

    Args:
        args: The settings.
        model: The language model.
        extractor: Finds the names in what the model writes.
    """
    settings = args.language_model
    if model is None or not settings.write_summaries:
        return ExtractiveWriter()
    return CachedWriter(ModelWriter(model, extractor=extractor, max_tokens=settings.max_answer_tokens))


def answer_with_model(
    args: AppArgs, otherwise: Answerer, model: CheckedModel | None, *, extractor: Extractor
) -> Answerer:
    """Answers questions with the language model where it is to, and as `otherwise` does where not.

    Args:
        args: The settings.
        otherwise: Quotes memories.
        model: The language model.
        extractor: Finds the names in what the model writes.
    """
    settings = args.language_model
    if model is None or not settings.answer_questions:
        return otherwise
    return GroundedAnswerer(
        otherwise,
        writer=GroundedWriter(model, extractor=extractor, max_tokens=settings.max_answer_tokens),
        bounds=args.answers.bounds,
        deadline_s=settings.answer_deadline_s,
        rest_s=settings.rest_s,
    )


def is_on(args: AppArgs, name: str) -> bool:
    """Whether a model is on; `auto` is on where there are weights.

    Args:
        args: The settings.
        name: `reader`, `answers` or `reranker`.
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
