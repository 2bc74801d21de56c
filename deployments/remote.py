"""The ports of the domain, spoken through Ray Serve handles.

What a replica raised on purpose arrives as it was raised. What the transport did (a replica died, none is there, it
took too long) becomes `Unavailable`, after another try where a fresh replica may answer in time: every call here can
be repeated without harm.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import structlog
from ray.exceptions import RayActorError, RayTaskError
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError, ReplicaUnavailableError
from ray.serve.handle import DeploymentHandle

from memory.coreference.resolutions import CoreferenceResult, ResolutionRequest
from memory.errors import JiyiError, Overloaded, StoreUnavailable, Unavailable
from memory.extraction.mentions import Extraction
from memory.ports.language import Encoder, Extractor, FloatMatrix, Priority, Reranker, Resolver, TextKind
from memory.ports.learning import LearningService, LearnReport
from memory.ports.maintenance import IndexMaintenance, IndexOperation, IndexRun
from memory.ports.retrieval import Retriever
from memory.ports.vectors import Collection, IndexPoint, IndexQuery, ScoredPoint, StoredPoint, VectorIndex
from memory.retrieval.hits import SearchRequest, SearchResult
from storage.circuit import Circuit

Handle = DeploymentHandle[Any]
"""A deployment as another one holds it."""

_log = structlog.get_logger("jiyi")
_RETRY_PAUSE_S = 0.1
_SCAN_DEADLINE_S = 60.0
"""For maintenance, which reads all that a user has."""
_GONE = (RayActorError, ReplicaUnavailableError)


class Remote:
    """One deployment, called with a deadline.

    Args:
        handle: The deployment's handle.
        component: What it is called in errors and in `/health/detailed`.
        deadline_s: When to give up, retries included.
    """

    def __init__(self, handle: Handle, *, component: str, deadline_s: float) -> None:
        self._handle = handle
        self.component = component
        self.deadline_s = deadline_s

    async def call(self, method: str, *args: Any, deadline_s: float | None = None) -> Any:
        """Calls a method of some replica.

        Raises:
            JiyiError: What the replica raised.
            Overloaded: Too many calls wait already.
            Unavailable: No replica answered before the deadline.
        """
        seconds = self.deadline_s if deadline_s is None else deadline_s
        try:
            async with asyncio.timeout(seconds):
                return await self._until_answered(method, args)
        except TimeoutError as error:
            raise Unavailable(
                f"{self.component} did not answer within {seconds:g} s", component=self.component
            ) from error

    async def _until_answered(self, method: str, args: tuple[Any, ...]) -> Any:
        while True:
            response = getattr(self._handle, method).remote(*args)
            try:
                return await response
            except asyncio.CancelledError:
                response.cancel()
                raise
            except BackPressureError as error:
                raise Overloaded(
                    f"{self.component} has too much to do", retry_after_s=error.retry_after_s or 1.0
                ) from error
            except RayTaskError as error:
                if isinstance(error.cause, JiyiError):
                    raise error.cause from None
                raise
            except DeploymentUnavailableError as error:
                raise Unavailable(f"{self.component} could not be started", component=self.component) from error
            except _GONE:
                await asyncio.sleep(_RETRY_PAUSE_S)


class RemoteEncoder(Encoder):
    """The Embedder deployment as an `Encoder`."""

    def __init__(self, remote: Remote, *, model_id: str, dimension: int) -> None:
        self._remote = remote
        self._model_id = model_id
        self._dimension = dimension

    @property
    def model_id(self) -> str:
        """See `Encoder.model_id`."""
        return self._model_id

    @property
    def dimension(self) -> int:
        """See `Encoder.dimension`."""
        return self._dimension

    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        """See `Encoder.encode`."""
        matrix: FloatMatrix = await self._remote.call("encode", list(texts), kind, priority)
        return matrix


class RemoteExtractor(Extractor):
    """The Extractor deployment as an `Extractor`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    async def extract(self, texts: Sequence[str], *, known: Sequence[Sequence[str]] | None = None) -> list[Extraction]:
        """See `Extractor.extract`."""
        extractions: list[Extraction] = await self._remote.call("extract", list(texts), known)
        return extractions


class RemoteReranker(Reranker):
    """The Reranker deployment as a `Reranker`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    async def rerank(
        self, query: str, passages: Sequence[str], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[float]:
        """See `Reranker.rerank`."""
        scores: list[float] = await self._remote.call("rerank", query, list(passages), priority)
        return scores


class RemoteResolver(Resolver):
    """The Resolver deployment as a `Resolver`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    async def resolve(self, request: ResolutionRequest) -> CoreferenceResult:
        """See `Resolver.resolve`."""
        result: CoreferenceResult = await self._remote.call("resolve", request)
        return result


