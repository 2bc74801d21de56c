"""The connection to ArangoDB: a few threads, a deadline, a circuit breaker, and translated errors."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson
from arango.client import ArangoClient
from arango.database import StandardDatabase
from arango.exceptions import ArangoClientError, ArangoServerError
from arango.http import HTTPClient

from ...resilience.circuit import Circuit
from .errors import WriteConflict, translate, unavailable
from .http import ArangoHttp, unreachable

T = TypeVar("T")
Work = Callable[[StandardDatabase], T]

_BATCH_ROWS = 1000
_PREPARING_S = 60.0
"""Seconds that creating the database and its indexes may take."""


@dataclass(frozen=True)
class ArangoSettings:
    """Where ArangoDB is and how long it may take.

    Args:
        url: Scheme, host and port.
        database: Created where it is missing and the user may do so.
        username: Needs read and write access to the database.
        password: Never shown.
        deadline_s: How long a call may take, and how long a writer waits for its turn.
        connect_timeout_s: How long a connection may take to open; less than `deadline_s`.
        pool: Threads and connections.
        durable: Whether a commit waits for the disk, as the raw log needs.
    """

    url: str
    database: str
    username: str = "root"
    password: str = field(default="", repr=False)
    deadline_s: float = 5.0
    connect_timeout_s: float = 1.0
    pool: int = 8
    durable: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.connect_timeout_s < self.deadline_s:
            raise ValueError("connect_timeout_s must be more than 0 and less than deadline_s")


class ArangoServer:
    """Runs work against one database. Use one instance in one event loop.

    Args:
        settings: Where it is.
        prepare: Brings the database up to date; run before anything else, again after it failed.
        http: The transport; a real one where none is given.
    """

    def __init__(
        self,
        settings: ArangoSettings,
        *,
        prepare: Callable[[ArangoClient, ArangoSettings], StandardDatabase],
        http: HTTPClient | None = None,
    ) -> None:
        self.settings = settings
        self._prepare = prepare
        self._client = ArangoClient(
            hosts=settings.url,
            resolver_max_tries=1,
            http_client=http
            or ArangoHttp(
                connect_timeout_s=settings.connect_timeout_s,
                # The thread is free again before its caller gives up.
                read_timeout_s=settings.deadline_s - settings.connect_timeout_s,
                connections=settings.pool,
            ),
            serializer=lambda value: orjson.dumps(value).decode(),
            deserializer=orjson.loads,
        )
        self._circuit = Circuit("record", deadline_s=settings.deadline_s)
        self._circuit.use_probe(self._ask_version)
        self._threads = ThreadPoolExecutor(max_workers=settings.pool, thread_name_prefix="arango")
        self._database: StandardDatabase | None = None
        self._preparing: asyncio.Task[None] | None = None
        self._closed = False

    def prepare(self) -> None:
        """Connects and brings the database up to date; blocks.

        Raises:
            StoreUnavailable: See `schema.prepare`; `Unreachable` where waiting may help.
        """
        if self._database is None:
            try:
                self._database = _translated(lambda: self._prepare(self._client, self.settings))
            except WriteConflict as error:
                raise unavailable(f"another process is preparing the database: {error}") from error

    async def call(self, work: Work[T], started: "Callable[[Future[T]], None] | None" = None) -> T:
        """Runs `work` in a thread; the first call prepares the database.

        Args:
            work: What to do with the database.
            started: Called with the thread's future, which goes on when the caller is cancelled.

        Raises:
            StoreUnavailable: The server refuses, is unavailable or is too slow.
            WriteConflict: Another transaction wrote the same document.
        """
        if self._closed:
            raise unavailable("it is closed")
        await self._ready()

        async def attempt() -> T:
            future = self._threads.submit(self._run, work)
            if started is not None:
                started(future)
            return await asyncio.wrap_future(future)

        return await self._circuit.call(attempt)

    def figures(self) -> dict[str, float | str]:
        """State and totals of the circuit."""
        return self._circuit.figures()

    async def close(self) -> None:
        """Lets go of threads and connections; what runs in a thread is not waited for."""
        self._closed = True
        await self._circuit.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    async def _ready(self) -> None:
        if self._database is not None:
            return
        # One attempt for all callers: each would wait for a hanging server in turn otherwise.
        if self._preparing is None or self._preparing.done():
            self._preparing = asyncio.ensure_future(self._prepare_in_thread())
            self._preparing.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(self._preparing)

    async def _prepare_in_thread(self) -> None:
        await self._circuit.call(
            lambda: asyncio.get_running_loop().run_in_executor(self._threads, self.prepare), deadline_s=_PREPARING_S
        )

    async def _ask_version(self) -> None:
        def work() -> None:
            self.prepare()
            self._run(lambda database: database.version())

        await asyncio.wrap_future(self._threads.submit(work))

    def _run(self, work: Work[T]) -> T:
        database = self._database
        if database is None:
            raise unavailable("it is not prepared")
        return _translated(lambda: work(database))


def rows_of(database: Any, statement: str, bind: Mapping[str, Any], *, deadline_s: float) -> list[Any]:
    """All rows of a statement, which the server stops at the deadline.

    Args:
        database: The driver's database or transaction; typed loosely, since it types results as possible jobs.
        statement: AQL.
        bind: Its variables.
        deadline_s: How long it may run.
    """
    return list(database.aql.execute(statement, bind_vars=dict(bind), batch_size=_BATCH_ROWS, max_runtime=deadline_s))


async def query_alone(server: ArangoServer, statement: str, /, **bind: Any) -> list[Any]:
    """Runs a statement in a transaction of its own."""
    deadline_s = server.settings.deadline_s
    try:
        return await server.call(lambda database: rows_of(database, statement, bind, deadline_s=deadline_s))
    except WriteConflict as error:
        raise unavailable(error) from error


def _translated(work: Callable[[], T]) -> T:
    try:
        return work()
    except ArangoServerError as error:
        raise translate(error) from error
    except ArangoClientError as error:
        raise RuntimeError(f"The ArangoDB driver was used wrongly: {error}") from error
    except ConnectionAbortedError as error:
        # The driver raises this for "503: the server is starting, or shutting down".
        raise unreachable("is starting or shutting down") from error
