"""The stores that the settings choose: the only file that knows the embedded ones and the servers (DESIGN §7)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memory.ports.stores.coordination import Locks
from memory.ports.stores.generations import VectorModel
from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.sessions import HISTORY_TURNS
from memory.values.errors import Conflict
from memory.values.understanding.dialogue import Turn
from storage.edge.generations import EdgeGenerations
from storage.edge.shards import discard
from storage.inmemory.coordination import InMemoryRateLimiter
from storage.inmemory.sessions import InMemorySessions
from storage.redis.client import RedisClient
from storage.redis.coordination import RedisLocks, RedisRateLimiter
from storage.redis.server import LocalRedisServer
from storage.redis.sessions import RedisSessions
from storage.resilience.circuit import Circuit
from storage.resilience.fallbacks import ResilientRateLimiter, ResilientSessions
from storage.resilience.journaled_record import JournaledRecord
from storage.shared.encryption import NO_CIPHER, Cipher, KeyCipher, claim_folder, read_key
from storage.sqlite.record import SqliteRecord

from ...config.settings import AppArgs

if TYPE_CHECKING:
    from storage.qdrant.vectors import QdrantSettings

_DEFAULT_REDIS = "redis://127.0.0.1:6379/0"
_REDIS_DEADLINE_S = 1.0
_LIMITER_DEADLINE_S = 0.25


def record_path(args: AppArgs) -> Path:
    """The embedded system of record's file."""
    return args.data_home / "record.sqlite"


def journal_path(args: AppArgs) -> Path:
    """The file of the journal, which keeps turns while the server of the system of record is unavailable."""
    return args.data_home / "journal.sqlite"


def vectors_path(args: AppArgs) -> Path:
    """The folder of the embedded vector index."""
    return args.data_home / "vectors"


def sessions_path(args: AppArgs) -> Path:
    """The folder of the local Redis-protocol server."""
    return args.data_home / "sessions"


def make_cipher(args: AppArgs) -> Cipher:
    """How the stores of the home write what users said."""
    if args.encryption_key is None:
        return NO_CIPHER
    return KeyCipher(read_key(args.encryption_key.get_secret_value()))


def open_record(args: AppArgs, *, durable: bool) -> SystemOfRecord:
    """The system of record; `durable` for a process that writes to the raw log. Blocks: call it while starting."""
    if args.stores == "servers":
        from storage.arango.engine.client import ArangoSettings  # lazy: the embedded stores need no client libraries
        from storage.arango.record import ArangoRecord

        options = args.arango.model_dump(exclude={"password"})
        settings = ArangoSettings(**options, password=args.arango.password.get_secret_value(), durable=durable)
        return ArangoRecord.open(settings)
    return SqliteRecord.open(
        record_path(args), cipher=make_cipher(args), durable=durable, deadline_s=args.deadlines.record
    )


def open_log(args: AppArgs) -> SystemOfRecord:
    """The system of record for the process that acknowledges turns; while a server is unavailable, a journal takes
    them.

    Call it on the event loop that will use it.
    """
    record = open_record(args, durable=True)
    if args.stores == "embedded":
        return record
    journal = SqliteRecord.open(journal_path(args), cipher=make_cipher(args), readers=1)
    journaled = JournaledRecord(record, journal)
    journaled.start()
    return journaled


def open_journal(args: AppArgs) -> SystemOfRecord | None:
    """The journal of the ingress on this machine; None where turns are never journaled."""
    return None if args.stores == "embedded" else SqliteRecord.open(journal_path(args), readers=1)


def qdrant_settings(args: AppArgs) -> "QdrantSettings":
    """Connection and options of the Qdrant server."""
    from storage.qdrant.vectors import QdrantSettings  # lazy: the embedded stores need no client libraries

    return QdrantSettings(
        url=args.qdrant.url,
        api_key=args.qdrant.api_key.get_secret_value() if args.qdrant.api_key else None,
        quantisation=args.qdrant.quantisation,
        deadline_s=args.deadlines.vectors,
    )


def make_shards(args: AppArgs, *, model: VectorModel) -> EdgeGenerations:
    """Opens the embedded vector indexes for the VectorShard deployment, the only process that may open their files."""
    shards = EdgeGenerations(vectors_path(args), cipher=make_cipher(args))
    shards.open_live(model)
    return shards


