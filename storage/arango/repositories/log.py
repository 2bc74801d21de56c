"""The raw log in ArangoDB."""

from collections.abc import Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.repositories import RawLog, Resources, Strings
from memory.values.records import Resource, ResourceKind

from ...shared.checks import check_aware, check_owner
from ...shared.stored_values import timestamp_us
from ..engine import documents
from ..engine import queries as aql
from ..engine.documents import ArangoRepository
from ..engine.keys import ascii_of, key_of
from ..engine.transaction import Query

_COLLECTION = "resources"
_AFTER_ALL = 2**53


class ArangoLog(ArangoRepository, RawLog):
    """The raw log of one user; `sequence` is about the time of writing in microseconds."""

    @override
    async def append(self, resources: Sequence[Resource]) -> None:
        check_owner(resources, self._user_id)
        first: dict[str, Resource] = {}
        for resource in resources:
            first.setdefault(key_of(self._user_id, resource.resource_id), resource)

        def work(query: Query) -> None:
            stored = documents.existing(query, _COLLECTION, first)
            documents.put(
                query,
                _COLLECTION,
                [
                    log_document(key, resource, self._transaction.next_sequence(query))
                    for key, resource in first.items()
                    if key not in stored
                ],
            )

        await self._transaction.write(work)

    @override
    async def get(self, resource_ids: Sequence[str]) -> Resources:
        return await self._get(Resource, _COLLECTION, resource_ids)

    @override
    async def session(self, session_id: str, *, limit: int, before: int | None = None) -> Resources:
        end = _AFTER_ALL if before is None else min(before, _AFTER_ALL)

        def work(query: Query) -> Resources:
            latest = query(aql.SESSION, session=ascii_of(session_id), before=end, limit=max(limit, 0))
            return documents.parse(Resource, reversed(latest))

        return await self._transaction.read(work)

    @override
    async def list(
        self, *, kind: ResourceKind | None = None, since: datetime | None = None, limit: int = 100
    ) -> Resources:
        conditions = {
            "kind": None if kind is None else kind.value,
            "since": None if since is None else timestamp_us(check_aware(since, "since")),
        }
        return await self._values(Resource, aql.LOG, **conditions, limit=max(limit, 0))

    @override
    async def count(self) -> int:
        return await self._count(_COLLECTION)

    @override
    async def page(self, *, after: int | None = None, limit: int) -> Resources:
        return await self._values(Resource, aql.LOG_PAGE, after=after, limit=max(limit, 0))

    @override
    async def list_unextracted(self, *, after: int | None = None, limit: int = 100) -> Resources:
        return await self._values(Resource, aql.UNLEARNED_PAGE, after=after, limit=max(limit, 0))

    @override
    async def mark_learned(self, resource_ids: Sequence[str]) -> Strings:
        keys = {key_of(self._user_id, id_): id_ for id_ in resource_ids}

        def work(query: Query) -> Strings:
            taken = set(query(aql.MARK_LEARNED, keys=list(keys)))
            return [resource_id for key, resource_id in keys.items() if key in taken]

        return await self._transaction.write(work)

    @override
    async def delete_orphaned(self, *, created_before: datetime) -> int:
        before = timestamp_us(check_aware(created_before, "created_before"))
        return await self._transaction.write(lambda query: len(query(aql.DELETE_ORPHANED, before=before)))


def log_document(key: str, resource: Resource, sequence: int) -> dict[str, object]:
    """The document of an entry that nobody has learned from yet."""
    return {
        "_key": key,
        "sequence": sequence,
        "session": ascii_of(resource.session_id),
        "kind": resource.kind.value,
        "created_us": timestamp_us(resource.created_at),
        "learned": not resource.learn,
        "body": resource.model_copy(update={"sequence": sequence}).model_dump_json(),
    }
