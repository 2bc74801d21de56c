"""Every vector index there is, opened empty for one test."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from qdrant_client import AsyncQdrantClient

from memory.ports.stores.vectors import Collection, VectorIndex
from storage.edge.vectors import EdgeVectors
from storage.inmemory.vectors import InMemoryVectors
from storage.qdrant.vectors import QdrantSettings, QdrantVectors
from storage.resilience.circuit import Circuit
from storage.shared.encryption import NO_CIPHER, KeyCipher
from storage.shared.index_points import stored_name
from testing.qdrant_standin import QdrantStandIn
from tests.storage import servers

BACKENDS = [
    "memory",
    "edge",
    "edge-encrypted",
    "qdrant-local",
    "qdrant-http",
    pytest.param("qdrant-server", marks=servers.needs_server("QDRANT")),
]
"""`qdrant-local` is the client library's engine, `qdrant-http` the same behind a socket, `qdrant-server` a real one."""


class Backends:
    """Keeps what is slow to make, files and a server, for all the tests of a module.

    Args:
        folder: For the embedded engine.
        dimension: Length of the dense vectors.
    """

    def __init__(self, folder: Path, *, dimension: int) -> None:
        self._folder = folder
        self._dimension = dimension
        self._edge: dict[str, EdgeVectors] = {}
        self._standin: QdrantStandIn | None = None

    @asynccontextmanager
    async def opened(self, backend: str) -> AsyncIterator[VectorIndex]:
        """The index of that name, without any points."""
        if backend == "memory":
            yield InMemoryVectors(dimension=self._dimension)
        elif backend.startswith("edge"):
            if backend not in self._edge:
                cipher = KeyCipher(bytes(32)) if backend == "edge-encrypted" else NO_CIPHER
                self._edge[backend] = EdgeVectors.open(
                    self._folder / backend, model_id="e5", dimension=self._dimension, cipher=cipher
                )
            edge = self._edge[backend]
            yield edge
            for collection in Collection:
                for user in await edge.users(collection):
                    await edge.delete_user(collection, user_id=user)
        elif backend == "qdrant-local":
            client = AsyncQdrantClient(":memory:")
            circuit = Circuit("vectors", deadline_s=10)
            index = QdrantVectors(client, model_id="e5", dimension=self._dimension, circuit=circuit)
            yield index
            await index.close()
        elif backend == "qdrant-http":
            async with self._connected(self._emptied().url, "intfloat/e5") as index:
                yield index
        else:
            model = f"test-{uuid.uuid4()}"
            async with self._connected(servers.qdrant_url(), model, live=False) as index:
                yield index
                for collection in Collection:
                    await index._client.delete_collection(stored_name(collection, model))

    def close(self) -> None:
        """Stops the server and lets go of the files."""
        for edge in self._edge.values():
            asyncio.run(edge.close())
        if self._standin is not None:
            self._standin.stop()

    def _emptied(self) -> QdrantStandIn:
        if self._standin is None:
            self._standin = QdrantStandIn()
            self._standin.start()
        self._standin.reset()
        return self._standin

    @asynccontextmanager
    async def _connected(self, url: str, model_id: str, *, live: bool = True) -> AsyncIterator[QdrantVectors]:
        settings = QdrantSettings(url, api_key=servers.QDRANT_API_KEY, deadline_s=20)
        index = QdrantVectors.connect(settings, model_id=model_id, dimension=self._dimension, live=live)
        yield index
        await index.close()
