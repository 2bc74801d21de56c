"""Sessions in Redis or Valkey (000 §5.3, STORES, Redis / Valkey)."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import orjson
import structlog
from redis.asyncio.client import Pipeline
from redis.exceptions import RedisError
from redis.typing import EncodableT, FieldT
from typing_extensions import override

from memory.ports.sessions import (
    CONTEXT_TTL,
    COREFERENCE_HISTORY,
    DEIXIS_WORDS,
    HISTORY_TTL,
    HISTORY_TURNS,
    MENTIONED_ENTITIES,
    SessionStore,
)
from memory.values.base import utc_now
from memory.values.dialogue import Session, SessionContext, Turn
from memory.values.resolutions import Clarification, CoreferenceResolution, Revision

from ..shared.checks import check_owner, check_session, check_user
from ..shared.encryption import NO_CIPHER, Cipher
from ..shared.session_state import bounded, history_entries, last_referred, new_context
from .client import RedisClient
from .entries import SessionEntries
from .scripts import APPEND, PARTS, session_keys

# In the order of `scripts.PARTS`; the first is a hash and has no bound.
_BOUNDS = (0, MENTIONED_ENTITIES, COREFERENCE_HISTORY, DEIXIS_WORDS, HISTORY_TURNS)
_TTLS_S = (*[int(CONTEXT_TTL.total_seconds())] * 4, int(HISTORY_TTL.total_seconds()))

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
        fields, mentioned, coreference, deixis, turns = answers
        empty = new_context(session_id, user_id=user_id, now=self._now())
        return Session(
            context=self._context(empty, fields or {}, mentioned or [], coreference or [], deixis or []),
            turns=tuple(turn for entry in turns or [] if (turn := self._turn(entry)) is not None),
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
                started_at=datetime.fromisoformat(fields[b"started_at"].decode()),
                last_activity=datetime.fromisoformat(fields[b"last_activity"].decode()),
            )
        except (ValueError, KeyError) as error:  # ValueError: includes what pydantic, orjson and decode raise
            _log.warning("session_context_unreadable", error=type(error).__name__)
            return empty


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
