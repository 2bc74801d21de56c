"""Builds the Learner: learning, and all background work on the index and the record."""

from datetime import timedelta
from functools import partial

from memory.indexing.bulk import BulkIndexing
from memory.indexing.generations import PerSpace
from memory.indexing.indexer import Indexer
from memory.indexing.maintenance import BackgroundMaintenance
from memory.indexing.reembedding import Reembedding
from memory.indexing.verification import IndexVerifier
from memory.jobs.queue import RunQueue
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.learning.worker import LearningWorker
from memory.ports.stores.generations import VectorModel
from memory.ports.stores.vectors import Collection

from ..config.settings import AppArgs
from ..remote.handles import Handle, Remote, RemoteExtractor
from ..serve.learner import LearnerParts
from .erasing import make_deciding, make_erasing
from .facts import make_fact_jobs
from .knowledge import make_graph_builder, make_ingestion, make_parser
from .models.bulk_embedding import RayEmbedder
from .models.language import make_fact_reader, make_summary_writer, open_language_model, running_extraction_version
from .models.retrieval import answer_reader_of
from .pipelines import make_run_desk
from .storage.spaces import open_generations, open_spaces, prepared_model
from .storage.stores import open_locks, open_record
from .typed_memories import make_recheck, make_review_job


def make_learner(
    args: AppArgs,
    *,
    embedder: Handle,
    extractor: Handle,
    model: VectorModel,
    vectors: Handle | None = None,
    answers: Handle | None = None,
) -> LearnerParts:
    """Builds the services of the Learner deployment.

    Args:
        args: The settings.
        embedder: The handle of the Embedder.
        extractor: The handle of the Extractor.
        model: The vector model where the record names none.
        vectors: The handle of the deployment that owns the embedded vectors; None with a Qdrant server.
        answers: The handle of the answer reader's own deployment; None where the Extractor runs it, or nothing.
    """
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
    remote_extractor = RemoteExtractor(
        Remote(extractor, component="extractor", deadline_s=args.deadlines.extractor_batch),
        version=running_extraction_version(args),
    )
    language_model = open_language_model(args)
    indexer = Indexer(
        record=record,
        spaces=spaces,
        analyzer=KeywordAnalyzer(),
        rechecks=PerSpace(spaces, lambda space: make_recheck(args, record=record, space=space.part(Collection.FACTS))),
    )
    erasing = make_erasing(
        args, record=record, vectors=generations, lock=indexer.lock, embedder=embedder, extractor=extractor
    )
    learner = Learner(
        record=record,
        extractor=remote_extractor,
        facts=make_fact_reader(args, language_model),
        indexer=indexer,
        erasures=erasing,
        answers=answer_reader_of(args, {"extractor": extractor} | ({"answers": answers} if answers else {})),
    )
    locks = open_locks(args)
    bulk = RayEmbedder(args)
    verifiers = PerSpace(spaces, lambda space: IndexVerifier(record=record, space=space, indexer=learner.indexer))
    worker = LearningWorker(learner=learner, record=record, users_at_once=args.learner.users_at_once)
    maintenance = BackgroundMaintenance(verifiers=verifiers, embedder=bulk, runs=record.runs, locks=locks)
    reembedding = Reembedding(
        record=record,
        locks=locks,
        spaces=spaces,
        store=generations,
        embedder=bulk,
        indexer=learner.indexer,
        prepare=partial(prepared_model, args),
        configured=model,
    )
    reviews = make_review_job(args, record=record, locks=locks)
    fact_jobs = make_fact_jobs(
        args,
        record=record,
        locks=locks,
        spaces=spaces,
        writer=make_summary_writer(args, language_model, extractor=remote_extractor),
    )
    ingestion = make_ingestion(args, record=record, indexer=indexer, spaces=spaces, parser=make_parser(), worker=worker)
    graphs = make_graph_builder(args, record=record, extractor=remote_extractor, language_model=language_model)
    queue = RunQueue(runs=record.runs, handlers=[graphs])
    return LearnerParts(
        worker=worker,
        maintenance=maintenance,
        reembedding=reembedding,
        bulk_indexing=BulkIndexing(
            record=record,
            locks=locks,
            spaces=spaces,
            embedder=bulk,
            indexer=learner.indexer,
            worker=worker,
            backlog=args.reembedding.backlog,
        ),
        reviews=reviews,
        fact_jobs=fact_jobs,
        queue=queue,
        runs=make_run_desk(
            record.runs,
            maintenance_jobs=maintenance,
            reembedding=reembedding,
            reviews=reviews,
            facts=fact_jobs,
            ingestion=ingestion,
            queue=queue,
            kept_for=None if args.runs_kept_days is None else timedelta(days=args.runs_kept_days),
        ),
        language_model=language_model,
        erasing=erasing,
        deciding=make_deciding(args, record=record, lock=indexer.lock, erasing=erasing),
        ingestion=ingestion,
        graph_figures=graphs.figures,
    )
