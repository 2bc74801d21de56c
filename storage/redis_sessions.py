"""Sessions in Redis or Valkey (000 §5.3, STORES, Redis / Valkey)."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import orjson
import structlog
from pydantic import ValidationError
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import RedisError

from memory.coreference.resolutions import CoreferenceResolution
from memory.dialogue import Session, SessionContext, Turn
from memory.errors import StoreUnavailable
from memory.ports.sessions import (
    CONTEXT_TTL,
    COREFERENCE_HISTORY,
    DEIXIS_WORDS,
    HISTORY_TTL,
    HISTORY_TURNS,
    MENTIONED_ENTITIES,
    SessionStore,
)
from memory.values import utc_now

from .checks import check_session, check_user
from .redis_scripts import APPEND, session_keys
from .session_state import history_entry, last_referred, new_context

# In the order of redis_scripts.PARTS; the first is a hash and has no bound.
_BOUNDS = (0, MENTIONED_ENTITIES, COREFERENCE_HISTORY, DEIXIS_WORDS, HISTORY_TURNS)
_TTLS_S = (*[int(CONTEXT_TTL.total_seconds())] * 4, int(HISTORY_TTL.total_seconds()))

_log = structlog.get_logger(__name__)


class RedisSessions(SessionStore):
    """Sessions on a Redis-protocol server.

    A broken connection is tried once more, so that a server that was restarted is not noticed. A turn without a
    `turn_id` may therefore be kept twice, if the server dies between doing and answering.

    Args:
        url: `redis://…`, `rediss://…` or `unix:///path`.
        max_connections: How many commands may be under way; more wait for up to `timeout_s`.
        timeout_s: How long to wait for a connection, and then for an answer.
        now: The clock.
    """

    def __init__(
        self,
        url: str,
        *,
        max_connections: int = 32,
        timeout_s: float = 1.0,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=max_connections,
            timeout=timeout_s,
            socket_connect_timeout=timeout_s,
            socket_timeout=timeout_s,
            retry=Retry(ExponentialBackoff(cap=0.05, base=0.01), retries=1),
        )
        self._redis: Redis = Redis.from_pool(pool)
        self._append = self._redis.register_script(APPEND)
        self._now = now

    async def load(self, session_id: str, *, user_id: str) -> Session:
        """The session, or an empty one that starts now; what cannot be read of it is left out and logged."""
        context, mentioned, coreference, deixis, turns = session_keys(check_user(user_id), check_session(session_id))

        async def read() -> list[Any]:
            async with self._redis.pipeline(transaction=True) as pipeline:
                pipeline.hgetall(context)
                for key in (mentioned, coreference, deixis, turns):
                    pipeline.lrange(key, 0, -1)
                return list(await pipeline.execute())

        fields, *lists = await _guarded(read())
        empty = new_context(session_id, user_id=user_id, now=self._now())
        return Session(
            context=_context(empty, fields, *lists[:3]),
            turns=tuple(turn for entry in lists[3] if (turn := _turn(entry)) is not None),
        )

    async def append(
        self,
        session_id: str,
        *,
        user_id: str,
        turns: Sequence[Turn],
        mentioned: Sequence[str] = (),
        resolutions: Sequence[CoreferenceResolution] = (),
        deixis: Sequence[str] = (),
    ) -> None:
        """Adds turns and what was seen in them, in one script: concurrent appends lose nothing."""
        keys = session_keys(check_user(user_id), check_session(session_id))
        call = {
            "now": self._now().isoformat(),
            "turns": [turn.model_dump_json() for turn in turns],
            "turn_ids": [turn.turn_id or "" for turn in turns],
            "mentioned": list(mentioned),
            "resolutions": [orjson.dumps(history_entry(resolution)).decode() for resolution in resolutions],
            "last_referred": last_referred(resolutions) or "",
            "deixis": list(deixis),
            "bounds": _BOUNDS,
            "ttls": _TTLS_S,
        }
        await _guarded(self._append(keys=keys, args=[orjson.dumps(call)]))

    async def clear(self, session_id: str, *, user_id: str) -> None:
        """Forgets the session."""
        await _guarded(self._redis.unlink(*session_keys(check_user(user_id), check_session(session_id))))

    async def ping(self) -> None:
        """Returns when the server answers."""
        await _guarded(self._redis.ping())

    async def close(self) -> None:
        """Closes all connections."""
        await self._redis.aclose()


async def _guarded(answer: Any) -> Any:
    try:
        return await answer
    except (RedisError, OSError) as error:  # OSError: includes the timeouts of asyncio
        raise StoreUnavailable(f"The session store cannot answer: {error}.", component="sessions") from error


def _turn(entry: bytes) -> Turn | None:
    try:
        return Turn.model_validate_json(entry)
    except ValidationError as error:
        _log.warning("session_turn_unreadable", problems=error.error_count())
        return None


def _context(
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
            coreference_history=tuple(orjson.loads(entry) for entry in coreference),
            deixis=tuple(word.decode() for word in deixis),
            started_at=datetime.fromisoformat(fields[b"started_at"].decode()),
            last_activity=datetime.fromisoformat(fields[b"last_activity"].decode()),
        )
    except (ValueError, KeyError) as error:  # ValueError: includes what pydantic, orjson and decode raise
        _log.warning("session_context_unreadable", error=type(error).__name__)
        return empty
