"""The user of a request: every field and parameter that names one has a type of this module.

What a route gets is the stored id (`memory.values.identity.stored_user`), never what the request says.
"""

from typing import Annotated, Any

from fastapi import Depends, Path, Query
from pydantic import AfterValidator, Field, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticKnownError

from memory.identity.caller import USER_ID, Claim
from memory.values.errors import InvalidField

from ..identity.current import CURRENT_IDENTITY, CURRENT_USER
from .fields import Identifier

_OMITTED: Any = object()
_DESCRIPTION = (
    "Whose memory. Not needed where the credential belongs to a user or X-Jiyi-User names one; 403 where it names "
    "another user than those."
)


def _stored_user_of_field(value: Any, validate: ValidatorFunctionWrapHandler) -> str:
    user = CURRENT_IDENTITY.get().user([] if value is _OMITTED else [Claim(USER_ID, validate(value))])
    if user is None:
        raise PydanticKnownError("missing")
    CURRENT_USER.set(user)
    return user


def _stored_openai_user(user: str) -> str:
    stored = CURRENT_IDENTITY.get().user([Claim("user", user)])
    CURRENT_USER.set(stored)
    return stored or user


async def _stored_user_of_query(user_id: Annotated[Identifier | None, Query(description=_DESCRIPTION)] = None) -> str:
    user = CURRENT_IDENTITY.get().user([] if user_id is None else [Claim(USER_ID, user_id)])
    if user is None:
        raise InvalidField("user_id: this field is required", field=USER_ID, allowed="a user id")
    CURRENT_USER.set(user)
    return user


async def _stored_user_of_path(user_id: Annotated[Identifier, Path(description=_DESCRIPTION)]) -> str:
    user = CURRENT_IDENTITY.get().user([Claim(USER_ID, user_id)]) or user_id
    CURRENT_USER.set(user)
    return user


User = Annotated[
    Identifier,
    WrapValidator(_stored_user_of_field),
    Field(default_factory=lambda: _OMITTED, validate_default=True, description=_DESCRIPTION),
]
"""The field `user_id` of a body."""

ChosenUser = Annotated[Identifier, WrapValidator(_stored_user_of_field)]
"""A user that an operator chooses, where all users are meant otherwise."""

OpenAiUser = Annotated[Identifier, AfterValidator(_stored_openai_user)]
"""The field `user` of OpenAI's format, where nothing is stored: 403 where the credential belongs to another user."""

UserQuery = Annotated[str, Depends(_stored_user_of_query)]
"""The query parameter `user_id`."""

UserOfPath = Annotated[str, Depends(_stored_user_of_path)]
"""The user that a path names."""
