"""The graph of facts in SQLite; its vertices are names in the form in which they are compared."""

import sqlite3
from collections.abc import Mapping, Sequence

import orjson
from typing_extensions import override

from memory.ports.facts import GraphRepository
from memory.values.facts import GraphEdge

from ...shared.checks import check_owner
from ...shared.graphs import check_depth, check_weight, walk
from ...shared.names import comparable
from ..engine.transaction import SqliteRepository

# An edge of these names, or another of this id: either stays as it is.
_CREATE = """
    INSERT INTO edges (user_id, edge_id, subject, predicate, object, weight, body) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING
"""
_KEPT = "SELECT edge_id FROM edges WHERE user_id = ? AND subject = ? AND predicate = ? AND object = ?"
_STEP = """
    SELECT object FROM json_each(?1) CROSS JOIN edges ON user_id = ?2 AND subject = value
    UNION
    SELECT subject FROM json_each(?1) CROSS JOIN edges ON user_id = ?2 AND object = value
    ORDER BY 1 LIMIT ?3
"""


class SqliteGraph(SqliteRepository, GraphRepository):
    """The graph of one user's facts."""

    @override
    async def create_many(self, edges: Sequence[GraphEdge]) -> list[str]:
        check_owner(edges, self._user_id)
        return await self._transaction.write(lambda connection: [self._create(connection, edge) for edge in edges])

    @override
    async def get_by_subject(self, subject: str) -> list[GraphEdge]:
        return await self._edges(" AND subject = ?", comparable(subject))

    @override
    async def get_neighbors(self, subject: str, *, depth: int = 1, limit: int = 100) -> Mapping[str, int]:
        check_depth(depth)

        def work(connection: sqlite3.Connection) -> Mapping[str, int]:
            def step(frontier: Sequence[str], most: int) -> list[str]:
                parameters = (orjson.dumps(frontier).decode(), self._user_id, most)
                return [neighbour for (neighbour,) in connection.execute(_STEP, parameters)]

            return walk(comparable(subject), step, depth=depth, limit=limit)

        return await self._transaction.read(work)

    @override
    async def delete_by_subject(self, subject: str) -> int:
        return await self._change("DELETE FROM edges WHERE user_id = ? AND subject = ?", comparable(subject))

    @override
    async def list_all(self) -> list[GraphEdge]:
        return await self._edges("")

    @override
    async def delete_all(self) -> int:
        return await self._change("DELETE FROM edges WHERE user_id = ?")

    @override
    async def count(self) -> int:
        return await self._count("SELECT count(*) FROM edges WHERE user_id = ?")

    @override
    async def update_weight(self, subject: str, predicate: str, object_: str, weight: float) -> bool:
        statement = (
            "UPDATE edges SET weight = ?5 WHERE user_id = ?1 AND subject = ?2 AND predicate = ?3 AND object = ?4"
        )
        names = (comparable(name) for name in (subject, predicate, object_))
        return bool(await self._change(statement, *names, check_weight(weight)))

    def _create(self, connection: sqlite3.Connection, edge: GraphEdge) -> str:
        names = (comparable(edge.subject), comparable(edge.predicate), comparable(edge.object))
        body = edge.model_dump_json(exclude={"weight"})
        connection.execute(_CREATE, (self._user_id, edge.edge_id, *names, edge.weight, body))
        stored = connection.execute(_KEPT, (self._user_id, *names)).fetchone()
        return edge.edge_id if stored is None else str(stored[0])

    async def _edges(self, where: str, *parameters: str) -> list[GraphEdge]:
        statement = f"SELECT body, weight FROM edges WHERE user_id = ?{where} ORDER BY edge_id"  # noqa: S608

        def work(connection: sqlite3.Connection) -> list[GraphEdge]:
            rows = connection.execute(statement, (self._user_id, *parameters))
            return [GraphEdge.model_validate_json(body).model_copy(update={"weight": weight}) for body, weight in rows]

        return await self._transaction.read(work)
