"""What the OpenAPI document says of all routes: problems, and the credentials that the routes need."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from ..identity.authentication import KEY_HEADER
from ..identity.middleware import OPEN_PATHS
from ..schemas.knowledge.bases import IngestTextBody
from .failures import Door, door_of
from .problems import Problem, replies

_SCHEMES = {
    "Bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, or a token of the identity provider. `Authorization: Token` is the same.",
    },
    "ApiKey": {"type": "apiKey", "in": "header", "name": KEY_HEADER, "description": "An API key."},
}


def complete_document(app: FastAPI, doors: Mapping[str, Door]) -> None:
    """Adds schemas that routes refer to by name, the security schemes and 401 to the document that the app serves."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            _add_schemas(generate(), doors)
            _add_credentials(generate(), doors)
        return generate()

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's way to extend the document


def _add_schemas(document: dict[str, Any], doors: Mapping[str, Door]) -> None:
    """Adds what `replies` and the routes that read their body themselves refer to."""
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    models: list[type[BaseModel]] = [Problem, IngestTextBody, *(door.schema for door in doors.values())]
    for model in models:
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= schema.pop("$defs", {}) | {model.__name__: schema}


def _add_credentials(document: dict[str, Any], doors: Mapping[str, Door]) -> None:
    document["components"]["securitySchemes"] = _SCHEMES
    # The empty alternative: a service on loopback may ask for no credential.
    document["security"] = [{"Bearer": []}, {"ApiKey": []}, {}]
    for path, methods in document["paths"].items():
        for operation in methods.values():
            if path in OPEN_PATHS:
                operation["security"] = []
            else:
                door = door_of(path, doors)
                described = replies(401) if door is None else door.replies(401)
                if door is not None and 422 not in door.replies(422):
                    operation["responses"].pop("422", None)  # which FastAPI adds
                operation["responses"] |= {str(status): reply for status, reply in described.items()}
