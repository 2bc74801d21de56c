"""A service of its own, and the ways in which each of its stores can fail, embedded or on servers.

The Redis-protocol server is a real one. No Qdrant or ArangoDB server can be had from a package registry, so their
places are taken by the stand-ins of `testing` (a REST front of Qdrant's own local engine; an interpreter of the
AQL that Jiyi uses), behind real sockets and a proxy that breaks.
"""

import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit

import psutil
from redis import Redis

from deployments.builders.storage.stores import record_path
from deployments.config.settings import AppArgs
from deployments.host.cluster import free_ports
from deployments.host.supervisor import Endpoint
from jiyi import service
from storage.redis.server import LocalRedisServer

from ..arango_standin import ArangoStandIn
from ..fault_proxy import FaultProxy
from ..qdrant_standin import QdrantStandIn

_FULL_DISK = 1104  # ArangoDB's "filesystem full"


@dataclass(frozen=True)
class Fault:
    """One way in which a store fails; `inject` begins it, `heal` ends it."""

    store: str
    name: str
    inject: Callable[[], object]
    heal: Callable[[], object]


@dataclass(frozen=True)
class BreakableService:
    """A running service and what can go wrong in it."""

    url: str
    faults: tuple[Fault, ...]


@contextmanager
def embedded_service(home: Path) -> Iterator[BreakableService]:
    """The service as it is installed: SQLite, Qdrant's engine in process, a local Redis-protocol server."""
    settings = AppArgs(home=home)
    with _running(settings) as endpoint:
        yield BreakableService(endpoint.url, embedded_faults(settings, endpoint))


def embedded_faults(settings: AppArgs, endpoint: Endpoint) -> tuple[Fault, ...]:
    """Faults of a running service with embedded stores."""
    record = record_path(settings)
    hidden = record.with_suffix(".hidden")
    lock = _FileLock(record)

    def send(name: str, number: signal.Signals) -> Callable[[], None]:
        return lambda: _signal(settings, endpoint, name, number)

    return (
        Fault("SQLite", "locked by another process", lock.take, lock.release),
        Fault("SQLite", "file gone", lambda: record.rename(hidden), lambda: hidden.rename(record)),
        Fault("vector shard", "hangs", send("VectorShard", signal.SIGSTOP), send("VectorShard", signal.SIGCONT)),
        Fault("vector shard", "killed", send("VectorShard", signal.SIGKILL), _nothing),
        Fault("Redis", "hangs", send("-server", signal.SIGSTOP), send("-server", signal.SIGCONT)),
        Fault("Redis", "killed", send("-server", signal.SIGKILL), _nothing),
    )


@contextmanager
def service_on_servers(home: Path) -> Iterator[BreakableService]:
    """The service with `stores: servers`, each behind a proxy that breaks."""
    with ExitStack() as stack:
        arango = stack.enter_context(ArangoStandIn(password="secret"))
        qdrant = QdrantStandIn()
        qdrant.start()
        stack.callback(qdrant.stop)
        redis = LocalRedisServer(home / "redis")
        redis.start()
        stack.callback(redis.stop)
        proxies = [
            stack.enter_context(FaultProxy(upstream))
            for upstream in (urlsplit(qdrant.url).netloc, urlsplit(arango.url).netloc, redis.url)
        ]
        to_qdrant, to_arango, to_redis = proxies
        secrets = {
            "JIYI_QDRANT__API_KEY": "key",
            "JIYI_ARANGO__PASSWORD": "secret",
            "JIYI_REDIS_URL": f"redis://127.0.0.1:{to_redis.port}/0",
        }
        stack.enter_context(patch.dict(os.environ, secrets))
        settings = AppArgs.model_validate(
            {
                "home": home / "jiyi",
                "stores": "servers",
                "qdrant": {"url": f"http://127.0.0.1:{to_qdrant.port}"},
                "arango": {"url": f"http://127.0.0.1:{to_arango.port}"},
            }
        )
        endpoint = stack.enter_context(_running(settings))
        faults = (
            *_network("Qdrant", to_qdrant, restart=(qdrant.stop, qdrant.start)),
            *_qdrant_refusals(qdrant, to_qdrant),
            *_network("ArangoDB", to_arango, restart=(arango.stop, arango.start)),
            *_arango_refusals(arango, to_arango),
            *_network("Redis", to_redis, restart=(redis.stop, redis.start)),
            *_redis_refusals(redis, to_redis),
        )
        yield BreakableService(endpoint.url, faults)


