"""Policies of retention in ArangoDB."""

from typing_extensions import override

from memory.ports.stores.policies import PolicyRepository
from memory.values.governance.retention import RetentionPolicy

from ..engine import documents
from ..engine import queries as aql
from ..engine.documents import ArangoRepository
from ..engine.keys import key_of
from ..engine.transaction import Query

_COLLECTION = "retention_policies"


class ArangoPolicies(ArangoRepository, PolicyRepository):
    """The policy of one user or app."""

    @override
    async def get(self) -> RetentionPolicy | None:
        return next(iter(await self._values(RetentionPolicy, aql.RETENTION_POLICY)), None)

    @override
    async def save(self, policy: RetentionPolicy) -> None:
        def work(query: Query) -> None:
            documents.put(query, _COLLECTION, [{"_key": key_of(self._user_id), "body": policy.model_dump_json()}])

        await self._transaction.write(work)

    @override
    async def delete(self) -> bool:
        return await self._transaction.write(
            lambda query: documents.remove(query, _COLLECTION, [key_of(self._user_id)]) > 0
        )