class RemoteRetriever(Retriever):
    """The Retriever deployment as a `Retriever`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    async def search(self, request: SearchRequest) -> SearchResult:
        """See `Retriever.search`."""
        result: SearchResult = await self._remote.call("search", request)
        return result


class RemoteVectorIndex(VectorIndex):
    """The VectorShard deployment as a `VectorIndex`; while it is known to be away, calls fail without waiting for it.

    Args:
        remote: The shard; its deadline is that of one call.
        circuit: What a test wants; one that opens at the first failure where it is not given.
    """

    def __init__(self, remote: Remote, *, circuit: Circuit | None = None) -> None:
        self._remote = remote
        self._circuit = circuit or Circuit(remote.component, deadline_s=remote.deadline_s, threshold=1)
        self._circuit.use_probe(lambda: remote.call("ping"))

    async def upsert(self, collection: Collection, points: Sequence[IndexPoint], *, user_id: str) -> None:
        """See `VectorIndex.upsert`."""
        await self._call("upsert", collection, list(points), user_id)

    async def delete(self, collection: Collection, point_ids: Sequence[str], *, user_id: str) -> None:
        """See `VectorIndex.delete`."""
        await self._call("delete", collection, list(point_ids), user_id)

    async def delete_user(self, collection: Collection, *, user_id: str) -> None:
        """See `VectorIndex.delete_user`."""
        await self._call("delete_user", collection, user_id, deadline_s=_SCAN_DEADLINE_S)

    async def get(self, collection: Collection, point_ids: Sequence[str], *, user_id: str) -> list[IndexPoint]:
        """See `VectorIndex.get`."""
        points: list[IndexPoint] = await self._call("get", collection, list(point_ids), user_id)
        return points

    async def search(self, queries: Sequence[IndexQuery], *, user_id: str) -> list[list[ScoredPoint]]:
        """See `VectorIndex.search`."""
        results: list[list[ScoredPoint]] = await self._call("search", list(queries), user_id)
        return results

    async def count(self, collection: Collection, *, user_id: str) -> int:
        """See `VectorIndex.count`."""
        return int(await self._call("count", collection, user_id))

    async def stored(self, collection: Collection, *, user_id: str) -> list[StoredPoint]:
        """See `VectorIndex.stored`."""
        points: list[StoredPoint] = await self._call("stored", collection, user_id, deadline_s=_SCAN_DEADLINE_S)
        return points

    async def users(self, collection: Collection) -> list[str]:
        """See `VectorIndex.users`."""
        users: list[str] = await self._call("users", collection, deadline_s=_SCAN_DEADLINE_S)
        return users

    async def ping(self) -> None:
        """See `VectorIndex.ping`."""
        await self._call("ping")

    def figures(self) -> dict[str, float | str]:
        """How the way to the shard is, for `/health/detailed` and the metrics."""
        return self._circuit.figures()

    async def close(self) -> None:
        """Stops asking a shard that is away."""
        await self._circuit.close()

    async def _call(self, method: str, *args: Any, deadline_s: float | None = None) -> Any:
        async def work() -> Any:
            try:
                return await self._remote.call(method, *args, deadline_s=deadline_s)
            except StoreUnavailable:
                raise
            except Unavailable as error:
                raise StoreUnavailable(error.message, component=error.component) from error

        return await self._circuit.call(work, deadline_s=deadline_s)


class RemoteLearning(LearningService):
    """The Learner deployment as a `LearningService`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._notices: set[asyncio.Task[None]] = set()

    def notify(self, *, user_id: str) -> None:
        """See `LearningService.notify`; a notice that gets lost only means that the learner finds the work itself."""
        notice = asyncio.create_task(self._notify(user_id))
        self._notices.add(notice)
        notice.add_done_callback(self._notices.discard)

    async def _notify(self, user_id: str) -> None:
        try:
            await self._remote.call("notify", user_id, deadline_s=5.0)
        except Unavailable as error:  # it looks at the backlog by itself when it is back
            _log.warning("learner_not_notified", error=error.message)

    async def learn(self, *, user_id: str) -> LearnReport:
        """See `LearningService.learn`."""
        report: LearnReport = await self._remote.call("learn", user_id)
        return report


class RemoteMaintenance(IndexMaintenance):
    """The Learner deployment as an `IndexMaintenance`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    async def start(self, operation: IndexOperation) -> IndexRun:
        """See `IndexMaintenance.start`."""
        run: IndexRun = await self._remote.call("maintain_index", operation)
        return run

    async def last_run(self) -> IndexRun | None:
        """See `IndexMaintenance.last_run`."""
        run: IndexRun | None = await self._remote.call("index_run")
        return run
