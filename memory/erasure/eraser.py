"""Erases from every store what a request names, and purges their files."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence

from pydantic import JsonValue

from ..governance.review_job import PIPELINE as REVIEWS
from ..indexing.bulk import PIPELINE as BULK_INDEXING
from ..indexing.generations import PIPELINE as REEMBEDDING
from ..ports.erasures import ReplicaMemory
from ..ports.generations import GenerationStore
from ..ports.jobs import PipelineRun, RunLog, RunState
from ..ports.record import SystemOfRecord
from ..ports.sessions import SessionStore
from ..values.errors import Unavailable
from ..values.identity import app_and_user

_ROUNDS = 5
_ALL_RUNS = 10_000
_PIPELINES = (REVIEWS, REEMBEDDING, BULK_INDEXING)


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


async def forget_in_runs(runs: RunLog, user_id: str) -> int:
    """Takes a user out of the recorded runs of jobs; how many runs named the user.

    Raises:
        Unavailable: A job is at work on this user now.
    """
    changed = 0
    for pipeline in _PIPELINES:
        for run in await runs.latest(pipeline, limit=_ALL_RUNS):
            without = _without_user(run, user_id)
            if without == run:
                continue
            if run.state is RunState.RUNNING:
                raise Unavailable("A job is at work on this user's memory.", component=pipeline)
            await runs.save(without)
            changed += 1
    return changed


def _without_user(run: PipelineRun, user_id: str) -> PipelineRun:
    fields: dict[str, object] = {"input": _pruned(run.input, user_id), "output": _pruned(run.output, user_id)}
    if run.cursor is not None and user_id in _cursor_parts(run.cursor):
        fields["cursor"] = None
    return run.model_copy(update=fields)


def _pruned(value: JsonValue, user_id: str) -> JsonValue:
    """The value without the entries of lists that name the user, and with null where else it names the user."""
    if isinstance(value, Mapping):
        return {key: _pruned(part, user_id) for key, part in value.items()}
    if isinstance(value, list):
        return [part for part in value if not (isinstance(part, Mapping) and part.get("user_id") == user_id)]
    return None if value == user_id else value


def _cursor_parts(cursor: str) -> Sequence[object]:
    try:
        parts = json.loads(cursor)
    except ValueError:
        parts = None
    return (cursor, *parts) if isinstance(parts, list) else (cursor,)
