"""From the headers of a request to its identity."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import Headers

from memory.identity.api_keys import ApiKeys
from memory.identity.caller import ANONYMOUS, Caller, Claim, Identity
from memory.ports.stores.coordination import RateLimiter
from memory.values.access.identity import AppId, credential_subject
from memory.values.errors import InvalidField, Overloaded, Unauthenticated

from ..schemas.fields import Identifier, SessionName

USER_HEADER = "X-Jiyi-User"
APP_HEADER = "X-Jiyi-App"
SESSION_HEADER = "X-Jiyi-Session"
KEY_HEADER = "X-API-Key"
_AUTHORIZATION = re.compile(r"(?:bearer|token) +(\S+) *", re.IGNORECASE)
OPEN_WARNING = (
    "No credential is required: whoever reaches this port reads and changes everything. Create a key with "
    "`jiyi keys create --admin NAME` and set JIYI_AUTH__REQUIRED=true."
)


class _Form(NamedTuple):
    """What the value of a header must be."""

    adapter: TypeAdapter[str]
    allowed: str


_USER = _Form(TypeAdapter(Identifier), "1 to 128 characters in UTF-8")
_APP = _Form(TypeAdapter(AppId), "a to z, 0 to 9, dot, dash, underscore")
_SESSION = _Form(TypeAdapter(SessionName), "1 to 128 characters in UTF-8, no slash, and neither . nor ..")


class TokenVerifier(Protocol):
    """Checks tokens of an OpenID Connect provider."""

    async def verify(self, token: str) -> Caller:
        """What a token proves.

        Raises:
            Unauthenticated: It is not valid.
            Unavailable: The provider's keys cannot be had.
        """
        ...


class Authenticator:
    """Checks credentials and reads which user and app the headers name.

    Args:
        keys: The API keys.
        tokens: Checks what is not an API key.
        required: Refuse requests without a credential; otherwise they may do everything.
        user_headers: Further headers that name the user, best first, such as those of a proxy in front.
        session_headers: Further headers that name the session, best first.
        failures: Limits the wrong credentials of each client address; None for any number.
        issuer: The URL of the provider of `tokens`, for clients that have none yet.
    """

    def __init__(
        self,
        *,
        keys: ApiKeys,
        tokens: TokenVerifier | None = None,
        required: bool = False,
        user_headers: Sequence[str] = (),
        session_headers: Sequence[str] = (),
        failures: RateLimiter | None = None,
        issuer: str | None = None,
    ) -> None:
        self.keys = keys
        self._tokens = tokens
        self._required = required
        self._user_headers = (USER_HEADER, *user_headers)
        self._session_headers = (SESSION_HEADER, *session_headers)
        self._failures = failures
        self.issuer = issuer

    def summary(self) -> Mapping[str, str | bool]:
        """The state for `/health/detailed`: no key, no issuer."""
        summary: dict[str, str | bool] = {"required": self._required, "oidc": self._tokens is not None}
        return summary if self._required else summary | {"warning": OPEN_WARNING}

    async def identify(self, headers: Headers, *, address: str = "") -> Identity:
        """The identity of a request.

        Wrong credentials are counted by the address of the client. A valid one is always accepted, and never counted:
        many clients may share the address of a proxy.

        Raises:
            Unauthenticated: There is no valid credential.
            Overloaded: It is wrong, and so were too many from this address.
            Forbidden: A header names an app that the credential does not allow.
            InvalidField: A header that names a user, an app or a session is sent twice or malformed.
            Unavailable: The credential cannot be checked now.
        """
        credential = _credential(headers)
        try:
            caller = await self._caller(credential)
        except Unauthenticated:
            if credential is not None:
                await self._count_failure(address)
            raise
        claims = tuple(
            Claim(name, _checked(_USER, value, name)) for name in self._user_headers for value in _once(headers, name)
        )
        app = next((_checked(_APP, value, APP_HEADER) for value in _once(headers, APP_HEADER)), "")
        sessions = (_checked(_SESSION, value, name) for name in self._session_headers for value in _once(headers, name))
        return Identity(caller, app=app, headers=claims, app_field=APP_HEADER, session=next(sessions, None))

    async def _count_failure(self, address: str) -> None:
        if self._failures is None:
            return
        try:
            await self._failures.take(user_id=credential_subject(f"wrong, from {address}"))
        except Overloaded as error:
            raise Overloaded(
                "the credential is not valid, and too many wrong ones came from this address",
                retry_after_s=error.retry_after_s,
            ) from None

    async def _caller(self, credential: str | None) -> Caller:
        if credential is not None and self.keys.knows_form_of(credential):
            return await self.keys.authenticate(credential)
        if not self._required and (credential is None or self._tokens is None):
            return ANONYMOUS  # clients of other services always send some key
        if credential is None:
            raise Unauthenticated("a credential is required: Authorization: Bearer, or X-API-Key")
        if self._tokens is None:
            raise Unauthenticated("the API key is not valid")
        return await self._tokens.verify(credential)


def has_credential(headers: Headers) -> bool:
    """Whether a request has any."""
    return _credential(headers) is not None


def _credential(headers: Headers) -> str | None:
    """The API key or token; `X-API-Key` goes first, since `Authorization` may be meant for another service."""
    for key in _once(headers, KEY_HEADER):
        return key.strip()
    for value in _once(headers, "Authorization"):
        if match := _AUTHORIZATION.fullmatch(value.strip()):
            return match[1]
    return None


def _once(headers: Headers, name: str) -> Iterable[str]:
    values = [value for value in headers.getlist(name) if value]
    if len(values) > 1:
        raise InvalidField(f"{name}: sent more than once", field=name, allowed="one value")
    return values


def _checked(form: _Form, value: str, name: str) -> str:
    try:
        return form.adapter.validate_python(
            value.encode("latin-1").decode()
        )  # header values are UTF-8 here, not Latin-1
    except (UnicodeDecodeError, ValidationError):
        raise InvalidField(f"{name}: not a valid id", field=name, allowed=form.allowed) from None
