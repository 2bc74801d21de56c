"""The ports of the domain over Ray Serve handles.

An error of ours arrives as the replica raised it. A failure of the transport (a replica died, none runs, it took too
long) becomes `Unavailable`, after retries while another replica may answer in time: every call here may be repeated.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

import grpc
import structlog
from ray.exceptions import RayError, RayTaskError
from ray.serve.exceptions import (
    BackPressureError,
    DeploymentUnavailableError,
    RayServeException,
    RequestCancelledError,
)
from ray.serve.handle import DeploymentHandle
from typing_extensions import override

from memory.ports.jobs import (
    IndexMaintenance,
    IndexOperation,
    IndexRun,
    MaintenanceKind,
    MaintenanceService,
    PipelineRun,
    ReviewService,
)
from memory.ports.models.answer_reading import AnswerReader, AnswerReading, AnswerReadRequest
from memory.ports.models.language import Extractor, Priority, Reranker, Resolver
from memory.ports.services import LearningService, LearnReport, Retriever
from memory.ports.stores.generations import ReembeddingService
from memory.values.errors import JiyiError, Overloaded, Unavailable
from memory.values.governance.forgetting import ForgetReport, ForgetRequest
from memory.values.hits import SearchRequest, SearchResult
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.readings import Context
from memory.values.understanding.resolutions import CoreferenceResult, ResolutionRequest

from ..telemetry.tracing import current_span, headers_of

T = TypeVar("T")
Handle = DeploymentHandle[Any]
"""A deployment, as another deployment is given it."""

_log = structlog.get_logger(__name__)
_RETRY_PAUSE_S = 0.1
_LOST = (RayError, RayServeException, grpc.RpcError)
"""What a call ends with when its replica or the connection is lost: Serve translates only one of gRPC's codes."""
_REFUSED = (
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.UNIMPLEMENTED,
)
"""Codes of a call that no replica will answer, such as one with too large a message."""
_TRACE = "_ray_trace_ctx"
"""Serve's keyword for a trace: it keeps it for the replica's log lines and calls, and does not give it to the method.

Serve sends one by itself only where it records spans.
"""
_READ_CHARACTERS_PER_S = 200
"""Characters of a long text that the reader reads in a second at least; its deadline is so much later."""


