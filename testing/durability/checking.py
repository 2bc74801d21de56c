"""What must be there after a run, and what is: the record in memory that saw the same writes is the model."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.vectors import Collection, IndexPoint, VectorIndex
from storage.edge.vectors import EdgeVectors
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.vectors import InMemoryVectors
from storage.sqlite.record import SqliteRecord

from .plans import Death, Op, Plan, Step, Verdict
from .processes import Note, open_index, record_path
from .writing import DIMENSION, Item, Upsert, index_batch, item_id, perform, projected, user_name

_MOST = 100_000

Rows = Counter[tuple[str, str]]
Points = dict[tuple[Collection, str], str]


@dataclass
class Answers:
    """What the stores answered one user: writes acknowledged, refused, and the one that had begun when all ended."""

    acknowledged: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    begun: int | None = None

    @classmethod
    def of(cls, notes: Sequence[tuple[int, int, int]], user: int) -> "Answers":
        """The writes of a user according to the notes."""
        answers = cls()
        for kind, number, place in notes:
            if number == user and kind in (Note.BEGUN, Note.ACKNOWLEDGED, Note.REFUSED):
                answers.begun = place if kind == Note.BEGUN else None
                if kind != Note.BEGUN:
                    (answers.acknowledged if kind == Note.ACKNOWLEDGED else answers.refused).append(place)
        return answers


@dataclass(frozen=True)
class _State:
    """The data of a user: rows of the record, and acknowledged points."""

    rows: Rows
    points: Points


def check(plan: Plan, home: Path, notes: Sequence[tuple[int, int, int]]) -> Verdict:
    """Opens the stores again and compares them with what was acknowledged; then does the rest, and compares again."""
    return asyncio.run(_check(plan, home, [Answers.of(notes, user) for user in range(len(plan.sequences))]))


async def _check(plan: Plan, home: Path, users: Sequence[Answers]) -> Verdict:
    record = SqliteRecord.open(record_path(home))
    index: VectorIndex = open_index(home) if plan.has_index else InMemoryVectors(dimension=DIMENSION)
    verdicts = [await _check_user(plan, user, answers, record, index) for user, answers in enumerate(users)]
    if isinstance(index, EdgeVectors):
        await index.close()
    await record.close()
    in_flight = tuple(
        sequence[answers.begun].op
        for sequence, answers in zip(plan.sequences, users, strict=True)
        if answers.begun is not None
    )
    return Verdict(
        acknowledged=sum(len(answers.acknowledged) for answers in users),
        refused=sum(len(answers.refused) for answers in users),
        in_flight=in_flight,
        **{
            name: sum(getattr(verdict, name) for verdict in verdicts)
            for name in ("kept", "lost", "doubled", "torn", "points_lost", "points_wrong")
        },
    )


async def _check_user(plan: Plan, user: int, answers: Answers, record: SystemOfRecord, index: VectorIndex) -> Verdict:
    sequence, user_id = plan.sequences[user], user_name(user)
    done = [*answers.acknowledged] if answers.begun is None else [*answers.acknowledged, answers.begun]
    states = await _model(sequence, done, user_id)
    before, after = states[len(answers.acknowledged)], states[-1]
    found = await _rows(record, user_id)
    kept = found == after.rows and after.rows != before.rows
    verdict = Verdict(
        acknowledged=len(answers.acknowledged),
        kept=kept,
        # A write in flight that was kept may itself take rows away: what was learned is no longer unlearned.
        lost=0 if kept else sum((before.rows - found).values()),
        doubled=sum(count - 1 for count in found.values()),
        torn=found
        not in ([state.rows for state in states] if plan.death is Death.POWER else (before.rows, after.rows)),
    )
    points = await _points(index, user_id)
    now = await _expected(record, user_id)  # a write that was refused may have brought a point up to date
    lost = sum(
        points.get(key) not in (fingerprint, after.points.get(key), now.get(key))
        for key, fingerprint in before.points.items()
    )
    if plan.death is Death.POWER:
        await _verify(record, index, user_id)
    else:
        rest = [place for place in range(len(sequence)) if place not in answers.acknowledged]
        for place in rest:
            await perform(sequence[place], place, user_id=user_id, record=record, upsert=_to(index))
    await _drain(record, _to(index), user_id)
    wrong = await _points(index, user_id)
    expected = await _expected(record, user_id)
    torn = verdict.torn
    if plan.death is not Death.POWER:
        whole = (await _model(sequence, range(len(sequence)), user_id, drained=True))[-1].rows
        torn = torn or await _rows(record, user_id) != whole
    return Verdict(
        acknowledged=verdict.acknowledged,
        kept=verdict.kept,
        lost=verdict.lost,
        doubled=verdict.doubled,
        torn=torn,
        points_lost=lost,
        points_wrong=len(wrong.items() ^ expected.items()),
    )


async def _model(
    sequence: Sequence[Step], places: Sequence[int], user_id: str, *, drained: bool = False
) -> list[_State]:
    """The expected data before the first of these writes, and after each of them."""
    record, points = InMemoryRecord(), Points()

    async def upsert(collection: Collection, batch: Sequence[IndexPoint], user_id: str) -> None:
        points.update({(collection, point.point_id): point.fingerprint for point in batch})

    states = [_State(await _rows(record, user_id), dict(points))]
    for place in places:
        await perform(sequence[place], place, user_id=user_id, record=record, upsert=upsert)
        states.append(_State(await _rows(record, user_id), dict(points)))
    if drained:
        await _drain(record, upsert, user_id)
        states.append(_State(await _rows(record, user_id), dict(points)))
    await record.close()
    return states


async def _drain(record: SystemOfRecord, upsert: Upsert, user_id: str) -> None:
    """Learns and indexes all that waits, as the learner does after a restart."""
    while await record.backlog.unlearned(limit=1, user_id=user_id):
        await perform(Step(Op.LEARN, _MOST), 0, user_id=user_id, record=record, upsert=upsert)
    while await index_batch(user_id=user_id, record=record, upsert=upsert):
        pass


async def _verify(record: SystemOfRecord, index: VectorIndex, user_id: str) -> None:
    """Queues what the index lacks or has in an older form, and deletes what the record does not know."""
    stored = await _points(index, user_id)
    expected = await _expected(record, user_id)
    for collection in Collection:
        wanted = {id_: fingerprint for (of, id_), fingerprint in expected.items() if of is collection}
        stale = [id_ for id_, fingerprint in wanted.items() if stored.get((collection, id_)) != fingerprint]
        await record.backlog.requeue(collection, stale, user_id=user_id)
        await index.delete_stale(collection, wanted.keys(), user_id=user_id)


async def _rows(record: SystemOfRecord, user_id: str) -> Rows:
    async with record.reading(user_id=user_id) as unit:
        entities = await unit.entities.page(limit=_MOST)
        relations = [
            relation.model_dump_json()
            for entity in entities
            for relation in await unit.relations.of(entity.entity_id, limit=_MOST)
            if relation.source_entity_id == entity.entity_id
        ]
        tables = {
            "resources": [
                resource.model_dump_json(exclude={"sequence"}) for resource in await unit.log.list(limit=_MOST)
            ],
            "unlearned": [resource.resource_id for resource in await unit.log.list_unextracted(limit=_MOST)],
            "entities": [entity.model_dump_json() for entity in entities],
            "memories": [memory.model_dump_json() for memory in await unit.memories.page(limit=_MOST)],
            "facts": [fact.model_dump_json() for fact in await unit.facts.page(limit=_MOST)],
            "relations": relations,
        }
    return Counter((table, row) for table, rows in tables.items() for row in rows)


async def _expected(record: SystemOfRecord, user_id: str) -> Points:
    async with record.reading(user_id=user_id) as unit:
        items: dict[Collection, Sequence[Item]] = {
            Collection.ENTITIES: await unit.entities.page(limit=_MOST),
            Collection.MEMORIES: await unit.memories.page(limit=_MOST),
            Collection.FACTS: await unit.facts.page(limit=_MOST),
        }
    return {
        (collection, item_id(item)): projected(item).fingerprint for collection in items for item in items[collection]
    }


async def _points(index: VectorIndex, user_id: str) -> Points:
    return {
        (collection, point.point_id): point.fingerprint
        for collection in Collection
        for point in await index.stored(collection, user_id=user_id)
    }


def _to(index: VectorIndex) -> Upsert:
    async def upsert(collection: Collection, points: Sequence[IndexPoint], user_id: str) -> None:
        await index.upsert(collection, points, user_id=user_id)

    return upsert
