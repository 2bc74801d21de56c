"""The knowledge base, built from the settings (004)."""

from collections.abc import Mapping

from documents.parser import FileParser
from memory.indexing.generations import PerSpace
from memory.indexing.indexer import Indexer
from memory.knowledge.base import KnowledgeBase
from memory.knowledge.building import SourceBuilder
from memory.knowledge.corpora import Corpora
from memory.knowledge.graph.building import GraphBuilder
from memory.knowledge.graph.graphs import KnowledgeGraphs
from memory.knowledge.graph.strategies import Strategy, StrategyName, builtin_strategies
from memory.knowledge.ingestion import Ingestion
from memory.knowledge.search import KnowledgeSearch
from memory.knowledge.similarity import EncodedSimilarity
from memory.knowledge.sources import Sources
from memory.language.keywords import KeywordAnalyzer
from memory.ports.knowledge import DocumentParser
from memory.ports.models.language import Extractor, Reranker
from memory.ports.services import BacklogWorker, LearningService
from memory.ports.stores.corpora import IngestionService
from memory.ports.stores.generations import VectorSpace, VectorSpaces
from memory.ports.stores.record import SystemOfRecord
from memory.prompting.checked_model import CheckedModel
from memory.prompting.graphs import ModelEntities, ModelRelations
from memory.values.access.identity import app_owner
from memory.values.base import utc_now
from memory.values.documents.corpora import Reranking
from memory.values.ids import corpus_id
from models.assets.catalog import CATALOG
from models.assets.language_gaps import language_gaps

from ..config.settings import AppArgs
from ..remote.handles import Handle, Remote, RemoteReranker
from ..remote.knowledge import ApiReranker
from .models.language import is_on

_POLL_S = 1.0


def make_ingestion(
    args: AppArgs,
    *,
    record: SystemOfRecord,
    indexer: Indexer,
    spaces: VectorSpaces,
    parser: DocumentParser,
    worker: BacklogWorker,
) -> Ingestion:
    """The ingestion that the Learner runs; `worker` says whose backlog is embedded in bulk."""
    builder = SourceBuilder(
        record=record,
        indexer=indexer,
        parser=parser,
        similarity=EncodedSimilarity(spaces.live),
        claimed=lambda: worker.claimed,
        poll_s=_POLL_S,
        now=utc_now,
    )
    wait_s = 0.9 * args.deadlines.learner
    return Ingestion(record=record, builder=builder, at_once=args.knowledge.sources_at_once, wait_s=wait_s)


def make_knowledge_base(
    *,
    record: SystemOfRecord,
    spaces: VectorSpaces,
    ingestion: IngestionService,
    learning: LearningService,
    rerankers: Mapping[Reranking, Reranker],
) -> KnowledgeBase:
    """The knowledge base as routes use it."""
    analyzer = KeywordAnalyzer()

    def search_in(space: VectorSpace) -> KnowledgeSearch:
        model = CATALOG.get(space.encoder.model_id)
        return KnowledgeSearch(
            record=record,
            encoder=space.encoder,
            index=space.index,
            analyzer=analyzer,
            rerankers=rerankers,
            gap=language_gaps().get(space.encoder.model_id),
            spread=None if model is None else model.cosine_spread,
        )

    return KnowledgeBase(
        corpora=Corpora(record),
        sources=Sources(record),
        ingestion=ingestion,
        learning=learning,
        searching=PerSpace(spaces, search_in).current,
    )


def make_graph_builder(
    args: AppArgs, *, record: SystemOfRecord, extractor: Extractor, language_model: CheckedModel | None
) -> GraphBuilder:
    """The handler of builds of knowledge graphs, which the Learner runs."""
    strategies = builtin_strategies(extractor)
    if language_model is not None:
        names, stated, *others = strategies[StrategyName.READER].entities, *strategies[StrategyName.READER].relations
        strategies[StrategyName.MODEL] = Strategy(
            ModelEntities(language_model, otherwise=names),
            (ModelRelations(language_model, otherwise=stated), *others),
        )
    chosen = {name: strategies[name] for name in strategy_names(args)}
    return GraphBuilder(record=record, strategies=chosen)


def strategy_names(args: AppArgs) -> list[StrategyName]:
    """The strategies that this service has, the one that is the default last."""
    model = [StrategyName.MODEL] if args.language_model.endpoints else []
    reader = [StrategyName.READER] if is_on(args, "reader") else []
    return [*model, StrategyName.PATTERNS, *reader]


def make_graphs(args: AppArgs, *, record: SystemOfRecord) -> KnowledgeGraphs:
    """Knowledge graphs as routes use them."""
    return KnowledgeGraphs(record, strategies=strategy_names(args))


def make_rerankers(args: AppArgs, *, reranker: Handle | None, api: ApiReranker | None) -> dict[Reranking, Reranker]:
    """The rerankers that corpora may ask for.

    Args:
        args: The settings.
        reranker: The Reranker deployment; None where it is off.
        api: The reranker at an endpoint; None where none is set.
    """
    found: dict[Reranking, Reranker] = {}
    if reranker is not None:
        remote = Remote(reranker, component="reranker", deadline_s=args.deadlines.reranker)
        found[Reranking.LOCAL] = RemoteReranker(remote)
    if api is not None:
        found[Reranking.API] = api
    return found


def make_parser() -> DocumentParser:
    """The parser of all types of files."""
    return FileParser()


def corpora_in_chat(args: AppArgs) -> dict[str, tuple[str, ...]]:
    """By app, the ids of the corpora that chat searches where a request names none."""
    return {
        app: tuple(corpus_id(app_owner(app), name) for name in dict.fromkeys(names))
        for app, names in args.knowledge.in_chat.items()
    }