class Remote:
    """One deployment, called with a deadline.

    Args:
        handle: The deployment's handle.
        component: Its name in errors and in `/health/detailed`.
        deadline_s: Seconds for a call, retries included.
        away_s: Seconds that a call waits once a replica was lost and until one answers again; None for as long as the
            deadline allows. With it a deadline can leave room for a queue, and callers still soon learn of an outage.
    """

    def __init__(self, handle: Handle, *, component: str, deadline_s: float, away_s: float | None = None) -> None:
        self._handle = handle
        self.component = component
        self.deadline_s = deadline_s
        self._away_s = away_s
        self._is_away = False

    async def call(self, method: str, *args: Any, deadline_s: float | None = None) -> Any:
        """Calls a method of one replica.

        Raises:
            JiyiError: What the replica raised.
            Overloaded: Too many calls are waiting.
            Unavailable: No replica answered before the deadline.
        """
        return await self.within(self._until_answered(method, args), deadline_s=deadline_s)

    async def call_each_replica(self, method: str, *args: Any, deadline_s: float | None = None) -> list[Any]:
        """Calls a method of every replica that runs, and leaves out those that end meanwhile.

        Raises:
            JiyiError: What a replica raised.
            Unavailable: No replica answered, or not all of them, before the deadline.
        """
        return await self.within(self._until_each_answered(method, args), deadline_s=deadline_s)

    async def within(self, answer: Awaitable[T], *, deadline_s: float | None = None) -> T:
        """Waits for an answer of the deployment, for as long as the deadline allows.

        Raises:
            Unavailable: There was none before the deadline.
        """
        seconds = self.deadline_s if deadline_s is None else deadline_s
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError as error:
            raise Unavailable(
                f"{self.component} did not answer within {seconds:g} s", component=self.component
            ) from error

    async def _until_answered(self, method: str, args: tuple[Any, ...]) -> Any:
        away_until: float | None = None
        span = current_span()
        trace = {_TRACE: headers_of(span)} if span else {}
        while True:
            if self._is_away and self._away_s is not None and away_until is None:
                away_until = asyncio.get_running_loop().time() + self._away_s
            response = getattr(self._handle, method).remote(*args, **trace)
            try:
                async with asyncio.timeout_at(away_until):
                    try:
                        answer = await response
                    except asyncio.CancelledError as error:
                        response.cancel()
                        if _is_own_cancellation():
                            raise
                        raise RequestCancelledError from error
                self._is_away = False
                return answer
            except BackPressureError as error:
                raise Overloaded(f"{self.component} is overloaded", retry_after_s=error.retry_after_s or 1.0) from error
            except RayTaskError as error:
                self._is_away = False
                raise _cause(error) from None
            except TimeoutError as error:
                raise Unavailable(f"{self.component} is away", component=self.component) from error
            except DeploymentUnavailableError as error:
                raise Unavailable(f"{self.component} could not be started", component=self.component) from error
            except _LOST as error:
                if not _is_lost(error):
                    raise
                if not self._is_away:
                    _log.warning("replica_lost", component=self.component, method=method, error=repr(error)[:500])
                self._is_away = True
                await asyncio.sleep(_RETRY_PAUSE_S)

    async def _until_each_answered(self, method: str, args: tuple[Any, ...]) -> list[Any]:
        while True:
            try:
                results = await self._handle.broadcast(method, *args).results_async(return_exceptions=True)
            except DeploymentUnavailableError:  # no replica runs: one may be starting
                results = []
            answers = [result for result in results if not _is_lost(result)]
            for answer in answers:
                if isinstance(answer, BaseException):
                    raise _cause(answer)
            if answers:
                return answers
            await asyncio.sleep(_RETRY_PAUSE_S)