def discard_index(args: AppArgs) -> list[Path]:
    """Sets the embedded index's files aside, so that the next start begins with an empty index.

    Returns:
        Where they are now.

    Raises:
        Conflict: The index is not in files of this machine.
        StoreUnavailable: A process has them open, or they cannot be moved.
    """
    if args.stores != "embedded":
        raise Conflict("the index is on a server, there are no files to set aside: use jiyi index rebuild")
    return discard(vectors_path(args))


def local_redis(args: AppArgs) -> LocalRedisServer | None:
    """The local Redis-protocol server of this home, not started; None where another one is used."""
    if args.redis_url is not None or args.stores == "servers":
        return None
    return LocalRedisServer(sessions_path(args))


def open_redis(args: AppArgs) -> RedisClient:
    """The connections of this process to the Redis-protocol server."""
    local = local_redis(args)
    given = args.redis_url.get_secret_value() if args.redis_url else _DEFAULT_REDIS
    url = local.url if local else given
    return RedisClient(url, timeout_s=_REDIS_DEADLINE_S)


def open_locks(args: AppArgs) -> Locks:
    """Locks between the processes of the service."""
    return RedisLocks(open_redis(args))


def make_session_server(args: AppArgs) -> LocalRedisServer:
    """The local Redis server of the SessionServer deployment.

    Raises:
        StoreUnavailable: What it holds is not written as the settings say.
    """
    claim_folder(sessions_path(args), make_cipher(args), component="sessions")
    server = local_redis(args)
    assert server is not None  # noqa: S101 - the graph has no SessionServer otherwise
    return server


@dataclass(frozen=True)
class ShortLived:
    """The Redis client of a process with its sessions, and rate limiters if any; all work without Redis."""

    redis: RedisClient
    sessions: ResilientSessions
    limiter: ResilientRateLimiter | None
    key_limiter: ResilientRateLimiter | None
    failure_limiter: ResilientRateLimiter | None

    async def close(self) -> None:
        """Closes the connections."""
        for limiter in (self.limiter, self.key_limiter, self.failure_limiter):
            if limiter is not None:
                await limiter.close()
        await self.sessions.close()
        await self.redis.close()


def open_short_lived(args: AppArgs, *, record: SystemOfRecord) -> ShortLived:
    """Sessions and limits; while Redis is unavailable, a session's turns are read from the raw log of `record`."""
    redis = open_redis(args)
    # Of a home, so to be encrypted, is what the server of the home keeps; another server has means of its own.
    stored = RedisSessions(redis, cipher=NO_CIPHER if local_redis(args) is None else make_cipher(args))
    sessions = ResilientSessions(stored, InMemorySessions(), recall=partial(_turns_in_log, record))
    limits = args.limits
    return ShortLived(
        redis,
        sessions,
        limiter=_limiter(limits.requests_per_minute, limits.burst, redis, stored.ping),
        key_limiter=_limiter(limits.key_requests_per_minute, limits.burst, redis, stored.ping),
        failure_limiter=_limiter(limits.wrong_credentials_per_minute, limits.burst, redis, stored.ping),
    )


def _limiter(
    rate: float, burst: int, redis: RedisClient, ping: Callable[[], Awaitable[object]]
) -> ResilientRateLimiter | None:
    if not rate:
        return None
    circuit = Circuit("rate_limits", deadline_s=_LIMITER_DEADLINE_S, threshold=1)
    circuit.use_probe(ping)  # else a service that nobody uses would stay `degraded` after Redis is back
    return ResilientRateLimiter(
        RedisRateLimiter(redis, requests_per_minute=rate, burst=burst),
        InMemoryRateLimiter(requests_per_minute=rate, burst=burst),
        circuit=circuit,
    )


async def _turns_in_log(record: SystemOfRecord, session_id: str, user_id: str) -> Sequence[Turn]:
    async with record.reading(user_id=user_id) as unit:
        entries = await unit.log.session(session_id, limit=HISTORY_TURNS)
    return [entry.as_turn() for entry in entries]
