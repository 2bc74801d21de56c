"""Builds the retriever that the Retriever deployment runs, and what reads and answers in the ingress."""

from collections.abc import Mapping

from memory.answering.answers import Answerer
from memory.answering.extractive import ExtractiveAnswerer
from memory.answering.several import SeveralAnswerer
from memory.indexing.generations import PerSpace
from memory.knowledge.base import KnowledgeBase
from memory.knowledge.beside_memory import CorpusRetriever
from memory.language.keywords import KeywordAnalyzer
from memory.ports.models.answer_reading import AnswerReader
from memory.ports.services import Retriever
from memory.ports.stores.generations import VectorModel, VectorSpace
from memory.ports.stores.record import SystemOfRecord
from memory.retrieval.answers import AnswerRetriever
from memory.retrieval.overviews import OverviewRetriever
from memory.retrieval.reranking import RerankingRetriever
from memory.retrieval.retriever import HybridRetriever
from memory.retrieval.validity import ValidityRetriever
from memory.values.hits import CosineBounds
from models.assets.catalog import get_model
from models.assets.language_gaps import language_gaps

from ...config.settings import AppArgs
from ...remote.handles import Handle, Remote, RemoteAnswerReader, RemoteReranker
from ...telemetry.metrics import MeteredAnswerReader, ServiceMetrics
from ..storage.spaces import open_generations, open_spaces
from ..storage.stores import open_record
from .language import is_on
from .live_model import LiveRetriever


def make_retriever(
    args: AppArgs,
    *,
    embedder: Handle,
    model: VectorModel,
    vectors: Handle | None = None,
    reranker: Handle | None = None,
) -> Retriever:
    """Builds the hybrid retriever over all vector spaces, with reranking where a `reranker` is given.

    Args:
        args: The settings.
        embedder: The handle of the Embedder.
        model: The vector model to search with where the record names none.
        vectors: The handle of the deployment that owns the embedded vectors; None with a Qdrant server.
        reranker: The handle of the Reranker; None where it is off.
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

    def retriever_in(space: VectorSpace) -> Retriever:
        gap = language_gaps().get(space.encoder.model_id)
        return HybridRetriever(
            encoder=space.encoder, index=space.index, record=record, analyzer=KeywordAnalyzer(), gap=gap
        )

    fused = LiveRetriever(PerSpace(spaces, retriever_in))
    if reranker is None:
        return fused
    remote = Remote(reranker, component="reranker", deadline_s=args.deadlines.reranker)
    return RerankingRetriever(fused, reranker=RemoteReranker(remote), record=record)


def make_answerer(args: AppArgs, *, model_id: str) -> Answerer:
    """Builds the answerer; its cosine bounds are those of the settings, else those of the model's catalogue entry."""
    min_cosine = get_model(model_id).answer_min_cosine
    if args.answer_min_cosine is not None:
        min_cosine = CosineBounds(chinese=args.answer_min_cosine, other=args.answer_min_cosine)
    quoting = ExtractiveAnswerer(analyzer=KeywordAnalyzer(), min_cosine=min_cosine, bounds=args.answers.bounds)
    return SeveralAnswerer(quoting)


def make_searching(
    args: AppArgs,
    *,
    retriever: Retriever,
    record: SystemOfRecord,
    parts: Mapping[str, Handle],
    metrics: ServiceMetrics,
    knowledge: KnowledgeBase | None = None,
) -> Retriever:
    """The search of the ingress: with the validity of what was found and, where that is on, read with the question.

    Args:
        args: The settings.
        retriever: The Retriever.
        record: The system of record.
        parts: The deployments behind the ingress by component name.
        metrics: Times the readings.
        knowledge: Searched beside memory where a request names corpora.
    """
    searching: Retriever = ValidityRetriever(retriever, record=record, analyzer=KeywordAnalyzer())
    if knowledge is not None:
        searching = CorpusRetriever(searching, knowledge=knowledge, analyzer=KeywordAnalyzer())
    reader = answer_reader_of(args, parts)
    if reader is not None:
        searching = AnswerRetriever(searching, reader=MeteredAnswerReader(reader, metrics), recipe=args.answers.recipe)
    return OverviewRetriever(searching, record=record, analyzer=KeywordAnalyzer())


def answer_reader_of(args: AppArgs, parts: Mapping[str, Handle]) -> AnswerReader | None:
    """The answer reader, in the deployment that runs it; None where it is off.

    Args:
        args: The settings.
        parts: Deployments by component name: `extractor`, and `answers` where that is one of its own.
    """
    if not is_on(args, "answers"):
        return None
    handle = parts["answers"] if args.models.answers_apart else parts["extractor"]
    deadlines = args.deadlines
    remote = Remote(handle, component="answers", deadline_s=deadlines.answers, away_s=deadlines.extractor_away)
    return RemoteAnswerReader(remote)
