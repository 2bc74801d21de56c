"""What each deployment runs, built from the settings: the one place that joins domain and models to the stores."""

import json
import os
from dataclasses import replace

from memory.answering.extractive import ExtractiveAnswerer
from memory.coreference.long_term import LongTermResolver
from memory.coreference.resolver import RuleResolver
from memory.coreference.rewriting_resolver import RewritingResolver
from memory.extraction.extractor import RuleExtractor
from memory.extraction.remembered_tags import RememberingTagger
from memory.extraction.trained_extractor import TrainedExtractor
from memory.learning.index_keeper import IndexKeeper
from memory.learning.index_maintenance import BackgroundMaintenance
from memory.learning.learner import Learner
from memory.learning.worker import LearningWorker
from memory.ports.language import Encoder, Extractor, Reranker, Resolver
from memory.ports.retrieval import Retriever
from memory.retrieval.analysis import KeywordAnalyzer
from memory.retrieval.reranking import RerankingRetriever
from memory.retrieval.retriever import HybridRetriever
from models.batch_queue import GPU_LIMITS, BatchLimits
from models.batched_encoder import BatchedEncoder
from models.catalog import get_model
from models.prepare import prepare_model
from models.sentence_transformer_engine import SentenceTransformerEngine
from storage.edge_vectors import EdgeVectors
from storage.redis_server import LocalRedisServer

from .config import AppArgs
from .governance import make_review_job
from .language import LanguageParts
from .learner import LearnerParts
from .logs import configure_logs
from .models import RunningModels, open_reranker, open_rewriter, open_tagger
from .remote import Handle, Remote, RemoteEncoder, RemoteExtractor, RemoteReranker
from .stores import local_redis, open_index, open_locks, open_record, open_shard


def model_dimension(args: AppArgs) -> int:
    """Length of the model's vectors: from the catalogue, else from the weights' own configuration."""
    if dimension := get_model(args.model).dimension:
        return dimension
    config = json.loads((prepare_model(args.model, args.model_cache) / "config.json").read_text())
    return int(config["hidden_size"])


def resolve_device(device: str) -> str:
    """What `auto` means on this machine."""
    if device != "auto":
        return device
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def make_session_server(args: AppArgs) -> LocalRedisServer:
    """What the SessionServer deployment runs, where `stores.local_redis` has one."""
    configure_logs(args.data_home / "logs", "session_server", args.log_level)
    server = local_redis(args)
    assert server is not None  # noqa: S101 - the graph has no SessionServer otherwise
    return server


def make_encoder(args: AppArgs) -> BatchedEncoder:
    """What the Embedder deployment runs."""
    configure_logs(args.data_home / "logs", "embedder", args.log_level)
    settings = args.embedder
    device = resolve_device(settings.device)
    folder = prepare_model(args.model, args.model_cache)
    engine = SentenceTransformerEngine(
        get_model(args.model), folder, device=device, threads=settings.threads or os.cpu_count()
    )
    given = {"batch_tokens": settings.batch_tokens, "max_waiting_tokens": settings.max_waiting_tokens}
    limits = BatchLimits() if device == "cpu" else GPU_LIMITS
    return BatchedEncoder(engine, limits=replace(limits, **{k: v for k, v in given.items() if v is not None}))


def make_index(args: AppArgs, *, dimension: int) -> EdgeVectors:
    """What the VectorShard deployment runs."""
    configure_logs(args.data_home / "logs", "vector_shard", args.log_level)
    return open_shard(args, dimension=dimension)


def make_extractor(args: AppArgs) -> LanguageParts[Extractor]:
    """What the Extractor deployment runs: rules, and the tagger where it is on."""
    configure_logs(args.data_home / "logs", "extractor", args.log_level)
    tagger = open_tagger(args)
    rules = RuleExtractor()
    return LanguageParts(
        TrainedExtractor(tagger=RememberingTagger(tagger), rules=rules) if tagger else rules,
        RunningModels({"tagger": tagger.model if tagger else None}),
    )


