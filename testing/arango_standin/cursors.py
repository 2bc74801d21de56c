"""Cursors: results handed out in batches (HTTP reference, "HTTP interface for AQL queries")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .aql.query import Outcome
from .database.errors import ServerError
from .database.store import tick

_DEFAULT_BATCH = 1000


@dataclass
class _Cursor:
    values: list[Any]
    batch: int
    common: dict[str, Any]
    transaction: str | None


class Cursors:
    """The open cursors of one database."""

    def __init__(self) -> None:
        self._open: dict[str, _Cursor] = {}

    def first(self, outcome: Outcome, request: dict[str, Any], transaction: str | None) -> dict[str, Any]:
        """The reply with the first batch of a query's values.

        Raises:
            ServerError: 10 for a bad batch size.
        """
        batch = request.get("batchSize", _DEFAULT_BATCH)
        if not isinstance(batch, int) or isinstance(batch, bool) or batch < 1:
            raise ServerError(10, "expecting non-zero value for 'batchSize'")
        common: dict[str, Any] = {"cached": False, "extra": outcome.extra}
        if request.get("count"):
            common["count"] = len(outcome.values)
        cursor = _Cursor(outcome.values, batch, common, transaction)
        if len(outcome.values) <= batch:
            return self._reply(cursor)
        number = tick()
        self._open[number] = cursor
        return self.next(number)

    def next(self, number: str) -> dict[str, Any]:
        """The reply with the next batch; the last one closes the cursor.

        Raises:
            ServerError: 1600.
        """
        cursor = self._open.get(number)
        if cursor is None:
            raise ServerError(1600, "cursor not found")
        reply = {**self._reply(cursor), "id": number}
        if not reply["hasMore"]:
            del self._open[number]
        return reply

    def close(self, number: str) -> None:
        """Close a cursor.

        Raises:
            ServerError: 1600.
        """
        if self._open.pop(number, None) is None:
            raise ServerError(1600, "cursor not found")

    def close_of(self, transaction: str) -> None:
        """Close the cursors of a transaction that ended."""
        for number in [number for number, cursor in self._open.items() if cursor.transaction == transaction]:
            del self._open[number]

    def _reply(self, cursor: _Cursor) -> dict[str, Any]:
        batch, cursor.values = cursor.values[: cursor.batch], cursor.values[cursor.batch :]
        return {"result": batch, "hasMore": bool(cursor.values), **cursor.common}
