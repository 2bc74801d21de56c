"""Facts: `/items`, `/categories`, `/retrieve`, `/ingest`, `/extract`, `/summarize` and `/jobs`."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from deployments.http.schemas.memory.facts import CategoryList, FactExtractReply, IngestReply, ItemList
from memory.ports.jobs import PipelineRun
from memory.tiers.retrieval import TieredResult
from memory.values.facts import Fact

from ..calls import Call, Paged, call, given, segment
from ..endpoints import Resource, T_co, endpoint, pages
from .chat import Time


class Facts(Resource[T_co]):
    """`client.facts`; what is known for a prompt is `client.context`."""

    @pages
    def list(
        self,
        *,
        user_id: str,
        category: str | None = None,
        status: str | None = None,
        as_of: Time | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> Paged[ItemList, Fact]:
        """`GET /items`: facts, latest first; with `as_of` those that held at a time."""
        params = given(user_id=user_id, category=category, status=status, as_of=as_of, after=after, limit=limit)
        return Paged(call("GET", "/items", params=params))

    @endpoint
    def categories(self, *, user_id: str) -> Call[CategoryList]:
        """`GET /categories`, highest priority first."""
        return call("GET", "/categories", params={"user_id": user_id})

    @endpoint
    def retrieve(
        self, query: str = "", *, user_id: str, tiers: int | None = None, limit: int | None = None
    ) -> Call[TieredResult]:
        """`GET /retrieve`: summaries (1), and facts (2), and what was said (3)."""
        return call("GET", "/retrieve", params=given(user_id=user_id, query=query, tiers=tiers, limit=limit))

    @endpoint
    def ingest(
        self,
        content: str,
        *,
        user_id: str,
        session_id: str = "default",
        source: str | None = None,
        wait: bool | None = None,
        turn_id: str | None = None,
        created_at: Time | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Call[IngestReply]:
        """`POST /ingest`: appends a message to the log; its facts are learned in the background."""
        body = given(user_id=user_id, session_id=session_id, content=content, source=source, wait=wait)
        body |= given(turn_id=turn_id or str(uuid4()), created_at=created_at, metadata=metadata)
        return call("POST", "/ingest", body=body, repeatable=True)

    @endpoint
    def extract(
        self, text: str | None = None, *, user_id: str, resource_id: str | None = None
    ) -> Call[FactExtractReply]:
        """`POST /extract`: the facts of a text, or of an entry of the log."""
        body = given(user_id=user_id, text=text, resource_id=resource_id)
        return call("POST", "/extract", body=body, repeatable=True)

    @endpoint
    def summarize(self, *, user_id: str) -> Call[CategoryList]:
        """`POST /summarize`: writes the summaries of changed categories now."""
        return call("POST", "/summarize", body={"user_id": user_id}, repeatable=True)

    @endpoint
    def start_job(self, kind: str, *, user_id: str | None = None) -> Call[PipelineRun]:
        """`POST /jobs/{kind}`: `nightly`, `weekly` or `monthly`, over one user's facts or all. For operators."""
        return call("POST", f"/jobs/{segment(kind)}", body=given(user_id=user_id), repeatable=True)

    @endpoint
    def job(self, kind: str) -> Call[PipelineRun | None]:
        """`GET /jobs/{kind}`: the current run or the last one. For operators."""
        return call("GET", f"/jobs/{segment(kind)}")
