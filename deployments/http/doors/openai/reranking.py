"""`POST /v1/rerank`: which of several documents answers a query, in the form that Cohere and Jina began."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from memory.ports.models.language import MAX_RERANKED, Priority, TextKind
from memory.prompting.checked_model import estimate_tokens
from memory.values.base import WHOLE
from memory.values.documents.corpora import Reranking
from memory.values.ids import new_id

from ...schemas.fields import Identifier, Text
from ...support.service_route import ServiceRoute
from ...support.services import Services, ServicesDep
from .errors import ModelNotFound, openai_replies

router = APIRouter(prefix="/v1", tags=["openai"], responses=openai_replies(404), route_class=ServiceRoute)
_NAMES = {Reranking.LOCAL: "jiyi-reranker", Reranking.API: "jiyi-reranker-api"}
"""Names of the rerankers that the settings turn on."""


class Document(BaseModel):
    """A document; further fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    text: Text


class RerankBody(BaseModel):
    """A query and the documents to be ordered."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        json_schema_extra={
            "examples": [{"query": "Where is the key?", "documents": ["In the drawer.", "It rains."], "top_n": 1}]
        },
    )

    query: Text
    documents: Annotated[tuple[Text | Document, ...], Field(min_length=1, max_length=MAX_RERANKED)]
    model: Identifier | None = Field(
        default=None,
        description="A reranker of `/v1/models`, or the embedding model, whose cosine it is then. By default the "
        "reranker, where one is on.",
    )
    top_n: Annotated[StrictInt, Field(ge=1), WHOLE] | None = None
    return_documents: StrictBool = False


class Ranked(BaseModel):
    """A document: its place in the request, and how well it answers, comparable within one reply."""

    index: int
    relevance_score: float
    document: Document | None = None


class RerankUsage(BaseModel):
    """Tokens, estimated."""

    total_tokens: int


class RerankReply(BaseModel):
    """The documents, best first."""

    id: str
    object: Literal["list"] = "list"
    model: str
    results: list[Ranked]
    usage: RerankUsage


def reranker_names(services: Services) -> list[str]:
    """The names of the rerankers that are on."""
    return [_NAMES[kind] for kind in services.rerankers]


@router.post("/rerank", response_model=RerankReply, response_model_exclude_none=True)
async def rerank(body: RerankBody, services: ServicesDep) -> RerankReply:
    """Orders documents by how well they answer a query."""
    texts = [each if isinstance(each, str) else each.text for each in body.documents]
    model, scores = await _scores(services, body, texts)
    best = sorted(range(len(texts)), key=lambda place: -scores[place])[: body.top_n]
    return RerankReply(
        id=f"rerank-{new_id()}",
        model=model,
        results=[
            Ranked(
                index=place,
                relevance_score=scores[place],
                document=Document(text=texts[place]) if body.return_documents else None,
            )
            for place in best
        ],
        usage=RerankUsage(total_tokens=sum(map(estimate_tokens, [body.query, *texts]))),
    )


async def _scores(services: Services, body: RerankBody, texts: Sequence[str]) -> tuple[str, list[float]]:
    """The name of what scored, and the scores in order.

    Raises:
        ModelNotFound: There is no such model.
    """
    rerankers = {_NAMES[kind]: reranker for kind, reranker in services.rerankers.items()}
    name = body.model or next(iter(rerankers), None)
    if name is not None and name in rerankers:
        return name, await rerankers[name].rerank(body.query, texts)
    embedding = await services.embeddings.current()
    if name is not None and name not in embedding.model_ids:
        known = ", ".join([*rerankers, *embedding.model_ids])
        raise ModelNotFound(f"There is no model {name!r} that reranks; there are: {known}.")
    [query], _ = await embedding.embed([body.query], kind=TextKind.QUERY, priority=Priority.INTERACTIVE)
    passages, _ = await embedding.embed(texts, kind=TextKind.PASSAGE, priority=Priority.INTERACTIVE)
    return embedding.model_ids[0], [float(score) for score in np.asarray(passages) @ np.asarray(query)]
