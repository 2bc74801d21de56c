"""The texts of a value by whose meaning it is found."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from ..values.errors import InvalidField
from ..values.items import WHOLE

MAX_TEXTS = 64
"""Texts of one item at most."""
_NAME, _INDEX = r"[^.\[\]{}]+", r"\[(?:\*|-?\d{1,9})\]"
_PATH = re.compile(rf"(?:{_NAME}|{_INDEX})(?:\.{_NAME}|{_INDEX})*+")
_STEP = re.compile(r"(?P<name>[^.\[\]]+)|\[(?P<index>[^\]]+)\]")
_ALLOWED = "`$` for the whole value, or members and entries as in `a.b`, `items[0]`, `items[-1].text`, `items[*].text`"


def check_paths(paths: Sequence[str]) -> None:
    """Refuses what is no path.

    Raises:
        InvalidField: It is none.
    """
    for path in paths:
        if path != WHOLE and not _PATH.fullmatch(path):
            raise InvalidField(f"index: {path!r} is no path", field="index", allowed=_ALLOWED)


def texts_of(value: Mapping[str, JsonValue], paths: Sequence[str]) -> list[str]:
    """The texts at these paths, in order: what is no text as JSON, nothing for null, for what is missing or blank.

    Raises:
        InvalidField: There are more than `MAX_TEXTS`.
    """
    found = [_text(part) for path in paths for part in _parts(dict(value), _steps(path))]
    texts = [text for text in found if text.strip()]
    if len(texts) > MAX_TEXTS:
        raise InvalidField(
            f"index: the paths lead to {len(texts)} texts", field="index", allowed=f"at most {MAX_TEXTS} texts"
        )
    return texts


def _steps(path: str) -> list[str | int | None]:
    """Names, places in lists, and None for every entry."""
    if path == WHOLE:
        return []
    return [
        match["name"] if match["name"] else (None if match["index"] == "*" else int(match["index"]))
        for match in _STEP.finditer(path)
    ]


def _parts(part: JsonValue, steps: Sequence[str | int | None]) -> Iterator[JsonValue]:
    if not steps:
        yield part
        return
    step, rest = steps[0], steps[1:]
    if step == "*":
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    elif isinstance(step, str):
        inner = [part[step]] if isinstance(part, dict) and step in part else ()
    elif not isinstance(part, list):
        inner = ()
    elif step is None:
        inner = part
    else:
        inner = [part[step]] if -len(part) <= step < len(part) else ()
    for entry in inner:
        yield from _parts(entry, rest)


def _text(part: JsonValue) -> str:
    if part is None:
        return ""
    return part if isinstance(part, str) else json.dumps(part, sort_keys=True, ensure_ascii=False)
