"""Erases from every store what a request names, and purges their files."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from pydantic import JsonValue

from ..indexing.record_pages import WHOLE_OUTBOX
from ..jobs.desk import ERASED_USER
from ..ports.erasures import ReplicaMemory
from ..ports.jobs import PipelineRun, RunLog, RunPosition, RunQuery
from ..ports.stores.generations import GenerationStore
from ..ports.stores.record import SystemOfRecord
from ..ports.stores.sessions import SessionStore
from ..ports.stores.vectors import Collection
from ..values.access.identity import app_and_user, shown_user
from ..values.access.secrets import MASK
from ..values.errors import Unavailable
from ..values.governance.erasures import ErasureScope
from .effects import Effects, apply
from .planning import plan
from .requests import DONE, PENDING
from .selection import select

_ROUNDS = 5
_RUNS_A_PAGE = 500


class Eraser:
    """Every store that holds something of users.

    Args:
        record: The system of record.
        journal: The file that holds turns while the record is away, where this process can reach it.
        sessions: Short-term memory.
        vectors: The vectors of all models.
        replicas: What the processes of the service hold.
        lock: The lock of a user's learning and indexing.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        sessions: SessionStore,
        vectors: GenerationStore,
        replicas: ReplicaMemory,
        lock: Callable[[str], asyncio.Lock],
        journal: SystemOfRecord | None = None,
    ) -> None:
        self._record = record
        self._journal = journal
        self._sessions = sessions
        self._vectors = vectors
        self._replicas = replicas
        self._lock = lock

    async def erase_user(self, user_id: str, removed: dict[str, int]) -> None:
        """Erases all of a user, again until nothing is found any more.

        A store that is away does not keep the others from erasing.

        Args:
            user_id: The user.
            removed: Where what is removed is counted, also when it fails.

        Raises:
            Unavailable: A part is away, or somebody keeps writing; repeat it.
        """
        for _ in range(_ROUNDS):
            found: dict[str, int] = {}
            try:
                async with self._lock(user_id):
                    await self._erase_user_once(user_id, found)
            finally:
                for name, count in found.items():
                    removed[name] = removed.get(name, 0) + count
            if not any(found.values()):
                return
        raise Unavailable("Somebody keeps writing for this user.", component="record")

    async def erase_scope(self, scope: ErasureScope, *, user_id: str, found: "Found", removed: dict[str, int]) -> None:
        """Erases a part of a user's memory, and what was learned only from it.

        Args:
            scope: Which part; the end of a period is given.
            user_id: The user.
            found: What earlier attempts found; it grows, and is kept before the record forgets it.
            removed: Where what is removed is counted, also when it fails.

        Raises:
            Unavailable: A part is away; repeat it.
        """

        def count(name: str, number: int) -> None:
            removed[name] = removed.get(name, 0) + number

        async def record() -> None:
            if self._journal is not None:
                # First, since it fills the record; by the names that only the record knows.
                count("journal.resources", await self._erase_in_journal(self._journal, scope, user_id))
            while erased := await self._erase_in_record(scope, user_id, found):
                for name, number in erased.items():
                    count(f"record.{name}", number)

        async def vectors() -> None:
            ids = [id_ for ids in found.points.values() for id_ in ids]
            if ids:
                count("vectors.points", await self._vectors.erase_points(ids, user_id=user_id))
                await self._settle_outbox(found, user_id)

        async def sessions() -> None:
            if scope.session_id is not None:
                session = await self._sessions.load(scope.session_id, user_id=user_id)
                await self._sessions.clear(scope.session_id, user_id=user_id)
                count("sessions", bool(session.turns))
                return
            for session_id, turn_ids in found.sessions.items():
                forgotten = await self._sessions.forget(session_id, user_id=user_id, turn_ids=turn_ids)
                count("sessions", forgotten)

        async with self._lock(user_id):
            await attempt_all([record, vectors, sessions, lambda: self._replicas.forget(user_id)])

    async def _erase_in_journal(self, journal: SystemOfRecord, scope: ErasureScope, user_id: str) -> int:
        erased = 0
        async with self._record.reading(user_id=user_id) as unit:
            selected = await select(unit, scope)
        words = selected.names | selected.words
        while True:
            async with journal.writing(user_id=user_id) as unit:
                selection = await select(unit, scope, words=words)
                if not selection.messages:
                    return erased
                await unit.erasure.delete(messages=list(selection.messages))
                await unit.commit()
            erased += len(selection.messages)

    async def _erase_in_record(self, scope: ErasureScope, user_id: str, found: "Found") -> dict[str, int]:
        """Erases the next messages with all that follows; what was removed, nothing where there is nothing left."""
        while True:
            async with self._record.reading(user_id=user_id) as unit:
                effects = await plan(unit, user_id, await select(unit, scope))
            if effects.is_empty:
                return {}
            await found.keep(effects)
            rewritten = {id_ for ids in effects.points.values() for id_ in ids}
            runs = await forget_in_runs(self._record.runs, user_id, items=effects.gone | rewritten)
            async with self._record.writing(user_id=user_id) as unit:
                counts = await apply(unit, effects)
                if counts is not None:
                    await unit.commit()
                    return counts | {"runs": runs}

    async def _settle_outbox(self, found: "Found", user_id: str) -> None:
        """Lets what is gone out of the outbox, and puts what stays on it, to be indexed anew."""
        existing: dict[Collection, list[str]] = {collection: [] for collection in Collection}
        async with self._record.reading(user_id=user_id) as unit:
            points = {collection: found.points.get(collection, []) for collection in Collection}
            memories = await unit.memories.get(points[Collection.MEMORIES])
            entities = await unit.entities.get(points[Collection.ENTITIES])
            facts = await unit.facts.get_many(points[Collection.FACTS])
        existing[Collection.MEMORIES] = [memory.memory_id for memory in memories]
        existing[Collection.ENTITIES] = [entity.entity_id for entity in entities]
        existing[Collection.FACTS] = [fact.fact_id for fact in facts]
        gone = {(name, id_) for name, ids in points.items() for id_ in set(ids) - set(existing[name])}
        waiting = await self._record.backlog.outbox(limit=WHOLE_OUTBOX, user_id=user_id)
        dropped = [entry for entry in waiting if (entry.collection, entry.item_id) in gone]
        await self._record.backlog.acknowledge(dropped)
        for collection, ids in existing.items():
            if ids:
                await self._record.backlog.requeue(collection, ids, user_id=user_id)

    async def purge(self) -> dict[str, bool]:
        """Removes what erased values left in files; for each store whether that is certain.

        Raises:
            Unavailable: A store is away; repeat it.
        """
        record = await self._record.purge()
        if self._journal is not None:
            record = await self._journal.purge() and record
        return {
            "record": record,
            "vectors": await self._vectors.purge(),
            "sessions": await self._sessions.purge(),
        }

    async def _erase_user_once(self, user_id: str, found: dict[str, int]) -> None:
        async def record() -> None:
            erased = await self._record.erase_user(user_id)
            found.update({f"record.{name}": count for name, count in erased.items()})
            app, user = app_and_user(user_id)
            found["record.api_keys"] = await self._record.keys.delete_of_user(app=app, user=user)
            found["record.runs"] = await forget_in_runs(self._record.runs, user_id)

        async def journal() -> None:
            if self._journal is not None:
                found["journal.resources"] = (await self._journal.erase_user(user_id))["resources"]

        async def sessions() -> None:
            found["sessions"] = await self._sessions.clear_user(user_id)

        async def vectors() -> None:
            found["vectors.points"] = await self._vectors.erase_user(user_id)

        # The journal first, since it fills the record; the replicas last, since they fill their caches from the stores.
        await attempt_all([journal, record, vectors, sessions, lambda: self._replicas.forget(user_id)])


