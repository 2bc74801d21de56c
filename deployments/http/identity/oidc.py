"""Tokens of an OpenID Connect provider (OpenID Connect Discovery 1.0, RFC 7519; RFC 8725 for what to refuse)."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import httpx
import jwt
import structlog
from pydantic import TypeAdapter, ValidationError

from memory.identity.caller import Caller
from memory.values.access.identity import KeyScope
from memory.values.errors import Unauthenticated, Unavailable

from ...config.access_settings import OidcArgs
from ..schemas.fields import Identifier

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""With public keys alone: a secret shared with the provider would be one more secret to lose."""
_LEEWAY_S = 30
_TIMEOUT_S = 5.0
_PAUSE_S = 30.0
"""Seconds between two requests for the provider's keys, however many tokens name keys that are not among them."""
_MAX_TOKEN_CHARACTERS = 16_384
_USER: TypeAdapter[str] = TypeAdapter(Identifier)
_log = structlog.get_logger(__name__)


class OidcTokens:
    """Checks tokens with the public keys of the provider, which are fetched when first needed and kept for a while.

    A token of a key that is not known yet has them fetched again, so that a provider may change its keys at any time.
    Keys that were fetched once stay in use while the provider is unavailable.

    Args:
        settings: The provider; its `issuer` is set.
        http: A client for the provider.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self, settings: OidcArgs, *, http: httpx.AsyncClient | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._http = http or httpx.AsyncClient(timeout=_TIMEOUT_S)
        self._clock = clock
        self._keys: tuple[jwt.PyJWK, ...] = ()
        self._fetched_at = self._tried_at = -float("inf")
        self._fetching = asyncio.Lock()

    async def verify(self, token: str) -> Caller:
        """The user that a token names.

        Raises:
            Unauthenticated: Its signature, issuer, audience, time or user is not valid.
            Unavailable: The provider's keys cannot be had.
        """
        if len(token) > _MAX_TOKEN_CHARACTERS:
            raise Unauthenticated("the token is not valid: too long")
        try:
            header = jwt.get_unverified_header(token)
            key = await self._key(header.get("kid"))
            claims = jwt.decode(
                token,
                key,
                algorithms=_ALGORITHMS,
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iss", "aud", self._settings.claim]},
            )
        except jwt.PyJWTError as error:
            raise Unauthenticated(f"the token is not valid: {type(error).__name__}") from None
        return Caller("oidc", KeyScope.USER, self._settings.app, self._user(claims))

    async def close(self) -> None:
        """Closes the connections to the provider."""
        await self._http.aclose()

    def _user(self, claims: dict[str, Any]) -> str:
        name = self._settings.claim
        if name == "email" and claims.get("email_verified") is not True:
            raise Unauthenticated("the token is not valid: its email address is not verified")
        try:
            return _USER.validate_python(claims[name], strict=True)
        except ValidationError:
            raise Unauthenticated(f"the token is not valid: {name} is not a user id") from None

    async def _key(self, key_id: str | None) -> jwt.PyJWK:
        """The provider's key of this id; the only one for a token without an id.

        Raises:
            jwt.InvalidKeyError: There is no such key.
        """
        if self._clock() - self._fetched_at > self._settings.jwks_cache_s or self._find(key_id) is None:
            await self._refresh()
        key = self._find(key_id)
        if key is None:
            raise jwt.InvalidKeyError
        return key

    def _find(self, key_id: str | None) -> jwt.PyJWK | None:
        if key_id is None:
            return self._keys[0] if len(self._keys) == 1 else None
        return next((key for key in self._keys if key.key_id == key_id), None)

    async def _refresh(self) -> None:
        async with self._fetching:
            if self._clock() - self._tried_at < _PAUSE_S:
                if not self._keys:
                    raise Unavailable("the keys of the identity provider cannot be had", component="oidc")
                return
            self._tried_at = self._clock()
            try:
                self._keys = await self._fetch()
                self._fetched_at = self._clock()
            except (httpx.HTTPError, jwt.PyJWTError, ValueError, KeyError, TypeError) as error:
                _log.warning("oidc_keys_not_fetched", issuer=self._settings.issuer, error=str(error))
                if not self._keys:
                    raise Unavailable("the keys of the identity provider cannot be had", component="oidc") from error

    async def _fetch(self) -> tuple[jwt.PyJWK, ...]:
        issuer = str(self._settings.issuer)
        configuration = await self._get(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if configuration["issuer"] != issuer:
            raise ValueError(f"the provider calls itself {configuration['issuer']!r}")
        keys = jwt.PyJWKSet.from_dict(await self._get(configuration["jwks_uri"])).keys
        return tuple(key for key in keys if key.public_key_use in (None, "sig"))

    async def _get(self, url: str) -> dict[str, Any]:
        reply = await self._http.get(url)
        reply.raise_for_status()
        return dict(reply.json())
