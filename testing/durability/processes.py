"""The processes that write and are killed. Each runs in a child that was forked with everything imported."""

import asyncio
import os
import signal
import struct
from collections.abc import Sequence
from enum import IntEnum
from multiprocessing.connection import Connection
from pathlib import Path

from memory.ports.stores.vectors import Collection, IndexPoint
from memory.values.errors import StoreUnavailable
from storage.edge.vectors import EdgeVectors
from storage.sqlite.record import SqliteRecord

from .plans import Plan
from .writing import DIMENSION, MODEL, Upsert, perform, user_name

NOTE = struct.Struct("<BBB")
"""A note on the pipe: its kind, the user's number, the place in the user's sequence."""


class Note(IntEnum):
    """The messages of a writer."""

    READY = 0
    BEGUN = 1
    ACKNOWLEDGED = 2
    REFUSED = 3
    DONE = 4


def record_path(home: Path) -> Path:
    """The file of the record."""
    return home / "record.sqlite"


def open_index(home: Path, *, flush_interval_s: float = 5.0) -> EdgeVectors:
    """The index of a home."""
    return EdgeVectors.open(home / "vectors", model_id=MODEL, dimension=DIMENSION, flush_interval_s=flush_interval_s)


def create(home: Path) -> None:
    """Creates both stores, empty."""

    async def work() -> None:
        await SqliteRecord.open(record_path(home)).close()
        await open_index(home).close()

    asyncio.run(work())


def write_all(plan: Plan, home: Path, notes: int, owner: Connection | None) -> None:
    """Performs a plan, all users at once, noting each write as it is acknowledged.

    Args:
        plan: What to write.
        home: Where.
        notes: The descriptor of the pipe that notes are written to.
        owner: The process that owns the index; without one this process does, and waits to be killed when done.
    """

    async def sequence(number: int, record: SqliteRecord, upsert: Upsert) -> None:
        for place, step in enumerate(plan.sequences[number]):
            _note(notes, Note.BEGUN, number, place)
            try:
                await perform(step, place, user_id=user_name(number), record=record, upsert=upsert)
            except StoreUnavailable:
                if owner is None:
                    raise
                _note(notes, Note.REFUSED, number, place)
            else:
                _note(notes, Note.ACKNOWLEDGED, number, place)

    async def work() -> None:
        record = SqliteRecord.open(record_path(home))
        upsert = _remote(owner) if owner is not None else _local(_open_for(plan, home))
        _note(notes, Note.READY)
        await asyncio.gather(*(sequence(number, record, upsert) for number in range(len(plan.sequences))))
        _note(notes, Note.DONE)
        if owner is None:
            await asyncio.to_thread(signal.pause)
        await record.close()

    asyncio.run(work())


def own_index(plan: Plan, home: Path, requests: Connection) -> None:
    """Owns the index and upserts what it is sent, until it is killed or nobody can send any more."""

    async def work() -> None:
        index = open_index(home, flush_interval_s=plan.flush_interval_s)
        requests.send(None)
        while True:
            try:
                collection, points, user_id = await asyncio.to_thread(requests.recv)
            except EOFError:
                break
            await index.upsert(collection, points, user_id=user_id)
            requests.send(None)
        await index.close()

    asyncio.run(work())


def _note(pipe: int, kind: Note, user: int = 0, place: int = 0) -> None:
    os.write(pipe, NOTE.pack(kind, user, place))


def _open_for(plan: Plan, home: Path) -> EdgeVectors | None:
    return open_index(home, flush_interval_s=plan.flush_interval_s) if plan.has_index else None


def _local(index: EdgeVectors | None) -> Upsert:
    async def upsert(collection: Collection, points: Sequence[IndexPoint], user_id: str) -> None:
        assert index is not None
        await index.upsert(collection, points, user_id=user_id)

    return upsert


def _remote(owner: Connection) -> Upsert:
    turns = asyncio.Lock()

    def call(request: object) -> None:
        owner.send(request)
        owner.recv()

    async def upsert(collection: Collection, points: Sequence[IndexPoint], user_id: str) -> None:
        async with turns:
            try:
                await asyncio.to_thread(call, (collection, points, user_id))
            except (EOFError, OSError) as error:
                raise StoreUnavailable("The owner of the index is gone.", component="vectors") from error

    owner.recv()  # it has opened its files
    return upsert
