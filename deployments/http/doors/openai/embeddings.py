"""`POST /v1/embeddings`: OpenAI-compatible (DESIGN §9)."""

import base64
from enum import StrEnum
from typing import Annotated, Any

import numpy as np
import orjson
from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import Field, StrictInt

from memory.ports.models.language import Priority, TextKind
from memory.values.base import WHOLE
from memory.values.errors import InvalidField

from ...schemas.fields import Identifier, RequestModel, Text, examples
from ...schemas.users import OpenAiUser
from ...support.service_route import ServiceRoute
from ...support.services import Embedding, ServicesDep

router = APIRouter(tags=["openai"], route_class=ServiceRoute)
MAX_INPUTS = 512  # a handle call carries at most 4 MiB (DESIGN §10)


class EncodingFormat(StrEnum):
    """The encoding of vectors: JSON numbers, or base64 of little-endian float32."""

    FLOAT = "float"
    BASE64 = "base64"


class EmbeddingsBody(RequestModel):
    """Texts to encode, in the format of OpenAI's clients; `input_type` is an extension of Jiyi."""

    model_config = examples(
        {"input": ["記憶是什麼？", "What is memory?"], "model": "multilingual-e5-small", "input_type": "query"}
    )

    input: Text | Annotated[tuple[Text, ...], Field(min_length=1, max_length=MAX_INPUTS)]
    model: Identifier | None = None
    encoding_format: EncodingFormat = EncodingFormat.FLOAT
    dimensions: Annotated[StrictInt, WHOLE] | None = None
    user: OpenAiUser | None = None
    input_type: TextKind = TextKind.QUERY


@router.post("/v1/embeddings")
async def embeddings(body: EmbeddingsBody, services: ServicesDep) -> Response:
    """Encodes one text or a list; the vectors have length 1.

    A list of several texts is encoded at batch priority, after single queries.
    """
    model = await services.embeddings.current()
    _validate(body, model)
    texts = [body.input] if isinstance(body.input, str) else list(body.input)
    priority = Priority.INTERACTIVE if len(texts) == 1 else Priority.BATCH
    matrix, tokens = await model.embed(texts, kind=body.input_type, priority=priority)
    content = {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": _encode_vector(vector, body.encoding_format)}
            for index, vector in enumerate(matrix)
        ],
        "model": model.model_ids[0],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
    return Response(orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY), media_type="application/json")


def _validate(body: EmbeddingsBody, model: Embedding) -> None:
    if body.model is not None and body.model not in model.model_ids:
        raise InvalidField(
            f"the model {body.model!r} is not available", field="model", allowed=", ".join(model.model_ids)
        )
    if body.dimensions is not None and body.dimensions != model.dimension:
        raise InvalidField(
            f"{body.dimensions} is not the dimension of {model.model_ids[0]}",
            field="dimensions",
            allowed=str(model.dimension),
        )


def _encode_vector(vector: Any, encoding: EncodingFormat) -> Any:
    if encoding is EncodingFormat.BASE64:
        return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
    return np.ascontiguousarray(vector)
