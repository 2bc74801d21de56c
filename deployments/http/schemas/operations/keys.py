"""Request and reply bodies of `/keys`."""

from typing import Annotated, Any

from pydantic import AwareDatetime, Field, JsonValue

from memory.identity.api_keys import IssuedKey
from memory.values.access.identity import DEFAULT_APP, ApiKey, AppId, KeyScope

from ..fields import Identifier, RequestModel, examples

MAX_OVERLAP_S = 30 * 24 * 3600

_USER_BY_SCOPE: dict[str, JsonValue] = {
    "oneOf": [
        {"properties": {"scope": {"const": "user"}, "user": {"type": "string"}}, "required": ["user"]},
        {"properties": {"scope": {"not": {"const": "user"}}, "user": {"type": "null"}}},
    ]
}


class CreateKeyBody(RequestModel):
    """The key to make."""

    model_config = examples(
        {"name": "chat backend", "scope": "app"}, {"name": "Ada", "scope": "user", "user": "ada"}, rule=_USER_BY_SCOPE
    )

    name: Identifier = Field(description="What the key is for.")
    scope: KeyScope = Field(description="`user`: one user alone; `app`: all users of an app; `admin`: everything.")
    app: AppId | None = Field(default=None, description="By default that of the request.")
    user: Identifier | None = Field(default=None, description="Whom the key belongs to, for scope `user` alone.")
    expires_at: AwareDatetime | None = Field(
        default=None, description="In the future; by default the key does not expire."
    )


class RotateKeyBody(RequestModel):
    """How long the secret before stays valid beside the new one."""

    model_config = examples({"overlap_s": 3600})

    overlap_s: Annotated[float, Field(ge=0, le=MAX_OVERLAP_S)] = 0.0


class KeyReply(RequestModel):
    """A key without its secret; `last_used_at` is up to a minute late."""

    key_id: str
    prefix: str = Field(description="How the secret begins.")
    name: str
    scope: KeyScope
    app: str = DEFAULT_APP
    user: str | None
    created_at: AwareDatetime
    rotated_at: AwareDatetime | None
    expires_at: AwareDatetime | None
    revoked_at: AwareDatetime | None
    last_used_at: AwareDatetime | None

    @classmethod
    def of(cls, key: ApiKey) -> "KeyReply":
        """What may be seen of a key."""
        shown = {name: getattr(key, name) for name in cls.model_fields.keys() & ApiKey.model_fields.keys()}
        return cls(prefix=key.prefix, **shown)


class IssuedKeyReply(RequestModel):
    """A key with its secret, which is shown this once."""

    key: KeyReply
    secret: str

    @classmethod
    def of(cls, issued: IssuedKey) -> "IssuedKeyReply":
        """The reply to whoever made the key."""
        return cls(key=KeyReply.of(issued.key), secret=issued.secret)


def shown(result: "ApiKey | IssuedKey | list[ApiKey]") -> Any:
    """A key, an issued key or a list of keys in the form of the replies, as JSON values."""
    match result:
        case IssuedKey():
            return IssuedKeyReply.of(result).model_dump(mode="json")
        case ApiKey():
            return KeyReply.of(result).model_dump(mode="json")
        case _:
            return [KeyReply.of(key).model_dump(mode="json") for key in result]


class KeyList(RequestModel):
    """Keys in the order of their ids, revoked ones too; `next` is the `after` of the next page."""

    results: tuple[KeyReply, ...]
    next: str | None
