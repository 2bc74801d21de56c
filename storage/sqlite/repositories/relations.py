"""Relations between entities in SQLite, walked one hop a statement (STORES, SQLite)."""

import sqlite3
from collections.abc import Mapping, Sequence

import orjson
from typing_extensions import override

from memory.ports.stores.repositories import RelationRepository
from memory.values.entities import EntityRelation, EntityStatus

from ...shared.checks import check_owner
from ...shared.graphs import check_depth, check_ends, walk
from ..engine.transaction import SqliteRepository, after_clause

_ENTITIES = "SELECT entity_id FROM entities WHERE user_id = ? AND entity_id IN ({})"
_BY_ID = "SELECT relation_id, body FROM relations WHERE user_id = ? AND relation_id IN ({})"
_STORE = """
    INSERT INTO relations (user_id, relation_id, source_id, target_id, confidence, body) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (user_id, relation_id) DO UPDATE SET source_id = excluded.source_id,
    target_id = excluded.target_id, confidence = excluded.confidence, body = excluded.body
"""
_OF = """
    SELECT body FROM (
        SELECT * FROM (
            SELECT relation_id, confidence, body FROM relations WHERE user_id = ?1 AND source_id = ?2
            ORDER BY confidence DESC, relation_id LIMIT ?3
        )
        UNION
        SELECT * FROM (
            SELECT relation_id, confidence, body FROM relations WHERE user_id = ?1 AND target_id = ?2
            ORDER BY confidence DESC, relation_id LIMIT ?3
        )
    ) ORDER BY confidence DESC, relation_id LIMIT ?3
"""
_STEP = """
    SELECT entity_id FROM (
        SELECT target_id AS entity_id FROM json_each(?1) CROSS JOIN relations
        ON user_id = ?2 AND source_id = value AND confidence >= ?3
        UNION
        SELECT source_id FROM json_each(?1) CROSS JOIN relations
        ON user_id = ?2 AND target_id = value AND confidence >= ?3
    ) AS neighbours
    WHERE EXISTS (
        SELECT 1 FROM entities WHERE user_id = ?2 AND entities.entity_id = neighbours.entity_id AND status = ?5
    )
    ORDER BY entity_id LIMIT ?4
"""


class SqliteRelations(SqliteRepository, RelationRepository):
    """The relations between one user's entities."""

    @override
    async def store(self, relations: Sequence[EntityRelation]) -> None:
        check_owner(relations, self._user_id)
        ends = [end for relation in relations for end in (relation.source_entity_id, relation.target_entity_id)]

        def work(connection: sqlite3.Connection) -> None:
            check_ends(ends, self._entities(connection, ends))
            connection.executemany(
                _STORE,
                (
                    (
                        relation.user_id,
                        relation.relation_id,
                        relation.source_entity_id,
                        relation.target_entity_id,
                        relation.confidence,
                        relation.model_dump_json(),
                    )
                    for relation in relations
                ),
            )

        await self._transaction.write(work)

    @override
    async def get(self, relation_ids: Sequence[str]) -> list[EntityRelation]:
        return await self._transaction.read(
            lambda connection: self._select_values(connection, EntityRelation, _BY_ID, relation_ids)
        )

    @override
    async def of(self, entity_id: str, *, limit: int = 100) -> list[EntityRelation]:
        return await self._values(EntityRelation, _OF, entity_id, max(limit, 0))

    @override
    async def related(
        self, entity_id: str, *, depth: int = 1, limit: int = 100, min_confidence: float = 0.0
    ) -> Mapping[str, int]:
        check_depth(depth)

        def work(connection: sqlite3.Connection) -> Mapping[str, int]:
            if not self._entities(connection, [entity_id]):
                return {}

            def step(frontier: Sequence[str], most: int) -> list[str]:
                nearby = orjson.dumps(frontier).decode()
                parameters = (nearby, self._user_id, min_confidence, most, EntityStatus.ACTIVE.value)
                return [neighbour for (neighbour,) in connection.execute(_STEP, parameters)]

            return walk(entity_id, step, depth=depth, limit=limit)

        return await self._transaction.read(work)

    @override
    async def delete(self, relation_ids: Sequence[str]) -> int:
        statement = "DELETE FROM relations WHERE user_id = ? AND relation_id = ?"

        def work(connection: sqlite3.Connection) -> int:
            return sum(
                connection.execute(statement, (self._user_id, relation_id)).rowcount for relation_id in relation_ids
            )

        return await self._transaction.write(work)

    @override
    async def page(self, *, after: str | None = None, limit: int) -> list[EntityRelation]:
        where, start = after_clause("relation_id", after)
        statement = f"SELECT body FROM relations WHERE user_id = ?{where} ORDER BY relation_id LIMIT ?"  # noqa: S608
        return await self._values(EntityRelation, statement, *start, max(limit, 0))

    @override
    async def count(self) -> int:
        return await self._count("SELECT count(*) FROM relations WHERE user_id = ?")

    def _entities(self, connection: sqlite3.Connection, entity_ids: Sequence[str]) -> list[str]:
        return [entity_id for (entity_id,) in self._select(connection, _ENTITIES, entity_ids)]
