"""Steps that an app may take with its knowledge, and all that it can see of it: for the isolation test.

Each user of that test has an app; what the app takes as a step is in a unit of its own.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from memory.ports.stores.graphs import NodeQuery
from memory.ports.stores.record import Backlog, UnitOfWork
from memory.values.access.identity import app_owner
from memory.values.documents.corpora import (
    ConfigVersion,
    Corpus,
    CorpusConfig,
    Knowledge,
    Source,
    SourceState,
    SourceVersion,
)
from memory.values.documents.graphs import Finder, GraphExtraction, GraphLink, GraphMention, GraphVersion
from memory.values.documents.knowledge import ChunkingConfig
from tests.storage.contracts.record.steps import Step


def _corpus(step: Step) -> Corpus:
    return Corpus(
        app=step.app,
        corpus_id=step.first,
        name=step.second,
        description=step.third,
        created_at=step.at,
        updated_at=step.at,
    )


def _version(step: Step) -> SourceVersion:
    return SourceVersion(
        app=step.app,
        source_id=step.first,
        corpus_id=step.second,
        source_uri=step.second,
        version=1 + len(step.third) % 3,
        content_hash=step.third,
        media_type="text/plain",
        chunking=ChunkingConfig(),
        config_version=1,
        state=list(SourceState)[len(step.second) % len(SourceState)],
        run_id=step.third,
        created_at=step.at,
        queued_at=step.at,
    )


async def _create_corpus(step: Step, unit: UnitOfWork) -> bool:
    return await unit.corpora.create(_corpus(step))


async def _update_corpus(step: Step, unit: UnitOfWork) -> None:
    await unit.corpora.update(_corpus(step))


async def _delete_corpus(step: Step, unit: UnitOfWork) -> bool:
    return await unit.corpora.delete(step.first)


async def _add_config_version(step: Step, unit: UnitOfWork) -> None:
    number = 1 + len(step.third) % 3
    await unit.corpora.add_version(
        ConfigVersion(app=step.app, corpus_id=step.first, version=number, config=CorpusConfig(), created_at=step.at)
    )


async def _save_source(step: Step, unit: UnitOfWork) -> None:
    await unit.sources.save(
        Source(
            app=step.app,
            source_id=step.first,
            corpus_id=step.second,
            source_uri=step.third,
            created_at=step.at,
            updated_at=step.at,
        )
    )


async def _delete_source(step: Step, unit: UnitOfWork) -> bool:
    return await unit.sources.delete(step.first)


async def _add_source_version(step: Step, unit: UnitOfWork) -> None:
    await unit.sources.add_version(_version(step), step.third.encode())


async def _update_source_version(step: Step, unit: UnitOfWork) -> None:
    await unit.sources.update_version(_version(step))


async def _save_knowledge(step: Step, unit: UnitOfWork) -> int:
    chunk = Knowledge(
        app=step.app,
        knowledge_id=step.first,
        corpus_id=step.second,
        source_id=step.second,
        source_uri=step.third,
        version=1,
        chunk_index=len(step.third) % 5,
        content=step.third,
        created_at=step.at,
    )
    return await unit.knowledge.save([chunk])


async def _requeue_knowledge(step: Step, unit: UnitOfWork) -> None:
    await unit.knowledge.requeue([step.first, step.second])


async def _delete_knowledge(step: Step, unit: UnitOfWork) -> int:
    return await unit.knowledge.delete([step.first, step.second])


def _graph(step: Step) -> GraphVersion:
    return GraphVersion(
        app=step.app,
        corpus_id=step.second,
        version=1 + len(step.third) % 2,
        strategy=step.third,
        run_id=step.first,
        removed=(step.third,),
        created_at=step.at,
    )


async def _save_graph(step: Step, unit: UnitOfWork) -> None:
    await unit.knowledge_graph.save_version(_graph(step))


async def _add_to_graph(step: Step, unit: UnitOfWork) -> None:
    """What the word `first` extracts, in the graph of every corpus of these words."""
    extraction = GraphExtraction(
        app=step.app, extraction_id=step.first, corpus_id=step.second, source_id=step.third, version=1
    )
    names = [(step.first, step.second), (step.second, step.third)]
    await unit.knowledge_graph.save(
        extraction,
        [GraphMention(node_id=node, key=node, name=name, knowledge_id=step.third) for node, name in names],
        [
            GraphLink(
                edge_id=f"{source}{target}",
                source_id=source,
                target_id=target,
                type="t",
                strength=1 + len(step.third) % 5,
                by=Finder.CHUNK,
                knowledge_id=step.third,
            )
            for source, target in names
        ],
    )
    for word in (step.first, step.second, step.third):
        await unit.knowledge_graph.add_members(word, 1, [step.first])


async def _prune_graph(step: Step, unit: UnitOfWork) -> int:
    return await unit.knowledge_graph.prune(step.first, [1])


async def _delete_from_graph(step: Step, unit: UnitOfWork) -> int:
    return await unit.knowledge_graph.delete_source(step.third)


async def _delete_graph(step: Step, unit: UnitOfWork) -> int:
    return await unit.knowledge_graph.delete_corpus(step.second)


KNOWLEDGE_ACTIONS: Mapping[str, Callable[[Step, UnitOfWork], Awaitable[Any]]] = {
    action.__name__.removeprefix("_"): action
    for action in (
        _create_corpus,
        _update_corpus,
        _delete_corpus,
        _add_config_version,
        _save_source,
        _delete_source,
        _add_source_version,
        _update_source_version,
        _save_knowledge,
        _requeue_knowledge,
        _delete_knowledge,
        _save_graph,
        _add_to_graph,
        _prune_graph,
        _delete_from_graph,
        _delete_graph,
    )
}


async def view_knowledge(unit: UnitOfWork, words: Sequence[str]) -> dict[str, Any]:
    """All that an app can see, asked for by these words."""
    return {
        "corpora": [
            await unit.corpora.get(words),
            await unit.corpora.list(),
            [await unit.corpora.versions(word) for word in words],
        ],
        "sources": [
            [*await unit.sources.get(words)],
            [[*await unit.sources.page(word, limit=99)] for word in words],
            [[*await unit.sources.page(word, after=words[0], limit=1)] for word in words],
            [[*await unit.sources.versions(word)] for word in words],
            [await unit.sources.content(word, number) for word in words for number in (1, 2, 3)],
        ],
        "knowledge": [
            [*await unit.knowledge.get(words)],
            [*await unit.knowledge.page(limit=99)],
            [*await unit.knowledge.page(after=words[0], limit=1)],
            [[*await unit.knowledge.ids(word)] for word in words],
            [[*await unit.knowledge.ids(word, version=1, limit=1)] for word in words],
            [await unit.knowledge.count(word) for word in words],
        ],
        "graphs": [await _view_graph(unit, word, words) for word in words],
    }


async def _view_graph(unit: UnitOfWork, corpus_id: str, words: Sequence[str]) -> list[Any]:
    """All that an app can see of the graph of a corpus."""
    graph = GraphVersion(
        corpus_id=corpus_id, version=1, strategy="", run_id="", removed=(words[-1],), created_at=datetime.now(UTC)
    )
    pairs = [f"{source}{target}" for source in words for target in words]
    return [
        [*await unit.knowledge_graph.versions(corpus_id)],
        [*await unit.knowledge_graph.members(corpus_id, 1)],
        [*await unit.knowledge_graph.extractions(words)],
        [*await unit.knowledge_graph.nodes(graph, NodeQuery())],
        [*await unit.knowledge_graph.nodes(graph, NodeQuery(prefix=words[0], limit=2))],
        [*await unit.knowledge_graph.nodes(graph, NodeQuery(node_ids=words, limit=2))],
        [*await unit.knowledge_graph.edges(graph, words, limit=99)],
        [*await unit.knowledge_graph.edges(graph, words[:2], inside=True, limit=2)],
        [*await unit.knowledge_graph.mentions(graph, words, limit=99)],
        [[*await unit.knowledge_graph.links(graph, edge_id, limit=9)] for edge_id in pairs],
        await unit.knowledge_graph.count(graph),
    ]


async def view_waiting(backlog: Backlog, app: str) -> dict[str, Any]:
    """What of an app waits for background work."""
    pending = [version for version in await backlog.pending_sources(limit=999) if version.app == app]
    outbox = await backlog.outbox(limit=999, user_id=app_owner(app))
    return {
        "pending": sorted(pending, key=lambda version: version.place),
        "outbox": [(entry.collection, entry.item_id) for entry in outbox],
    }
