"""The ingestion of knowledge in the Learner deployment, and rerankers at API endpoints."""

import asyncio
from collections.abc import Sequence

import httpx
import structlog
from pydantic import BaseModel, ValidationError
from typing_extensions import override

from memory.ports.models.language import Priority, Reranker, check_reranked
from memory.ports.stores.corpora import IngestionService
from memory.values.documents.corpora import SourceVersion
from memory.values.errors import ModelUnavailable, Unavailable

from ..config.knowledge_settings import RerankerApiArgs
from .handles import Remote

COMPONENT = "reranker_api"
_NOTICE_S = 5.0
_log = structlog.get_logger(__name__)


class RemoteIngestion(IngestionService):
    """The Learner deployment as an `IngestionService`."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._notices: set[asyncio.Task[None]] = set()

    @override
    def notify(self) -> None:
        # a notice that is lost delays ingestion only: the learner finds the work itself
        notice = asyncio.create_task(self._notify())
        self._notices.add(notice)
        notice.add_done_callback(self._notices.discard)

    @override
    async def finish(self, source_id: str, version: int, *, app: str) -> SourceVersion | None:
        finished: SourceVersion | None = await self._remote.call("finish_ingestion", source_id, version, app)
        return finished

    async def _notify(self) -> None:
        try:
            await self._remote.call("notify_ingestion", deadline_s=_NOTICE_S)
        except Unavailable as error:
            _log.warning("learner_not_notified", error=error.message)


class _Scored(BaseModel):
    index: int
    relevance_score: float


class _Reranked(BaseModel):
    """What is used of a reply: compatible endpoints add more."""

    results: tuple[_Scored, ...]


class ApiReranker(Reranker):
    """A reranker at an endpoint of the form that Cohere, Jina, vLLM and others have in common (`POST …/rerank`).

    Args:
        settings: With `url`.
        transport: For tests; a real one where none is given.
    """

    def __init__(self, settings: RerankerApiArgs, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        key = settings.api_key.get_secret_value() if settings.api_key else ""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._settings = settings
        self._client = httpx.AsyncClient(headers=headers, timeout=settings.timeout_s, transport=transport)

    @override
    async def rerank(
        self, query: str, passages: Sequence[str], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[float]:
        check_reranked(passages)
        body = {"query": query, "documents": [*passages], "top_n": len(passages)}
        if self._settings.model:
            body["model"] = self._settings.model
        try:
            reply = await self._client.post(self._settings.url or "", json=body)
            reply.raise_for_status()
            scored = _Reranked.model_validate_json(reply.content).results
        except (httpx.HTTPError, ValidationError) as error:
            raise ModelUnavailable(
                f"The reranking API did not answer: {_reason(error)}", component=COMPONENT
            ) from error
        scores = {each.index: each.relevance_score for each in scored}
        if scores.keys() != {*range(len(passages))}:
            raise ModelUnavailable("The reranking API did not score every passage.", component=COMPONENT)
        return [scores[place] for place in range(len(passages))]

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.aclose()


def _reason(error: Exception) -> str:
    if isinstance(error, httpx.HTTPStatusError):
        return f"status {error.response.status_code}"
    return "no valid reply" if isinstance(error, ValidationError) else type(error).__name__
