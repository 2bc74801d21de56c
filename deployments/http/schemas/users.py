"""The user of a request and of its reply.

Every field and parameter of a request that names a user has a type of this module: what a route gets is the stored id
(`memory.values.access.identity.stored_user`), never what the request says. A reply shows the id as the app gave it.
"""

import json
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Path, Query
from pydantic import AfterValidator, BaseModel, Field, JsonValue, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticKnownError

from memory.identity.caller import USER_ID, Claim
from memory.ports.jobs import PipelineRun
from memory.values.access.identity import shown_user
from memory.values.errors import InvalidField
from memory.values.governance.changes import ChangedItem

from ..identity.current import CURRENT_IDENTITY, CURRENT_USER
from .fields import Identifier

_Reply = TypeVar("_Reply")
_USER_FIELD = "user_id"
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


def with_own_ids(reply: _Reply) -> _Reply:
    """A reply in which each field `user_id` has the user's own id instead of the stored one.

    Every stored value has its user in a field of this name (DESIGN §4). Texts, metadata and attributes stay as they
    are, whatever they contain. What is no model stays, too: a response that is made already has to be made of models
    which went through here.
    """
    return _shown(reply)  # type: ignore[no-any-return]


def _shown(value: Any) -> Any:
    match value:
        case ChangedItem():
            states = {"before": value.before, "after": value.after}
            return value.model_copy(update={name: _shown_fields(state) for name, state in states.items()})
        case PipelineRun():
            return shown_run(value)
        case BaseModel():
            shown = {
                name: shown_user(field) if name == _USER_FIELD and isinstance(field, str) else _shown(field)
                for name, field in value
            }
            changed = {name: field for name, field in shown.items() if field is not getattr(value, name)}
            return value.model_copy(update=changed) if changed else value
        case tuple() | list() if any(isinstance(item, BaseModel) for item in value):
            return type(value)(_shown(item) for item in value)
        case _:
            return value


def shown_run(run: PipelineRun) -> PipelineRun:
    """A run of a job with the users' own ids."""
    output = dict(run.output)
    if isinstance(items := output.get("items"), list):
        output["items"] = [_shown_fields(item) if isinstance(item, dict) else item for item in items]
    cursor = None if run.cursor is None else _shown_position(run.cursor)
    return run.model_copy(update={"input": _shown_fields(run.input), "output": output, "cursor": cursor})


def _shown_position(cursor: str) -> str:
    """The cursor of a run: the id of a user, or a JSON list that begins with one (`memory.indexing.record_pages`)."""
    try:
        user, *rest = json.loads(cursor)
    except (ValueError, TypeError):
        return shown_user(cursor)
    return json.dumps([shown_user(str(user)), *rest], ensure_ascii=False)


def _shown_fields(state: dict[str, JsonValue] | None) -> dict[str, JsonValue] | None:
    """The JSON form of a stored value."""
    if state is None or not isinstance(user := state.get(_USER_FIELD), str):
        return state
    return {**state, _USER_FIELD: shown_user(user)}
