"""What each deployment runs, built from the settings: the one place that joins domain and models to the stores."""

from functools import partial

from memory.answering.answers import CosineBounds
from memory.answering.extractive import ExtractiveAnswerer
from memory.coreference.long_term import LongTermResolver
from memory.coreference.resolver import RuleResolver
from memory.coreference.rewriting_resolver import RewritingResolver
from memory.extraction.extractor import RuleExtractor
from memory.extraction.trained_extractor import TrainedExtractor
from memory.indexing.bulk import BulkIndexing
from memory.indexing.indexer import Indexer
from memory.indexing.maintenance import BackgroundMaintenance
from memory.indexing.reembedding import Reembedding
from memory.indexing.spaces import PerSpace
from memory.indexing.verification import IndexVerifier
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.learning.worker import LearningWorker
from memory.ports.generations import VectorModel, VectorSpace
from memory.ports.language import Extractor, Reranker, Resolver
from memory.ports.services import Retriever
from memory.ports.vectors import Collection
from memory.retrieval.reranking import RerankingRetriever
from memory.retrieval.retriever import HybridRetriever
from models.assets.catalog import get_model
from storage.edge.generations import EdgeGenerations
from storage.redis.server import LocalRedisServer

from ..config.settings import AppArgs
from ..remote.handles import Handle, Remote, RemoteExtractor, RemoteReranker
from ..serve.language import LanguageParts
from ..serve.learner import LearnerParts
from ..serve.running_models import RunningModels
from .generations import open_generations, open_spaces, prepared_model
from .governance import make_recheck, make_review_job
from .live_model import LiveResolver, LiveRetriever
from .models import open_reranker, open_rewriter, open_tagger, running_extraction_version
from .reembedding import RayEmbedder
from .stores import local_redis, open_locks, open_record, open_shards


def make_session_server(args: AppArgs) -> LocalRedisServer:
    """What the SessionServer deployment runs, where `stores.local_redis` has one."""
    server = local_redis(args)
    assert server is not None  # noqa: S101 - the graph has no SessionServer otherwise
    return server


def make_shards(args: AppArgs, *, model: VectorModel) -> EdgeGenerations:
    """What the VectorShard deployment runs."""
    shards = open_shards(args)
    shards.open_live(model)
    return shards


def make_extractor(args: AppArgs) -> LanguageParts[Extractor]:
    """What the Extractor deployment runs: rules, and the tagger where it is on."""
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

    Its extractor is its own and without a tagger: turns of a session carry what the Extractor found in them, and rules
    read the rest (the query, turns that a caller gave) without another hop.
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
    """What the Reranker deployment runs, where the graph has one."""
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
        extractor=RemoteExtractor(
            Remote(extractor, component="extractor", deadline_s=args.deadlines.extractor_batch),
            version=running_extraction_version(args),
        ),
        indexer=Indexer(
            record=record,
            spaces=spaces,
            analyzer=KeywordAnalyzer(),
            rechecks=PerSpace(
                spaces, lambda space: make_recheck(args, record=record, space=space.part(Collection.TYPED_MEMORIES))
            ),
        ),
    )
    locks = open_locks(args)
    bulk = RayEmbedder(args)
    verifiers = PerSpace(spaces, lambda space: IndexVerifier(record=record, space=space, indexer=learner.indexer))
    worker = LearningWorker(learner=learner, record=record, users_at_once=args.learner.users_at_once)
    return LearnerParts(
        worker=worker,
        maintenance=BackgroundMaintenance(verifiers=verifiers, embedder=bulk, locks=locks),
        reembedding=Reembedding(
            record=record,
            locks=locks,
            spaces=spaces,
            store=generations,
            embedder=bulk,
            indexer=learner.indexer,
            prepare=partial(prepared_model, args),
            configured=model,
        ),
        bulk_indexing=BulkIndexing(
            record=record,
            locks=locks,
            spaces=spaces,
            embedder=bulk,
            indexer=learner.indexer,
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
