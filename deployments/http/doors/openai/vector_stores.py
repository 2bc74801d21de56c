"""`POST /v1/vector_stores/{id}/search`: search in a memory or a corpus, as OpenAI's file search has it."""

from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from memory.knowledge.base import Question
from memory.values.base import WHOLE, Scalar, utc_now
from memory.values.documents.corpora import KnowledgeHit
from memory.values.hits import Hit, HitKind, SearchFilter, SearchRequest

from ...identity.operators import IdentityDep
from ...schemas.fields import Identifier, Text
from ...support.service_route import KnowledgeRoute
from ...support.services import Services, ServicesDep
from .errors import openai_replies
from .filters import Comparison, Compound, conditions
from .speaking import Person, known

router = APIRouter(prefix="/v1", tags=["openai"], responses=openai_replies(404, 500), route_class=KnowledgeRoute)
MEMORY = "memory"
"""The id of the store that is the person's own memory; other ids are those of corpora."""


class RankingOptions(BaseModel):
    """How results are ranked; the ranker is that of the corpus or of memory."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    score_threshold: Annotated[float, Field(ge=0, le=1)] = 0.0


class VectorSearchBody(BaseModel):
    """A search."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={"examples": [{"query": "Where is the spare key?", "max_num_results": 3}]},
    )

    query: Text | Annotated[tuple[Text, ...], Field(min_length=1, max_length=1)]
    filters: Comparison | Compound | None = None
    max_num_results: Annotated[StrictInt, Field(ge=1, le=50), WHOLE] = 10
    ranking_options: RankingOptions = RankingOptions()
    rewrite_query: StrictBool | None = Field(
        default=None, description="References are resolved by `/chat` and `/resolve`; here the query stays as it is."
    )

    @property
    def text(self) -> str:
        """The query."""
        return self.query if isinstance(self.query, str) else self.query[0]


class FoundText(BaseModel):
    """A text of a result."""

    type: Literal["text"] = "text"
    text: str


class FoundItem(BaseModel):
    """A memory, or a chunk of a document."""

    file_id: str
    filename: str
    score: float
    attributes: dict[str, str | float | bool]
    content: list[FoundText]


class FoundPage(BaseModel):
    """What was found, best first; all is in one page."""

    object: Literal["vector_store.search_results.page"] = "vector_store.search_results.page"
    search_query: list[str]
    data: list[FoundItem]
    has_more: bool = False
    next_page: str | None = None


@router.post("/vector_stores/{vector_store_id}/search")
async def search_vector_store(
    vector_store_id: Identifier,
    body: VectorSearchBody,
    services: ServicesDep,
    identity: IdentityDep,
    person: Person,
) -> FoundPage:
    """Searches the memory of the person that the credential or `X-Jiyi-User` names (`memory`), or a corpus by its id.

    Filters compare metadata: `eq` and `in`, and `and` of several.
    """
    wanted = conditions(body.filters)
    if vector_store_id == MEMORY:
        found = await _in_memory(services, known(person), body, wanted)
    else:
        question = Question(body.text, {"limit": body.max_num_results}, wanted)
        result = await services.knowledge.search(question, app=identity.app, corpus_id=vector_store_id)
        services.count_degraded(result.degraded)
        found = [_of_knowledge(hit) for hit in result.results]
    least = body.ranking_options.score_threshold
    return FoundPage(search_query=[body.text], data=[item for item in found if item.score >= least])


async def _in_memory(
    services: Services, user_id: str, body: VectorSearchBody, wanted: Mapping[str, Scalar | list[Scalar]]
) -> list[FoundItem]:
    request = SearchRequest(
        query=body.text,
        user_id=user_id,
        top_k=body.max_num_results,
        kinds=(HitKind.MEMORY,),
        filters=SearchFilter(metadata=dict(wanted)),
        now=utc_now(),
    )
    result = await services.retriever.search(request)
    services.count_degraded(result.degraded)
    return [_of_memory(hit) for hit in result.hits]


def _of_memory(hit: Hit) -> FoundItem:
    told = {"role": hit.role.value if hit.role else None, "session_id": hit.session_id, "speaker": hit.speaker}
    attributes = {"created_at": hit.created_at.isoformat(), **told, **hit.metadata}
    return FoundItem(
        file_id=hit.id,
        filename=hit.session_id or MEMORY,
        score=hit.score,
        attributes=_attributes(attributes),
        content=[FoundText(text=hit.meant)],
    )


def _of_knowledge(hit: KnowledgeHit) -> FoundItem:
    return FoundItem(
        file_id=hit.source_id,
        filename=hit.source_uri,
        score=hit.score,
        attributes=_attributes({"chunk_id": hit.knowledge_id, **hit.metadata}),
        content=[FoundText(text=hit.content)],
    )


def _attributes(values: Mapping[str, object]) -> dict[str, str | float | bool]:
    """Those that OpenAI's attributes can hold: no null, no list."""
    return {name: value for name, value in values.items() if isinstance(value, str | int | float | bool)}
