"""A plugin for pytest that puts `JiyiStore` in the place of LangGraph's SQLite stores, for LangGraph's tests of those.

The environment has the URL of a service: `JIYI_URL`. What those tests import of the inside of their stores is there and
does nothing, so that the tests which look at it do not hold.
"""

import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock
from uuid import uuid4

from jiyi.langgraph import JiyiStore


def _store(conn_string: str, index: Mapping[str, Any] | None, ttl: Any) -> JiyiStore:
    """A store of its own for each file and for each database in memory."""
    user_id = str(uuid4()) if conn_string == ":memory:" else conn_string
    fields = None if index is None else {"fields": index.get("text_fields") or index.get("fields") or ["$"]}
    return JiyiStore(os.environ["JIYI_URL"], user_id=user_id, index=fields, ttl=ttl)


class SqliteStore:
    """Stands for `langgraph.store.sqlite.SqliteStore`."""

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str, *, index: Any = None, ttl: Any = None) -> Iterator[JiyiStore]:
        with _store(conn_string, index, ttl) as store:
            store.setup = lambda: None  # type: ignore[attr-defined]
            yield store


class AsyncSqliteStore:
    """Stands for `langgraph.store.sqlite.AsyncSqliteStore`."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, conn_string: str, *, index: Any = None, ttl: Any = None
    ) -> AsyncIterator[JiyiStore]:
        async def setup() -> None: ...

        with _store(conn_string, index, ttl) as store:
            store.setup = setup  # type: ignore[attr-defined]
            yield store


for _name in ("langgraph.store.sqlite", "langgraph.store.sqlite.base", "langgraph.store.sqlite.aio"):
    _module: Any = ModuleType(_name)
    _module.__getattr__ = lambda name: MagicMock(name=name)
    _module.SqliteStore, _module.AsyncSqliteStore = SqliteStore, AsyncSqliteStore
    sys.modules[_name] = _module
