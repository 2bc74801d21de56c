"""Knowledge graphs in SQLite: nodes and edges are summed up from the evidence of a version's members."""

import json
import sqlite3
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
from ..engine.transaction import SqliteRepository

_VERSIONS = "SELECT body FROM knowledge_graphs WHERE user_id = ? AND corpus_id = ? ORDER BY version DESC"
_SAVE_VERSION = "INSERT OR REPLACE INTO knowledge_graphs (user_id, corpus_id, version, body) VALUES (?, ?, ?, ?)"
_MEMBERS = """
    SELECT extraction_id FROM graph_members WHERE user_id = ? AND corpus_id = ? AND version = ? ORDER BY extraction_id
"""
_ADD_MEMBER = "INSERT OR IGNORE INTO graph_members (user_id, corpus_id, version, extraction_id) VALUES (?, ?, ?, ?)"
_EXTRACTIONS = "SELECT extraction_id, body FROM graph_extractions WHERE user_id = ? AND extraction_id IN ({})"
_SAVE_EXTRACTION = """
    INSERT INTO graph_extractions (user_id, extraction_id, corpus_id, source_id, body) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (user_id, extraction_id)
    DO UPDATE SET corpus_id = excluded.corpus_id, source_id = excluded.source_id, body = excluded.body
"""
_ADD_MENTION = """
    INSERT OR IGNORE INTO graph_mentions
        (user_id, corpus_id, extraction_id, node_id, knowledge_id, key, name, kind, count, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ADD_LINK = """
    INSERT OR IGNORE INTO graph_links
        (user_id, corpus_id, extraction_id, edge_id, knowledge_id, source_node, target_node, type, strength, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
# ?1 is the owner, ?2 the corpus, ?3 the version, ?4 what it removed, as a JSON array.
_OF_VERSION = """
    e.user_id = ?1 AND e.corpus_id = ?2 AND EXISTS (
        SELECT 1 FROM graph_members AS m WHERE m.user_id = ?1 AND m.corpus_id = ?2 AND m.version = ?3
        AND m.extraction_id = e.extraction_id
    )
"""
_MENTIONS = f"""
    FROM graph_mentions AS e WHERE {_OF_VERSION} AND e.node_id NOT IN (SELECT value FROM json_each(?4))
"""  # noqa: S608
_LINKS = f"""
    FROM graph_links AS e WHERE {_OF_VERSION} AND e.edge_id NOT IN (SELECT value FROM json_each(?4))
    AND e.source_node NOT IN (SELECT value FROM json_each(?4))
    AND e.target_node NOT IN (SELECT value FROM json_each(?4))
"""  # noqa: S608
_SPELLINGS = f"SELECT e.node_id, e.name, e.kind, sum(e.count), count(*) {_MENTIONS}"
_BY_SPELLING = " GROUP BY e.node_id, e.name, e.kind"
_AMONG = " AND e.node_id IN (SELECT value FROM json_each(?5))"
_LARGEST = f"""
    SELECT e.node_id {_MENTIONS} AND (?5 = '' OR (e.key >= ?5 AND e.key < ?6))
    GROUP BY e.node_id ORDER BY count(*) DESC, e.node_id LIMIT ?7
"""
_EDGES = f"""
    SELECT e.edge_id, e.source_node, e.target_node, e.type, sum(e.strength) AS strength, count(*) {_LINKS}
    AND (e.source_node IN (SELECT value FROM json_each(?5)) {{}} e.target_node IN (SELECT value FROM json_each(?5)))
    GROUP BY e.edge_id, e.source_node, e.target_node, e.type
    ORDER BY strength DESC, e.edge_id, e.source_node, e.target_node, e.type LIMIT ?6
"""  # noqa: S608
_NODE_EVIDENCE = f"SELECT e.body {_MENTIONS}{_AMONG} ORDER BY e.knowledge_id, e.node_id LIMIT ?6"
_EDGE_EVIDENCE = f"SELECT e.body {_LINKS} AND e.edge_id = ?5 ORDER BY e.strength DESC, e.knowledge_id LIMIT ?6"
_COUNT_NODES = f"SELECT count(DISTINCT e.node_id) {_MENTIONS}"
_COUNT_EDGES = f"SELECT count(DISTINCT e.edge_id) {_LINKS}"
_OTHER_VERSIONS = "user_id = ?1 AND corpus_id = ?2 AND version NOT IN (SELECT value FROM json_each(?3))"
_UNUSED = """
    SELECT extraction_id FROM graph_extractions AS e WHERE e.user_id = ?1 AND e.corpus_id = ?2 AND NOT EXISTS (
        SELECT 1 FROM graph_members AS m WHERE m.user_id = ?1 AND m.extraction_id = e.extraction_id
    )
"""
_OF_SOURCE = "SELECT extraction_id FROM graph_extractions WHERE user_id = ? AND source_id = ?"
_EVIDENCE = ("graph_members", "graph_mentions", "graph_links", "graph_extractions")
_BEHIND_ALL = "\U0010ffff"


class SqliteKnowledgeGraph(SqliteRepository, KnowledgeGraphRepository):
    """The graphs of one app's corpora."""

    @override
    async def versions(self, corpus_id: str) -> Sequence[GraphVersion]:
        return await self._values(GraphVersion, _VERSIONS, corpus_id)

    @override
    async def save_version(self, version: GraphVersion) -> None:
        check_owner([version], self._user_id)
        await self._change(_SAVE_VERSION, version.corpus_id, version.version, version.model_dump_json())

    @override
    async def members(self, corpus_id: str, version: int) -> Sequence[str]:
        return [id_ for (id_,) in await self._rows(_MEMBERS, corpus_id, version)]

    @override
    async def add_members(self, corpus_id: str, version: int, extraction_ids: Sequence[str]) -> None:
        rows = [(self._user_id, corpus_id, version, id_) for id_ in extraction_ids]
        await self._transaction.write(lambda connection: connection.executemany(_ADD_MEMBER, rows))

    @override
    async def extractions(self, extraction_ids: Sequence[str]) -> Sequence[GraphExtraction]:
        return await self._transaction.read(
            lambda connection: self._select_values(connection, GraphExtraction, _EXTRACTIONS, extraction_ids)
        )

    @override
    async def save(
        self, extraction: GraphExtraction, mentions: Sequence[GraphMention], links: Sequence[GraphLink]
    ) -> None:
        check_owner([extraction], self._user_id)
        place = (self._user_id, extraction.corpus_id, extraction.extraction_id)

        def work(connection: sqlite3.Connection) -> None:
            row = (extraction.extraction_id, extraction.corpus_id, extraction.source_id, extraction.model_dump_json())
            connection.execute(_SAVE_EXTRACTION, (self._user_id, *row))
            connection.executemany(_ADD_MENTION, ((*place, *_mention_row(mention)) for mention in mentions))
            connection.executemany(_ADD_LINK, ((*place, *_link_row(link)) for link in links))

        await self._transaction.write(work)

    @override
    async def nodes(self, graph: GraphVersion, query: NodeQuery) -> Sequence[GraphNode]:
        if query.node_ids is None:
            place = (query.prefix, query.prefix + _BEHIND_ALL, max(query.limit, 0))
            order = [id_ for (id_,) in await self._rows(_LARGEST, *_version(graph), *place)]
            spellings = await self._spellings(graph, order)
        else:
            spellings = await self._spellings(graph, query.node_ids)
            order = in_order(spellings)[: max(query.limit, 0)]
        return nodes_of(spellings, order)

    async def _spellings(self, graph: GraphVersion, node_ids: Sequence[str]) -> list[Spelling]:
        rows = await self._rows(_SPELLINGS + _AMONG + _BY_SPELLING, *_version(graph), json.dumps([*node_ids]))
        return [Spelling(*row) for row in rows]

    @override
    async def edges(
        self, graph: GraphVersion, node_ids: Sequence[str], *, inside: bool = False, limit: int
    ) -> Sequence[GraphRelation]:
        statement = _EDGES.format("AND" if inside else "OR")
        rows = await self._rows(statement, *_version(graph), json.dumps([*node_ids]), max(limit, 0))
        return [relation_of(*row) for row in rows]

    @override
    async def mentions(self, graph: GraphVersion, node_ids: Sequence[str], *, limit: int) -> Sequence[GraphMention]:
        wanted = json.dumps([*node_ids])
        return await self._values(GraphMention, _NODE_EVIDENCE, *_version(graph), wanted, max(limit, 0))

    @override
    async def links(self, graph: GraphVersion, edge_id: str, *, limit: int) -> Sequence[GraphLink]:
        return await self._values(GraphLink, _EDGE_EVIDENCE, *_version(graph), edge_id, max(limit, 0))

    @override
    async def count(self, graph: GraphVersion) -> tuple[int, int]:
        place = _version(graph)
        return await self._count(_COUNT_NODES, *place), await self._count(_COUNT_EDGES, *place)

    @override
    async def prune(self, corpus_id: str, keep: Sequence[int]) -> int:
        kept = json.dumps([*keep])

        def work(connection: sqlite3.Connection) -> int:
            gone = [
                connection.execute(f"DELETE FROM {table} WHERE {_OTHER_VERSIONS}", (self._user_id, corpus_id, kept))  # noqa: S608
                for table in ("graph_members", "knowledge_graphs")
            ]
            self._delete_extractions(connection, _UNUSED, corpus_id)
            return gone[-1].rowcount

        return await self._transaction.write(work)

    @override
    async def delete_source(self, source_id: str) -> int:
        return await self._transaction.write(
            lambda connection: self._delete_extractions(connection, _OF_SOURCE, source_id)
        )

    @override
    async def delete_corpus(self, corpus_id: str) -> int:
        return await self.prune(corpus_id, ())

    def _delete_extractions(self, connection: sqlite3.Connection, statement: str, place: str) -> int:
        """Deletes the extractions that a query selects, with their evidence; returns their number."""
        ids = [id_ for (id_,) in connection.execute(statement, (self._user_id, place))]
        for table in _EVIDENCE:
            delete = f"DELETE FROM {table} WHERE user_id = ? AND extraction_id = ?"  # noqa: S608 - our own names
            connection.executemany(delete, [(self._user_id, id_) for id_ in ids])
        return len(ids)


def _version(graph: GraphVersion) -> tuple[object, ...]:
    return (graph.corpus_id, graph.version, json.dumps(graph.removed))


def _mention_row(mention: GraphMention) -> tuple[object, ...]:
    named = (mention.key, mention.name, mention.kind or "", max(len(mention.spans), 1))
    return (mention.node_id, mention.knowledge_id, *named, mention.model_dump_json())


def _link_row(link: GraphLink) -> tuple[object, ...]:
    ends = (link.source_id, link.target_id, link.type, link.strength)
    return (link.edge_id, link.knowledge_id, *ends, link.model_dump_json())
