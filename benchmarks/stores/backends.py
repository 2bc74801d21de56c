"""The stores that are measured."""

import os
from enum import StrEnum
from pathlib import Path

from benchmarks.stores.workload import DIMENSION
from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.vectors import VectorIndex
from storage.arango.engine.client import ArangoSettings
from storage.arango.record import ArangoRecord
from storage.edge.vectors import EdgeVectors
from storage.qdrant.vectors import QdrantSettings, QdrantVectors
from storage.sqlite.record import SqliteRecord

MODEL = "benchmark"
_DEADLINE_S = 60.0


class Backend(StrEnum):
    """The stores to measure."""

    EMBEDDED = "embedded"
    SERVERS = "servers"
    """Those of `JIYI_TEST_QDRANT_URL` and `JIYI_TEST_ARANGO_URL`; what they occupy is not measured."""


def open_record(backend: Backend, home: Path) -> SystemOfRecord:
    """The record of a home, as the learner opens it: what it writes can be learned again after a power cut."""
    if backend is Backend.EMBEDDED:
        return SqliteRecord.open(home / "record.sqlite", durable=False)
    return ArangoRecord.open(
        ArangoSettings(
            os.environ["JIYI_TEST_ARANGO_URL"],
            database=f"benchmark-{home.name}",
            password=os.environ.get("JIYI_TEST_ARANGO_PASSWORD", ""),
            deadline_s=_DEADLINE_S,
            durable=False,
        )
    )


def open_index(backend: Backend, home: Path) -> VectorIndex:
    """The index of a home."""
    if backend is Backend.EMBEDDED:
        return EdgeVectors.open(home / "vectors", model_id=MODEL, dimension=DIMENSION)
    key = os.environ.get("JIYI_TEST_QDRANT_API_KEY")
    settings = QdrantSettings(os.environ["JIYI_TEST_QDRANT_URL"], api_key=key, deadline_s=_DEADLINE_S)
    # A size has a model of its own, and no alias: its collections are beside those of other sizes.
    return QdrantVectors.connect(settings, model_id=f"{MODEL}-{home.name}", dimension=DIMENSION, live=False)


async def close(store: SystemOfRecord | VectorIndex) -> None:
    """Lets go of files or connections."""
    if isinstance(store, (SystemOfRecord, EdgeVectors, QdrantVectors)):
        await store.close()


def disk_bytes(place: Path) -> int:
    """What a file with its logs, or a folder, occupies; holes in files are free."""
    files = [*place.rglob("*"), place, *place.parent.glob(f"{place.name}-*")]
    return sum(file.stat().st_blocks * 512 for file in files if file.is_file())
