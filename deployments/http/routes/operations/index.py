"""`/index…`: verifying, rebuilding and re-embedding the vector index, for operators (DESIGN §7, §9)."""

from fastapi import APIRouter
from pydantic import Field

from memory.ports.jobs import IndexOperation, IndexRun, PipelineRun

from ...identity.operators import OPERATORS
from ...schemas.fields import Flag, Identifier, RequestModel, examples
from ...support.problems import replies
from ...support.service_route import ServiceRoute
from ...support.services import ServicesDep

router = APIRouter(
    prefix="/index", tags=["index"], dependencies=OPERATORS, responses=replies(404, 409), route_class=ServiceRoute
)


class VerifyBody(RequestModel):
    """Whether to repair what the verification finds."""

    model_config = examples({"mend": False})

    mend: Flag = Field(default=False, description="Repair missing, stale and orphaned points.")


class ReembedBody(RequestModel):
    """The model to embed everything with."""

    model_config = examples({"model": "all-mpnet-base-v2"})

    model: Identifier = Field(description="An id in the model catalogue, or a name on the model hub.")


@router.post("/verify", status_code=202)
async def verify(body: VerifyBody, services: ServicesDep) -> IndexRun:
    """Starts comparing the vector index with the system of record and returns at once; see `GET /index/status`.

    409 while a run is in progress.
    """
    return await services.index.start(IndexOperation.MEND if body.mend else IndexOperation.VERIFY)


@router.post("/rebuild", status_code=202)
async def rebuild(services: ServicesDep) -> IndexRun:
    """Starts rebuilding every point of the vector index and returns at once; see `GET /index/status`.

    Searches are answered meanwhile. 409 while a run is in progress.
    """
    return await services.index.start(IndexOperation.REBUILD)


@router.get("/status")
async def status(services: ServicesDep) -> IndexRun | None:
    """The run in progress, else the last one since the learner started; null where there was none."""
    return await services.index.last_run()


@router.post("/reembed", status_code=202)
async def reembed(body: ReembedBody, services: ServicesDep) -> PipelineRun:
    """Starts embedding everything with another model and returns at once; see `GET /index/reembed`.

    The service stays up meanwhile. When the new vectors are verified, searches switch to them; the old ones are kept up
    to date until `finish` or `rollback`. An interrupted run is continued. 409 while another run is in progress.
    """
    return await services.reembedding.start(body.model)


@router.post("/reembed/rollback", status_code=202)
async def roll_back(services: ServicesDep) -> PipelineRun:
    """Switches back to the previous model and drops the new vectors; also cancels a run that has not switched yet."""
    return await services.reembedding.rollback()


@router.post("/reembed/finish", status_code=202)
async def finish(services: ServicesDep) -> PipelineRun:
    """Drops the vectors of the previous model; a rollback is not possible afterwards."""
    return await services.reembedding.finish()


@router.get("/reembed")
async def reembedding(services: ServicesDep) -> PipelineRun | None:
    """The re-embedding run in progress, else the last one; null where there was none."""
    return await services.reembedding.last_run()
