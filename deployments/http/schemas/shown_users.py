"""Replies show the ids of users as their app gives them, and not as they are stored."""

import json
from typing import Any, TypeVar

from pydantic import BaseModel, JsonValue

from memory.ports.jobs import PipelineRun
from memory.values.changes import ChangedItem
from memory.values.identity import shown_user

_Reply = TypeVar("_Reply")
_USER_FIELD = "user_id"


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
            return _shown_run(value)
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


def _shown_run(run: PipelineRun) -> PipelineRun:
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
