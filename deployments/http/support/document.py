"""What the OpenAPI document says of all routes: problems, and the credentials that the routes need."""

from typing import Any

from fastapi import FastAPI

from ..identity.authentication import KEY_HEADER
from ..identity.middleware import OPEN_PATHS
from ..schemas.knowledge import IngestTextBody
from .problems import Problem, replies

_SCHEMES = {
    "Bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, or a token of the identity provider. `Authorization: Token` is the same.",
    },
    "ApiKey": {"type": "apiKey", "in": "header", "name": KEY_HEADER, "description": "An API key."},
}


def complete_document(app: FastAPI) -> None:
    """Adds schemas that routes refer to by name, the security schemes and 401 to the document that the app serves."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            _add_schemas(generate())
            _add_credentials(generate())
        return generate()

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's way to extend the document


def _add_schemas(document: dict[str, Any]) -> None:
    """Adds what `replies` and the routes that read their body themselves refer to."""
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for model in (Problem, IngestTextBody):
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= schema.pop("$defs", {}) | {model.__name__: schema}


def _add_credentials(document: dict[str, Any]) -> None:
    document["components"]["securitySchemes"] = _SCHEMES
    # The empty alternative: a service on loopback may ask for no credential.
    document["security"] = [{"Bearer": []}, {"ApiKey": []}, {}]
    for path, methods in document["paths"].items():
        for operation in methods.values():
            if path in OPEN_PATHS:
                operation["security"] = []
            else:
                operation["responses"] |= {str(status): reply for status, reply in replies(401).items()}
