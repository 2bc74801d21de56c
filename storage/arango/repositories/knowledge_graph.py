"""Knowledge graphs in ArangoDB: nodes and edges are summed up from the evidence of a version's members."""

import json
from collections.abc import Sequence

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
from ..engine import documents
from ..engine import graph_queries as aql
from ..engine.documents import ArangoRepository
from ..engine.keys import Document, ascii_of, key_of, order_of, text_of
from ..engine.transaction import Query

_GRAPHS = "knowledge_graphs"
_MEMBERS = "graph_members"
_EXTRACTIONS = "graph_extractions"
_MENTIONS = "graph_mentions"
_LINKS = "graph_links"
_BEHIND_ALL = "g"
"""Behind all hexadecimal digits, which `order_of` writes."""


class ArangoKnowledgeGraph(ArangoRepository, KnowledgeGraphRepository):
    """The graphs of one app's corpora."""

    @override
    async def versions(self, corpus_id: str) -> Sequence[GraphVersion]:
        return await self._values(GraphVersion, aql.GRAPH_VERSIONS, corpus=self._key(corpus_id))

    @override
    async def save_version(self, version: GraphVersion) -> None:
        check_owner([version], self._user_id)
        document = {
            "_key": self._key(version.corpus_id, str(version.version)),
            "corpus": self._key(version.corpus_id),
            "version": version.version,
            "body": version.model_dump_json(),
        }
        await self._transaction.write(lambda query: documents.put(query, _GRAPHS, [document]))

    @override
    async def members(self, corpus_id: str, version: int) -> Sequence[str]:
        place = self._key(corpus_id, str(version))
        return await self._transaction.read(
            lambda query: sorted(text_of(id_) for id_ in query(aql.GRAPH_MEMBERS, place=place))
        )

    @override
    async def add_members(self, corpus_id: str, version: int, extraction_ids: Sequence[str]) -> None:
        added = [
            {
                "_key": self._key(corpus_id, str(version), id_),
                "corpus": self._key(corpus_id),
                "place": self._key(corpus_id, str(version)),
                "extraction": self._key(id_),
                "id": ascii_of(id_),
            }
            for id_ in extraction_ids
        ]
        await self._transaction.write(lambda query: documents.put(query, _MEMBERS, added))

    @override
    async def extractions(self, extraction_ids: Sequence[str]) -> Sequence[GraphExtraction]:
        return await self._get(GraphExtraction, _EXTRACTIONS, extraction_ids)

    @override
    async def save(
        self, extraction: GraphExtraction, mentions: Sequence[GraphMention], links: Sequence[GraphLink]
    ) -> None:
        check_owner([extraction], self._user_id)
        document = {
            "_key": self._key(extraction.extraction_id),
            "corpus": self._key(extraction.corpus_id),
            "source": self._key(extraction.source_id),
            "body": extraction.model_dump_json(),
        }

        def work(query: Query) -> None:
            documents.put(query, _EXTRACTIONS, [document])
            _add(query, _MENTIONS, [self._mention(extraction, mention) for mention in mentions])
            _add(query, _LINKS, [self._link(extraction, link) for link in links])

        await self._transaction.write(work)

    @override
    async def nodes(self, graph: GraphVersion, query: NodeQuery) -> Sequence[GraphNode]:
        place, limit = self._graph(graph), max(query.limit, 0)

        def work(ask: Query) -> list[GraphNode]:
            if query.node_ids is None:
                prefix = order_of(query.prefix)
                order = ask(aql.LARGEST_NODES, **place, prefix=prefix, behind=prefix + _BEHIND_ALL, limit=limit)
                wanted = order
            else:
                wanted = [ascii_of(id_) for id_ in query.node_ids]
            rows = ask(aql.SPELLINGS, **place, nodes=wanted)
            spellings = [
                Spelling(text_of(node), text_of(name), kind, int(mentions), int(chunks))
                for node, name, kind, mentions, chunks in rows
            ]
            if query.node_ids is None:
                return nodes_of(spellings, map(text_of, order))
            return nodes_of(spellings, in_order(spellings)[:limit])

        return await self._transaction.read(work)

    @override
    async def edges(
        self, graph: GraphVersion, node_ids: Sequence[str], *, inside: bool = False, limit: int
    ) -> Sequence[GraphRelation]:
        statement = aql.EDGES_INSIDE if inside else aql.EDGES_TOUCHING
        bind = {**self._graph(graph), "nodes": [ascii_of(id_) for id_ in node_ids], "limit": max(limit, 0)}
        return await self._transaction.read(
            lambda query: [_relation(names, strength, chunks) for names, strength, chunks in query(statement, **bind)]
        )

    @override
    async def mentions(self, graph: GraphVersion, node_ids: Sequence[str], *, limit: int) -> Sequence[GraphMention]:
        nodes = [ascii_of(id_) for id_ in node_ids]
        bind = {**self._graph(graph), "nodes": nodes, "limit": max(limit, 0)}
        return await self._values(GraphMention, aql.NODE_EVIDENCE, **bind)

    @override
    async def links(self, graph: GraphVersion, edge_id: str, *, limit: int) -> Sequence[GraphLink]:
        bind = {**self._graph(graph), "edge": ascii_of(edge_id), "limit": max(limit, 0)}
        return await self._values(GraphLink, aql.EDGE_EVIDENCE, **bind)

    @override
    async def count(self, graph: GraphVersion) -> tuple[int, int]:
        place = self._graph(graph)
        return await self._transaction.read(
            lambda query: (int(query(aql.COUNT_NODES, **place)[0]), int(query(aql.COUNT_EDGES, **place)[0]))
        )

    @override
    async def prune(self, corpus_id: str, keep: Sequence[int]) -> int:
        corpus, kept = self._key(corpus_id), [self._key(corpus_id, str(version)) for version in keep]

        def work(query: Query) -> int:
            query(aql.REMOVE_OTHER_MEMBERS, corpus=corpus, kept=kept)
            gone = query(aql.REMOVE_OTHER_GRAPHS, corpus=corpus, kept=kept)
            _remove(query, query(aql.UNUSED_EXTRACTIONS, corpus=corpus))
            return len(gone)

        return await self._transaction.write(work)

    @override
    async def delete_source(self, source_id: str) -> int:
        source = self._key(source_id)
        return await self._transaction.write(
            lambda query: _remove(query, query(aql.EXTRACTIONS_OF_SOURCE, source=source))
        )

    @override
    async def delete_corpus(self, corpus_id: str) -> int:
        return await self.prune(corpus_id, ())

    def _key(self, *parts: str) -> str:
        return key_of(self._user_id, *parts)

    def _graph(self, graph: GraphVersion) -> Document:
        return {
            "corpus": self._key(graph.corpus_id),
            "place": self._key(graph.corpus_id, str(graph.version)),
            "removed": [ascii_of(id_) for id_ in graph.removed],
        }

    def _mention(self, extraction: GraphExtraction, mention: GraphMention) -> Document:
        return {
            "_key": self._key(extraction.corpus_id, mention.node_id, mention.knowledge_id, extraction.extraction_id),
            "corpus": self._key(extraction.corpus_id),
            "extraction": self._key(extraction.extraction_id),
            "node": ascii_of(mention.node_id),
            "node_order": order_of(mention.node_id),
            "chunk_order": order_of(mention.knowledge_id),
            "key": order_of(mention.key),
            "name": ascii_of(mention.name),
            "kind": mention.kind or "",
            "count": max(len(mention.spans), 1),
            "body": mention.model_dump_json(),
        }

    def _link(self, extraction: GraphExtraction, link: GraphLink) -> Document:
        names = (link.edge_id, link.source_id, link.target_id, link.type)
        return {
            "_key": self._key(extraction.corpus_id, link.edge_id, link.knowledge_id, extraction.extraction_id),
            "corpus": self._key(extraction.corpus_id),
            "extraction": self._key(extraction.extraction_id),
            "edge": ascii_of(link.edge_id),
            "edge_order": order_of(link.edge_id),
            "chunk_order": order_of(link.knowledge_id),
            "source": ascii_of(link.source_id),
            "target": ascii_of(link.target_id),
            "type": ascii_of(link.type),
            "names": json.dumps(names),
            "strength": link.strength,
            "body": link.model_dump_json(),
        }


def _relation(names: str, strength: float, chunks: float) -> GraphRelation:
    edge_id, source_id, target_id, relation_type = json.loads(names)
    return relation_of(edge_id, source_id, target_id, relation_type, strength, chunks)


def _add(query: Query, collection: str, added: Sequence[Document]) -> None:
    """Adds documents, the first of those with one key, and leaves those that exist."""
    first: dict[str, Document] = {}
    for document in added:
        first.setdefault(document["_key"], document)
    known = documents.existing(query, collection, first)
    documents.put(query, collection, [document for key, document in first.items() if key not in known])


def _remove(query: Query, extractions: Sequence[str]) -> int:
    """Removes extractions with their evidence; how many."""
    for collection in (_MEMBERS, _MENTIONS, _LINKS):
        query(aql.REMOVE_EVIDENCE, collection=collection, extractions=[*extractions])
    return documents.remove(query, _EXTRACTIONS, extractions)
