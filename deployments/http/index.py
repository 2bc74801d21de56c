"""Looking after the vector index: verify, mend, rebuild (DESIGN §7, §9). For operators: it crosses users."""

from fastapi import APIRouter
from pydantic import Field

from memory.ports.maintenance import IndexOperation, IndexRun

from .fields import Flag, RequestModel, example
from .services import Use

router = APIRouter(prefix="/index", tags=["index"])


class VerifyBody(RequestModel):
    """What to do about what is found."""

    model_config = example({"mend": False})

    mend: Flag = Field(default=False, description="Put right what is missing, stale or orphaned.")


@router.post("/verify", status_code=202)
async def verify(body: VerifyBody, services: Use) -> IndexRun:
    """Starts comparing the vector index with the system of record and returns at once; see `GET /index/status`.

    409 while a run is under way.
    """
    return await services.index.start(IndexOperation.MEND if body.mend else IndexOperation.VERIFY)


@router.post("/rebuild", status_code=202)
async def rebuild(services: Use) -> IndexRun:
    """Starts making every point of the vector index again and returns at once; see `GET /index/status`.

    Searches are answered meanwhile. 409 while a run is under way.
    """
    return await services.index.start(IndexOperation.REBUILD)


@router.get("/status")
async def status(services: Use) -> IndexRun | None:
    """The run under way, else the last one since the learner started; null where there was none."""
    return await services.index.last_run()
