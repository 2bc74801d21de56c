"""Facts and what is made of them (002 §8): `/ingest`, `/extract`, `/items`, `/categories`, `/context`, `/retrieve`,
`/summarize` and `/jobs…`.
"""

from typing import Annotated

from fastapi import APIRouter, Query

from memory.chat.messages import NewMemory
from memory.learning.stated import read_entry, read_text
from memory.ports.jobs import MaintenanceKind, PipelineRun
from memory.ports.stores.places import CURSOR
from memory.tiers.context import MAX_ITEMS_PER_CATEGORY, ContextRequest
from memory.tiers.items import MAX_ITEMS, list_items, list_items_as_of
from memory.tiers.retrieval import MAX_TIER, TieredRequest, TieredResult
from memory.tiers.summaries import refresh_summaries
from memory.values.base import utc_now
from memory.values.facts import FactStatus

from ...identity.operators import OPERATORS
from ...schemas.fields import MAX_TEXT_CHARACTERS, Identifier, Time
from ...schemas.memory.facts import (
    EVERYBODY,
    CategoryList,
    ContextReply,
    FactExtractBody,
    FactExtractReply,
    IngestBody,
    IngestReply,
    ItemList,
    JobBody,
    StatementReply,
    SummarizeBody,
)
from ...schemas.users import UserQuery
from ...support.problems import replies
from ...support.service_route import ServiceRoute
from ...support.services import ServicesDep

router = APIRouter(tags=["facts"], responses=replies(409), route_class=ServiceRoute)


@router.post("/ingest")
async def ingest(body: IngestBody, services: ServicesDep) -> IngestReply:
    """Appends a message to the log, and learns its facts in the background; `POST /memories` takes many at once."""
    at = body.created_at or utc_now()
    message = NewMemory(
        content=body.content, kind=body.source, turn_id=body.turn_id, metadata=body.metadata, created_at=at
    )
    [added], learned = await services.additions.add(
        [message], user_id=body.user_id, session_id=body.session_id, wait=body.wait
    )
    return IngestReply(resource_id=added.resource_id, learned=learned)


@router.post("/extract", responses=replies(404))
async def extract(body: FactExtractBody, services: ServicesDep) -> FactExtractReply:
    """The facts of a text, which is only read; or those of an entry of the log, which is learned if it still waits."""
    if body.resource_id is None:
        stated = await read_text(
            body.text or "",
            user_id=body.user_id,
            record=services.record,
            extractor=services.extractor,
            facts=services.fact_reader,
            now=utc_now(),
        )
    else:
        learned = await services.additions.learn(user_id=body.user_id)
        stated = await read_entry(
            body.resource_id,
            user_id=body.user_id,
            record=services.record,
            extractor=services.extractor,
            facts=services.fact_reader,
        )
        if learned is None:
            stated = stated.model_copy(update={"degraded": (*stated.degraded, "learner")})
    services.count_degraded(stated.degraded)
    return FactExtractReply(
        facts=tuple(StatementReply.of(statement) for statement in stated.statements),
        items=stated.items,
        degraded=stated.degraded,
    )


@router.get("/items")
async def get_items(
    user_id: UserQuery,
    services: ServicesDep,
    category: Annotated[Identifier | None, Query(description="Only facts of this category.")] = None,
    status: Annotated[
        FactStatus | None, Query(description="As it is now. Default: `active`; with `as_of` any.")
    ] = None,
    as_of: Annotated[Time | None, Query(description="Facts that held at this time, whatever became of them.")] = None,
    after: Annotated[str | None, Query(pattern=CURSOR, description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_ITEMS)] = 100,
) -> ItemList:
    """Facts (002's items), latest first: those of a category and status, or those that held at a time."""
    async with services.record.reading(user_id=user_id) as unit:
        if as_of is None:
            current = status or FactStatus.ACTIVE
            found = await list_items(unit, category=category, status=current, after=after, limit=limit)
        else:
            found = await list_items_as_of(unit, as_of, category=category, status=status, after=after, limit=limit)
    return ItemList(results=found.items, total=found.total, next=found.next)


@router.get("/categories")
async def get_categories(user_id: UserQuery, services: ServicesDep) -> CategoryList:
    """Categories with their priority, number of active facts and summary, highest priority first."""
    return CategoryList(results=tuple(await services.contexts.categories(user_id, now=utc_now())))


@router.get("/context")
async def get_context(
    user_id: UserQuery,
    services: ServicesDep,
    categories: Annotated[
        str | None, Query(max_length=1_024, description="Names of categories, separated by commas. Default: all.")
    ] = None,
    max_chars: Annotated[int | None, Query(ge=0, description="Whole categories, as many as fit.")] = None,
    max_tokens: Annotated[int | None, Query(ge=0, description="The same in tokens of the embedding model.")] = None,
    max_items_per_category: Annotated[int, Query(ge=0, le=100)] = MAX_ITEMS_PER_CATEGORY,
) -> ContextReply:
    """What is known of the user, for the prompt of an agent: categories by priority, none of them cut in the middle.

    What the context holds counts as used: it becomes surer, and its category comes earlier.
    """
    names = None if categories is None else tuple(name for part in categories.split(",") if (name := part.strip()))
    context = await services.contexts.build(
        ContextRequest(
            user_id=user_id,
            categories=names,
            max_chars=max_chars,
            max_tokens=max_tokens,
            max_items_per_category=max_items_per_category,
            now=utc_now(),
        )
    )
    return ContextReply(
        context=context.text,
        categories=tuple(block.category for block in context.blocks),
        left_out=context.left_out,
        tokens=context.tokens,
    )


@router.get("/retrieve")
async def retrieve(
    user_id: UserQuery,
    services: ServicesDep,
    query: Annotated[str, Query(max_length=MAX_TEXT_CHARACTERS)] = "",
    tiers: Annotated[int, Query(ge=1, le=MAX_TIER, description="1: summaries; 2: and facts; 3: and turns.")] = 2,
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
) -> TieredResult:
    """Retrieves in tiers: category summaries, relevant facts, what was said. Without a query: the latest facts."""
    result = await services.tiers.retrieve(
        TieredRequest(user_id=user_id, query=query, tiers=tiers, limit=limit, now=utc_now())
    )
    services.count_degraded(result.degraded)
    return result


@router.post("/summarize")
async def summarize(body: SummarizeBody, services: ServicesDep) -> CategoryList:
    """Writes the summaries of the user's categories now, where their facts have changed, and returns the categories."""
    now = utc_now()
    await refresh_summaries(services.record, body.user_id, writer=services.summary_writer, now=now)
    return CategoryList(results=tuple(await services.contexts.categories(body.user_id, now=now)))


@router.post("/jobs/{kind}", status_code=202, dependencies=OPERATORS)
async def start_job(kind: MaintenanceKind, services: ServicesDep, body: JobBody = EVERYBODY) -> PipelineRun:
    """Starts the nightly, weekly or monthly job, for one user or all, and returns at once; see `GET /jobs/{kind}`.

    For operators. 409 while one of the jobs is running. `output` counts what was done, with `before` and `after`.
    """
    return await services.fact_jobs.start(kind, user_id=body.user_id)


@router.get("/jobs/{kind}", dependencies=OPERATORS)
async def get_job(kind: MaintenanceKind, services: ServicesDep) -> PipelineRun | None:
    """The running job of this kind, else the last one; null where there was none."""
    return await services.fact_jobs.last_run(kind)
