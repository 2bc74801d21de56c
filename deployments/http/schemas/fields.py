"""Field types of requests: texts, ids, metadata."""

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictInt,
    StringConstraints,
)
from pydantic_core import PydanticCustomError

MAX_TEXT_CHARACTERS = 32_768
MAX_METADATA_ENTRIES = 32
MAX_METADATA_CHARACTERS = 1_024
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def _no_control_characters(text: str) -> str:
    if match := _CONTROL.search(text):
        raise ValueError(
            f"character U+{ord(match.group()):04X} at position {match.start()} is not allowed; "
            "the only control characters allowed are tab, line feed and carriage return"
        )
    return text


def _fits_in_path(session_id: str) -> str:
    if "/" in session_id or session_id in (".", ".."):
        raise PydanticCustomError("session_name", "the path of a session cannot name it", {})
    return session_id


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _written_time(value: object) -> object:
    """Refuses numbers, also written as text, which pydantic would take for seconds since 1970."""
    if (isinstance(value, str) and ":" not in value) or isinstance(value, int | float):
        raise PydanticCustomError("datetime_type", "must be a date and a time", {})
    return value


def _not_blank_without(excluded: str) -> str:
    """The pattern of text that is not blank and has none of these characters, for the OpenAPI document.

    It says what validators check, whose messages tell more than those of a pattern.
    """
    return rf"^[^{excluded}]*[^{excluded}\s\x85][^{excluded}]*$"


_CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f"
_ALL_CONTROLS = r"\x00-\x1f\x7f"
_IDENTIFIER = _not_blank_without(_ALL_CONTROLS)
KEYS = Field(json_schema_extra={"propertyNames": {"minLength": 1, "maxLength": 128, "pattern": _IDENTIFIER}})
"""After an object whose keys are of `Identifier`."""

Text = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_TEXT_CHARACTERS),
    AfterValidator(_no_control_characters),
    AfterValidator(_not_blank),
    Field(json_schema_extra={"pattern": _not_blank_without(_CONTROLS)}),
]
"""Text: 1 to 32,768 characters, not blank, without control characters other than white space."""

Identifier = Annotated[
    str,
    StringConstraints(min_length=1, max_length=128, pattern=rf"^[^{_ALL_CONTROLS}]*$"),
    AfterValidator(_not_blank),
    Field(json_schema_extra={"pattern": _IDENTIFIER}),
]
"""An id chosen by the caller: 1 to 128 characters, not blank, without control characters."""

SessionName = Annotated[
    Identifier,
    AfterValidator(_fits_in_path),
    Field(json_schema_extra={"pattern": r"^(?!\.{1,2}$)" + _not_blank_without(rf"{_ALL_CONTROLS}/")[1:]}),
]
"""The id of a session, which `GET /sessions/{session_id}` can name: no slash, and neither `.` nor `..`."""

Flag = StrictBool
Time = Annotated[AwareDatetime, BeforeValidator(_written_time)]
"""A time with a time zone, as RFC 3339 writes it."""

MetadataValue = (
    Annotated[
        str,
        StringConstraints(max_length=MAX_METADATA_CHARACTERS),
        AfterValidator(_no_control_characters),
        Field(json_schema_extra={"pattern": f"^[^{_CONTROLS}]*$"}),
    ]
    | StrictBool
    | StrictInt
    | Annotated[float, Field(allow_inf_nan=False, strict=True)]
    | None
)
Metadata = Annotated[dict[Identifier, MetadataValue], Field(max_length=MAX_METADATA_ENTRIES), KEYS]
"""Up to 32 entries; values are strings, numbers, booleans or null, which filters can compare."""


class RequestModel(BaseModel):
    """Base of request bodies: an unknown field is an error that names it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def examples(*bodies: dict[str, JsonValue], rule: Mapping[str, JsonValue] | None = None) -> ConfigDict:
    """A model configuration with examples for the OpenAPI page; a test sends each of them.

    `rule` is JSON Schema for what a validator checks across fields.
    """
    return ConfigDict(frozen=True, extra="forbid", json_schema_extra={"examples": [*bodies], **(rule or {})})


def given(**types: str) -> dict[str, JsonValue]:
    """The JSON Schema of a body in which these fields are there and not null."""
    return {"required": [*types], "properties": {name: {"type": type_} for name, type_ in types.items()}}
