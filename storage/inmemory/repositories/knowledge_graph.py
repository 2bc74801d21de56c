"""Knowledge graphs in memory."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from typing_extensions import override

from memory.ports.stores.graphs import KnowledgeGraphRepository, NodeQuery
from memory.values.documents.graphs import (
    GraphExtraction,
    GraphLink,
    GraphMention,
    GraphNode,
    GraphRelation,
    GraphVersion,
)

from ...shared.checks import check_owner
from ...shared.knowledge_graphs import Spelling, in_order, nodes_of, relation_of
from .state import InMemoryRepository, delete_by_id, existing


class InMemoryKnowledgeGraph(InMemoryRepository, KnowledgeGraphRepository):
    """The graphs of one app's corpora; evidence is kept by extraction."""

    @override
    async def versions(self, corpus_id: str) -> Sequence[GraphVersion]:
        found = [version for (corpus, _), version in self._state.readable.graphs.items() if corpus == corpus_id]
        return sorted(found, key=lambda version: -version.version)

    @override
    async def save_version(self, version: GraphVersion) -> None:
        check_owner([version], self._state.user_id)
        self._state.writable.graphs[version.corpus_id, version.version] = version

    @override
    async def members(self, corpus_id: str, version: int) -> Sequence[str]:
        return sorted(self._members(corpus_id, version))

    @override
    async def add_members(self, corpus_id: str, version: int, extraction_ids: Sequence[str]) -> None:
        self._state.writable.graph_members |= dict.fromkeys((corpus_id, version, id_) for id_ in extraction_ids)

    @override
    async def extractions(self, extraction_ids: Sequence[str]) -> Sequence[GraphExtraction]:
        return existing(self._state.readable.graph_extractions, extraction_ids)

    @override
    async def save(
        self, extraction: GraphExtraction, mentions: Sequence[GraphMention], links: Sequence[GraphLink]
    ) -> None:
        check_owner([extraction], self._state.user_id)
        data, extraction_id = self._state.writable, extraction.extraction_id
        data.graph_extractions[extraction_id] = extraction
        for mention in mentions:
            place = (extraction.corpus_id, mention.node_id, mention.knowledge_id, extraction_id)
            data.graph_mentions.setdefault(place, mention)
        for link in links:
            place = (extraction.corpus_id, link.edge_id, link.knowledge_id, extraction_id)
            data.graph_links.setdefault(place, link)

    @override
    async def nodes(self, graph: GraphVersion, query: NodeQuery) -> Sequence[GraphNode]:
        wanted = None if query.node_ids is None else {*query.node_ids}
        spellings = [
            Spelling(mention.node_id, mention.name, mention.kind or "", max(len(mention.spans), 1), 1)
            for mention in self._mentions(graph)
            if (wanted is None or mention.node_id in wanted) and mention.key.startswith(query.prefix)
        ]
        return nodes_of(spellings, in_order(spellings)[: max(query.limit, 0)])

    @override
    async def edges(
        self, graph: GraphVersion, node_ids: Sequence[str], *, inside: bool = False, limit: int
    ) -> Sequence[GraphRelation]:
        wanted, chosen = {*node_ids}, all if inside else any
        totals: dict[tuple[str, str, str, str], tuple[int, int]] = {}
        for link in self._links(graph):
            if chosen(end in wanted for end in (link.source_id, link.target_id)):
                edge = (link.edge_id, link.source_id, link.target_id, link.type)
                strength, chunks = totals.get(edge, (0, 0))
                totals[edge] = (strength + link.strength, chunks + 1)
        ranked = sorted(totals, key=lambda edge: (-totals[edge][0], *edge))
        return [relation_of(*edge, *totals[edge]) for edge in ranked[: max(limit, 0)]]

    @override
    async def mentions(self, graph: GraphVersion, node_ids: Sequence[str], *, limit: int) -> Sequence[GraphMention]:
        wanted = {*node_ids}
        found = [mention for mention in self._mentions(graph) if mention.node_id in wanted]
        return sorted(found, key=lambda mention: (mention.knowledge_id, mention.node_id))[: max(limit, 0)]

    @override
    async def links(self, graph: GraphVersion, edge_id: str, *, limit: int) -> Sequence[GraphLink]:
        found = [link for link in self._links(graph) if link.edge_id == edge_id]
        return sorted(found, key=lambda link: (-link.strength, link.knowledge_id))[: max(limit, 0)]

    @override
    async def count(self, graph: GraphVersion) -> tuple[int, int]:
        nodes = {mention.node_id for mention in self._mentions(graph)}
        return len(nodes), len({link.edge_id for link in self._links(graph)})

    @override
    async def prune(self, corpus_id: str, keep: Sequence[int]) -> int:
        data = self._state.writable
        gone = [key for key in data.graphs if key[0] == corpus_id and key[1] not in keep]
        delete_by_id(data.graphs, gone)
        left = [key for key in data.graph_members if key[0] == corpus_id and key[1] not in keep]
        delete_by_id(data.graph_members, left)
        used = {extraction_id for _, _, extraction_id in data.graph_members}
        self._delete(
            {
                id_
                for id_, extraction in data.graph_extractions.items()
                if extraction.corpus_id == corpus_id and id_ not in used
            }
        )
        return len(gone)

    @override
    async def delete_source(self, source_id: str) -> int:
        extractions = self._state.writable.graph_extractions.values()
        return self._delete({each.extraction_id for each in extractions if each.source_id == source_id})

    @override
    async def delete_corpus(self, corpus_id: str) -> int:
        return await self.prune(corpus_id, ())

    def _delete(self, extraction_ids: AbstractSet[str]) -> int:
        data = self._state.writable
        delete_by_id(data.graph_members, [key for key in data.graph_members if key[2] in extraction_ids])
        delete_by_id(data.graph_mentions, [key for key in data.graph_mentions if key[3] in extraction_ids])
        delete_by_id(data.graph_links, [key for key in data.graph_links if key[3] in extraction_ids])
        return len(delete_by_id(data.graph_extractions, extraction_ids))

    def _members(self, corpus_id: str, version: int) -> set[str]:
        members = self._state.readable.graph_members
        return {extraction_id for corpus, number, extraction_id in members if (corpus, number) == (corpus_id, version)}

    def _mentions(self, graph: GraphVersion) -> Iterator[GraphMention]:
        members, removed = self._members(graph.corpus_id, graph.version), {*graph.removed}
        for (corpus_id, node_id, _, extraction_id), mention in self._state.readable.graph_mentions.items():
            if corpus_id == graph.corpus_id and extraction_id in members and node_id not in removed:
                yield mention

    def _links(self, graph: GraphVersion) -> Iterator[GraphLink]:
        members, removed = self._members(graph.corpus_id, graph.version), {*graph.removed}
        for (corpus_id, _, _, extraction_id), link in self._state.readable.graph_links.items():
            is_member = corpus_id == graph.corpus_id and extraction_id in members
            if is_member and removed.isdisjoint((link.edge_id, link.source_id, link.target_id)):
                yield link
