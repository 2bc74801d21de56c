"""The graph of facts in SQLite; its vertices are names in the form in which they are compared."""

import sqlite3
from collections.abc import Sequence

from typing_extensions import override

from memory.ports.stores.facts import GraphRepository
from memory.values.facts import GraphEdge

from ...shared.checks import check_owner
from ...shared.names import comparable
from ..engine.transaction import SqliteRepository

# An edge of these names, or another of this id: either stays as it is.
_CREATE = """
    INSERT INTO edges (user_id, edge_id, subject, predicate, object, weight, body) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING
"""
_EDGES = "SELECT body, weight FROM edges WHERE user_id = ? ORDER BY edge_id"
_KEPT = "SELECT edge_id FROM edges WHERE user_id = ? AND subject = ? AND predicate = ? AND object = ?"


class SqliteGraph(SqliteRepository, GraphRepository):
    """The graph of one user's facts."""

    @override
    async def create_many(self, edges: Sequence[GraphEdge]) -> list[str]:
        check_owner(edges, self._user_id)
        return await self._transaction.write(lambda connection: [self._create(connection, edge) for edge in edges])

    @override
    async def list_all(self) -> list[GraphEdge]:
        def work(connection: sqlite3.Connection) -> list[GraphEdge]:
            rows = connection.execute(_EDGES, (self._user_id,))
            return [GraphEdge.model_validate_json(body).model_copy(update={"weight": weight}) for body, weight in rows]

        return await self._transaction.read(work)

    @override
    async def delete_all(self) -> int:
        return await self._change("DELETE FROM edges WHERE user_id = ?")

    @override
    async def count(self) -> int:
        return await self._count("SELECT count(*) FROM edges WHERE user_id = ?")

    def _create(self, connection: sqlite3.Connection, edge: GraphEdge) -> str:
        names = (comparable(edge.subject), comparable(edge.predicate), comparable(edge.object))
        body = edge.model_dump_json(exclude={"weight"})
        connection.execute(_CREATE, (self._user_id, edge.edge_id, *names, edge.weight, body))
        stored = connection.execute(_KEPT, (self._user_id, *names)).fetchone()
        return edge.edge_id if stored is None else str(stored[0])
