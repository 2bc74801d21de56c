"""What is asked of a version of a graph: nodes by name, neighbours, paths, a part to show, evidence (004 §11.2)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice, pairwise
from typing import Any

from ...ports.stores.graphs import NodeQuery
from ...ports.stores.record import SystemOfRecord, UnitOfWork
from ...values.access.identity import app_owner
from ...values.base import Value
from ...values.documents.corpora import Knowledge, Span
from ...values.documents.graphs import ALIAS, FULL_STRENGTH, Finder, GraphNode, GraphRelation, GraphVersion
from ...values.errors import KnowledgeNotFound
from ...values.ids import graph_node_id
from ...values.text import normalise
from ..corpora import get_corpus

MAX_NODES = 1_000
MAX_EDGES = 5_000
MAX_HOPS = 4
_WALKED_NODES = 2_000
_ALIASES = 100
_AROUND = 200
"""Characters of a chunk that are quoted before and after a piece of evidence."""


class Match(StrEnum):
    """How a name is looked up."""

    EXACT = "exact"
    ALIAS = "alias"
    PREFIX = "prefix"


class FoundNode(Value):
    """A node with how its name was matched."""

    node: GraphNode
    match: Match


class Subgraph(Value):
    """A part of a graph.

    Args:
        complete: False where a limit left nodes or edges out.
    """

    version: int
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphRelation, ...]
    complete: bool


class GraphPath(Value):
    """A way from one node to another: one node more than edges, in the order of the way."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphRelation, ...]


class Paths(Value):
    """The shortest ways; `complete` is False where the search came to its limit."""

    version: int
    results: tuple[GraphPath, ...]
    complete: bool


class Evidence(Value):
    """A place that names a node or states an edge.

    Args:
        knowledge_id: The chunk; None for what a person has added, which has no place either.
        spans: Offsets into the chunk.
        quote: The chunk around the first of them; `quote_start` is its offset in the chunk.
        strength: Of an edge, 0 to 1.
    """

    knowledge_id: str | None
    source_id: str | None = None
    source_uri: str | None = None
    source_version: int | None = None
    chunk_index: int | None = None
    title: str = ""
    page: int | None = None
    headings: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    quote: str = ""
    quote_start: int = 0
    by: Finder | None = None
    strength: float | None = None


@dataclass(frozen=True)
class GraphPlace:
    """The graph that is asked.

    Args:
        version: None for the version that is shown.
    """

    app: str
    corpus_id: str
    version: int | None = None


