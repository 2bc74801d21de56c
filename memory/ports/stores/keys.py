"""Where API keys are stored."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime

from ...values.access.identity import ApiKey

Keys = list[ApiKey]  # a class with a method `list` cannot spell the type inside


class KeyStore(ABC):
    """API keys of all apps, each write a transaction of its own."""

    @abstractmethod
    async def add(self, key: ApiKey) -> None:
        """Inserts a key; its id is new."""

    @abstractmethod
    async def get(self, key_id: str) -> ApiKey | None:
        """The key of this id, with the time of its last use."""

    @abstractmethod
    async def list(
        self, *, app: str | None = None, user: str | None = None, after: str | None = None, limit: int
    ) -> Keys:
        """Keys of an app and a user, or of any, in the order of their ids, from the first id greater than `after`."""

    @abstractmethod
    async def replace(self, key: ApiKey) -> bool:
        """Replaces the key of this id where its version is still the one before; whether it was. The time of the last
        use stays as it is.
        """

    @abstractmethod
    async def delete_of_user(self, *, app: str, user: str) -> int:
        """Deletes the keys that belong to a user; how many there were."""

    @abstractmethod
    async def record_uses(self, uses: Mapping[str, datetime]) -> None:
        """Moves the last use of keys, by id, to these times, never back; changes nothing else, not even `version`."""
