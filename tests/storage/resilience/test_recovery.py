"""A server that comes back is noticed by itself, and until then nobody waits for it (`storage.resilience.circuit`)."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from qdrant_client import AsyncQdrantClient

from memory.ports.stores.vectors import Collection
from memory.values.errors import StoreUnavailable
from storage.arango.engine.client import ArangoSettings
from storage.arango.record import ArangoRecord
from storage.qdrant.vectors import QdrantVectors
from storage.resilience.circuit import Circuit
from testing.arango_standin import ArangoStandIn
from testing.qdrant_standin import QdrantStandIn

SOON_S = 0.05


@pytest.fixture
def servers() -> Iterator[tuple[QdrantStandIn, ArangoStandIn]]:
    with ExitStack() as stack:
        qdrant, arango = QdrantStandIn(), ArangoStandIn()
        for server in (qdrant, arango):
            server.start()
            stack.callback(server.stop)
        yield qdrant, arango


async def goes_and_comes(server: Any, ask: Callable[[], Awaitable[object]], circuit: Circuit) -> None:
    await ask()
    server.stop()
    while "status" not in circuit.figures():
        with pytest.raises(StoreUnavailable):
            await ask()
    with pytest.raises(StoreUnavailable, match="is away"):
        await ask()
    server.start()
    async with asyncio.timeout(60):
        while "status" in circuit.figures():
            await asyncio.sleep(SOON_S)
    await ask()


async def test_qdrant(servers: tuple[QdrantStandIn, ArangoStandIn]) -> None:
    circuit = Circuit("vectors", deadline_s=5, retry_after_s=SOON_S)
    client = AsyncQdrantClient(url=servers[0].url, check_compatibility=False)
    index = QdrantVectors(client, model_id="e5", dimension=4, circuit=circuit)
    await goes_and_comes(servers[0], lambda: index.count(Collection.FACTS, user_id="ann"), circuit)
    await index.close()


async def test_arangodb(servers: tuple[QdrantStandIn, ArangoStandIn]) -> None:
    record = ArangoRecord.open(ArangoSettings(servers[1].url, "jiyi"))
    await goes_and_comes(servers[1], record.backlog.counts, record._server._circuit)
    await record.close()