class GraphQueries:
    """Answers from the record.

    Args:
        record: Stores graphs and chunks.
    """

    def __init__(self, record: SystemOfRecord) -> None:
        self._record = record

    async def find(self, place: GraphPlace, name: str, *, match: Match | None = None, limit: int) -> list[FoundNode]:
        """Nodes of this name, then those that it is an alias of, then those whose names begin so.

        Args:
            place: The graph.
            name: Compared without width, case and script.
            match: Only one of the three.
            limit: At most so many.

        Raises:
            CorpusNotFound: The app has no such corpus.
            KnowledgeNotFound: The corpus has no such graph.
        """
        async with self._record.reading(user_id=app_owner(place.app)) as unit:
            graph = await opened(unit, place)
            found: dict[str, FoundNode] = {}
            node_id = graph_node_id(graph.user_id, graph.corpus_id, name)
            if match in (None, Match.EXACT):
                _add(found, await unit.knowledge_graph.nodes(graph, NodeQuery([node_id])), Match.EXACT)
            if match in (None, Match.ALIAS):
                aliases = NodeQuery(await alias_ids(unit, graph, node_id), limit=limit)
                _add(found, await unit.knowledge_graph.nodes(graph, aliases), Match.ALIAS)
            if match in (None, Match.PREFIX) and (prefix := normalise(name)):
                longer = await unit.knowledge_graph.nodes(graph, NodeQuery(prefix=prefix, limit=limit))
                _add(found, longer, Match.PREFIX)
        return [*islice(found.values(), limit)]

    async def node(self, place: GraphPlace, node_id: str) -> GraphNode:
        """One node.

        Raises:
            KnowledgeNotFound: The graph has no such node.
        """
        async with self._record.reading(user_id=app_owner(place.app)) as unit:
            return await get_node(unit, await opened(unit, place), node_id)

    async def neighbours(self, place: GraphPlace, node_id: str, *, hops: int, limit: int) -> Subgraph:
        """A node with those that can be reached from it, over the heaviest edges first.

        Raises:
            KnowledgeNotFound: The graph has no such node.
        """
        async with self._record.reading(user_id=app_owner(place.app)) as unit:
            graph = await opened(unit, place)
            await get_node(unit, graph, node_id)
            ids, complete = {node_id: None}, True
            frontier = [node_id]
            for _ in range(hops):
                edges = await unit.knowledge_graph.edges(graph, frontier, limit=MAX_EDGES)
                reached = dict.fromkeys(end for edge in edges for end in (edge.source_id, edge.target_id))
                new = [end for end in reached if end not in ids]
                frontier = new[: limit + 1 - len(ids)]
                complete = complete and len(edges) < MAX_EDGES and len(frontier) == len(new)
                ids |= dict.fromkeys(frontier)
            return await _subgraph(unit, graph, [*ids], complete=complete)

    async def view(self, place: GraphPlace, *, limit: int) -> Subgraph:
        """The largest nodes with the edges between them.

        Raises:
            CorpusNotFound: The app has no such corpus.
            KnowledgeNotFound: The corpus has no such graph.
        """
        async with self._record.reading(user_id=app_owner(place.app)) as unit:
            graph = await opened(unit, place)
            nodes = await unit.knowledge_graph.nodes(graph, NodeQuery(limit=limit + 1))
            ids = [node.node_id for node in nodes[:limit]]
            return await _subgraph(unit, graph, ids, complete=len(nodes) <= limit)

    async def paths(self, place: GraphPlace, source_id: str, target_id: str, *, hops: int, limit: int) -> Paths:
        """The shortest ways between two nodes, whatever the direction of edges; none where they are not joined.

        Args:
            place: The graph.
            source_id: Where it begins.
            target_id: Where it ends.
            hops: The most edges of a way.
            limit: At most so many, of one length; the heaviest edge of several between two nodes is taken.

        Raises:
            KnowledgeNotFound: The graph has no such nodes.
        """
        async with self._record.reading(user_id=app_owner(place.app)) as unit:
            graph = await opened(unit, place)
            for node_id in (source_id, target_id):
                await get_node(unit, graph, node_id)
            ways, edges, complete = await _shortest(unit, graph, source_id, target_id, hops=hops, limit=limit)
            ids = list(dict.fromkeys(node_id for way in ways for node_id in way))
            found = await unit.knowledge_graph.nodes(graph, NodeQuery(ids, limit=len(ids)))
        nodes = {node.node_id: node for node in found}
        return Paths(
            version=graph.version,
            complete=complete,
            results=tuple(
                GraphPath(
                    nodes=tuple(nodes[node_id] for node_id in way),
                    edges=tuple(edges[frozenset(pair)] for pair in pairwise(way)),
                )
                for way in ways
            ),
        )

    async def node_evidence(self, place: GraphPlace, node_id: str, *, limit: int) -> list[Evidence]:
        """Where a node is named.

        Raises:
            KnowledgeNotFound: The graph has no such node.
        """
        async with self._record.reading(user_id=app_owner(place.app)) as unit:
            graph = await opened(unit, place)
            mentions = await unit.knowledge_graph.mentions(graph, [node_id], limit=limit)
            if not mentions:
                raise KnowledgeNotFound(f"The graph has no node {node_id!r}.")
            chunks = await _chunks(unit, (mention.knowledge_id for mention in mentions))
        return [_evidence(chunks.get(mention.knowledge_id), mention.spans) for mention in mentions]

    async def edge_evidence(self, place: GraphPlace, edge_id: str, *, limit: int) -> list[Evidence]:
        """What states an edge, the strongest first.

        Raises:
            KnowledgeNotFound: The graph has no such edge.
        """
        async with self._record.reading(user_id=app_owner(place.app)) as unit:
            graph = await opened(unit, place)
            links = await unit.knowledge_graph.links(graph, edge_id, limit=limit)
            if not links:
                raise KnowledgeNotFound(f"The graph has no edge {edge_id!r}.")
            chunks = await _chunks(unit, (link.knowledge_id for link in links))
        return [
            _evidence(
                chunks.get(link.knowledge_id),
                (link.span,) if link.span else (),
                by=link.by,
                strength=link.strength / FULL_STRENGTH,
            )
            for link in links
        ]