class Found:
    """What an erasure of a part has found in the record, and other stores have to erase.

    Args:
        points: Ids of points by collection.
        sessions: Ids of turns by session.
        save: Keeps both where a crash does not lose them.
    """

    def __init__(
        self,
        *,
        points: Mapping[Collection, Sequence[str]],
        sessions: Mapping[str, Sequence[str]],
        save: Callable[["Found"], Awaitable[None]],
    ) -> None:
        self.points = {collection: list(ids) for collection, ids in points.items()}
        self.sessions = {session_id: list(ids) for session_id, ids in sessions.items()}
        self._save = save

    async def keep(self, effects: Effects) -> None:
        """Adds what follows from a step, before it is taken."""
        for collection, ids in effects.points.items():
            self.points[collection] = [*dict.fromkeys([*self.points.get(collection, ()), *ids])]
        for session_id, ids in effects.sessions.items():
            self.sessions[session_id] = [*dict.fromkeys([*self.sessions.get(session_id, ()), *ids])]
        await self._save(self)


async def attempt_all(steps: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Takes every step, whatever becomes of the others.

    Raises:
        Unavailable: What the first step that failed raised.
    """
    failures = []
    for step in steps:
        try:
            await step()
        except Unavailable as error:
            failures.append(error)
    if failures:
        raise failures[0]


async def forget_in_runs(runs: RunLog, user_id: str, *, items: AbstractSet[str] | None = None) -> int:
    """Takes a user, or these items of the user, out of the recorded runs of jobs; how many runs named them.

    Raises:
        Unavailable: A job is at work on this user now.
    """
    changed = 0
    after = None
    while page := await runs.find(RunQuery(after=after, limit=_RUNS_A_PAGE), app=None):
        after = RunPosition.of(page[-1])
        for run in page:
            if run.pipeline in (PENDING, DONE):
                continue
            without = _without_user(run, user_id) if items is None else _without_items(run, user_id, items)
            if without == run:
                continue
            if not run.state.is_over:
                raise Unavailable("A job is at work on this user's memory.", component=run.pipeline)
            await runs.save(without)
            changed += 1
    return changed


def _without_user(run: PipelineRun, user_id: str) -> PipelineRun:
    parts = {"input": run.input, "output": run.output}
    fields: dict[str, object] = {name: _pruned_fields(part, user_id) for name, part in parts.items()}
    if run.input.get("user_id") == user_id:
        fields["input"] = {**_pruned_fields(run.input, user_id), ERASED_USER: True}
    if run.error is not None:
        fields |= {"error": _unnamed(run.error, user_id), "stack": run.stack and _unnamed(run.stack, user_id)}
    if run.cursor is not None and user_id in _cursor_parts(run.cursor):
        fields["cursor"] = None
    return run.model_copy(update=fields)


def _without_items(run: PipelineRun, user_id: str, items: AbstractSet[str]) -> PipelineRun:
    def is_meant(part: JsonValue) -> bool:
        return isinstance(part, Mapping) and part.get("user_id") == user_id and part.get("item_id") in items

    output: dict[str, JsonValue] = {
        key: [part for part in value if not is_meant(part)] if isinstance(value, list) else value
        for key, value in run.output.items()
    }
    return run.model_copy(update={"output": output})


def _unnamed(text: str, user_id: str) -> str:
    """What an error says, without the user's id as a word of its own."""
    names = "|".join(re.escape(name) for name in {user_id, shown_user(user_id)})
    return re.sub(rf"(?<!\w)(?:{names})(?!\w)", MASK, text)


def _pruned_fields(fields: Mapping[str, JsonValue], user_id: str) -> dict[str, JsonValue]:
    return {name: _pruned(value, user_id) for name, value in fields.items()}


def _pruned(value: JsonValue, user_id: str) -> JsonValue:
    """The value without the entries of lists that name the user, and with null where else it names the user."""
    if isinstance(value, Mapping):
        return _pruned_fields(value, user_id)
    if isinstance(value, list):
        return [part for part in value if not (isinstance(part, Mapping) and part.get("user_id") == user_id)]
    return None if value == user_id else value


def _cursor_parts(cursor: str) -> Sequence[object]:
    try:
        parts = json.loads(cursor)
    except ValueError:
        parts = None
    return (cursor, *parts) if isinstance(parts, list) else (cursor,)
