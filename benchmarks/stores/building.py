"""Fills stores to a given size, measuring each part; an interrupted build continues where it stopped."""

import json
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.stores.backends import MODEL, Backend, close, open_index, open_record
from benchmarks.stores.workload import BATCH, HEAVY, Workload
from memory.indexing.projection import project_entity
from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.vectors import Collection, IndexPoint, VectorIndex
from memory.values.entities import Entity

T = TypeVar("T")


class Figures:
    """Items, seconds and processor seconds of each kind of call, kept in a file beside the stores.

    Processor seconds are those of this process with all its threads: what is left of a rate where others use the
    machine too.

    Args:
        file: Where they are kept.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self.kept: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"rounds": {}}
        self._now: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])

    async def measure(self, kind: str, items: int, work: Awaitable[T]) -> T:
        """Awaits, and counts items and seconds."""
        begin, begin_cpu = time.perf_counter(), time.process_time()
        result = await work
        now = self._now[kind]
        now[0] += items
        now[1] += time.perf_counter() - begin
        now[2] += time.process_time() - begin_cpu
        return result

    def rounds(self, phase: str) -> list[dict[str, list[float]]]:
        """For each finished round of a phase: items, seconds and processor seconds by kind of call."""
        finished: list[dict[str, list[float]]] = self.kept["rounds"].setdefault(phase, [])
        return finished

    def end_round(self, phase: str) -> None:
        """Keeps a round."""
        self.rounds(phase).append(dict(self._now))
        self._now.clear()
        self.save()

    def save(self) -> None:
        """Writes the file."""
        draft = self._file.with_suffix(".new")
        draft.write_text(json.dumps(self.kept))
        draft.replace(self._file)

    def per_second(self, kind: str, *, rounds: slice = slice(None), cpu: bool = False) -> int:
        """Items a second, or a processor second, over these rounds."""
        done = [taken[kind] for phase in self.kept["rounds"].values() for taken in phase if kind in taken][rounds]
        taken = sum(times[2 if cpu else 1] for times in done)
        return round(sum(times[0] for times in done) / taken) if taken else 0


async def build(
    backend: Backend, home: Path, workload: Workload, figures: Figures, advance: Callable[[str, int], None]
) -> None:
    """Brings the stores of a home to the workload's size.

    First everything is written to the record, then the outbox, which holds all of it by then, is drained: the worst
    that a service meets after its index was unavailable.
    """
    record = open_record(backend, home)
    try:
        await _fill_record(record, workload, figures, advance)
        if "counts_full_outbox_s" not in figures.kept:
            begin = time.perf_counter()
            await record.backlog.counts()
            figures.kept["counts_full_outbox_s"] = time.perf_counter() - begin
            figures.save()
        index = open_index(backend, home)
        try:
            await _fill_index(record, index, workload, figures, advance)
        finally:
            await close(index)
    finally:
        await close(record)


async def _fill_record(
    record: SystemOfRecord, workload: Workload, figures: Figures, advance: Callable[[str, int], None]
) -> None:
    done = len(figures.rounds("record"))
    for place, batches in enumerate(workload.batches()):
        for user_id, numbers in batches:
            if place >= done:
                await _save(record, workload, user_id, numbers, figures)
            advance("record", len(numbers))
        if place >= done:
            figures.end_round("record")


async def _save(record: SystemOfRecord, workload: Workload, user_id: str, numbers: range, figures: Figures) -> None:
    entities, relations = workload.entities(user_id, numbers), workload.relations(user_id, numbers)

    async def save() -> None:
        async with record.writing(user_id=user_id) as unit:
            await unit.entities.save(entities)
            await unit.commit()

    async def relate() -> None:
        async with record.writing(user_id=user_id) as unit:
            await unit.relations.store(relations)
            await unit.commit()

    await figures.measure("save", len(entities), save())
    await figures.measure("relate", len(relations), relate())


async def _fill_index(
    record: SystemOfRecord,
    index: VectorIndex,
    workload: Workload,
    figures: Figures,
    advance: Callable[[str, int], None],
) -> None:
    done = len(figures.rounds("index"))
    for place, batches in enumerate(workload.batches()):
        for user_id, numbers in batches:
            if place >= done:
                await _project(record, index, workload, user_id, figures)
            advance("index", len(numbers))
        if place >= done:
            figures.end_round("index")
    for user_id in (*workload.users, HEAVY):  # an interrupted round may have left some
        while await _project(record, index, workload, user_id, figures):
            pass


async def _project(
    record: SystemOfRecord, index: VectorIndex, workload: Workload, user_id: str, figures: Figures
) -> int:
    entries = await figures.measure("outbox", BATCH, record.backlog.outbox(limit=BATCH, user_id=user_id))
    if not entries:
        return 0
    async with record.reading(user_id=user_id) as unit:
        entities = await figures.measure("get", len(entries), unit.entities.get([entry.item_id for entry in entries]))
    points = [_point(entity, workload) for entity in entities]
    await figures.measure("upsert", len(points), index.upsert(Collection.ENTITIES, points, user_id=user_id))
    await figures.measure("acknowledge", len(entries), record.backlog.acknowledge(entries))
    return len(entries)


def _point(entity: Entity, workload: Workload) -> IndexPoint:
    projection = project_entity(entity)
    assert projection is not None  # all have been mentioned
    place = workload.place_of[entity.entity_value]
    return projection.point(model_id=MODEL, dense=workload.vectors[place], sparse=workload.terms[place])
