"""Builds the services of the ingress over its own stores and the handles of the other deployments."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial

from ray import serve
from ray.serve.handle import DeploymentHandle

from memory.chat.additions import MemoryAdditions
from memory.chat.reader import MessageReader
from memory.chat.turn import ChatTurn
from memory.dialogue.personas import PersonaMemory
from memory.erasure.guard import ErasureGuard
from memory.governance.accesses import AccessTally
from memory.identity.api_keys import ApiKeys
from memory.indexing.generations import PerSpace
from memory.items.store import ItemStore
from memory.ports.models.chat_models import LANGUAGE_MODEL
from memory.ports.stores.generations import VectorModel, VectorSpace
from memory.ports.stores.vectors import Collection
from memory.values.access.identity import app_and_user
from models.assets.catalog import get_model
from storage.resilience.fallbacks import ResilientSessions

from ..config.settings import AppArgs
from ..http.support.services import Embedding, Probe, Services
from ..http.support.transfers import Transfers
from ..remote.embedder import RemoteEmbedder, RemoteEncoder
from ..remote.erasures import RemoteDecisions, RemoteErasures
from ..remote.handles import (
    Handle,
    Remote,
    RemoteExtractor,
    RemoteFactJobs,
    RemoteLearning,
    RemoteMaintenance,
    RemoteReembedding,
    RemoteResolver,
    RemoteRetriever,
    RemoteReviews,
)
from ..remote.knowledge import ApiReranker, RemoteIngestion
from ..remote.runs import RemoteRuns
from ..telemetry.metrics import MeteredExtractor, MeteredResolver, MeteredRetriever, ServiceMetrics
from ..telemetry.replicas import Figures
from .dialogue import dialogue_maker, read_personas
from .facts import make_fact_search, priority_rules
from .identity import open_authenticator, refuse_exposed_address
from .knowledge import corpora_in_chat, make_graphs, make_knowledge_base, make_rerankers
from .models.language import (
    answer_with_model,
    make_fact_reader,
    make_summary_writer,
    open_chat_upstreams,
    open_language_model,
    prompt_bounds,
)
from .models.live_model import LiveAnswerer
from .models.retrieval import make_answerer, make_searching
from .storage.spaces import open_generations, open_spaces
from .storage.store_probes import facts_probe, store_probes
from .storage.stores import open_log, open_short_lived
from .typed_memories import make_typed_memory_manager, tally_figures

_OPTIONAL = {"session_server", "reranker", "answers"}
_PROBE_DEADLINE_S = 2.0


@asynccontextmanager
async def open_services(args: AppArgs, *, parts: Mapping[str, Handle], model: VectorModel) -> AsyncIterator[Services]:
    """The services of one ingress replica, on its event loop; closed when the context ends.

    Args:
        args: The settings.
        parts: The deployments behind the ingress by component name; `vectors` and `session_server` only where the
            index and the sessions are kept by the service itself.
        model: The live one where nothing is recorded.
    """
    remotes = {
        name: Remote(
            handle,
            component=name,
            deadline_s=getattr(args.deadlines, name, _PROBE_DEADLINE_S),
            away_s=args.deadlines.extractor_away if name == "extractor" else None,
        )
        for name, handle in parts.items()
        if name != "vectors"  # the vector index has a `Remote` of its own, as a store
    }
    metrics = ServiceMetrics()
    await refuse_exposed_address(args)
    record = open_log(args)
    generations = open_generations(args, shard=parts.get("vectors"))
    spaces = open_spaces(
        args,
        record=record,
        model=model,
        embedder=parts["embedder"],
        generations=generations,
        deadline_s=args.deadlines.retriever,
    )
    short_lived = open_short_lived(args, record=record)
    authenticator, close_authenticator = open_authenticator(args, record.keys, failures=short_lived.failure_limiter)
    sessions = short_lived.sessions
    extractor = MeteredExtractor(RemoteExtractor(remotes["extractor"]), metrics)
    resolver = MeteredResolver(RemoteResolver(remotes["resolver"]), metrics)
    tally = AccessTally(record, interval_s=args.aam.access_flush_s)
    learning = RemoteLearning(remotes["learner"])
    reranker_api = ApiReranker(args.knowledge.reranker) if args.knowledge.reranker.url else None
    rerankers = make_rerankers(args, reranker=parts.get("reranker"), api=reranker_api)
    knowledge = make_knowledge_base(
        record=record,
        spaces=spaces,
        ingestion=RemoteIngestion(remotes["learner"]),
        learning=learning,
        rerankers=rerankers,
    )
    searching = partial(
        make_searching,
        args,
        retriever=RemoteRetriever(remotes["retriever"]),
        record=record,
        parts=parts,
        metrics=metrics,
    )
    with_corpora = searching(knowledge=knowledge)
    typed_memories = PerSpace(
        spaces,
        lambda space: make_typed_memory_manager(args, record=record, space=space.part(Collection.FACTS), tally=tally),
    )

    language_model, upstreams = open_language_model(args), open_chat_upstreams(args)
    quoting = LiveAnswerer(
        PerSpace(spaces, lambda space: make_answerer(args, model_id=space.encoder.model_id)),
        otherwise=spaces.of(model),
    )
    additions = MemoryAdditions(record=record, sessions=sessions, learning=learning)
    given_personas = read_personas(args.dialogue.personas)

    yield Services(
        chat=ChatTurn(
            reader=MessageReader(sessions=sessions, record=record, extractor=extractor, resolver=resolver),
            retriever=MeteredRetriever(searching(), metrics, counts_recall=False),
            with_corpora=MeteredRetriever(with_corpora, metrics, counts_recall=False),
            answerer=answer_with_model(args, quoting, language_model, extractor=extractor),
            additions=additions,
            uses=tally,
            assistant=PersonaMemory(record=record, given=given_personas).assistant,
        ),
        additions=additions,
        record=record,
        sessions=sessions,
        limiter=short_lived.limiter,
        key_limiter=short_lived.key_limiter,
        extractor=extractor,
        resolver=resolver,
        retriever=MeteredRetriever(with_corpora, metrics),
        index=RemoteMaintenance(remotes["learner"]),
        typed_memories=typed_memories,
        reviews=RemoteReviews(remotes["learner"]),
        fact_jobs=RemoteFactJobs(remotes["learner"]),
        runs=RemoteRuns(remotes["learner"]),
        fact_search=PerSpace(spaces, partial(make_fact_search, record=record)),
        tally=tally,
        priority_rules=priority_rules(args.context),
        summary_writer=make_summary_writer(args, language_model, extractor=extractor),
        fact_reader=make_fact_reader(args, language_model),
        upstreams=upstreams,
        prompt_bounds=prompt_bounds(args),
        rerankers=rerankers,
        knowledge=knowledge,
        corpora_in_chat=corpora_in_chat(args),
        items=ItemStore(record, encoder=PerSpace(spaces, lambda space: space.encoder).current),
        graphs=make_graphs(args, record=record),
        reembedding=RemoteReembedding(remotes["learner"]),
        erasures=RemoteErasures(remotes["learner"]),
        decisions=RemoteDecisions(remotes["learner"]),
        guard=ErasureGuard(record.runs),
        forget=partial(_forget, sessions, tally, authenticator.keys),
        evidence=args.answers.bounds,
        given_personas=given_personas,
        make_dialogue=dialogue_maker(args, model=language_model.model if language_model else None, answerer=quoting),
        cosine_bounds=PerSpace(spaces, lambda space: get_model(space.encoder.model_id).answer_min_cosine),
        embeddings=PerSpace(spaces, partial(_embedding, RemoteEmbedder(remotes["embedder"]))),
        metrics=metrics,
        probes={
            **store_probes(record=record, index=generations.index(model), short_lived=short_lived),
            "facts": facts_probe(record),
            "governance": _probe(partial(tally_figures, tally)),
            **({LANGUAGE_MODEL: _probe(language_model.figures)} if language_model else {}),
        },
        parts={
            name: partial(remote.call_each_replica, "report", deadline_s=_PROBE_DEADLINE_S)
            for name, remote in remotes.items()
        },
        ingress_reports=partial(_this_deployment().call_each_replica, "report"),
        transfers=Transfers(args.data_home),
        required=frozenset({*parts} - _OPTIONAL) | ({"record"} if args.stores == "embedded" else set()),
        authenticator=authenticator,
    )
    if language_model is not None:
        await language_model.close()
    if upstreams is not None:
        await upstreams.close()
    if reranker_api is not None:
        await reranker_api.close()
    await close_authenticator()
    await tally.close()
    await short_lived.close()
    await generations.close()
    await record.close()


def _embedding(embedder: RemoteEmbedder, space: VectorSpace) -> Embedding:
    model_id, dimension = space.encoder.model_id, space.encoder.dimension
    names = tuple(dict.fromkeys((model_id, get_model(model_id).hub_name)))
    return Embedding(names, dimension, RemoteEncoder(embedder, model_id=model_id, dimension=dimension).encode_counted)


def _this_deployment() -> Remote:
    """The handle of this process's own deployment, to reach all its replicas."""
    context = serve.get_replica_context()
    handle: Handle = DeploymentHandle(context.deployment, context.app_name)
    return Remote(handle, component="ingress", deadline_s=_PROBE_DEADLINE_S)


async def _forget(sessions: ResilientSessions, tally: AccessTally, keys: ApiKeys, user_id: str) -> None:
    await sessions.forget_here(user_id)
    tally.forget(user_id)
    app, user = app_and_user(user_id)
    keys.forget_user(app=app, user=user)


def _probe(figures: Callable[[], Figures]) -> Probe:
    async def probe() -> Figures:
        return figures()

    return probe
