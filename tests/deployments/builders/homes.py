"""A home with a secret in every store, and where its bytes are found on disk."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import SecretStr

from deployments.builders.storage.stores import (
    journal_path,
    make_cipher,
    make_session_server,
    make_shards,
    open_record,
    open_short_lived,
)
from deployments.config.settings import AppArgs
from memory.ports.stores.generations import VectorModel
from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.vectors import Collection, IndexPoint, IndexQuery
from memory.values.base import utc_now
from memory.values.hits import SearchFilter
from memory.values.understanding.dialogue import Role, Turn
from memory.values.understanding.resolutions import CoreferenceResolution, ReferenceSource
from memory.values.vectors import SparseVector
from storage.sqlite.record import SqliteRecord
from tests.storage.conftest import entity, fact, memory, point_id, resource, save

SECRET = "zanzibar-4417"
USER = "ann"
MODEL = VectorModel(model_id="e5", dimension=4)
DENSE = np.array([1, 0, 0, 0], np.float32)
KEY, OTHER_KEY = "A" * 43 + "=", "B" * 42 + "A="


def settings(home: Path, key: str | None = None) -> AppArgs:
    return AppArgs(home=home, encryption_key=None if key is None else SecretStr(key))


def fill(args: AppArgs) -> Sequence[str]:
    """Writes the secret to every store.

    Returns:
        The parts of the home in whose files it was found while the stores were open, and after they were closed.
    """
    return asyncio.run(_fill(args))


async def _fill(args: AppArgs) -> Sequence[str]:
    record = open_record(args, durable=True)
    journal = SqliteRecord.open(journal_path(args), cipher=make_cipher(args), readers=1)
    for log in (record, journal):
        await save(
            log,
            resources=[resource("r", content=SECRET)],
            entities=[entity(SECRET)],
            memories=[memory("m", text=SECRET)],
            facts=[fact("f", object=SECRET)],
        )
    shards = make_shards(args, model=MODEL)
    named = {"entity_value": SECRET}
    stored = IndexPoint(
        point_id("p"), DENSE, SparseVector((1,), (1.0,)), 0.0, metadata={"topic": SECRET}, payload=named
    )
    await (await shards.opened(MODEL)).upsert(Collection.ENTITIES, [stored], user_id=USER)
    server = make_session_server(args)
    server.start()
    short_lived = open_short_lived(args, record=record)
    turn = Turn(role=Role.USER, content=SECRET, created_at=utc_now(), turn_id="t")
    await short_lived.sessions.append("s", user_id=USER, turns=[turn], resolutions=[_resolution()], deixis=[SECRET])
    found = parts_with(args.data_home, SECRET)
    await short_lived.close()
    server.stop()
    await shards.close()
    await record.close()
    await journal.close()
    return sorted({*found, *parts_with(args.data_home, SECRET)})


def read(args: AppArgs) -> dict[str, bool]:
    """Whether each store gives the secret back."""
    return asyncio.run(_read(args))


async def _read(args: AppArgs) -> dict[str, bool]:
    record = open_record(args, durable=True)
    journal = SqliteRecord.open(journal_path(args), cipher=make_cipher(args), readers=1)
    shards = make_shards(args, model=MODEL)
    index = await shards.opened(MODEL)
    server = make_session_server(args)
    server.start()
    short_lived = open_short_lived(args, record=record)
    query = IndexQuery(Collection.ENTITIES, 5, dense=DENSE, where={"entity_value": SECRET})
    by_topic = IndexQuery(Collection.ENTITIES, 5, dense=DENSE, filters=SearchFilter(metadata={"topic": SECRET}))
    try:
        session = await short_lived.sessions.load("s", user_id=USER)
        [point] = await index.get(Collection.ENTITIES, [point_id("p")], user_id=USER)
        return {
            "record": await _has_secret(record),
            "journal": await _has_secret(journal),
            "vectors": point.payload["entity_value"] == SECRET and np.allclose(point.dense, DENSE),
            "search": [len(hits) for hits in await index.search([query, by_topic], user_id=USER)] == [1, 1],
            "owners": await index.users(Collection.ENTITIES) == [USER],
            "turns": [turn.content for turn in session.turns] == [SECRET],
            "context": session.context.deixis == (SECRET,)
            and [entry["resolved_text"] for entry in session.context.coreference_history] == [SECRET],
        }
    finally:
        await short_lived.close()
        server.stop()
        await shards.close()
        await record.close()
        await journal.close()


async def _has_secret(record: SystemOfRecord) -> bool:
    async with record.reading(user_id=USER) as unit:
        entries = await unit.log.get(["r"])
        found = await unit.entities.get_by_value(SECRET)
    return [entry.content for entry in entries] == [SECRET] and found is not None and found.entity_value == SECRET


def parts_with(home: Path, text: str) -> list[str]:
    """The files and folders directly in a home in which, or in whose files, the bytes of a text are."""
    needle = text.encode()
    files = [path for path in home.rglob("*") if path.is_file()]
    return sorted({path.relative_to(home).parts[0] for path in files if needle in path.read_bytes()})


def _resolution() -> CoreferenceResolution:
    return CoreferenceResolution(
        original_text="它",
        resolved_text=SECRET,
        entity_id=None,
        source=ReferenceSource.SESSION,
        confidence=0.9,
        start=0,
        end=1,
    )
