"""Whose memories a call of mem0's is about: the one resolver decides, and what calls name only narrows it."""

import uuid
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path
from pydantic import TypeAdapter, ValidationError

from memory.identity.caller import USER_ID, Claim
from memory.identity.users import users_of_app
from memory.values.access.identity import KeyScope, app_and_user
from memory.values.errors import BadRequest, InvalidField, NotFound

from ...identity.current import CURRENT_IDENTITY, CURRENT_USER
from ...schemas.fields import Identifier
from ...support.services import Services, ServicesDep

_USER: TypeAdapter[str] = TypeAdapter(Identifier)
NO_ENTITY = "One of the filters: app_id, user_id, agent_id, run_id is required!"


@dataclass(frozen=True)
class MemoryRef:
    """A memory that a path names, with its owner."""

    user_id: str
    memory_id: str


def owner_of(user: str | None) -> str:
    """The stored id of the user that a call names, or that its credential or headers name.

    Raises:
        InvalidField: Nothing names a user, or it is no id.
        Forbidden: The credential belongs to another one.
    """
    stored = CURRENT_IDENTITY.get().user([] if user is None else [Claim(USER_ID, _checked(user))])
    if stored is None:
        raise InvalidField(
            "user_id: this field is required; agent_id, app_id and run_id say more of a user's memory",
            field=USER_ID,
            allowed="a user id",
        )
    return stored


async def owners_among(users: Iterable[str] | None, services: Services) -> list[str]:
    """The stored ids of the users that filters name; of all users of the app where they name none.

    Raises:
        Forbidden: A user is named that the credential does not act for, or none by one that acts for a single user.
    """
    if users is not None:
        owners = sorted({owner_of(user) for user in users})
    elif (own := CURRENT_IDENTITY.get().user()) is not None:
        owners = [own]
    else:
        CURRENT_IDENTITY.get().require(KeyScope.APP)
        owners = [user async for user in own_users(services)]
    if len(owners) == 1:
        CURRENT_USER.set(owners[0])
    return owners


def own_users(services: Services) -> AsyncIterator[str]:
    """The stored ids of all users of the app that the request acts in, sorted by code point."""
    return users_of_app(services.record.backlog, CURRENT_IDENTITY.get().app)


async def find_memory(memory_id: str, services: Services) -> MemoryRef:
    """The memory of this id, of a user that the caller may act for.

    Raises:
        BadRequest: It is no UUID.
        NotFound: There is none.
    """
    try:
        id_ = str(uuid.UUID(memory_id))
    except ValueError:
        id_ = ""
    if id_ != memory_id.lower():
        raise BadRequest("memory_id should be a valid UUID")
    only = CURRENT_IDENTITY.get().user()
    for owner in [only] if only is not None else await services.record.backlog.owners(id_):
        if _may_act_for(owner):
            await services.guard.check(owner)
            return MemoryRef(owner, id_)
    raise NotFound("Memory not found!")


def allowed(ref: MemoryRef) -> MemoryRef:
    """The memory, where the caller may act for its owner.

    Raises:
        NotFound: They may not.
    """
    if not _may_act_for(ref.user_id):
        raise NotFound("Memory not found!")
    return ref


def _may_act_for(owner: str) -> bool:
    identity = CURRENT_IDENTITY.get()
    return app_and_user(owner)[0] == identity.app and identity.user() in (None, owner)


async def _memory_of_path(memory_id: Annotated[str, Path()], services: ServicesDep) -> MemoryRef:
    found = await find_memory(memory_id, services)
    CURRENT_USER.set(found.user_id)
    return found


MemoryOfPath = Annotated[MemoryRef, Depends(_memory_of_path)]
"""The memory that a path names; whether its user still has it, is not known yet where the credential names the user."""


def _checked(user: str) -> str:
    try:
        return _USER.validate_python(user)
    except ValidationError:
        raise InvalidField(
            "user_id: not a valid id", field=USER_ID, allowed="1 to 128 characters without control characters"
        ) from None
