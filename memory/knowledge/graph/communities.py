"""Communities of a graph: groups of nodes with more weight among themselves than to others."""

import asyncio
from typing import Any

from ...values.base import Value
from ...values.documents.graphs import GraphNode
from .queries import GraphPlace, GraphQueries, Subgraph

_SEED = 0


class Community(Value):
    """A group of nodes, the largest first; `weight` is that of the edges between them."""

    nodes: tuple[GraphNode, ...]
    weight: float


class Communities(Value):
    """The communities of the largest nodes, those with most nodes first; `complete` as in `Subgraph`."""

    version: int
    results: tuple[Community, ...]
    complete: bool


async def find_communities(queries: GraphQueries, place: GraphPlace, *, limit: int) -> Communities:
    """The communities of a graph's largest nodes, by Louvain's method with a fixed seed; nodes alone are left out.

    Raises:
        CorpusNotFound: The app has no such corpus.
        KnowledgeNotFound: The corpus has no such graph.
    """
    view = await queries.view(place, limit=limit)
    return Communities(
        version=view.version, results=tuple(await asyncio.to_thread(_communities, view)), complete=view.complete
    )


def _communities(view: Subgraph) -> list[Community]:
    import networkx as nx  # loads many modules: not at import

    graph: Any = nx.Graph()
    for edge in view.edges:
        known = graph.get_edge_data(edge.source_id, edge.target_id, {"weight": 0.0})["weight"]
        graph.add_edge(edge.source_id, edge.target_id, weight=known + edge.weight)
    nodes = {node.node_id: node for node in view.nodes}
    found = []
    for group in nx.community.louvain_communities(graph, weight="weight", seed=_SEED):
        largest = sorted((nodes[id_] for id_ in group), key=lambda node: (-node.chunks, node.node_id))
        weight = graph.subgraph(group).size(weight="weight")
        found.append(Community(nodes=tuple(largest), weight=round(weight, 3)))
    return sorted(found, key=lambda one: (-len(one.nodes), -one.weight, one.nodes[0].node_id))
