"""Sessions in Redis or Valkey (000 §5.3, STORES, Redis / Valkey)."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import orjson
import structlog
from redis.asyncio.client import Pipeline
from redis.exceptions import RedisError, ResponseError
from redis.typing import EncodableT, FieldT
from typing_extensions import override

from memory.ports.stores.sessions import (
    CONTEXT_TTL,
    COREFERENCE_HISTORY,
    DEIXIS_WORDS,
    HISTORY_TTL,
    HISTORY_TURNS,
    MENTIONED_ENTITIES,
    SessionStore,
)
from memory.values.base import utc_now
from memory.values.errors import StoreUnavailable
from memory.values.understanding.dialogue import Session, SessionContext, Turn
from memory.values.understanding.resolutions import Clarification, CoreferenceResolution, Revision

from ..shared.checks import check_owner, check_session, check_user
from ..shared.encryption import NO_CIPHER, Cipher
from ..shared.session_state import bounded, history_entries, last_referred, new_context
from .client import RedisClient
from .entries import SessionEntries
from .scripts import APPEND, PARTS, limit_key, session_keys, user_pattern

# In the order of `scripts.PARTS`; the first is a hash and has no bound.
_BOUNDS = (0, MENTIONED_ENTITIES, COREFERENCE_HISTORY, DEIXIS_WORDS, HISTORY_TURNS)
_TTLS_S = (*[int(CONTEXT_TTL.total_seconds())] * 4, int(HISTORY_TTL.total_seconds()))

_SCANNED_AT_ONCE = 1_000
_PURGE_DEADLINE_S = 60.0
_POLL_S = 0.05
_WRITING = (
    "aof_rewrite_in_progress",
    "aof_rewrite_scheduled",
    "rdb_bgsave_in_progress",
)

T = TypeVar("T")
_log = structlog.get_logger(__name__)


class RedisSessions(SessionStore):
    """Sessions on a Redis-protocol server.

    A command is repeated once after a broken connection. A turn without a `turn_id` may therefore be stored twice, if
    the server dies after the write and before the reply.

    Args:
        redis: A client, which its owner closes; or a URL, for a client that `close` closes.
        cipher: Encrypts what was said; what was written with another one is unreadable, as if it were damaged.
        now: The clock.
    """

    def __init__(
        self, redis: RedisClient | str, *, cipher: Cipher = NO_CIPHER, now: Callable[[], datetime] = utc_now
    ) -> None:
        self._entries = SessionEntries(cipher)
        self._owns_connections = isinstance(redis, str)
        self._redis = RedisClient(redis) if isinstance(redis, str) else redis
        self._append = self._redis.commands.register_script(APPEND)
        self._now = now

    @override
    async def load(self, session_id: str, *, user_id: str) -> Session:
        """The session, or an empty one that starts now; unreadable parts are left out and logged."""
        context, *lists = session_keys(check_user(user_id), check_session(session_id))
        async with self._redis.commands.pipeline(transaction=True) as pipeline:
            pipeline.hgetall(context)
            for key in lists:
                pipeline.lrange(key, 0, -1)
            answers = await self._ask(_values(pipeline))
        fields, mentioned, coreference, deixis, entries = answers
        turns = tuple(turn for entry in entries or [] if (turn := self._turn(entry)) is not None)
        empty = new_context(session_id, user_id=user_id, now=self._now(), turns=turns)
        return Session(
            context=self._context(empty, fields or {}, mentioned or [], coreference or [], deixis or []), turns=turns
        )

    @override
    async def append(
        self,
        session_id: str,
        *,
        user_id: str,
        turns: Sequence[Turn],
        mentioned: Sequence[str] = (),
        resolutions: Sequence[CoreferenceResolution] = (),
        deixis: Sequence[str] = (),
        referred: str | None = None,
        revision: Revision | None = None,
        asked: Clarification | None = None,
        query: str = "",
        to_forget: Sequence[Sequence[str]] = (),
    ) -> None:
        """Adds turns, mentions and resolutions in one script, so concurrent appends lose nothing."""
        keys = session_keys(check_user(user_id), check_session(session_id))
        call = {
            "now": self._now().isoformat(),
            "turns": [self._entries.turn(turn) for turn in turns],
            "turn_ids": [turn.turn_id or "" for turn in turns],
            "mentioned": list(mentioned),
            "resolutions": [
                self._entries.resolution(entry) for entry in history_entries(resolutions, asked=asked, query=query)
            ],
            "referred": last_referred(referred, resolutions) or "",
            "corrected": self._entries.correction(revision),
            "deixis": [self._entries.word(word) for word in deixis],
            "to_forget": _ids(to_forget),
            "bounds": _BOUNDS,
            "ttls": _TTLS_S,
        }
        await self._ask(self._append(keys=keys, args=[orjson.dumps(call)]))

    @override
    async def store_context(self, context: SessionContext, *, user_id: str) -> None:
        check_owner([context], check_user(user_id))
        context = bounded(context)
        fields: dict[FieldT, EncodableT] = {
            "started_at": context.started_at.isoformat(),
            "last_activity": context.last_activity.isoformat(),
            "last_referred_entity": context.last_referred_entity or "",
            "to_forget": _ids(context.to_forget),
        }
        key, *lists = session_keys(user_id, context.session_id)[: len(PARTS) - 1]
        history = [self._entries.resolution(entry) for entry in context.coreference_history]
        deixis = [self._entries.word(word) for word in context.deixis]
        values: tuple[Sequence[str], ...] = (context.mentioned_entities, history, deixis)
        async with self._redis.commands.pipeline(transaction=True) as pipeline:
            pipeline.unlink(key, *lists)
            pipeline.hset(key, mapping=fields)
            pipeline.expire(key, _TTLS_S[0])
            for name, entries in zip(lists, values, strict=True):
                if entries:
                    pipeline.rpush(name, *entries)
                    pipeline.expire(name, _TTLS_S[0])
            await self._ask(pipeline.execute())

    @override
    async def clear(self, session_id: str, *, user_id: str) -> None:
        await self._ask(self._redis.commands.unlink(*session_keys(check_user(user_id), check_session(session_id))))

    @override
    async def forget(self, session_id: str, *, user_id: str, turn_ids: Sequence[str]) -> bool:
        """Removes entries by what they are, so that a turn that is appended meanwhile stays."""
        *others, turns = session_keys(check_user(user_id), check_session(session_id))
        entries: list[Any] = await self._ask(self._redis.commands.lrange(turns, 0, -1))
        async with self._redis.commands.pipeline(transaction=True) as pipeline:
            pipeline.unlink(*others)
            for entry in entries:
                turn = self._turn(entry)
                if turn is not None and turn.turn_id in turn_ids:
                    pipeline.lrem(turns, 0, entry.decode())
            return any(await self._ask(pipeline.execute()))

    @override
    async def clear_user(self, user_id: str) -> int:
        """Deletes the keys of all sessions of a user, found by a scan of all keys, and the user's rate limit."""
        commands = self._redis.commands
        sessions: set[bytes] = set()
        cursor = 0
        while True:
            scan = commands.scan(cursor, match=user_pattern(check_user(user_id)), count=_SCANNED_AT_ONCE)
            cursor, keys = await self._ask(scan)
            if keys:
                await self._ask(commands.unlink(*keys))
                sessions |= {key.rpartition(b":")[0] for key in keys if isinstance(key, bytes)}
            if cursor == 0:
                break
        await self._ask(commands.unlink(limit_key(user_id)))
        return len(sessions)

    @override
    async def purge(self) -> bool:
        """Has the server write its append-only file and its dump anew; False where it does not let us."""
        persistence: dict[str, Any] = await self._ask(self._redis.commands.info("persistence"))
        appends = bool(persistence.get("aof_enabled"))
        try:
            if appends:
                await self._written("aof_rewrite", self._redis.commands.bgrewriteaof)
            if self._redis.is_local or not appends:  # our own server writes a dump when it ends
                await self._written("rdb_bgsave", self._redis.commands.bgsave)
        except StoreUnavailable as error:
            if isinstance(error.__cause__, ResponseError):
                _log.warning("sessions_not_purged", error=error.message)
                return False
            raise
        return True

    async def _written(self, job: str, start: Callable[[], Awaitable[object]]) -> None:
        """Starts a job that writes a file, when no other runs, and returns when the file is there.

        Raises:
            StoreUnavailable: The server refuses, or the file could not be written in time.
        """
        started = False
        give_up = time.monotonic() + _PURGE_DEADLINE_S
        while time.monotonic() < give_up:
            state: dict[str, Any] = await self._ask(self._redis.commands.info("persistence"))
            busy = any(state.get(name) for name in _WRITING)
            if started and not busy:
                outcome = state.get("aof_last_bgrewrite_status" if job == "aof_rewrite" else "rdb_last_bgsave_status")
                if outcome == "ok":
                    return
                break
            if not busy:
                await self._ask(start())
                started = True
            await asyncio.sleep(_POLL_S)
        raise StoreUnavailable("Redis cannot serve sessions: it did not write its files anew.", component="sessions")

    @override
    async def ping(self) -> None:
        await self._ask(self._redis.commands.ping())

    async def close(self) -> None:
        """Closes the client if it was opened here."""
        if self._owns_connections:
            await self._redis.close()

    async def _ask(self, answer: Awaitable[T]) -> T:
        return await self._redis.ask(answer, component="sessions")

    def _turn(self, entry: bytes) -> Turn | None:
        try:
            return self._entries.read_turn(entry)
        except ValueError as error:  # includes what pydantic and orjson raise
            _log.warning("session_turn_unreadable", error=type(error).__name__)
            return None

    def _context(
        self,
        empty: SessionContext,
        fields: dict[bytes, bytes],
        mentioned: list[bytes],
        coreference: list[bytes],
        deixis: list[bytes],
    ) -> SessionContext:
        if not fields:
            return empty
        try:
            return SessionContext(
                session_id=empty.session_id,
                user_id=empty.user_id,
                mentioned_entities=tuple(entity.decode() for entity in mentioned),
                last_referred_entity=fields.get(b"last_referred_entity", b"").decode() or None,
                coreference_history=tuple(self._entries.read_resolution(entry) for entry in coreference),
                deixis=tuple(self._entries.read_word(entry) for entry in deixis),
                to_forget=orjson.loads(fields.get(b"to_forget", b"[]")),
                started_at=datetime.fromisoformat(fields[b"started_at"].decode()),
                last_activity=datetime.fromisoformat(fields[b"last_activity"].decode()),
            )
        except (ValueError, KeyError) as error:  # ValueError: includes what pydantic, orjson and decode raise
            _log.warning("session_context_unreadable", error=type(error).__name__)
            return empty


def _ids(groups: Sequence[Sequence[str]]) -> str:
    return orjson.dumps([list(ids) for ids in groups]).decode()


async def _values(pipeline: Pipeline) -> list[Any]:
    """The replies of the commands; None for a key of another type."""
    answers = []
    for answer in await pipeline.execute(raise_on_error=False):
        if not isinstance(answer, RedisError):
            answers.append(answer)
        elif "WRONGTYPE" in str(answer):
            _log.warning("session_key_unreadable")
            answers.append(None)
        else:
            raise answer
    return answers
