"""Who speaks in which session, of all that requests in OpenAI's format say about it."""

from typing import Annotated, Self

from fastapi import Depends, Header
from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError, model_validator

from memory.identity.caller import Claim
from memory.values.errors import InvalidField

from ...identity.current import CURRENT_IDENTITY, CURRENT_USER
from ...schemas.fields import Identifier, SessionName

_SESSION: TypeAdapter[str] = TypeAdapter(SessionName)
_SESSION_KEYS = ("session_id", "thread_id", "chat_id")
"""Keys of `metadata` that name the session, best first."""

Learns = Annotated[
    bool, Header(alias="X-Jiyi-Learn", description="False: memory answers, but nothing of this request is learned.")
]
"""The parameter by which a chat program says that it asks for itself, not for the person."""


async def _is_retry(
    count: Annotated[str | None, Header(alias="x-stainless-retry-count", include_in_schema=False)] = None,
) -> bool:
    return count is not None and count.isdecimal() and int(count) > 0


IsRetry = Annotated[bool, Depends(_is_retry)]
"""Route parameter: whether the client says that it sends the request again, as OpenAI's do after an error."""


class SpokenBody(BaseModel):
    """What requests say of the person; further fields are allowed, as OpenAI adds some every month."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)

    user: Identifier | None = Field(
        default=None,
        description="The person, where neither the credential nor a header names one. Without a person nothing is "
        "looked up or learned.",
    )
    safety_identifier: Identifier | None = Field(default=None, description="The person, where nothing else names one.")
    metadata: Annotated[dict[str, str], Field(max_length=16)] | None = Field(
        default=None, description="`session_id`, `thread_id` or `chat_id` names the session."
    )

    @model_validator(mode="after")
    def _find_person(self) -> Self:
        named = {"user": self.user, "safety_identifier": self.safety_identifier}
        claims = [Claim(field, user) for field, user in named.items() if user is not None]
        CURRENT_USER.set(CURRENT_IDENTITY.get().user(claims))
        return self

    def session_in_metadata(self) -> str | None:
        """The session that the metadata names.

        Raises:
            InvalidField: It is no id.
        """
        metadata = self.metadata or {}
        key = next((key for key in _SESSION_KEYS if metadata.get(key)), None)
        if key is None:
            return None
        try:
            return _SESSION.validate_python(metadata[key])
        except ValidationError:
            raise InvalidField(
                f"metadata.{key}: not a valid id",
                field=f"metadata.{key}",
                allowed="1 to 128 characters, no slash, and neither . nor ..",
            ) from None


async def _person() -> str | None:
    CURRENT_USER.set(user := CURRENT_IDENTITY.get().user())
    return user


async def _known_person() -> str:
    return known(await _person())


def known(person: str | None) -> str:
    """The person, where one is needed.

    Raises:
        InvalidField: Nobody is named.
    """
    if person is None:
        raise InvalidField(
            "X-Jiyi-User: nobody is named",
            field="X-Jiyi-User",
            allowed="this header, or an API key of one user, says whose it is",
        )
    return person


Person = Annotated[str | None, Depends(_person)]
"""Route parameter: the stored id of the person that the credential or a header names."""

KnownPerson = Annotated[str, Depends(_known_person)]
"""The same, where it is needed."""


def named_session(*named: str | None) -> str | None:
    """The session that the request names: that of a header, else the first of these; None where it names none."""
    return next((session for session in (CURRENT_IDENTITY.get().session, *named) if session), None)
