"""Sends batches of operations to a service, from any thread and any event loop."""

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from typing_extensions import override

from memory.ports.stores.items import ItemBatches
from memory.values.items import FoundItem, ItemOperation, ItemResult, StoredItem

from ..client.calls import call
from ..client.clients import AsyncClient

MAX_UNDER_WAY = 32
"""So many requests of one store or saver are under way at once; the work of a pool of connections grows with the square
of those that wait for it."""

T = TypeVar("T")
Results = tuple[StoredItem | tuple[FoundItem, ...] | tuple[tuple[str, ...], ...] | None, ...]


class RemoteItems(ItemBatches):
    """The items of one user in one collection of a service.

    All requests are sent from one event loop in a thread of its own, so that callers may wait or await, and may come
    from different event loops.

    Args:
        path: Of the route that takes the batches.
        user_id: Whose items they are; None where the API key belongs to a user.
        client: How the service is reached, of whose transport it makes use; see `jiyi.AsyncClient`.
    """

    def __init__(self, path: str, *, user_id: str | None, client: AsyncClient) -> None:
        self._path = path
        self._user = {} if user_id is None else {"user_id": user_id}
        self._client = client
        self._under_way = asyncio.Semaphore(MAX_UNDER_WAY)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="jiyi-langgraph", daemon=True)
        self._thread.start()

    @override
    async def batch(self, operations: Sequence[ItemOperation]) -> list[ItemResult]:
        if not operations:
            return []
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._send(operations), self._loop))

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of work that awaits `batch`; not to be called from an event loop that it would block."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Closes the connections and ends the thread."""
        if self._loop.is_closed():
            return
        self.wait_for(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _send(self, operations: Sequence[ItemOperation]) -> list[ItemResult]:
        body = self._user | {"operations": [operation.model_dump(mode="json") for operation in operations]}
        # A batch says what is to be, so that it may be sent again.
        request = call("POST", self._path, body=body, repeatable=True)
        async with self._under_way:
            reply: dict[str, Results] = await self._client._transport.send(request, dict[str, Results])
        return list(reply["results"])
