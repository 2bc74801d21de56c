"""API keys in ArangoDB."""

from collections.abc import Mapping
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.keys import Keys, KeyStore
from memory.values.access.identity import ApiKey

from ..shared.stored_values import stored_key, timestamp_us, with_last_use
from .engine import queries as aql
from .engine.client import ArangoServer, query_alone
from .engine.keys import ascii_of, key_of, order_of


class ArangoKeys(KeyStore):
    """API keys in a collection of their own, each statement a transaction of its own."""

    def __init__(self, server: ArangoServer) -> None:
        self._server = server

    @override
    async def add(self, key: ApiKey) -> None:
        document = {
            "_key": key_of("", key.key_id),
            "order": order_of(key.key_id),
            "app": ascii_of(key.app),
            "owner": None if key.user is None else ascii_of(key.user),
            "version": key.version,
            "last_used_us": 0,
            "body": stored_key(key),
        }
        await query_alone(self._server, aql.ALL_KEYS_WITH_THIS_ONE, key=document)

    @override
    async def get(self, key_id: str) -> ApiKey | None:
        rows = await query_alone(self._server, aql.ALL_KEYS_OF_THIS_ID, key=key_of("", key_id))
        return with_last_use(*rows[0]) if rows else None

    @override
    async def list(
        self, *, app: str | None = None, user: str | None = None, after: str | None = None, limit: int
    ) -> Keys:
        rows = await query_alone(
            self._server,
            aql.ALL_KEYS,
            app=None if app is None else ascii_of(app),
            owner=None if user is None else ascii_of(user),
            after=order_of(after or ""),
            limit=max(limit, 0),
        )
        return [with_last_use(*row) for row in rows]

    @override
    async def replace(self, key: ApiKey) -> bool:
        replaced = await query_alone(
            self._server,
            aql.ALL_KEYS_WITH_THIS_ONE_REPLACED,
            key=key_of("", key.key_id),
            before=key.version - 1,
            version=key.version,
            body=stored_key(key),
        )
        return bool(replaced)

    @override
    async def delete_of_user(self, *, app: str, user: str) -> int:
        owned = {"app": ascii_of(app), "owner": ascii_of(user)}
        return len(await query_alone(self._server, aql.ALL_KEYS_BUT_THOSE_OF_A_USER, **owned))

    @override
    async def record_uses(self, uses: Mapping[str, datetime]) -> None:
        used = [{"key": key_of("", key_id), "at": timestamp_us(used_at)} for key_id, used_at in uses.items()]
        await query_alone(self._server, aql.ALL_KEYS_USED, uses=used)
