"""Looking after the vector index: verify, mend, rebuild (DESIGN §7, §9). For operators: it crosses users."""

from fastapi import APIRouter
from pydantic import Field

from memory.ports.jobs import IndexOperation, IndexRun, PipelineRun

from ..schemas.fields import Flag, Identifier, RequestModel, example
from ..support.services import ServicesDep

router = APIRouter(prefix="/index", tags=["index"])


class VerifyBody(RequestModel):
    """What to do about what is found."""

    model_config = example({"mend": False})

    mend: Flag = Field(default=False, description="Put right what is missing, stale or orphaned.")


class ReembedBody(RequestModel):
    """Which model everything is to be embedded with."""

    model_config = example({"model": "all-mpnet-base-v2"})

    model: Identifier = Field(description="Id in the model catalogue, or a name on the model hub.")


@router.post("/verify", status_code=202)
async def verify(body: VerifyBody, services: ServicesDep) -> IndexRun:
    """Starts comparing the vector index with the system of record and returns at once; see `GET /index/status`.

    409 while a run is under way.
    """
    return await services.index.start(IndexOperation.MEND if body.mend else IndexOperation.VERIFY)


@router.post("/rebuild", status_code=202)
async def rebuild(services: ServicesDep) -> IndexRun:
    """Starts making every point of the vector index again and returns at once; see `GET /index/status`.

    Searches are answered meanwhile. 409 while a run is under way.
    """
    return await services.index.start(IndexOperation.REBUILD)


@router.get("/status")
async def status(services: ServicesDep) -> IndexRun | None:
    """The run under way, else the last one since the learner started; null where there was none."""
    return await services.index.last_run()


@router.post("/reembed", status_code=202)
async def reembed(body: ReembedBody, services: ServicesDep) -> PipelineRun:
    """Starts embedding everything with another model and returns at once; see `GET /index/reembed`.

    Everything goes on meanwhile. When the new vectors are verified, searches switch to them; the old ones are kept up
    to date until `finish` or `rollback`. A run that broke off is gone on with. 409 while another run is under way.
    """
    return await services.reembedding.start(body.model)


@router.post("/reembed/rollback", status_code=202)
async def roll_back(services: ServicesDep) -> PipelineRun:
    """Goes back to the model before, at once, and drops the new vectors; also gives up a run that has not switched."""
    return await services.reembedding.rollback()


@router.post("/reembed/finish", status_code=202)
async def finish(services: ServicesDep) -> PipelineRun:
    """Drops the vectors of the model before the switch: there is no way back then."""
    return await services.reembedding.finish()


@router.get("/reembed")
async def reembedding(services: ServicesDep) -> PipelineRun | None:
    """The change of the model under way, else the last one, whenever it was; null where there was none."""
    return await services.reembedding.last_run()
