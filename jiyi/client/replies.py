"""Replies that the OpenAPI document does not describe field by field."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel


class Embedding(BaseModel):
    """The vector of a text, of length 1; `index` is its place among the texts."""

    index: int
    embedding: Sequence[float]


class Usage(BaseModel):
    """Tokens that were read."""

    prompt_tokens: int
    total_tokens: int


class Embeddings(BaseModel):
    """Vectors in the order of the texts, and the model that made them."""

    data: Sequence[Embedding]
    model: str
    usage: Usage


class Health(BaseModel):
    """All stores and deployments: `parts` has status and figures of each, `not_ok` the names of those that are not ok.

    `status` is `ok` or `degraded`; `model` is None while the record is away.
    """

    status: str
    not_ok: Sequence[str] = ()
    version: str = ""
    model: str | None = None
    auth: Mapping[str, Any] | str | None = None
    parts: Mapping[str, Mapping[str, Any]] = {}
