"""Opens what the ingress serves: the domain's use cases over stores of its own and handles to the rest of the graph."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from memory.chat.additions import MemoryAdditions
from memory.chat.turn import ChatTurn
from memory.ports.language import FloatMatrix, Priority, TextKind
from models.catalog import get_model
from storage.memory_sessions import InMemorySessions
from storage.redis_sessions import RedisSessions
from storage.resilient_sessions import ResilientSessions

from .config import AppArgs
from .engines import make_answerer, open_record, session_server
from .http.services import Probe, Services
from .logs import configure_logs
from .metrics import MeteredExtractor, MeteredResolver, MeteredRetriever, ServiceMetrics
from .remote import Handle, Remote, RemoteExtractor, RemoteLearning, RemoteResolver, RemoteRetriever

_OPTIONAL = {"session_server"}
_PROBE_DEADLINE_S = 2.0


@asynccontextmanager
async def open_services(args: AppArgs, *, parts: Mapping[str, Handle], dimension: int) -> AsyncIterator[Services]:
    """The services of one ingress replica, on its event loop; closed when the context ends.

    Args:
        args: The settings.
        parts: The deployments behind the ingress by component name; `session_server` only where sessions are kept on
            a local server.
        dimension: Length of the model's vectors.
    """
    configure_logs(args.data_home / "logs", "ingress", args.log_level)
    remotes = {
        name: Remote(handle, component=name, deadline_s=getattr(args.deadlines, name, _PROBE_DEADLINE_S))
        for name, handle in parts.items()
    }
    metrics = ServiceMetrics()
    record = open_record(args, durable=True)
    sessions = ResilientSessions(RedisSessions(args.redis_url or session_server(args).url), InMemorySessions())
    extractor = MeteredExtractor(RemoteExtractor(remotes["extractor"]), metrics)
    resolver = MeteredResolver(RemoteResolver(remotes["resolver"]), metrics)
    retriever = MeteredRetriever(RemoteRetriever(remotes["retriever"]), metrics)
    learning = RemoteLearning(remotes["learner"])
    entry = get_model(args.model)

    async def embed(texts: list[str], kind: TextKind, priority: Priority) -> tuple[FloatMatrix, int]:
        matrix, tokens = await remotes["embedder"].call("embed", texts, kind, priority)
        return matrix, tokens

    yield Services(
        chat=ChatTurn(
            sessions=sessions,
            record=record,
            extractor=extractor,
            resolver=resolver,
            retriever=retriever,
            answerer=make_answerer(args),
            learning=learning,
        ),
        additions=MemoryAdditions(record=record, sessions=sessions, learning=learning),
        record=record,
        sessions=sessions,
        extractor=extractor,
        resolver=resolver,
        retriever=retriever,
        embed=embed,
        metrics=metrics,
        model_ids=tuple(dict.fromkeys((entry.id, entry.hub_name))),
        dimension=dimension,
        probes={
            "record": record.backlog.counts,
            "sessions": _session_probe(sessions),
            **{name: _probe(remote) for name, remote in remotes.items()},
        },
        required=frozenset({"record", *remotes} - _OPTIONAL),
    )
    await sessions.close()
    await record.close()


def _probe(remote: Remote) -> Probe:
    async def stats() -> Mapping[str, float | str]:
        figures: Mapping[str, float | str] = await remote.call("stats", deadline_s=_PROBE_DEADLINE_S)
        return figures

    return stats


def _session_probe(sessions: ResilientSessions) -> Probe:
    async def figures() -> Mapping[str, float | str]:
        status: dict[str, str] = {"status": "degraded"} if sessions.degraded else {}
        return {"fallbacks": float(sessions.fallbacks), **status}

    return figures
