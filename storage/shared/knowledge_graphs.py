"""What the evidence of a knowledge graph adds up to, the same in every backend."""

from collections.abc import Iterable
from typing import NamedTuple

from memory.values.documents.graphs import FULL_STRENGTH, GraphNode, GraphRelation
from memory.values.understanding.mentions import EntitySubtype


class Spelling(NamedTuple):
    """How often a node is written in one way: in all, and in how many chunks; `kind` is empty where it is unknown."""

    node_id: str
    name: str
    kind: str
    mentions: int
    chunks: int


def nodes_of(spellings: Iterable[Spelling], order: Iterable[str]) -> list[GraphNode]:
    """The nodes of these ids that have spellings, in this order."""
    found: dict[str, list[Spelling]] = {}
    for spelling in spellings:
        found.setdefault(spelling.node_id, []).append(spelling)
    return [_node(node_id, found[node_id]) for node_id in order if node_id in found]


def in_order(spellings: Iterable[Spelling]) -> list[str]:
    """Ids of nodes, those in most chunks first, then by id."""
    chunks: dict[str, int] = {}
    for spelling in spellings:
        chunks[spelling.node_id] = chunks.get(spelling.node_id, 0) + spelling.chunks
    return sorted(chunks, key=lambda node_id: (-chunks[node_id], node_id))


def relation_of(
    edge_id: str, source_id: str, target_id: str, relation_type: str, strength: float, chunks: float
) -> GraphRelation:
    """An edge whose links have these strengths together, in thousandths."""
    weight = int(strength) / FULL_STRENGTH
    return GraphRelation(
        edge_id=edge_id,
        source_id=source_id,
        target_id=target_id,
        type=relation_type,
        weight=weight,
        chunks=int(chunks),
    )


def _node(node_id: str, spellings: list[Spelling]) -> GraphNode:
    names: dict[str, int] = {}
    kinds: dict[str, int] = {}
    for spelling in spellings:
        names[spelling.name] = names.get(spelling.name, 0) + spelling.chunks
        if spelling.kind:
            kinds[spelling.kind] = kinds.get(spelling.kind, 0) + spelling.mentions
    ranked = sorted(names, key=lambda name: (-names[name], name))
    kind = min(kinds, key=lambda kind: (-kinds[kind], kind), default="")
    return GraphNode(
        node_id=node_id,
        name=ranked[0],
        names=tuple(ranked),
        kind=EntitySubtype(kind) if kind else None,
        mentions=sum(spelling.mentions for spelling in spellings),
        chunks=sum(spelling.chunks for spelling in spellings),
    )