def remote_encoder(args: AppArgs, handle: Handle, *, dimension: int, deadline_s: float) -> Encoder:
    """The Embedder as the other deployments see it."""
    remote = Remote(handle, component="embedder", deadline_s=deadline_s)
    return RemoteEncoder(remote, model_id=args.model, dimension=dimension)


def make_resolver(args: AppArgs, *, embedder: Handle, dimension: int) -> LanguageParts[Resolver]:
    """What the Resolver deployment runs: rules, and the rewriter where it is on.

    Its extractor is its own and without a tagger: turns of a session carry what the Extractor found in them, and rules
    read the rest (the query, turns that a caller gave) without another hop.
    """
    configure_logs(args.data_home / "logs", "resolver", args.log_level)
    rules = RuleResolver(
        extractor=RuleExtractor(),
        encoder=remote_encoder(args, embedder, dimension=dimension, deadline_s=args.deadlines.query_encode),
        floor=args.confidence_floor,
    )
    rewriter = open_rewriter(args)
    within = RewritingResolver(rules, rewriter=rewriter, floor=args.confidence_floor) if rewriter else rules
    return LanguageParts(
        LongTermResolver(within, record=open_record(args, durable=False)),
        RunningModels({"rewriter": rewriter.model if rewriter else None}),
    )


def make_reranker(args: AppArgs) -> LanguageParts[Reranker]:
    """What the Reranker deployment runs, where the graph has one."""
    configure_logs(args.data_home / "logs", "reranker", args.log_level)
    reranker = open_reranker(args)
    return LanguageParts(reranker, RunningModels({"reranker": reranker.model}))


def make_retriever(
    args: AppArgs,
    *,
    embedder: Handle,
    dimension: int,
    vectors: Handle | None = None,
    reranker: Handle | None = None,
) -> Retriever:
    """What the Retriever deployment runs; `reranker` only where one is on."""
    configure_logs(args.data_home / "logs", "retriever", args.log_level)
    record = open_record(args, durable=False)
    fused = HybridRetriever(
        encoder=remote_encoder(args, embedder, dimension=dimension, deadline_s=args.deadlines.query_encode),
        index=open_index(args, shard=vectors, dimension=dimension),
        record=record,
        analyzer=KeywordAnalyzer(),
    )
    if reranker is None:
        return fused
    remote = Remote(reranker, component="reranker", deadline_s=args.deadlines.reranker)
    return RerankingRetriever(fused, reranker=RemoteReranker(remote), record=record)


def make_learner(
    args: AppArgs, *, embedder: Handle, extractor: Handle, dimension: int, vectors: Handle | None = None
) -> LearnerParts:
    """What the Learner deployment runs."""
    configure_logs(args.data_home / "logs", "learner", args.log_level)
    record = open_record(args, durable=False)
    index = open_index(args, shard=vectors, dimension=dimension)
    learner = Learner(
        record=record,
        extractor=RemoteExtractor(Remote(extractor, component="extractor", deadline_s=args.deadlines.extractor_batch)),
        encoder=remote_encoder(args, embedder, dimension=dimension, deadline_s=args.deadlines.embedder),
        index=index,
        analyzer=KeywordAnalyzer(),
    )
    locks = open_locks(args)
    keeper = IndexKeeper(record=record, index=index, learner=learner, model_id=args.model)
    return LearnerParts(
        worker=LearningWorker(learner=learner, record=record),
        maintenance=BackgroundMaintenance(keeper=keeper, locks=locks),
        reviews=make_review_job(args, record=record, locks=locks),
    )


def make_answerer(args: AppArgs) -> ExtractiveAnswerer:
    """How the ingress answers."""
    return ExtractiveAnswerer(analyzer=KeywordAnalyzer(), min_cosine=args.answer_min_cosine)
