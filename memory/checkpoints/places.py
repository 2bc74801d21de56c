"""Where the checkpoints of a thread and their writes are among items, and how they are written."""

import base64
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


def session_of(thread_id: str) -> str | None:
    """The session with which a thread is erased: that of the same name; None where no session has such a name."""
    try:
        return _SESSION.validate_python(thread_id)
    except ValidationError:
        return None


def packed(typed: tuple[str, bytes]) -> dict[str, str]:
    """What a serialiser gives, as JSON."""
    kind, data = typed
    return {"type": kind, "data": base64.b64encode(data).decode()}


def unpacked(value: Any) -> tuple[str, bytes]:
    """What `packed` was given."""
    return value["type"], base64.b64decode(value["data"])