async def opened(unit: UnitOfWork, place: GraphPlace) -> GraphVersion:
    """The version that is asked.

    Raises:
        CorpusNotFound: The app has no such corpus.
        KnowledgeNotFound: The corpus has no such version, or none is shown.
    """
    await get_corpus(unit, place.corpus_id)
    for version in await unit.knowledge_graph.versions(place.corpus_id):
        if version.active if place.version is None else version.version == place.version:
            return version
    if place.version is None:
        raise KnowledgeNotFound("The corpus has no graph yet: build one first.")
    raise KnowledgeNotFound(f"The graph has no version {place.version}.")


async def get_node(unit: UnitOfWork, graph: GraphVersion, node_id: str) -> GraphNode:
    """One node.

    Raises:
        KnowledgeNotFound: The graph has no such node.
    """
    found = await unit.knowledge_graph.nodes(graph, NodeQuery([node_id]))
    if not found:
        raise KnowledgeNotFound(f"The graph has no node {node_id!r}.")
    return found[0]


async def alias_ids(unit: UnitOfWork, graph: GraphVersion, node_id: str) -> list[str]:
    """The ids of the nodes that are other names of this one."""
    edges = await unit.knowledge_graph.edges(graph, [node_id], limit=MAX_EDGES)
    ends = [end for edge in edges if edge.type == ALIAS for end in (edge.source_id, edge.target_id)]
    return [end for end in dict.fromkeys(ends) if end != node_id][:_ALIASES]


def _add(found: dict[str, FoundNode], nodes: Iterable[GraphNode], match: Match) -> None:
    for node in nodes:
        found.setdefault(node.node_id, FoundNode(node=node, match=match))


async def _subgraph(unit: UnitOfWork, graph: GraphVersion, ids: Sequence[str], *, complete: bool) -> Subgraph:
    nodes = await unit.knowledge_graph.nodes(graph, NodeQuery(ids, limit=len(ids)))
    edges = await unit.knowledge_graph.edges(graph, ids, inside=True, limit=MAX_EDGES + 1)
    return Subgraph(
        version=graph.version,
        nodes=tuple(nodes),
        edges=tuple(edges[:MAX_EDGES]),
        complete=complete and len(edges) <= MAX_EDGES,
    )


async def _shortest(
    unit: UnitOfWork, graph: GraphVersion, source_id: str, target_id: str, *, hops: int, limit: int
) -> tuple[list[list[str]], dict[frozenset[str], GraphRelation], bool]:
    """The ways, the heaviest edge between each two nodes that were reached, and whether all were looked at."""
    import networkx as nx  # loads many modules: not at import

    edges: dict[frozenset[str], GraphRelation] = {}
    reached, frontier, complete = {source_id}, [source_id], True
    walked: Any = nx.Graph()
    walked.add_nodes_from((source_id, target_id))
    for _ in range(hops):
        found = await unit.knowledge_graph.edges(graph, frontier, limit=MAX_EDGES)
        for edge in found:
            if edges.setdefault(frozenset((edge.source_id, edge.target_id)), edge) is edge:
                walked.add_edge(edge.source_id, edge.target_id)
        ends = dict.fromkeys(end for edge in found for end in (edge.source_id, edge.target_id))
        frontier = [end for end in ends if end not in reached][:_WALKED_NODES]
        complete = complete and len(found) < MAX_EDGES
        reached.update(frontier)
        if target_id in reached or not frontier:
            break
    if not nx.has_path(walked, source_id, target_id):
        return [], edges, complete
    return list(islice(nx.all_shortest_paths(walked, source_id, target_id), limit)), edges, complete


async def _chunks(unit: UnitOfWork, ids: Iterable[str]) -> dict[str, Knowledge]:
    return {chunk.knowledge_id: chunk for chunk in await unit.knowledge.get([*dict.fromkeys(ids)])}


def _evidence(
    chunk: Knowledge | None, spans: tuple[Span, ...], *, by: Finder | None = None, strength: float | None = None
) -> Evidence:
    if chunk is None:
        return Evidence(knowledge_id=None, by=by or Finder.HAND, strength=strength)
    start = max(0, spans[0].start - _AROUND) if spans else 0
    end = spans[0].end + _AROUND if spans else _AROUND
    return Evidence(
        knowledge_id=chunk.knowledge_id,
        source_id=chunk.source_id,
        source_uri=chunk.source_uri,
        source_version=chunk.version,
        chunk_index=chunk.chunk_index,
        title=chunk.title,
        page=chunk.page,
        headings=chunk.headings,
        spans=spans,
        quote=chunk.content[start:end],
        quote_start=start,
        by=by,
        strength=strength,
    )
