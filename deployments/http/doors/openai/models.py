"""`GET /v1/models`: the names that the other routes take."""

import time
from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel

from ...support.service_route import ServiceRoute
from ...support.services import Services, ServicesDep
from .errors import ModelNotFound, openai_replies
from .registry import Assistants, AssistantsDep
from .reranking import reranker_names

router = APIRouter(prefix="/v1", tags=["openai"], responses=openai_replies(404), route_class=ServiceRoute)
_STARTED = int(time.time())


class Model(BaseModel):
    """A model. `created` is when the service started, which offers what its settings say."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str


class ModelList(BaseModel):
    """All models."""

    object: Literal["list"] = "list"
    data: list[Model]


@router.get("/models")
async def list_models(assistants: AssistantsDep, services: ServicesDep) -> ModelList:
    """The models: those that continue conversations first, then those that encode and those that rerank."""
    return ModelList(data=await _models(assistants, services))


@router.get("/models/{model:path}")
async def get_model(
    model: Annotated[str, Path(min_length=1)], assistants: AssistantsDep, services: ServicesDep
) -> Model:
    """One model; a slash in its name may be encoded or not."""
    found = next((each for each in await _models(assistants, services) if each.id == model), None)
    if found is None:
        raise ModelNotFound(f"There is no model {model!r}.")
    return found


async def _models(assistants: Assistants, services: Services) -> list[Model]:
    names = [*assistants, *(await services.embeddings.current()).model_ids, *reranker_names(services)]
    upstream = services.upstreams.model_ids if services.upstreams else ()
    return [
        Model(id=name, created=_STARTED, owned_by="upstream" if name in upstream else "jiyi")
        for name in dict.fromkeys(names)
    ]
