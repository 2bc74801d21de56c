"""Policies of retention in memory."""

from typing_extensions import override

from memory.ports.stores.policies import PolicyRepository
from memory.values.governance.retention import RetentionPolicy

from .state import InMemoryRepository

_KEY = ""


class InMemoryPolicies(InMemoryRepository, PolicyRepository):
    """The policy of one user or app."""

    @override
    async def get(self) -> RetentionPolicy | None:
        return self._state.readable.retention_policies.get(_KEY)

    @override
    async def save(self, policy: RetentionPolicy) -> None:
        self._state.writable.retention_policies[_KEY] = policy

    @override
    async def delete(self) -> bool:
        return self._state.writable.retention_policies.pop(_KEY, None) is not None
