"""Tokens of an identity provider: which are accepted, and how often its keys are fetched."""

import base64
import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from deployments.config.access_settings import OidcArgs
from deployments.http.identity.oidc import OidcTokens
from memory.values.access.identity import KeyScope
from memory.values.errors import Unauthenticated, Unavailable

ISSUER = "https://login.example/realm"
RSA, EC = rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP256R1())
SETTINGS = OidcArgs(issuer=ISSUER, audience="jiyi", app="shop")


class Provider:
    """The documents of a provider, counted; it may be away or change its keys."""

    def __init__(self) -> None:
        self.keys = {
            "rsa": RSAAlgorithm.to_jwk(RSA.public_key(), as_dict=True),
            "pss": RSAAlgorithm.to_jwk(RSA.public_key(), as_dict=True) | {"alg": "PS256"},
            "ec": ECAlgorithm.to_jwk(EC.public_key(), as_dict=True),
        }
        self.issuer = ISSUER
        self.away = False
        self.fetches = 0
        self.now = 1000.0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.away:
            raise httpx.ConnectError("away")
        if request.url.path.endswith("/.well-known/openid-configuration"):
            return httpx.Response(200, json={"issuer": self.issuer, "jwks_uri": f"{ISSUER}/keys"})
        self.fetches += 1
        return httpx.Response(200, json={"keys": [key | {"kid": name} for name, key in self.keys.items()]})

    def tokens(self, settings: OidcArgs = SETTINGS) -> OidcTokens:
        http = httpx.AsyncClient(transport=httpx.MockTransport(self))
        return OidcTokens(settings, http=http, clock=lambda: self.now)


@pytest.fixture
def provider() -> Provider:
    return Provider()


def _claims(**changes: Any) -> dict[str, Any]:
    claims = {"iss": ISSUER, "aud": "jiyi", "sub": "ann", "exp": time.time() + 300} | changes
    return {name: value for name, value in claims.items() if value is not None}


def _token(key: Any = RSA, algorithm: str = "RS256", kid: str | None = "rsa", **changes: Any) -> str:
    return jwt.encode(_claims(**changes), key, algorithm=algorithm, headers={"kid": kid} if kid else {})


async def test_a_token_names_a_user_of_the_app(provider: Provider) -> None:
    for token in (_token(), _token(EC, "ES256", "ec"), _token(aud=["other", "jiyi"]), _token(RSA, "PS256", "pss")):
        caller = await provider.tokens().verify(token)
        assert (caller.credential, caller.scope, caller.app, caller.user) == ("oidc", KeyScope.USER, "shop", "ann")


def _confused() -> str:
    """Signed with the public key as if it were a shared secret."""
    head, body = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
        for part in ({"alg": "HS256", "kid": "rsa"}, _claims())
    )
    return f"{head}.{body}.{base64.urlsafe_b64encode(b'0' * 32).rstrip(b'=').decode()}"


BAD: dict[str, Callable[[], str]] = {
    "no token": lambda: "sk-something",
    "another key": lambda: _token(rsa.generate_private_key(65537, 2048)),
    "an unknown key": lambda: _token(kid="other"),
    "another algorithm than that of the key": lambda: _token(RSA, "RS256", "pss"),
    "no key named of several": lambda: _token(kid=None),
    "another issuer": lambda: _token(iss="https://login.example/other"),
    "no issuer": lambda: _token(iss=None),
    "another audience": lambda: _token(aud="other"),
    "no audience": lambda: _token(aud=None),
    "expired": lambda: _token(exp=time.time() - 60),
    "no end": lambda: _token(exp=None),
    "not yet": lambda: _token(nbf=time.time() + 600),
    "no user": lambda: _token(sub=None),
    "an empty user": lambda: _token(sub=""),
    "a user with control characters": lambda: _token(sub="a\nb"),
    "a long user": lambda: _token(sub="x" * 129),
    "unsigned": lambda: jwt.encode(_claims(), "", algorithm="none", headers={"kid": "rsa"}),
    "a shared secret": lambda: jwt.encode(_claims(), "s" * 32, algorithm="HS256", headers={"kid": "rsa"}),
    "algorithms confused": _confused,
    "very long": lambda: _token(more="x" * 20_000),
}


@pytest.mark.parametrize("bad", BAD)
async def test_others_are_refused(provider: Provider, bad: str) -> None:
    with pytest.raises(Unauthenticated):
        await provider.tokens().verify(BAD[bad]())


async def test_another_claim_may_be_the_user_an_address_only_if_verified(provider: Provider) -> None:
    tokens = provider.tokens(SETTINGS.model_copy(update={"claim": "email"}))
    caller = await tokens.verify(_token(email="ann@example.org", email_verified=True))
    assert caller.user == "ann@example.org"
    for unverified in (False, None, "true"):
        with pytest.raises(Unauthenticated):
            await tokens.verify(_token(email="ann@example.org", email_verified=unverified))


async def test_the_keys_are_fetched_once_for_many_tokens_and_again_when_they_are_old(provider: Provider) -> None:
    tokens = provider.tokens()
    for _ in range(50):
        await tokens.verify(_token())
    assert provider.fetches == 1
    provider.now += SETTINGS.jwks_cache_s + 1
    await tokens.verify(_token())
    assert provider.fetches == 2


async def test_new_keys_of_the_provider_are_accepted_and_unknown_ones_cause_few_fetches(provider: Provider) -> None:
    tokens = provider.tokens()
    await tokens.verify(_token())
    new = rsa.generate_private_key(65537, 2048)
    provider.keys = {"new": RSAAlgorithm.to_jwk(new.public_key(), as_dict=True)}
    provider.now += 31
    assert (await tokens.verify(_token(new, kid="new"))).user == "ann"
    for number in range(50):
        with pytest.raises(Unauthenticated):
            await tokens.verify(_token(kid=str(number)))
    assert provider.fetches == 2
    with pytest.raises(Unauthenticated):
        await tokens.verify(_token())


async def test_known_keys_stay_in_use_while_the_provider_is_away(provider: Provider) -> None:
    tokens = provider.tokens()
    await tokens.verify(_token())
    provider.away = True
    provider.now += 10 * SETTINGS.jwks_cache_s
    assert (await tokens.verify(_token())).user == "ann"


async def test_without_keys_the_provider_is_named_as_the_part_that_is_down(provider: Provider) -> None:
    provider.away = True
    tokens = provider.tokens()
    for _ in range(2):
        with pytest.raises(Unavailable) as error:
            await tokens.verify(_token())
        assert error.value.component == "oidc"
    provider.away, provider.now = False, provider.now + 31
    assert (await tokens.verify(_token())).user == "ann"


async def test_a_provider_that_calls_itself_otherwise_is_not_believed(provider: Provider) -> None:
    provider.issuer = "https://login.example/other"
    with pytest.raises(Unavailable):
        await provider.tokens().verify(_token())
