"""Entities in SQLite, with a table of their names for exact search."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

import orjson
from typing_extensions import override

from memory.ports.stores.repositories import Access, EntityRepository
from memory.ports.stores.vectors import Collection
from memory.values.entities import Entity, EntityStatus

from ...shared.checks import check_aware, check_owner
from ...shared.names import HEAD_LENGTH, PREFIX_LENGTH, comparable, heads, names_of, position_of, prefixes, word_borders
from ...shared.stored_values import status_column, timestamp_us, with_mention
from ..engine.transaction import SqliteRepository, after_clause, behind_clause, enqueue

_BY_ID = "SELECT entity_id, body FROM entities WHERE user_id = ? AND entity_id IN ({})"
_RECENT = """
    SELECT body FROM entities WHERE user_id = ? AND status = ? ORDER BY last_mentioned_us DESC, rowid DESC LIMIT ?
"""
_OLDEST = "SELECT body FROM entities WHERE user_id = ?{} ORDER BY last_mentioned_us, rowid LIMIT ?"
_SAVE = """
    INSERT INTO entities (user_id, entity_id, status, last_mentioned_us, body) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (user_id, entity_id) DO UPDATE SET
    status = excluded.status, last_mentioned_us = excluded.last_mentioned_us, body = excluded.body
"""
_REPLACE = "UPDATE entities SET body = ? WHERE user_id = ? AND entity_id = ?"
_ADD_NAME = "INSERT INTO names (user_id, entity_id, name, rank, head, prefix) VALUES (?, ?, ?, ?, ?, ?)"
_DELETE_NAMES = "DELETE FROM names WHERE user_id = ? AND entity_id = ?"
_KNOWN_PREFIXES = """
    SELECT value FROM json_each(?)
    WHERE EXISTS (SELECT 1 FROM names WHERE user_id = ? AND prefix = value)
"""
_ACTIVE_BY_HEAD = """
    SELECT names.name, entities.entity_id
    FROM json_each(?) CROSS JOIN names ON names.user_id = ? AND names.head = value
    JOIN entities ON entities.user_id = names.user_id AND entities.entity_id = names.entity_id
    WHERE entities.status = ?
"""
# An archived entity may have left its name to the one that it was merged into: the active one is meant.
_BY_NAME = """
    SELECT entities.body FROM names
    JOIN entities ON entities.user_id = names.user_id AND entities.entity_id = names.entity_id
    WHERE names.user_id = ? AND names.name = ?
    ORDER BY entities.status <> ?, names.rank > 0, entities.entity_id LIMIT 1
"""


class SqliteEntities(SqliteRepository, EntityRepository):
    """The entities of one user."""

    @override
    async def get(self, entity_ids: Sequence[str]) -> list[Entity]:
        return await self._transaction.read(lambda connection: self._by_id(connection, entity_ids))

    @override
    async def get_by_value(self, value: str) -> Entity | None:
        found = await self._values(Entity, _BY_NAME, comparable(value), EntityStatus.ACTIVE.value)
        return next(iter(found), None)

    @override
    async def found_in(self, text: str) -> list[Entity]:
        """Active entities whose name or an alias occurs in the text: longest name first, then first in the text.

        The text is probed twice: which of its beginnings does any name have, and then which whole names. The work
        depends on the length of the text and hardly on how many entities there are.
        """

        def work(connection: sqlite3.Connection) -> list[Entity]:
            where = comparable(text)
            borders = word_borders(where)
            places = prefixes(where, borders)
            known = connection.execute(_KNOWN_PREFIXES, (orjson.dumps(list(places)).decode(), self._user_id))
            probes: set[str] = set()
            for (prefix,) in known.fetchall():
                probes |= heads(where, borders, prefix, places[prefix])
            rows = connection.execute(
                _ACTIVE_BY_HEAD, (orjson.dumps(list(probes)).decode(), self._user_id, EntityStatus.ACTIVE.value)
            )
            ranked = sorted(
                (-len(name), position, entity_id)
                for name, entity_id in rows
                if (position := position_of(name, where, borders)) is not None
            )
            return self._by_id(connection, list(dict.fromkeys(entity_id for _, _, entity_id in ranked)))

        return await self._transaction.read(work)

    @override
    async def recent(self, *, limit: int) -> list[Entity]:
        return await self._values(Entity, _RECENT, EntityStatus.ACTIVE.value, max(limit, 0))

    @override
    async def page(self, *, after: str | None = None, limit: int) -> list[Entity]:
        where, start = after_clause("entity_id", after)
        statement = f"SELECT body FROM entities WHERE user_id = ?{where} ORDER BY entity_id LIMIT ?"  # noqa: S608
        return await self._values(Entity, statement, *start, max(limit, 0))

    @override
    async def oldest(self, *, after: str | None = None, limit: int) -> list[Entity]:
        where, start = behind_clause("entities", "last_mentioned_us", "entity_id", self._user_id, after)
        return await self._values(Entity, _OLDEST.format(where), *start, max(limit, 0))

    @override
    async def save(self, entities: Sequence[Entity]) -> None:
        check_owner(entities, self._user_id)

        def work(connection: sqlite3.Connection) -> None:
            for entity in entities:
                self._save(connection, entity)
            enqueue(connection, self._user_id, Collection.ENTITIES, (entity.entity_id for entity in entities))

        await self._transaction.write(work)

    @override
    async def update_mention(self, entity_id: str, *, at: datetime) -> bool:
        check_aware(at, "at")

        def work(connection: sqlite3.Connection) -> bool:
            found = self._by_id(connection, [entity_id])
            for entity in found:
                self._save(connection, with_mention(entity, at))
            enqueue(connection, self._user_id, Collection.ENTITIES, (entity.entity_id for entity in found))
            return bool(found)

        return await self._transaction.write(work)

    @override
    async def delete(self, entity_ids: Sequence[str]) -> int:
        def work(connection: sqlite3.Connection) -> int:
            existing = [entity.entity_id for entity in self._by_id(connection, list(dict.fromkeys(entity_ids)))]
            keys = [(self._user_id, entity_id) for entity_id in existing]
            connection.executemany("DELETE FROM entities WHERE user_id = ? AND entity_id = ?", keys)
            connection.executemany(_DELETE_NAMES, keys)
            enqueue(connection, self._user_id, Collection.ENTITIES, existing)
            return len(existing)

        return await self._transaction.write(work)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        await self._count_accesses(Entity, _BY_ID, _REPLACE, accesses)

    def _save(self, connection: sqlite3.Connection, entity: Entity) -> None:
        key = (self._user_id, entity.entity_id)
        row = (*key, status_column(entity), timestamp_us(entity.last_mentioned), entity.model_dump_json())
        names = enumerate(names_of(entity))
        connection.execute(_SAVE, row)
        connection.execute(_DELETE_NAMES, key)
        connection.executemany(
            _ADD_NAME, ((*key, name, rank, name[:HEAD_LENGTH], name[:PREFIX_LENGTH]) for rank, name in names)
        )

    def _by_id(self, connection: sqlite3.Connection, entity_ids: Sequence[str]) -> list[Entity]:
        return self._select_values(connection, Entity, _BY_ID, entity_ids)