def _is_own_cancellation() -> bool:
    """Whether somebody cancelled this task, and not the call that it waits for.

    Serve passes on a `CancelledError` from a replica, where it cancels the calls of a request whose caller has gone.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _is_lost(result: Any) -> bool:
    """Whether a call ended because its replica or the connection was lost, so that another try may be answered."""
    if isinstance(result, (RayTaskError, BackPressureError, DeploymentUnavailableError)):
        return False
    if isinstance(result, grpc.RpcError):
        return result.code() not in _REFUSED
    return isinstance(result, _LOST)


def _cause(error: BaseException) -> BaseException:
    """The error of ours that a replica raised, else the error as Ray gave it."""
    return error.cause if isinstance(error, RayTaskError) and isinstance(error.cause, JiyiError) else error


class RemoteExtractor(Extractor):
    """The Extractor deployment as an `Extractor`.

    Args:
        remote: The deployment.
        version: Of what it runs by the settings of this process, which an update may be about to change.
    """

    def __init__(self, remote: Remote, *, version: str = "") -> None:
        self._remote = remote
        self._version = version

    @property
    @override
    def version(self) -> str:
        return self._version

    @override
    async def extract(
        self,
        texts: Sequence[str],
        *,
        known: Sequence[Sequence[str]] | None = None,
        contexts: Sequence[Context] | None = None,
    ) -> list[Extraction]:
        deadline_s = self._remote.deadline_s + sum(map(len, texts)) / _READ_CHARACTERS_PER_S
        extractions: list[Extraction] = await self._remote.call(
            "extract", list(texts), known, contexts, deadline_s=deadline_s
        )
        return extractions


class RemoteReranker(Reranker):
    """The Reranker deployment as a `Reranker`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    @override
    async def rerank(
        self, query: str, passages: Sequence[str], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[float]:
        scores: list[float] = await self._remote.call("rerank", query, list(passages), priority)
        return scores


class RemoteAnswerReader(AnswerReader):
    """The deployment that runs the answer reader as an `AnswerReader`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    @override
    async def read(
        self, requests: Sequence[AnswerReadRequest], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[AnswerReading]:
        readings: list[AnswerReading] = await self._remote.call("read_answers", list(requests), priority)
        return readings


class RemoteResolver(Resolver):
    """The Resolver deployment as a `Resolver`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    @override
    async def resolve(self, request: ResolutionRequest, extraction: Extraction) -> CoreferenceResult:
        result: CoreferenceResult = await self._remote.call("resolve", request, extraction)
        return result


class RemoteRetriever(Retriever):
    """The Retriever deployment as a `Retriever`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    @override
    async def search(self, request: SearchRequest) -> SearchResult:
        result: SearchResult = await self._remote.call("search", request)
        return result


class RemoteLearning(LearningService):
    """The Learner deployment as a `LearningService`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._notices: set[asyncio.Task[None]] = set()

    @override
    def notify(self, *, user_id: str) -> None:
        # a notice that is lost delays learning only: the learner finds the work itself
        notice = asyncio.create_task(self._notify(user_id))
        self._notices.add(notice)
        notice.add_done_callback(self._notices.discard)

    async def _notify(self, user_id: str) -> None:
        try:
            await self._remote.call("notify", user_id, deadline_s=5.0)
        except Unavailable as error:  # the learner reads the backlog itself when it is back
            _log.warning("learner_not_notified", error=error.message)

    @override
    async def learn(self, *, user_id: str) -> LearnReport:
        report: LearnReport = await self._remote.call("learn", user_id)
        return report

    @override
    async def forget(self, request: ForgetRequest) -> ForgetReport | None:
        report: ForgetReport | None = await self._remote.call("forget", request)
        return report


class RemoteMaintenance(IndexMaintenance):
    """The Learner deployment as an `IndexMaintenance`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    @override
    async def start(self, operation: IndexOperation) -> IndexRun:
        run: IndexRun = await self._remote.call("maintain_index", operation)
        return run

    @override
    async def last_run(self) -> IndexRun | None:
        run: IndexRun | None = await self._remote.call("index_run")
        return run


class RemoteReembedding(ReembeddingService):
    """The Learner deployment as a `ReembeddingService`.

    Args:
        remote: The Learner.
        prepare_s: Seconds until a run has begun: a model's weights may have to be downloaded first.
    """

    def __init__(self, remote: Remote, *, prepare_s: float = 900.0) -> None:
        self._remote = remote
        self._prepare_s = prepare_s

    @override
    async def start(self, model_id: str) -> PipelineRun:
        run: PipelineRun = await self._remote.call("reembed", model_id, deadline_s=self._prepare_s)
        return run

    @override
    async def rollback(self) -> PipelineRun:
        run: PipelineRun = await self._remote.call("roll_reembedding_back")
        return run

    @override
    async def finish(self) -> PipelineRun:
        run: PipelineRun = await self._remote.call("finish_reembedding")
        return run

    @override
    async def last_run(self) -> PipelineRun | None:
        run: PipelineRun | None = await self._remote.call("reembedding_run")
        return run


class RemoteReviews(ReviewService):
    """The Learner deployment as a `ReviewService`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    @override
    async def start(self, *, user_id: str | None = None, dry_run: bool = False) -> PipelineRun:
        run: PipelineRun = await self._remote.call("start_review", user_id, dry_run)
        return run

    @override
    async def last_run(self) -> PipelineRun | None:
        run: PipelineRun | None = await self._remote.call("review_run")
        return run


class RemoteFactJobs(MaintenanceService):
    """The Learner deployment as a `MaintenanceService`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    @override
    async def start(self, kind: MaintenanceKind, *, user_id: str | None = None) -> PipelineRun:
        run: PipelineRun = await self._remote.call("start_fact_job", kind, user_id)
        return run

    @override
    async def last_run(self, kind: MaintenanceKind) -> PipelineRun | None:
        run: PipelineRun | None = await self._remote.call("fact_job_run", kind)
        return run
