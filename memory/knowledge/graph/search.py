"""Chunks that are evidence for what a query names, and for what stands beside it in the graph (004 §5.2, §8)."""

import math
from collections import defaultdict

from ...ports.stores.graphs import NodeQuery
from ...ports.stores.record import UnitOfWork
from ...values.documents.graphs import GraphNode, GraphVersion
from ...values.ids import graph_node_id
from ...values.text import is_han, normalise

_LONGEST_NAME = 24
_NEIGHBOURS = 20
_EDGES = 200
_MENTIONS = 2_000
_OF_A_NEIGHBOUR = 0.3
"""What a neighbour counts beside a name of the query."""


async def graph_scores(unit: UnitOfWork, graph: GraphVersion, query: str) -> dict[str, float]:
    """Scores above 0 by the id of the chunk, of the chunks that name something of the query or its neighbours.

    A name counts the more, the fewer chunks have it (the logarithm of the inverse share of chunks).
    """
    named = await _named(unit, graph, query)
    weights = {node.node_id: _rarity(node, graph) for node in named}
    if not weights:
        return {}
    beside: dict[str, float] = defaultdict(float)
    for edge in await unit.knowledge_graph.edges(graph, [*weights], limit=_EDGES):
        for end, other in ((edge.source_id, edge.target_id), (edge.target_id, edge.source_id)):
            if end in weights and other not in weights:
                beside[other] += edge.weight
    nearest = sorted(beside, key=lambda node_id: (-beside[node_id], node_id))[:_NEIGHBOURS]
    for node in await unit.knowledge_graph.nodes(graph, NodeQuery(nearest, limit=len(nearest))):
        share = beside[node.node_id] / max(beside.values())
        weights[node.node_id] = _OF_A_NEIGHBOUR * share * _rarity(node, graph)
    scores: dict[str, float] = defaultdict(float)
    for mention in await unit.knowledge_graph.mentions(graph, [*weights], limit=_MENTIONS):
        scores[mention.knowledge_id] += weights[mention.node_id]
    return dict(scores)


async def _named(unit: UnitOfWork, graph: GraphVersion, query: str) -> list[GraphNode]:
    """The nodes that a query names: of names that overlap the longest."""
    text = normalise(query)
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for start in range(len(text)):
        for end in range(start + 1, min(len(text), start + _LONGEST_NAME) + 1):
            if _is_border(text, start) and _is_border(text, end) and text[start:end].strip() == text[start:end]:
                places[graph_node_id(graph.user_id, graph.corpus_id, text[start:end])].append((start, end))
    found = await unit.knowledge_graph.nodes(graph, NodeQuery([*places], limit=len(places)))
    taken: list[tuple[int, int]] = []
    named: dict[str, GraphNode] = {}
    spans = [(start, end, node) for node in found for start, end in places[node.node_id]]
    for start, end, node in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
        if all(end <= other_start or other_end <= start for other_start, other_end in taken):
            taken.append((start, end))
            named[node.node_id] = node
    return [*named.values()]


def _is_border(text: str, offset: int) -> bool:
    """Whether a name may begin or end here: not within a word that is written with spaces around it."""
    if offset in (0, len(text)):
        return True
    before, after = text[offset - 1], text[offset]
    return not (before.isalnum() and after.isalnum()) or is_han(before) or is_han(after)


def _rarity(node: GraphNode, graph: GraphVersion) -> float:
    return math.log1p(max(graph.chunk_count, node.chunks) / node.chunks)
