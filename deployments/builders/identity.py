"""Who may call: API keys, tokens of an identity provider, and the address that the service listens on."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import structlog

from memory.identity.api_keys import ApiKeys
from memory.ports.stores.coordination import RateLimiter
from memory.ports.stores.keys import KeyStore

from ..config.exposure import check_exposure
from ..config.settings import AppArgs
from ..http.identity.authentication import OPEN_WARNING, Authenticator
from ..http.identity.oidc import OidcTokens
from ..telemetry.logs import configure_audit

_log = structlog.get_logger(__name__)


def open_authenticator(
    args: AppArgs, store: KeyStore, *, failures: RateLimiter | None
) -> tuple[Authenticator, Callable[[], Awaitable[None]]]:
    """The authenticator of one ingress replica, and what closes it."""
    configure_audit(args.log_folder)
    admin_key = args.auth.admin_key.get_secret_value() if args.auth.admin_key else None
    keys = ApiKeys(store, admin_secret=admin_key, fresh_s=args.auth.key_cache_s)
    tokens = OidcTokens(args.oidc) if args.oidc.issuer else None

    async def close() -> None:
        await keys.close()
        if tokens is not None:
            await tokens.close()

    authenticator = Authenticator(
        keys=keys,
        tokens=tokens,
        required=args.auth.required,
        user_headers=args.auth.user_headers,
        session_headers=args.auth.session_headers,
        failures=failures,
        issuer=args.oidc.issuer,
    )
    if not args.auth.required:
        _log.warning("no_credential_required", warning=OPEN_WARNING)
    return authenticator, close


async def refuse_exposed_address(args: AppArgs) -> None:
    """Ends the start of a replica behind an address that others reach, where no credential is required.

    `jiyi up` says so before it starts anything; this is for `serve run` and clusters, where Serve alone knows the
    address.

    Raises:
        Exposed: See `check_exposure`.
    """
    if not args.auth.required:
        check_exposure(args, await asyncio.to_thread(_listening_host))


def _listening_host() -> str | None:
    from ray.serve.context import _get_global_client

    client: Any = _get_global_client()
    host: str | None = client.http_config.host
    return host
