"""What is waiting, over all users, in ArangoDB: the one place whose statements may cross users."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from typing_extensions import override

from memory.ports.record import Backlog, OutboxEntry
from memory.ports.vectors import Collection
from memory.values.records import Resource

from ..shared.checks import check_user
from .engine import items as items
from .engine import queries as aql
from .engine.client import ArangoServer, rows_of
from .engine.documents import ascii_of, order_of, text_of
from .engine.errors import WriteConflict, unavailable
from .engine.transaction import ArangoTransaction, Query

_EVERYBODY = 2**31

Writing = Callable[[str], AbstractAsyncContextManager[ArangoTransaction]]


class ArangoBacklog(Backlog):
    """The learner's view of the database.

    Args:
        server: Where statements over all users run, each in a transaction of its own.
        writing: Opens a transaction that may write for one user.
    """

    def __init__(self, server: ArangoServer, writing: Writing) -> None:
        self._server = server
        self._writing = writing

    @override
    async def unlearned(self, *, limit: int, user_id: str | None = None) -> list[Resource]:
        statement, owner = _of(user_id, aql.UNLEARNED, aql.ALL_UNLEARNED)
        return items.values(Resource, await self._query(statement, **owner, limit=max(limit, 0)))

    @override
    async def outbox(self, *, limit: int, user_id: str | None = None) -> list[OutboxEntry]:
        statement, owner = _of(user_id, aql.OUTBOX, aql.ALL_OUTBOX)
        return [
            OutboxEntry(sequence=int(sequence), user_id=text_of(user), collection=Collection(name), item_id=item_id)
            for sequence, user, name, item_id in await self._query(statement, **owner, limit=max(limit, 0))
        ]

    @override
    async def acknowledge(self, entries: Sequence[OutboxEntry]) -> None:
        """Takes entries off the outbox; one that was saved again has another number and stays.

        In the turn of each user: a removal in between would be a conflict for who is just saving the same item.
        """
        for user_id in dict.fromkeys(entry.user_id for entry in entries):
            acknowledged = [
                {
                    "key": items.outbox_key(user_id, entry.collection, entry.item_id),
                    "sequence": entry.sequence,
                }
                for entry in entries
                if entry.user_id == user_id
            ]

            def work(query: Query, acknowledged: list[dict[str, object]] = acknowledged) -> None:
                query(aql.ACKNOWLEDGE, entries=acknowledged)

            async with self._writing(user_id) as transaction:
                await transaction.write(work)
                await transaction.commit()

    @override
    async def requeue(self, collection: Collection, item_ids: Sequence[str], *, user_id: str) -> None:
        async with self._writing(check_user(user_id)) as transaction:
            await transaction.write(lambda query: items.queue(transaction, query, collection, item_ids))
            await transaction.commit()

    @override
    async def users(self, *, after: str | None = None, limit: int) -> list[str]:
        start = None if after is None else order_of(after)
        return [text_of(user) for user in await self._query(aql.ALL_USERS, after=start, limit=max(limit, 0))]

    @override
    async def counts(self) -> Mapping[str, int]:
        """Totals for the metrics; `size_bytes` is 0, since the disk is the server's."""
        (totals,) = await self._query(aql.ALL_COUNTS)
        users = await self.users(limit=_EVERYBODY)
        return {**{name: int(total) for name, total in totals.items()}, "users": len(users), "size_bytes": 0}

    async def _query(self, statement: str, **bind: Any) -> list[Any]:
        deadline_s = self._server.settings.deadline_s

        try:
            return await self._server.call(lambda database: rows_of(database, statement, bind, deadline_s=deadline_s))
        except WriteConflict as error:
            raise unavailable(error) from error


def _of(user_id: str | None, one: str, everybody: str) -> tuple[str, dict[str, str]]:
    return (everybody, {}) if user_id is None else (one, {"user": ascii_of(check_user(user_id))})
