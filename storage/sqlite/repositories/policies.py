"""Policies of retention in SQLite."""

from typing_extensions import override

from memory.ports.stores.policies import PolicyRepository
from memory.values.governance.retention import RetentionPolicy

from ..engine.transaction import SqliteRepository

_GET = "SELECT body FROM retention_policies WHERE user_id = ?"
_SAVE = """
    INSERT INTO retention_policies (user_id, body) VALUES (?, ?)
    ON CONFLICT (user_id) DO UPDATE SET body = excluded.body
"""
_DELETE = "DELETE FROM retention_policies WHERE user_id = ?"


class SqlitePolicies(SqliteRepository, PolicyRepository):
    """The policy of one user or app."""

    @override
    async def get(self) -> RetentionPolicy | None:
        return next(iter(await self._values(RetentionPolicy, _GET)), None)

    @override
    async def save(self, policy: RetentionPolicy) -> None:
        await self._change(_SAVE, policy.model_dump_json())

    @override
    async def delete(self) -> bool:
        return await self._change(_DELETE) > 0
