"""API keys in memory."""

from collections.abc import Mapping
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.keys import Keys, KeyStore
from memory.values.access.identity import ApiKey


class InMemoryKeys(KeyStore):
    """API keys; they end with the process."""

    def __init__(self) -> None:
        self._keys: dict[str, ApiKey] = {}

    @override
    async def add(self, key: ApiKey) -> None:
        self._keys[key.key_id] = key

    @override
    async def get(self, key_id: str) -> ApiKey | None:
        return self._keys.get(key_id)

    @override
    async def list(
        self, *, app: str | None = None, user: str | None = None, after: str | None = None, limit: int
    ) -> Keys:
        found = [
            key
            for key_id, key in sorted(self._keys.items())
            if app in (None, key.app) and user in (None, key.user) and (after is None or key_id > after)
        ]
        return found[: max(limit, 0)]

    @override
    async def replace(self, key: ApiKey) -> bool:
        stored = self._keys.get(key.key_id)
        if stored is None or stored.version != key.version - 1:
            return False
        self._keys[key.key_id] = key.model_copy(update={"last_used_at": stored.last_used_at})
        return True

    @override
    async def delete_of_user(self, *, app: str, user: str) -> int:
        owned = [key_id for key_id, key in self._keys.items() if (key.app, key.user) == (app, user)]
        for key_id in owned:
            del self._keys[key_id]
        return len(owned)

    @override
    async def record_uses(self, uses: Mapping[str, datetime]) -> None:
        for key_id, used_at in uses.items():
            key = self._keys.get(key_id)
            if key is not None and (key.last_used_at is None or key.last_used_at < used_at):
                self._keys[key_id] = key.model_copy(update={"last_used_at": used_at})
