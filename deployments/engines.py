"""What each deployment runs, built from the settings: the one place that joins domain and models to the stores."""

import os
from dataclasses import replace
from functools import partial

from memory.answering.cosine_bounds import CosineBounds
from memory.answering.extractive import ExtractiveAnswerer
from memory.coreference.long_term import LongTermResolver
from memory.coreference.resolver import RuleResolver
from memory.coreference.rewriting_resolver import RewritingResolver
from memory.extraction.extractor import RuleExtractor
from memory.extraction.remembered_tags import RememberingTagger
from memory.extraction.trained_extractor import TrainedExtractor
from memory.learning.bulk_indexing import BulkIndexing
from memory.learning.index_keeper import IndexKeeper
from memory.learning.index_maintenance import BackgroundMaintenance
from memory.learning.learner import Learner
from memory.learning.reembedding import Reembedding
from memory.learning.spaces import LiveResolver, LiveRetriever, PerSpace
from memory.learning.worker import LearningWorker
from memory.ports.generations import VectorModel, VectorSpace
from memory.ports.language import Extractor, Reranker, Resolver
from memory.ports.retrieval import Retriever
from memory.ports.vectors import Collection
from memory.retrieval.analysis import KeywordAnalyzer
from memory.retrieval.reranking import RerankingRetriever
from memory.retrieval.retriever import HybridRetriever
from models.batch_queue import GPU_LIMITS, BatchLimits
from models.batched_encoder import BatchedEncoder
from models.catalog import get_model
from models.open_engine import open_engine
from models.prepare import prepare_model
from storage.edge_generations import EdgeGenerations
from storage.redis_server import LocalRedisServer

from .config import AppArgs
from .encoders import Encoders
from .generations import WantedModels, open_generations, open_spaces, prepared_model
from .governance import make_recheck, make_review_job
from .language import LanguageParts
from .learner import LearnerParts
from .logs import configure_logs
from .models import RunningModels, open_reranker, open_rewriter, open_tagger
from .reembedding import RayEmbedder
from .remote import Handle, Remote, RemoteExtractor, RemoteReranker
from .stores import local_redis, open_locks, open_record, open_shards


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
    engine = open_engine(get_model(args.model), folder, device=device, threads=settings.threads or os.cpu_count())
    usual = BatchLimits() if device == "cpu" else GPU_LIMITS
    limits = replace(
        usual,
        batch_tokens=settings.batch_tokens or usual.batch_tokens,
        max_waiting_tokens=settings.max_waiting_tokens or usual.max_waiting_tokens,
    )
    return BatchedEncoder(engine, limits=limits)


def make_encoders(args: AppArgs) -> Encoders:
    """What the Embedder deployment runs: the live model, and those that the record says are needed beside it."""
    return Encoders(
        get_model(args.model).id,
        make=lambda model_id: make_encoder(args.model_copy(update={"model": model_id})),
        wanted=WantedModels(args),
    )


def make_shards(args: AppArgs, *, model: VectorModel) -> EdgeGenerations:
    """What the VectorShard deployment runs."""
    configure_logs(args.data_home / "logs", "vector_shard", args.log_level)
    shards = open_shards(args)
    shards.open_live(model)
    return shards


def make_extractor(args: AppArgs) -> LanguageParts[Extractor]:
    """What the Extractor deployment runs: rules, and the tagger where it is on."""
    configure_logs(args.data_home / "logs", "extractor", args.log_level)
    tagger = open_tagger(args)
    rules = RuleExtractor()
    return LanguageParts(
        TrainedExtractor(tagger=RememberingTagger(tagger), rules=rules) if tagger else rules,
        RunningModels({"tagger": tagger.model if tagger else None}),
    )


def make_resolver(
    args: AppArgs, *, embedder: Handle, model: VectorModel, vectors: Handle | None = None
) -> LanguageParts[Resolver]:
    """What the Resolver deployment runs: rules, and the rewriter where it is on.

    Its extractor is its own and without a tagger: turns of a session carry what the Extractor found in them, and rules
    read the rest (the query, turns that a caller gave) without another hop.
    """
    configure_logs(args.data_home / "logs", "resolver", args.log_level)
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
    """What the Reranker deployment runs, where the graph has one."""
    configure_logs(args.data_home / "logs", "reranker", args.log_level)
    reranker = open_reranker(args)
    return LanguageParts(reranker, RunningModels({"reranker": reranker.model}))


def make_retriever(
    args: AppArgs,
    *,
    embedder: Handle,
    model: VectorModel,
    vectors: Handle | None = None,
    reranker: Handle | None = None,
) -> Retriever:
    """What the Retriever deployment runs; `reranker` only where one is on."""
    configure_logs(args.data_home / "logs", "retriever", args.log_level)
    record = open_record(args, durable=False)
    spaces = open_spaces(
        args,
        record=record,
        model=model,
        embedder=embedder,
        generations=open_generations(args, shard=vectors),
        deadline_s=args.deadlines.query_encode,
    )

    def retriever_in(space: VectorSpace) -> Retriever:
        return HybridRetriever(encoder=space.encoder, index=space.index, record=record, analyzer=KeywordAnalyzer())

    fused = LiveRetriever(PerSpace(spaces, retriever_in))
    if reranker is None:
        return fused
    remote = Remote(reranker, component="reranker", deadline_s=args.deadlines.reranker)
    return RerankingRetriever(fused, reranker=RemoteReranker(remote), record=record)


def make_learner(
    args: AppArgs, *, embedder: Handle, extractor: Handle, model: VectorModel, vectors: Handle | None = None
) -> LearnerParts:
    """What the Learner deployment runs."""
    configure_logs(args.data_home / "logs", "learner", args.log_level)
    record = open_record(args, durable=False)
    generations = open_generations(args, shard=vectors)
    spaces = open_spaces(
        args,
        record=record,
        model=model,
        embedder=embedder,
        generations=generations,
        deadline_s=args.deadlines.embedder,
    )
    learner = Learner(
        record=record,
        extractor=RemoteExtractor(Remote(extractor, component="extractor", deadline_s=args.deadlines.extractor_batch)),
        spaces=spaces,
        analyzer=KeywordAnalyzer(),
        rechecks=PerSpace(spaces, lambda space: make_recheck(args, record=record, space=space.part(Collection.AAM))),
    )
    locks = open_locks(args)
    bulk = RayEmbedder(args)
    keepers = PerSpace(spaces, lambda space: IndexKeeper(record=record, space=space, learner=learner))
    worker = LearningWorker(learner=learner, record=record)
    return LearnerParts(
        worker=worker,
        maintenance=BackgroundMaintenance(keepers=keepers, embedder=bulk, locks=locks),
        reembedding=Reembedding(
            record=record,
            locks=locks,
            spaces=spaces,
            store=generations,
            embedder=bulk,
            learner=learner,
            prepare=partial(prepared_model, args),
            configured=model,
        ),
        bulk_indexing=BulkIndexing(
            record=record,
            locks=locks,
            spaces=spaces,
            embedder=bulk,
            learner=learner,
            worker=worker,
            backlog=args.reembedding.backlog,
        ),
        reviews=make_review_job(args, record=record, locks=locks),
    )


def make_answerer(args: AppArgs, *, model_id: str) -> ExtractiveAnswerer:
    """How the ingress answers from what a model finds."""
    given = args.answer_min_cosine
    own = get_model(model_id).answer_min_cosine
    min_cosine = own if given is None else CosineBounds(chinese=given, other=given)
    return ExtractiveAnswerer(analyzer=KeywordAnalyzer(), min_cosine=min_cosine)
