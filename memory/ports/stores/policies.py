"""Where policies of retention are stored (004 §11.3)."""

from abc import ABC, abstractmethod

from ...values.governance.retention import RetentionPolicy


class PolicyRepository(ABC):
    """The policy of one user, or of an app, whose unit of work is bound to `identity.app_owner`."""

    @abstractmethod
    async def get(self) -> RetentionPolicy | None:
        """The policy; None where none was set."""

    @abstractmethod
    async def save(self, policy: RetentionPolicy) -> None:
        """Inserts or replaces it."""

    @abstractmethod
    async def delete(self) -> bool:
        """Removes it; whether there was one."""
