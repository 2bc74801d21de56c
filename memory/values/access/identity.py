"""Apps, the users within them, and API keys."""

from enum import StrEnum
from typing import Annotated

from pydantic import StringConstraints, model_validator

from ..base import Timestamp, Value

DEFAULT_APP = "default"
KEY_PREFIX = "jiyi"
APP_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,31}$"
AppId = Annotated[str, StringConstraints(pattern=APP_PATTERN)]
"""A product that uses the service (tenant); its users are its own."""

_SEPARATOR = "\u241f"


def stored_user(app: str, user: str) -> str:
    """The user id under which everything of an app's user is stored: different for different pairs.

    A user of the default app keeps their id, so that what was stored before there were apps stays theirs. Nothing else
    joins app and user; replies show the user's own id again (`shown_user`).
    """
    if app == DEFAULT_APP:
        return user if _SEPARATOR not in user else f"{_SEPARATOR}{user}"
    return f"{app}{_SEPARATOR}{user}"


def credential_subject(credential: str) -> str:
    """What stands for a credential where users are counted; equal to the stored id of no user."""
    return f"{credential}{_SEPARATOR}"


def app_owner(app: str) -> str:
    """The id under which an app's own policies and knowledge are stored; equal to the stored id of no user."""
    return f"{app}{_SEPARATOR}"


def app_of_owner(stored: str) -> str | None:
    """The app whose knowledge this owner has; None for the stored id of a user."""
    return stored[: -len(_SEPARATOR)] if stored.endswith(_SEPARATOR) and stored.count(_SEPARATOR) == 1 else None


def shown_user(stored: str) -> str:
    """The user's own id, without the app."""
    return stored.partition(_SEPARATOR)[2] if _SEPARATOR in stored else stored


def app_and_user(stored: str) -> tuple[str, str]:
    """The app and the user's own id of a stored id."""
    app, separator, user = stored.partition(_SEPARATOR)
    return (app or DEFAULT_APP, user) if separator else (DEFAULT_APP, stored)


class KeyScope(StrEnum):
    """What a key may do: act for one user, for all users of its app, or for everybody, with the operators' calls."""

    USER = "user"
    APP = "app"
    ADMIN = "admin"


class ApiKey(Value):
    """An API key as it is stored: not the secret, but its hash.

    Args:
        key_id: The visible part of the secret; it stays when the secret is rotated.
        name: What the key is for, in the words of whoever made it.
        user: The user's own id, for scope `user` alone.
        secret_hash: SHA-256 of the secret, in hexadecimal.
        previous_hash: That of the secret before, which is valid until `previous_until`.
        version: Grows with every change.
    """

    key_id: str
    name: str
    scope: KeyScope
    app: AppId = DEFAULT_APP
    user: str | None = None
    secret_hash: str
    previous_hash: str | None = None
    previous_until: Timestamp | None = None
    version: int = 1
    created_at: Timestamp
    rotated_at: Timestamp | None = None
    expires_at: Timestamp | None = None
    revoked_at: Timestamp | None = None
    last_used_at: Timestamp | None = None

    @property
    def prefix(self) -> str:
        """How the secret begins; what may be shown of it."""
        return f"{KEY_PREFIX}_{self.key_id}"

    @model_validator(mode="after")
    def _user_fits_scope(self) -> "ApiKey":
        if (self.user is not None) != (self.scope is KeyScope.USER):
            raise ValueError("a key of scope user has a user, and no other key has one")
        return self
