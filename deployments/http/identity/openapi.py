"""The credentials in the OpenAPI document: how they are sent, and which routes need none."""

from typing import Any

from fastapi import FastAPI

from ..support.problems import replies
from .authentication import KEY_HEADER
from .middleware import OPEN_PATHS

_SCHEMES = {
    "Bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, or a token of the identity provider. `Authorization: Token` is the same.",
    },
    "ApiKey": {"type": "apiKey", "in": "header", "name": KEY_HEADER, "description": "An API key."},
}


def describe_credentials(app: FastAPI) -> None:
    """Adds the security schemes and the refusals to the document that the app serves."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            _add(generate())
        return generate()

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's way to extend the document


def _add(document: dict[str, Any]) -> None:
    document.setdefault("components", {})["securitySchemes"] = _SCHEMES
    # The empty alternative: a service on loopback may ask for no credential.
    document["security"] = [{"Bearer": []}, {"ApiKey": []}, {}]
    for path, methods in document["paths"].items():
        for operation in methods.values():
            if path in OPEN_PATHS:
                operation["security"] = []
                continue
            operation["responses"] |= {str(status): reply for status, reply in replies(401, 403).items()}