def _network(store: str, proxy: FaultProxy, *, restart: tuple[Callable[[], object], ...]) -> tuple[Fault, ...]:
    return (
        Fault(store, "refused", proxy.refuse, proxy.heal),
        Fault(store, "slow (10 s)", lambda: proxy.slow(10), proxy.heal),
        Fault(store, "dies while it answers", lambda: proxy.cut(20), proxy.heal),
        Fault(store, "restarted", *restart),
    )


def _qdrant_refusals(qdrant: QdrantStandIn, proxy: FaultProxy) -> tuple[Fault, ...]:
    def refuse(status: int, body: bytes) -> Callable[[], None]:
        return lambda: setattr(qdrant.faults, "reply", (status, body))

    def obey() -> None:
        qdrant.faults.reply = None

    def keys(**given: tuple[str, ...]) -> None:
        qdrant.faults.api_keys, qdrant.faults.reading_keys = given.get("all", ()), given.get("reading", ())
        proxy.drop()

    return (
        Fault("Qdrant", "disk full", refuse(507, b'{"status": {"error": "No space left on device"}}'), obey),
        Fault("Qdrant", "internal error", refuse(500, b'{"status": {"error": "Service internal error"}}'), obey),
        Fault("Qdrant", "read-only", lambda: keys(reading=("key",)), keys),
        Fault("Qdrant", "wrong key", lambda: keys(all=("another",)), keys),
    )


def _arango_refusals(arango: ArangoStandIn, proxy: FaultProxy) -> tuple[Fault, ...]:
    def read_only(value: bool) -> Callable[[], None]:
        return lambda: setattr(arango, "read_only", value)

    def password(value: str) -> Callable[[], None]:
        return lambda: setattr(arango, "password", value)

    return (
        Fault("ArangoDB", "disk full", lambda: arango.fail_next(_FULL_DISK, 500, times=10**6), arango.clear_faults),
        Fault("ArangoDB", "read-only", read_only(True), read_only(False)),
        Fault("ArangoDB", "wrong password", password("changed"), password("secret")),
    )


def _redis_refusals(redis: LocalRedisServer, proxy: FaultProxy) -> tuple[Fault, ...]:
    def tell(*commands: str) -> Callable[[], None]:
        def work() -> None:
            with Redis.from_url(redis.url) as admin:
                for command in commands:
                    admin.execute_command(*command.split())
            proxy.drop()

        return work

    def no_password() -> None:
        with Redis.from_url(redis.url, password="changed") as admin:
            admin.config_set("requirepass", "")

    full = tell("CONFIG SET maxmemory-policy noeviction", "CONFIG SET maxmemory 1")
    return (
        Fault("Redis", "memory full", full, tell("CONFIG SET maxmemory 0")),
        Fault("Redis", "read-only", tell("REPLICAOF 127.0.0.1 1"), tell("REPLICAOF NO ONE")),
        Fault("Redis", "wrong password", tell("CONFIG SET requirepass changed"), no_password),
    )


@contextmanager
def _running(settings: AppArgs) -> Iterator[Endpoint]:
    service.prepare(settings)
    endpoint = service.start(settings, host="127.0.0.1", port=free_ports(1)[0], timeout_s=240, on_wait=_nothing)
    try:
        yield endpoint
    finally:
        service.stop(settings, timeout_s=120)


def _signal(settings: AppArgs, endpoint: Endpoint, name: str, number: signal.Signals) -> None:
    victims = [process for process in service.processes(settings, endpoint) if name in process.name]
    if not victims:
        raise LookupError(f"no process is called {name}")
    for victim in victims:
        os.kill(psutil.Process(victim.pid).pid, number)


class _FileLock:
    """What another program does that keeps the database to itself."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def take(self) -> None:
        """Locks the file against writers."""
        self._connection = sqlite3.connect(self._path, isolation_level=None)
        self._connection.execute("BEGIN IMMEDIATE")

    def release(self) -> None:
        """Lets the others write again."""
        if self._connection is not None:
            self._connection.execute("ROLLBACK")
            self._connection.close()


def _nothing(_: object = None) -> None:
    """The fault ends by itself."""
