"""The backlog of background work, over all users, in ArangoDB."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from typing_extensions import override

from memory.ports.stores.record import Backlog, FactTotal, OutboxEntry
from memory.ports.stores.vectors import Collection
from memory.values.documents.corpora import SourceState, SourceVersion
from memory.values.facts import FactStatus
from memory.values.records import Resource

from ..shared.checks import check_user
from ..shared.owners import count_users
from .engine import documents
from .engine import queries as aql
from .engine.client import ArangoServer, query_alone
from .engine.keys import ascii_of, order_of, text_of
from .engine.knowledge_queries import ALL_PENDING_SOURCES
from .engine.transaction import ArangoTransaction, Query

_UNSEEN_SEED = {"by_system": '"source":"system"', "unmentioned": '"mention_count":0,'}
"""Parts of the bodies of entities that no user has mentioned."""
_NO_LIMIT = 2**31

Writing = Callable[[str], AbstractAsyncContextManager[ArangoTransaction]]


class ArangoBacklog(Backlog):
    """The learner's view of the database; the only statements that cross users are here.

    Args:
        server: Where statements over all users run, each in a transaction of its own.
        writing: Opens a transaction that may write for one user.
    """

    def __init__(self, server: ArangoServer, writing: Writing) -> None:
        self._server = server
        self._writing = writing

    @override
    async def unlearned(self, *, limit: int, user_id: str | None = None) -> list[Resource]:
        statement, owner = _bound(user_id, aql.UNLEARNED, aql.ALL_UNLEARNED)
        return documents.parse(Resource, await query_alone(self._server, statement, **owner, limit=max(limit, 0)))

    @override
    async def outbox(self, *, limit: int, user_id: str | None = None) -> list[OutboxEntry]:
        statement, owner = _bound(user_id, aql.OUTBOX, aql.ALL_OUTBOX)
        return [
            OutboxEntry(sequence=int(sequence), user_id=text_of(user), collection=Collection(name), item_id=item_id)
            for sequence, user, name, item_id in await query_alone(
                self._server, statement, **owner, limit=max(limit, 0)
            )
        ]

    @override
    async def acknowledge(self, entries: Sequence[OutboxEntry]) -> None:
        """Takes entries off the outbox; one that was saved again has another number and stays.

        As a writer of each user: a removal at any time would conflict with a transaction that saves the same item.
        """
        for user_id in dict.fromkeys(entry.user_id for entry in entries):
            acknowledged = [
                {
                    "key": documents.outbox_key(user_id, entry.collection, entry.item_id),
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
            await transaction.write(lambda query: documents.enqueue(transaction, query, collection, item_ids))
            await transaction.commit()

    @override
    async def users(self, *, after: str | None = None, limit: int) -> list[str]:
        start = None if after is None else order_of(after)
        return [
            text_of(user) for user in await query_alone(self._server, aql.ALL_USERS, after=start, limit=max(limit, 0))
        ]

    @override
    async def owners(self, memory_id: str) -> list[str]:
        found = await query_alone(self._server, aql.ALL_OWNERS_OF_MEMORY, order=order_of(memory_id))
        return sorted(text_of(user) for user in found)

    @override
    async def pending_sources(self, *, limit: int) -> list[SourceVersion]:
        found = await query_alone(self._server, ALL_PENDING_SOURCES, state=SourceState.PENDING.value)
        waiting = documents.parse(SourceVersion, found)
        return sorted(waiting, key=lambda version: version.place)[: max(limit, 0)]

    @override
    async def counts(self) -> Mapping[str, int]:
        """Totals for the metrics; `size_bytes` is 0, since the disk is the server's."""
        (totals,) = await query_alone(self._server, aql.ALL_COUNTS, **_UNSEEN_SEED)
        users = count_users(await self.users(limit=_NO_LIMIT))
        return {**{name: int(total) for name, total in totals.items()}, "users": users, "size_bytes": 0}

    @override
    async def fact_totals(self) -> list[FactTotal]:
        return [
            FactTotal(FactStatus(status), text_of(category), int(total), float(confidence))
            for status, category, total, confidence in await query_alone(self._server, aql.ALL_FACT_TOTALS)
        ]


def _bound(user_id: str | None, of_user: str, of_all: str) -> tuple[str, dict[str, str]]:
    """The statement over one user or over all, and its variables."""
    return (of_all, {}) if user_id is None else (of_user, {"user": ascii_of(check_user(user_id))})
