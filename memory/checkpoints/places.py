"""Where the checkpoints of a thread and their writes are among items, and how they are written."""

import base64
import json
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..values.base import SessionId

CHECKPOINTS, WRITES = "checkpoints", "writes"
_ESCAPES = str.maketrans({"~": "~~", ".": "~d", "\x00": "~0"})
_SESSION: TypeAdapter[str] = TypeAdapter(SessionId)


def label(text: str) -> str:
    """Any text as a label of a namespace, different for different texts."""
    return "=" + text.translate(_ESCAPES)


def text_of(encoded: str) -> str:
    """The text that `label` wrote."""
    text, escaped = [], False
    for character in encoded[1:]:
        if escaped:
            text.append({"d": ".", "0": "\x00"}.get(character, character))
        elif character != "~":
            text.append(character)
        escaped = character == "~" and not escaped
    return "".join(text)


def thread_place(thread_id: str) -> tuple[str, ...]:
    """The namespace of all that a thread has."""
    return (label(thread_id),)


def checkpoints_place(thread_id: str, checkpoint_ns: str) -> tuple[str, ...]:
    """The namespace of a thread's checkpoints; the key is the id."""
    return (label(thread_id), CHECKPOINTS, label(checkpoint_ns))


def writes_place(thread_id: str, checkpoint_ns: str, checkpoint_id: str) -> tuple[str, ...]:
    """The namespace of the writes that wait on a checkpoint; the key is of task and place in its list."""
    return (label(thread_id), WRITES, label(checkpoint_ns), label(checkpoint_id))


def thread_of(user_id: str, session_id: str, turn_id: str) -> str:
    """The thread of a turn of a dialogue, which says whose it is; `turn_of` reads it."""
    return json.dumps([user_id, session_id, turn_id], ensure_ascii=False)


def turn_of(thread_id: str) -> tuple[str, str, str] | None:
    """User, session and turn of a thread that `thread_of` named; None for any other thread."""
    try:
        parts = json.loads(thread_id)
    except ValueError:
        return None
    if not isinstance(parts, list) or len(parts) != 3 or not all(isinstance(part, str) for part in parts):
        return None
    user_id, session_id, turn_id = parts
    return user_id, session_id, turn_id


def session_of(thread_id: str) -> str | None:
    """The session with which a thread is erased.

    Of a turn of a dialogue that is the session of the turn, of any other thread the session of the same name; None
    where no session has such a name.
    """
    turn = turn_of(thread_id)
    try:
        return _SESSION.validate_python(thread_id if turn is None else turn[1])
    except ValidationError:
        return None


def packed(typed: tuple[str, bytes]) -> dict[str, str]:
    """What a serialiser gives, as JSON."""
    kind, data = typed
    return {"type": kind, "data": base64.b64encode(data).decode()}


def unpacked(value: Any) -> tuple[str, bytes]:
    """What `packed` was given."""
    return value["type"], base64.b64decode(value["data"])
