"""Where a client without a credential learns how to get one (RFC 9728, OAuth 2.0 Protected Resource Metadata)."""

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Scope

if TYPE_CHECKING:
    from ..support.services import Services

RESOURCE_PATHS = ("/mcp", "/mcp/")
_WELL_KNOWN = "/.well-known/oauth-protected-resource"
METADATA_PATHS = (_WELL_KNOWN, *(_WELL_KNOWN + path for path in RESOURCE_PATHS))
"""The document is asked for with the path of the resource behind the well-known one, and by some clients without."""


async def protected_resource(request: Request) -> JSONResponse:
    """The metadata of the resource, for any caller: where its credentials come from, if there is a provider."""
    services: Services = request.app.state.services
    suffix = request.url.path.removeprefix(request.scope.get("root_path", "") + _WELL_KNOWN)
    document: dict[str, Any] = {
        "resource": _base_url(request.scope) + (suffix or RESOURCE_PATHS[0]),
        "resource_name": "Jiyi",
        "bearer_methods_supported": ["header"],
    }
    if issuer := services.authenticator.issuer:
        document["authorization_servers"] = [issuer]
    return JSONResponse(document)


def challenge(scope: Scope, *, wrong: bool) -> str:
    """The `WWW-Authenticate` of a 401; clients of the resource cannot log in without the address in it.

    Args:
        scope: The request.
        wrong: Whether it had a credential, which is not valid.
    """
    parts = ['Bearer realm="jiyi"']
    if wrong:
        parts.append('error="invalid_token"')
    if scope["path"] in RESOURCE_PATHS:
        parts.append(f'resource_metadata="{_base_url(scope)}{_WELL_KNOWN}{scope["path"]}"')
    return ", ".join(parts)


def _base_url(scope: Scope) -> str:
    """The address of the service as the client has it; a proxy that ends TLS says so in `X-Forwarded-Proto`."""
    request = Request(scope)
    base = request.base_url
    scheme = request.headers.get("x-forwarded-proto", base.scheme)
    return str(base.replace(scheme=scheme if scheme in ("http", "https") else base.scheme)).rstrip("/")
